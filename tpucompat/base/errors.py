"""The errors that tpucompat raises: a code, the cause, the next step, where to read more."""

from __future__ import annotations

from tpucompat.base.codes import CODES


class TPUCompatError(Exception):
    """Base of all errors raised by tpucompat.

    Args:
      code: A key of :data:`tpucompat.base.codes.CODES`.
      cause: What happened here, in one sentence, with the names and numbers involved.
      next_step: What to do now; the code's general advice where nothing better is known.
    """

    #: AutoGraph hands on such an error as it is, and not as a StagingError with a trace of its own
    #: (``_attach_error_metadata`` in ``tensorflow/python/autograph/impl/api.py`` of 1.15 to 2.21).
    ag_pass_through = True

    def __init__(self, code: str, cause: str, next_step: str = "") -> None:
        self.code = code
        self.cause = cause
        self.next_step = next_step or CODES[code].what_to_do
        super().__init__(describe(code, cause, self.next_step))


class ScriptError(TPUCompatError):
    """The script given on the command line cannot be run at all."""


class SetupError(TPUCompatError, RuntimeError):
    """TensorFlow, Keras or the accelerator is missing, unusable or set up against each other."""


class GoneError(TPUCompatError, NotImplementedError):
    """A symbol of TensorFlow 1.x that has no counterpart was called."""


class UnknownNameError(TPUCompatError, AttributeError):
    """The old namespace has no such name."""


class UnknownModuleError(TPUCompatError, ImportError):
    """The old namespace has no such module or member; an ImportError, so that guarded imports still work."""


class MissingModuleError(UnknownModuleError, ModuleNotFoundError):
    """The old namespace has no such module: what Python raises of one, for guards that name it."""


class BadValueError(TPUCompatError, ValueError):
    """An argument that TensorFlow 1.x refused with a ValueError too."""


class AssertedError(TPUCompatError, AssertionError):
    """Something that TensorFlow 1.x asserted, and that does not hold."""


class UnevenBatchError(TPUCompatError, AssertionError):
    """A batch that the cores cannot share; TensorFlow 1.13 asserted that they can."""


class BadTypeError(TPUCompatError, TypeError):
    """An argument that TensorFlow 1.x refused with a TypeError too."""


class RefusedError(TPUCompatError, RuntimeError):
    """Something that TensorFlow 1.x refused with a RuntimeError too."""


class UnsupportedGraphError(TPUCompatError, NotImplementedError):
    """A TPU computation holds something that cannot be run on several replicas.

    Attributes:
      operation: The name of the operation, and of the library function that it is in ("" for none);
        None if it is not a single one.
    """

    operation: tuple[str, str] | None = None

    def at(self, operation: str, function: str = "") -> UnsupportedGraphError:
        """The error, which knows its operation."""
        self.operation = operation, function
        return self


class UninitializedError(TPUCompatError, RuntimeError):
    """A variable is used that has no value yet."""


class LostWorkerError(TPUCompatError, RuntimeError):
    """The workers of a training are no longer together."""


class StoppedTraining(KeyboardInterrupt):
    """Ctrl-C has ended a training in order; its text says at which step, and where it is saved."""


def describe(code: str, cause: str, next_step: str) -> str:
    """The text of an error or notice: code and cause, next step, where to read more."""
    return f"{code} {cause}\n  Next: {next_step}\n  More: tpucompat explain {code}"
