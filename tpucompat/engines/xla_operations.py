"""Which operations a TPU has: the table, and what is said of an operation that it does not support."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Iterator, NamedTuple, Sequence

from tpucompat.base.late import late
from tpucompat.engines import graphdef, sums
from tpucompat.engines.host_parts import is_marked

tf = late("tensorflow")


class Finding(NamedTuple):
    """Something of a computation that a TPU cannot compile, or that deserves a look.

    Attributes:
      code: A key of :data:`tpucompat.base.codes.CODES`.
      text: What it is, with the operation's type and name.
      operation: The name of the operation in the traced graph; "" where there is none.
      function: The name of the library function that the operation is in; "" for none.
      line: "script.py:12", where it was made; "" if that is not known.
      source: The text of that line.
      instead: What to write instead.
    """

    code: str
    text: str
    operation: str = ""
    function: str = ""
    line: str = ""
    source: str = ""
    instead: str = ""


class Kind(NamedTuple):
    """Operations that are unsupported on TPU, what they do, and what to write instead."""

    code: str
    pattern: Any
    what: str
    instead: str


_KINDS = tuple(
    Kind(code, re.compile(pattern + r"\Z"), what, instead)
    for code, pattern, what, instead in (
        (
            "TPU371",
            "PyFunc|PyFuncStateless|EagerPyFunc",
            "runs Python code, which needs the host",
            (
                "compute it in the input function, use TensorFlow operations instead, or "
                "pass the value to the host with tf.contrib.tpu.outside_compilation or "
                "host_call"
            ),
        ),
        (
            "TPU384",
            "(Scalar|Histogram|Image|Audio|Tensor|Merge|WriteS|WriteScalarS|WriteHistogramS|"
            "WriteImageS|WriteAudioS|WriteRawProtoS)[Ss]?ummary.*|.*Summary(V2)?",
            "writes a summary, which needs the host",
            "return the value, and write the summary in host_call (TPUEstimator), in a callback "
            "(Keras) or after Session.run",
        ),
        (
            "TPU385",
            "Print|PrintV2|StringFormat",
            "prints, which needs the host",
            "remove it, or return the value and print it in host_call",
        ),
        (
            "TPU383",
            "String.*|Regex.*|DecodeRaw|DecodeCSV|DecodeBase64|EncodeBase64|AsString|Substr|"
            "ReduceJoin|Parse.*|Decode(Jpeg|Png|Image|Gif|Bmp|Wav|AndCropJpeg|Proto.*)|ReadFile|"
            "WriteFile|MatchingFiles|Unicode.*|SdcaFprint|JoinStrings",
            "processes strings or files, which TPUs do not support",
            "do this in the input function, which runs on the host CPU, and feed numbers",
        ),
        (
            "TPU386",
            "(Mutable)?(Dense)?HashTable.*|LookupTable.*|InitializeTable.*|.*Queue.*|.*Iterator.*|"
            "OneShot.*|.*Dataset.*|Barrier.*|Stage|Unstage|MapStage.*|.*Reader.*",
            "uses a table, a queue or an iterator, which live on the host",
            "look up words and read data in the input function, and feed the results",
        ),
        (
            "TPU387",
            "Sparse.*|SerializeSparse|DeserializeSparse|AddSparse.*|TakeManySparse.*|Ragged.*|"
            "EditDistance|CTC.*",
            "processes a sparse or ragged value, whose size is unknown at compile time",
            "make it dense with a fixed size in the input function (tf.sparse.to_dense, padding)",
        ),
        (
            "TPU388",
            "Unique.*|Where|BooleanMask|SetDiff1D|ListDiff|NonMaxSuppression(V2|V3|V5)?|"
            "NonMaxSuppressionWithOverlaps|DynamicPartition|Dynamic.*|DrawBoundingBoxes|"
            "SampleDistorted.*|GenerateVocab.*|.*CandidateSampler|DenseToDenseSet.*|Segment(M|P|S).*|"
            "BoostedTrees.*|Multinomial",
            "has a data-dependent output size, or no kernel with a fixed size",
            "keep the size fixed: tf.where(mask, x, 0) with three arguments instead of "
            "boolean_mask, tf.nn.top_k, or the padded form of the operation",
        ),
        (
            "TPU389",
            "Variable|VariableV2|TemporaryVariable|Assign|AssignAdd|AssignSub|Scatter(Add|Sub|"
            "Update|Mul|Div|Min|Max)|Apply(?!.*Resource).*|SparseApply.*",
            "uses a reference variable",
            "create the variable with tf.get_variable(..., use_resource=True)",
        ),
    )
)
_OTHER = Kind(
    "TPU381",
    None,
    "is unsupported on TPU",
    (
        "replace it with supported operations, compute it in the input function, or run it "
        "on the host with tf.contrib.tpu.outside_compilation"
    ),
)

# Operations for which a TPU has others that compute the same.
_OTHERS = tuple(
    (re.compile(pattern + r"\Z"), instead)
    for pattern, instead in (
        (
            "Segment(Max|Mean|Min|Prod|Sum)",
            "use tf.math.unsorted_segment_max, _mean, _min, _prod or _sum, which is given the number of "
            "segments",
        ),
        (
            "SparseSegment(Mean|Sum|SqrtN)(WithNumSegments)?",
            "use tf.gather and tf.math.unsorted_segment_mean, _sum or _sqrt_n",
        ),
        ("BesselI[01]", "use tf.math.bessel_i0e(x) * tf.exp(tf.abs(x)); bessel_i1e for bessel_i1"),
        ("EuclideanNorm", "use tf.norm or tf.sqrt(tf.reduce_sum(tf.square(x), axis))"),
        ("ResourceApplyAdamWithAmsgrad", "use Adam without amsgrad"),
    )
)

# What a computation's graph holds and a compiler never sees.
_STRUCTURE = frozenset(
    [
        "Placeholder",
        "PlaceholderWithDefault",
        "VarHandleOp",
        "TPUReplicateMetadata",
        "TPUReplicatedInput",
        "TPUReplicatedOutput",
        "TPUCompilationResult",
        "InfeedDequeue",
        "InfeedDequeueTuple",
        "OutfeedEnqueue",
        "OutfeedEnqueueTuple",
        "XlaHostCompute",
        "ControlTrigger",
        "NoOp",
    ]
)
# TF 1's own loops and conditionals become XLA's before anything is compiled.
_FLOW = frozenset(
    [
        "Enter",
        "Exit",
        "Switch",
        "Merge",
        "NextIteration",
        "LoopCond",
        "RefEnter",
        "RefExit",
        "RefSwitch",
        "RefMerge",
        "RefNextIteration",
    ]
)


@functools.lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The table as it was written by ``tools/list_xla_operations.py``."""
    with open(
        os.path.join(os.path.dirname(__file__), "xla_operations.json"), encoding="utf-8"
    ) as text:
        return dict(json.load(text))


