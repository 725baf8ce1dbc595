"""What an exported model is asked: random numbers, pictures and examples in protocol buffers."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple

import numpy as np

from tpucompat.base.late import late

tf = late("tensorflow")

#: Examples in a question.
EXAMPLES = 8
#: Numbers in a feature of any length.
_LENGTH = 3
#: Height and width of a picture.
_SIZE = 8
_PARSERS = frozenset(("ParseExample", "ParseExampleV2", "ParseSingleExample"))
_WORDS = (b"a", b"b")


class Feature(NamedTuple):
    """What a model reads from an example.

    Attributes:
      dtype: Of its values, a number of TensorFlow's.
      shape: Of them; None for any number of them.
    """

    dtype: int
    shape: tuple[int, ...] | None


class Texts(NamedTuple):
    """What a model does with text that it is given.

    Attributes:
      features: Name -> what it reads from an example; empty if it parses none.
      pictures: Whether it decodes pictures.
    """

    features: Mapping[str, Feature]
    pictures: bool


def texts_of(graph: Any) -> Texts:
    """What a graph does with text."""
    definition = graph.as_graph_def()
    features: dict[str, Feature] = {}
    pictures = False
    for nodes in (definition.node, *(one.node_def for one in definition.library.function)):
        known = {node.name: node for node in nodes}
        for node in nodes:
            pictures = pictures or node.op.startswith("Decode")
            if node.op in _PARSERS:
                features.update(_features(node, known))
    return Texts(features, pictures)


def _features(node: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, Feature]]:
    attributes = node.attr
    types = [list(attributes[name].list.type) for name in ("sparse_types", "Tdense")]
    if node.op == "ParseSingleExample":
        names = [list(attributes[name].list.s) for name in ("sparse_keys", "dense_keys")]
    elif node.op == "ParseExampleV2":
        names = [_constant(node.input[index], known) for index in (2, 3)]
    else:
        keys = [each for name in node.input[2:] for each in _constant(name, known)[:1]]
        first = len(types[0])
        names = [keys[:first], keys[first : first + len(types[1])]]
    shapes = [
        tuple(_LENGTH if dim.size < 0 else dim.size for dim in shape.dim)
        for shape in attributes["dense_shapes"].list.shape
    ]
    for name, dtype in zip(names[0], types[0]):
        yield name.decode(), Feature(dtype, None)
    for name, dtype, shape in zip(names[1], types[1], shapes):
        yield name.decode(), Feature(dtype, shape)


def _constant(name: str, known: Mapping[str, Any]) -> list[bytes]:
    node = known.get(name.partition(":")[0].lstrip("^"))
    if node is None or node.op != "Const":
        return []
    return [bytes(each) for each in np.ravel(tf.make_ndarray(node.attr["value"].tensor))]


def question(spec: Any, rng: np.random.RandomState, texts: Texts | None = None) -> np.ndarray:
    """What fits an input, the same for equal inputs.

    Args:
      spec: Of the input.
      rng: Decides on the numbers.
      texts: What the model does with text.
    """
    sizes = tf.TensorShape(spec.shape).as_list()
    shape = [EXAMPLES if size is None else size for size in sizes]
    dtype = tf.as_dtype(spec.dtype)
    if dtype == tf.string:
        count = int(np.prod(shape))
        return np.array([_text(texts, rng) for _ in range(count)], object).reshape(shape)
    return _numbers(dtype, shape, rng)


def _numbers(dtype: Any, shape: Any, rng: np.random.RandomState) -> np.ndarray:
    if dtype.is_floating:
        return rng.uniform(size=shape).astype(dtype.as_numpy_dtype)
    return rng.randint(0, 2, size=shape).astype(dtype.as_numpy_dtype)


def _text(texts: Texts | None, rng: np.random.RandomState) -> bytes:
    if texts is not None and texts.features:
        return _example(texts, rng)
    if texts is not None and texts.pictures:
        return _picture(rng)
    return _WORDS[rng.randint(len(_WORDS))]


def _picture(rng: np.random.RandomState) -> bytes:
    pixels = rng.randint(0, 256, size=(_SIZE, _SIZE, 3)).astype(np.uint8)
    return bytes(tf.io.encode_png(pixels).numpy())


def _example(texts: Texts, rng: np.random.RandomState) -> bytes:
    example = tf.train.Example()
    for name, feature in sorted(texts.features.items()):
        dtype = tf.as_dtype(feature.dtype)
        shape = (_LENGTH,) if feature.shape is None else feature.shape
        held = example.features.feature[name]
        if dtype == tf.string:
            for _ in range(int(np.prod(shape))):
                text = _picture(rng) if texts.pictures else _WORDS[rng.randint(len(_WORDS))]
                held.bytes_list.value.append(text)
            continue
        numbers = np.ravel(_numbers(dtype, shape, rng)).tolist()
        (held.float_list if dtype.is_floating else held.int64_list).value.extend(numbers)
    return bytes(example.SerializeToString())


def form_of(feature: Feature) -> list[Any]:
    """A feature's type, and its shape, as a tensor's are told."""
    shape = None if feature.shape is None else list(feature.shape)
    return [tf.as_dtype(feature.dtype).name, shape]
