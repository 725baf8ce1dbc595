"""``tf.contrib.learn``: what drove an Estimator, and data sets; its own Estimators are gone."""

from __future__ import annotations

from tpucompat.names.rows import Gone, Package, Row, StandIn

_OURS = "tpucompat.contrib.learn."
_MNIST = Package("tpucompat.contrib.learn_datasets")
_LEARN = Gone(
    "TPU101",
    "tf.contrib.learn was the forerunner of tf.estimator, and was removed with the Estimators and heads "
    "that belonged to it.",
    "Use tf.estimator: Estimator, train_and_evaluate, TrainSpec and EvalSpec. tpucompat provides Experiment, "
    "learn_runner, RunConfig and monitors of tf.contrib.learn.",
)

# The modules of ours that have the names of each old one.
_MODULES = {
    "experiment": "experiment",
    "export_strategy": "exports",
    "learn_runner": "runner",
    "monitors": "monitors",
    "estimators.run_config": "config",
    "preprocessing": "vocabularies",
    "preprocessing.categorical": "vocabularies",
    "preprocessing.categorical_vocabulary": "vocabularies",
    "preprocessing.text": "vocabularies",
    "utils": "exports",
    "utils.input_fn_utils": "exports",
    "utils.saved_model_export_utils": "exports",
}
_DATASETS = ("datasets", "datasets.base", "datasets.mnist")
# The names of the package itself.
_NAMES = {
    "config": ("ModeKeys", "RunConfig", "TaskType"),
    "experiment": ("Experiment",),
    "exports": (
        "ExportStrategy",
        "InputFnOps",
        "build_parsing_serving_input_fn",
        "make_export_strategy",
    ),
    "monitors": ("NanLossDuringTrainingError",),
}

ROWS: dict[str, Row] = {
    "contrib.learn": _LEARN,
    "contrib.learn.head": _LEARN,
    **{
        "contrib.learn." + name: StandIn(f"{_OURS}{module}:{name}")
        for module, names in _NAMES.items()
        for name in names
    },
    **{
        prefix + old: Package(_OURS + ours, rest=_LEARN)
        for old, ours in _MODULES.items()
        for prefix in ("contrib.learn.", "contrib.learn.python.learn.")
    },
    **{
        prefix + old: _MNIST
        for old in _DATASETS
        for prefix in ("contrib.learn.", "contrib.learn.python.learn.")
    },
    # Not of tf.contrib, but the same code under the name that most scripts knew.
    "examples.tutorials.mnist": _MNIST,
    "examples.tutorials.mnist.input_data": _MNIST,
}