def on_tpu_only() -> frozenset[str]:
    """The operations that a TPU supports, and XLA's compiler for a CPU does not."""
    return frozenset(table()["not_on_cpu"])


def kind_of(operation: str) -> Kind:
    """What is said of an operation of this type that a TPU does not support."""
    kind = next((kind for kind in _KINDS if kind.pattern.match(operation)), _OTHER)
    for pattern, instead in _OTHERS:
        if pattern.match(operation):
            return kind._replace(instead=instead)
    return kind


def nodes_of(graph_def: Any) -> Iterator[tuple[str, Any]]:
    """All nodes of a graph: ("" or the library function that it is in, the node)."""
    for node in graph_def.node:
        yield "", node
    for function in graph_def.library.function:
        for node in function.node_def:
            yield function.signature.name, node


def refused(graph_def: Any) -> list[Finding]:
    """What a TPU has no kernel for.

    Args:
      graph_def: The computation, with no more functions than it calls.
    """
    functions = {function.signature.name for function in graph_def.library.function}
    return [
        finding
        for where, node in nodes_of(graph_def)
        if node.op not in functions
        for finding in _check(where, node)
    ]


def _check(where: str, node: Any) -> Sequence[Finding]:
    if node.op in _STRUCTURE or node.op in _FLOW or sums.is_call(node) or is_marked(node):
        return ()
    kernels = table()["operations"].get(node.op)
    if kernels is None:
        kind = kind_of(node.op)
        text = f"{node.op} ({node.name}) {kind.what}"
        return (Finding(kind.code, text, node.name, where, instead=kind.instead),)
    complaints = [_wrong_type(node, kernel) for kernel in kernels]
    if all(complaints):
        text = f"{node.op} ({node.name}) is unsupported on TPU for {complaints[0]}"
        code, instead = _for_type(complaints[0])
        return (Finding(code, text, node.name, where, instead=instead),)
    return ()


def _for_type(name: str) -> tuple[str, str]:
    if name == "string":
        kind = next(kind for kind in _KINDS if kind.code == "TPU383")
        return kind.code, kind.instead
    return "TPU390", "cast to float32, bfloat16, int32 or another supported dtype"


def _wrong_type(node: Any, kernel: dict[str, int]) -> str:
    """The first type of a node that a kernel does not take; "" if it takes all."""
    for attr, number in kernel.items():
        if attr not in node.attr:
            continue
        value = node.attr[attr]
        for kind in [value.type] if value.type else value.list.type:
            name = tf.as_dtype(kind).name
            if name not in table()["types"][number]:
                return str(name)
    return ""


def calls(graph_def: Any) -> Any:
    """A graph's library without the functions that it does not call."""
    return graphdef.reachable(graph_def.library, graph_def.node)
