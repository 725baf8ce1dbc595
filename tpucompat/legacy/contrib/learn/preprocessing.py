"""``tf.contrib.learn.preprocessing``: words and categories as numbers.

Follows tensorflow/contrib/learn/python/learn/preprocessing of TensorFlow 1.15. What was pickled there is read
here: the classes keep the attributes that they had.
"""

from __future__ import annotations

import collections
import math
import pickle
import re
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

from tpucompat.errors import BadValueError

#: Capitals together, a capitalized word before a capital, or letters, digits, quotes and hyphens.
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class CategoricalVocabulary:
    """Numbers of categories, in the order in which they are first seen; 0 is the unknown one.

    Args:
      unknown_token: The category of the number 0.
      support_reverse: Whether categories can be found by their numbers.
    """

    def __init__(self, unknown_token: Any = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._freq: dict[Any, int] = collections.defaultdict(int)
        self._freeze = False
        self._number([])

    def _number(self, categories: Sequence[Any]) -> None:
        known = [self._unknown_token, *categories]
        self._mapping = {category: number for number, category in enumerate(known)}
        if self._support_reverse:
            self._reverse_mapping = known

    def __len__(self) -> int:
        """How many categories there are, with the unknown one."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Lets categories that come from now on be unknown, or numbers them."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category, which gets one if it has none."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Leaves out what is rare or frequent, and numbers the others, the most frequent first.

        Args:
          min_frequency: Categories that came as often or less often are left out.
          max_frequency: Categories that came as often or more often are, where it is above 0.
        """
        order = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        order.sort(key=lambda item: item[1], reverse=True)
        kept = [
            category
            for category, count in order
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._number(kept)
        # As in 1.15: as many of the counts as there are categories, from the most frequent on.
        self._freq = dict(order[: len(kept)])

    def reverse(self, class_id: int) -> Any:
        """The category of a number.

        Raises:
          BadValueError: The vocabulary does not keep them.
        """
        if not self._support_reverse:
            raise BadValueError(
                "TPU103",
                "This vocabulary wasn't initialized with support_reverse to support reverse() function.",
            )
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Texts as the numbers of their words.

    Args:
      max_document_length: The words of a text that are taken; shorter texts end with zeros.
      min_frequency: Words that came as often or less often are unknown.
      vocabulary: A :class:`CategoricalVocabulary`; an empty one by default.
      tokenizer_fn: A function of texts that gives the words of each; :func:`tokenizer` by default.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Sequence[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        # An empty vocabulary is false, and replaced, as in 1.15.
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of texts."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """Learns the words of texts, and gives their numbers."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """The numbers of the words of each text: int64, ``[max_document_length]``."""
        for words in self._tokenizer(raw_documents):
            numbers: Any = np.zeros(self.max_document_length, np.int64)
            for place, word in zip(range(self.max_document_length), words):
                numbers[place] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of numbers, with spaces between them."""
        for numbers in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in numbers)

    def save(self, filename: str) -> None:
        """Writes itself to a file."""
        with tf.gfile.Open(filename, "wb") as stream:
            stream.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads one that was saved; like every pickle, it has to be from someone who is trusted."""
        with tf.gfile.Open(filename, "rb") as stream:
            return pickle.loads(stream.read())


class ByteProcessor:
    """Texts as their bytes.

    Args:
      max_document_length: The bytes of a text that are taken; shorter texts end with zeros.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Nothing has to be learned."""

    def fit_transform(self, x: Iterable[Any]) -> Iterator[Any]:
        """As :meth:`transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[Any]:
        """The bytes of each text in UTF-8: uint8, ``[max_document_length]``."""
        for text in x:
            data = text.encode("utf-8") if isinstance(text, str) else bytes(text)
            taken = np.frombuffer(data[: self.max_document_length], np.uint8)
            yield np.pad(taken, (0, self.max_document_length - len(taken)), "constant")

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """The texts of bytes; an empty one for what is not UTF-8."""
        for data in x:
            text = np.trim_zeros(data.astype(np.int8), trim="b").tobytes()
            try:
                yield text.decode("utf-8")
            except UnicodeDecodeError:
                yield ""


class CategoricalProcessor:
    """Rows of categories as rows of numbers; what is not a number becomes 0.

    Args:
      min_frequency: Categories that came as often or less often are unknown.
      share: Whether all columns have one vocabulary.
      vocabularies: One for each column; new ones by default.
    """

    def __init__(
        self,
        min_frequency: int = 0,
        share: bool = False,
        vocabularies: list[CategoricalVocabulary] | None = None,
    ) -> None:
        self.min_frequency = min_frequency
        self.share = share
        self.vocabularies_ = vocabularies

    def freeze(self, freeze: bool = True) -> None:
        """Freezes all vocabularies."""
        for vocabulary in self.vocabularies_ or ():
            vocabulary.freeze(freeze)

    def fit(self, x: Iterable[Sequence[Any]], unused_y: Any = None) -> CategoricalProcessor:
        """Learns the categories of rows."""
        for row in _rows(x):
            if self.vocabularies_ is None:
                shared = CategoricalVocabulary()
                self.vocabularies_ = [
                    shared if self.share else CategoricalVocabulary() for _ in row
                ]
            for vocabulary, value in zip(self.vocabularies_, row):
                if not _is_nan(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            for vocabulary in self.vocabularies_ or ():
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x: Any, unused_y: Any = None) -> Iterator[Any]:
        """Learns the categories of rows, and gives their numbers."""
        self.fit(x)
        return self.transform(x)

    def transform(self, x: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """The numbers of each row: int64, one for each column."""
        self.freeze()
        for row in _rows(x):
            numbers = [
                0 if _is_nan(value) else vocabulary.get(value)
                for vocabulary, value in zip(self.vocabularies_ or (), row)
            ]
            yield np.array(numbers, np.int64)


def _rows(x: Any) -> Iterable[Sequence[Any]]:
    """The rows of a list, an array, or a table of pandas."""
    return x.to_numpy() if hasattr(x, "to_numpy") else x


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
