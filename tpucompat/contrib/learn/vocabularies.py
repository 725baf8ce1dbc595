"""``tf.contrib.learn.preprocessing``: words and categories as numbers, without TensorFlow.

Numbers are those of TensorFlow 1.15: a new word gets the next one, and 0 stands for what is unknown. Processors
that 1.15 has saved can be restored.
"""

from __future__ import annotations

import collections
import io
import itertools
import math
import pickle
import re
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from tpucompat.base.errors import BadValueError
from tpucompat.base.late import late

tf = late("tensorflow")

#: Runs of capitals, words that begin with one, and other words, with apostrophes and hyphens.
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
# Where 1.15 had the classes: files that it has pickled name it.
_FORMER = "tensorflow.contrib.learn.python.learn.preprocessing."

Tokenizer = Callable[[Iterable[str]], Iterable[Iterable[str]]]


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    return (TOKENIZER_RE.findall(text) for text in iterator)


class CategoricalVocabulary:
    """Numbers of categories; 0 is the unknown one.

    Args:
      unknown_token: What :meth:`reverse` gives for 0.
      support_reverse: Whether there is :meth:`reverse`.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._number_anew({})
        self.freeze(False)

    def _number_anew(self, counts: dict[Any, int]) -> None:
        """Forgets all categories but those that are counted, which get numbers in this order."""
        self._freq: collections.Counter[Any] = collections.Counter(counts)
        self._reverse_mapping: list[Any] = [self._unknown_token, *counts]
        self._mapping = {category: number for number, category in enumerate(self._reverse_mapping)}

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """No new categories from now on, or new ones again."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category, a new one unless the vocabulary is frozen."""
        number = self._mapping.get(category)
        if number is not None or self._freeze:
            return number or 0
        if self._support_reverse:
            self._reverse_mapping.append(category)
        return self._mapping.setdefault(category, len(self._mapping))

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category, which gets a number."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps what was counted more than ``min_frequency`` times, the most frequent first.

        With a ``max_frequency``, what was counted as often or more loses its number as well.
        """
        kept = sorted(
            (
                (category, count)
                for category, count in self._freq.items()
                if count > min_frequency and (max_frequency < 0 or count < max_frequency)
            ),
            key=lambda pair: (-pair[1], pair[0]),
        )
        self._number_anew(dict(kept))

    def reverse(self, class_id: int) -> Any:
        """The category of a number.

        Raises:
          ValueError: If the vocabulary was made without.
        """
        if not self._support_reverse:
            raise BadValueError("TPU103", "This vocabulary was made without support_reverse.")
        return self._reverse_mapping[class_id]


class _Processor:
    """What can be fitted and then transforms."""

    def fit(self, x: Any) -> Any:
        """Learns from the inputs."""
        raise NotImplementedError

    def transform(self, x: Any) -> Iterator[Any]:
        """Rows of numbers."""
        raise NotImplementedError

    def fit_transform(self, x: Any, unused_y: Any = None) -> Iterator[Any]:
        """Both."""
        self.fit(x)
        return self.transform(x)


class VocabularyProcessor(_Processor):
    """Texts as rows of the numbers of their words.

    Args:
      max_document_length: Numbers in a row: longer texts are cut, shorter ones end with zeros.
      min_frequency: How often a word has to be exceeded; others are unknown.
      vocabulary: A :class:`CategoricalVocabulary`; a new one by default.
      tokenizer_fn: Makes the words of each text, from all of them; :func:`tokenizer` by default.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Counts the words, and freezes the vocabulary."""
        words = itertools.chain.from_iterable(self._tokenizer(raw_documents))
        # In the order in which they were first seen.
        for word, count in collections.Counter(words).items():
            self.vocabulary_.add(word, count)
        _finish([self.vocabulary_], self.min_frequency)
        return self

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """An int64 row for each text."""
        length = self.max_document_length
        for words in self._tokenizer(raw_documents):
            known = [self.vocabulary_.get(word) for word in itertools.islice(words, length)]
            yield np.array(known + [0] * (length - len(known)), np.int64)

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The words of each row, with spaces between."""
        return (" ".join(map(self.vocabulary_.reverse, row)) for row in documents)

    def save(self, filename: str) -> None:
        """Writes all of it to a file, by pickle."""
        with tf.compat.v1.gfile.Open(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> Any:
        """Reads what :meth:`save` wrote, here or in TensorFlow 1.15."""
        with tf.compat.v1.gfile.Open(filename, "rb") as file:
            return _Unpickler(io.BytesIO(file.read())).load()


class _Unpickler(pickle.Unpickler):
    """Finds the classes that TensorFlow 1.15 pickled."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(__name__ if module.startswith(_FORMER) else module, name)


class CategoricalProcessor(_Processor):
    """Rows of categories as rows of numbers, with a vocabulary for each column.

    Args:
      min_frequency: How often a category has to be exceeded; others are unknown.
      share: Whether the columns share one vocabulary.
      vocabularies: A :class:`CategoricalVocabulary` for each column; new ones by default.
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
        """No new categories from now on, or new ones again."""
        for vocabulary in self.vocabularies_ or ():
            vocabulary.freeze(freeze)

    def fit(self, x: Iterable[Any], unused_y: Any = None) -> CategoricalProcessor:
        """Counts the categories, and freezes the vocabularies; NaN is unknown."""
        for row in setup_processor_data_feeder(x):
            if self.vocabularies_ is None:
                one = CategoricalVocabulary()
                self.vocabularies_ = [one if self.share else CategoricalVocabulary() for _ in row]
            for vocabulary, value in zip(self.vocabularies_, row):
                if not _missing(value):
                    vocabulary.add(value)
        _finish(self.vocabularies_ or (), self.min_frequency)
        return self

    def transform(self, x: Iterable[Any]) -> Iterator[Any]:
        """An int64 row for each row."""
        self.freeze()
        for row in setup_processor_data_feeder(x):
            pairs = zip(self.vocabularies_ or (), row)
            yield np.array([0 if _missing(v) else of.get(v) for of, v in pairs], np.int64)


def _finish(vocabularies: Iterable[CategoricalVocabulary], min_frequency: int) -> None:
    """Trims and freezes vocabularies, each once."""
    for vocabulary in {id(each): each for each in vocabularies}.values():
        if min_frequency > 0:
            vocabulary.trim(min_frequency)
        vocabulary.freeze()


def _missing(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and math.isnan(value)


class ByteProcessor(_Processor):
    """Texts as rows of the bytes of their UTF-8.

    Args:
      max_document_length: Bytes in a row: longer texts are cut, shorter ones end with zeros.
    """

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> ByteProcessor:
        """Learns nothing."""
        return self

    def transform(self, x: Iterable[str | bytes]) -> Iterator[Any]:
        """A uint8 row for each text."""
        for text in x:
            encoded = text.encode("utf-8") if isinstance(text, str) else text
            cut = encoded[: self.max_document_length].ljust(self.max_document_length, b"\0")
            yield np.frombuffer(cut, np.uint8).copy()

    def reverse(self, x: Any) -> Iterator[str]:
        """The text of each row; empty where the bytes are none."""
        for row in x:
            try:
                yield np.asarray(row, np.uint8).tobytes().rstrip(b"\0").decode("utf-8")
            except UnicodeDecodeError:
                yield ""


def setup_processor_data_feeder(x: Any) -> Any:
    """The rows as they are; 1.15 made them of dask's frames."""
    return x
