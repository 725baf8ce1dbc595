"""Where TPUEstimator's copied source is replaced: every name of TensorFlow's module that is not the copy's own.

:mod:`tpucompat.idioms.tpu_estimator.source` runs TensorFlow's ``tpu_estimator.py`` a second time, and puts
other objects under these names of it, seen in tensorflow-estimator 1.14.0, 1.15.1, 2.1.0, 2.3.0, 2.4.0,
2.6.0, 2.9.0, 2.12.0 and 2.15.0; ``tests/unit/test_estimator_seams.py`` looks for all of them.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple


class Seam(NamedTuple):
    """A name of the module that is replaced.

    Attributes:
      why: What stands there.
      since: The first release that has it, if 1.13 does not.
    """

    why: str
    since: str = ""


#: Name in the module, and below a class of it -> what is done there.
SEAMS: Mapping[str, Seam] = {
    "tpu_ops": Seam("the outfeed is a queue in the graph"),
    "tpu_feed": Seam("the infeed is a queue in the graph"),
    "tpu_embedding_gradient": Seam("gradients of tables are caught in the step", "1.14"),
    "_tpu_estimator_embedding": Seam("names of embedding columns' variables", "1.14"),
    "session_support": Seam("there is no TPU worker to watch"),
    "InstallSignalHandlerHook": Seam("a signal ends the loop after a step"),
    "_OpQueueContext.__init__": Seam("threads of the feeds end before the interpreter does"),
    "_check_add_preemption_hook": Seam("the original asks the cloud's metadata", "1.15"),
    "_sync_variables_ops": Seam("the Session's variables are those of the cores"),
    "_validate_tpu_training_graph": Seam("sums over the cores are other operations"),
    "_train_on_tpu_system": Seam("a step of one core, for the engine"),
    "_eval_on_tpu_system": Seam("a step of one core, for the engine"),
    "_predict_on_tpu_system": Seam("a step of one core, for the engine"),
    "_CapturingContext.AddOp": Seam("values of the cores are refused in a host call"),
    "error_handling": Seam("a closed Session is not the cause of an error"),
    "tpu_context": Seam("a model function is told the cores of its replicas"),
    "_ModelFnWrapper._call_model_fn": Seam("operations are counted as on one replica"),
    "_ModelFnWrapper._verify_tpu_spec_predictions": Seam("scalar predictions are refused"),
    "_InputPipeline._invoke_input_fn_and_record_structure": Seam("inputs of this worker's cores"),
    "_InputPipeline.InputsStructureRecorder.flatten_features_and_labels": Seam(
        "a type that is refused has the name of its feature"
    ),
    "TensorPacker.maybe_concatenate_features": Seam("nested features are left unchanged", "1.15"),
    "TPUInfeedOutfeedSessionHook.after_create_session": Seam("the feeds start with the Session"),
}


def exists(module: Any, name: str) -> bool:
    """Whether a module has a seam."""
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def replace(module: Any, name: str, value: Any) -> None:
    """Puts an object in the place of a seam.

    Args:
      module: The copy.
      name: A key of :data:`SEAMS`.
      value: What stands there from now on.
    """
    assert name in SEAMS, name
    *above, last = name.split(".")
    for part in above:
        module = getattr(module, part)
    setattr(module, last, value)
