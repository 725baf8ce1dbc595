"""``tf.contrib.image``: transformations of ours; what needed a compiled operation is gone."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.contrib.image"


def _compiled(instead: str) -> Gone:
    return Gone(
        "TPU101",
        "It was a native tf.contrib operation, which TensorFlow 2 does not have.",
        instead,
    )


ROWS: dict[str, Row] = {
    "contrib.image": Package(_OURS),
    **{
        "contrib.image." + name: StandIn(_OURS + ":" + name)
        for name in (
            "angles_to_projective_transforms",
            "compose_transforms",
            "flat_transforms_to_matrices",
            "matrices_to_flat_transforms",
            "rotate",
            "transform",
            "translate",
            "translations_to_projective_transforms",
        )
    },
    "contrib.image.bipartite_match": _compiled("Use scipy.optimize.linear_sum_assignment."),
    "contrib.image.connected_components": _compiled("Use scipy.ndimage.label in a tf.py_func."),
    "contrib.image.single_image_random_dot_stereograms": _compiled("Make the picture by NumPy."),
    **{
        "contrib.image." + name: StandIn(_OURS + "_colors:" + name)
        for name in ("adjust_hsv_in_yiq", "random_hsv_in_yiq")
    },
}
