"""The arguments of TensorFlow's functions, as introspection told them up to 1.15.

TensorFlow's own Python had no annotations then; the operations that TensorFlow generates have them now (seen in
2.15 and 2.21: ``ops/gen_math_ops.py``). And many functions have been given further arguments, which a call need
not name. Libraries of the time compare a function's specification with that of their own function, as
TensorFlow Probability 0.8 does (``python/internal/prefer_static.py``).
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from tpucompat.base.late import late
from tpucompat.tf import private

tf = late("tensorflow")

#: Argument -> the functions that 1.15 had without it, by their own names; all have defaults (2.21's
#: specifications beside those of a real 1.15.5).
_LATER_ARGUMENTS = {
    "align": "matrix_diag matrix_diag_part matrix_set_diag",
    "alg": "stateless_random_normal stateless_random_uniform stateless_truncated_normal",
    "allow_fast_lookup": "embedding_lookup_sparse safe_embedding_lookup_sparse",
    "axis": "dequantize linspace_nd quantize quantize_and_dequantize bincount",
    "bad_indices_policy": "gather_nd scatter_nd tensor_scatter_add tensor_scatter_sub",
    "beta": "swish",
    "binary_output": "bincount",
    "blank_index": "ctc_greedy_decoder",
    "canonicalized_coordinates": "non_max_suppression_padded",
    "dct_method": "adjust_jpeg_quality",
    "dtype": "dequantize",
    "enable_large_batch_splitting": "batch_function",
    "ensure_minimum_range": "quantize",
    "exponential_avg_factor": "fused_batch_norm",
    "fallback_to_while_loop": "vectorized_map",
    "fn_output_signature": "map_fn",
    "grad_a": "matmul",
    "grad_b": "matmul",
    "index_type": "top_k",
    "layout": "fill ones ones_like zeros zeros_like",
    "narrow_range": "dequantize quantize",
    "output_type": "matmul",
    "perturb_singular": "tridiagonal_solve",
    "return_index_map": "ssim",
    "separator": "sparse_cross",
    "sorted_input": "non_max_suppression_padded",
    "sparse_gradient": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
    "stateful": "numpy_function",
    "tile_size": "non_max_suppression_padded",
    "warn": "vectorized_map",
}
#: Function and argument -> TensorFlow's type that was the default, which is found out now.
_EARLIER_DEFAULTS = {("shape", "out_type"): "int32", ("size", "out_type"): "int32"}
#: Function -> so many arguments had no default.
_REQUIRED = {"eager_py_func": 3, "numpy_function": 3}


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """``tf_inspect.getfullargspec``; of TensorFlow's functions without annotations and later arguments.

    Args:
      obj: A function, a method or another callable, decorated by TensorFlow or not.

    Returns:
      The specification of what is called first, as ``inspect.getfullargspec`` gives it.

    Raises:
      TypeError: If the arguments cannot be told.
    """
    spec = private.tf_inspect().getfullargspec(obj)
    return _as_in_115(obj, spec) if _is_tensorflows(obj) else spec


def specification(obj: Any) -> inspect.FullArgSpec:
    """``inspect.getfullargspec``, with TensorFlow's own functions as :func:`getfullargspec` tells them.

    Raises:
      TypeError: If the arguments cannot be told.
    """
    return getfullargspec(obj) if _is_tensorflows(obj) else inspect.getfullargspec(obj)


def _is_tensorflows(obj: Any) -> bool:
    # tensorflow_core is 1.15's and 2.0's name for it.
    return (getattr(obj, "__module__", None) or "").startswith(("tensorflow.", "tensorflow_core."))


def _as_in_115(obj: Any, spec: inspect.FullArgSpec) -> inspect.FullArgSpec:
    # The functions of TensorFlow 2 are called so where both generations have one.
    name = re.sub("_v2$", "", getattr(obj, "__name__", ""))
    required = _REQUIRED.get(name, len(spec.args) - len(spec.defaults or ()))
    defaults = (spec.defaults or ())[len(spec.defaults or ()) - len(spec.args) + required :]
    optional: dict[str, Any] = {}
    for argument, default in zip(spec.args[required:], defaults):
        if argument not in _LATER_ARGUMENTS or name not in _LATER_ARGUMENTS[argument].split():
            earlier = _EARLIER_DEFAULTS.get((name, argument))
            optional[argument] = getattr(tf, earlier) if earlier else default
    return spec._replace(
        args=[*spec.args[:required], *optional],
        defaults=tuple(optional.values()) or None,
        annotations={},
    )
