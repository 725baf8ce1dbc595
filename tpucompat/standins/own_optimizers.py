"""Optimizers that scripts define as standalone Keras did: ``get_updates`` makes a list of updates.

Standalone Keras and, up to 1.13, tf.keras had such optimizers alone (keras/optimizers.py of Keras 2.2.4). What
``keras.optimizers.Optimizer`` is since then asks its subclasses for one variable's step. Keras' graph engine
still trains with the older kind; a class that is of that kind gets those base classes.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, cast

import numpy as np

from tpucompat.engines import session
from tpucompat.tf import patches, private

# A class that has one of them is written for today's base class, whatever else it has.
_OF_TODAY = ("_resource_apply_dense", "_resource_apply_sparse", "apply_gradients", "_create_slots")


@patches.patch
def accept_old_optimizers() -> None:
    """Lets subclasses of Keras' optimizers be of the older kind."""
    keras = session.keras_of_the_era()
    base = keras.optimizers.Optimizer
    first = private.first_keras_optimizers()
    if issubclass(base, first.Optimizer):
        return

    def prepare(cls: Any, **options: Any) -> None:
        super(base, cls).__init_subclass__(**options)
        if _makes_updates(cls):
            _rebase(cls, base, first, Restored)
            cls.get_updates = _restoring(cls.get_updates)

    class Restored(first.Optimizer):  # type: ignore[name-defined]
        """Takes the state of a file before there are variables for it, which ``get_updates`` makes.

        1.15 made the training function when it loaded a model (keras/saving/hdf5_format.py).
        """

        def _create_all_weights(self, params: Any) -> list[Any]:
            return list(self.weights)

        def set_weights(self, weights: list[Any]) -> None:
            if self.weights:
                super().set_weights(weights)
            else:
                self._restored = [np.array(weight) for weight in weights]  # the file is closed then

        def get_weights(self) -> list[Any]:
            return list(getattr(self, "_restored", ())) or list(super().get_weights())

    patches.replace(base, "__init_subclass__", classmethod(cast(Any, prepare)))


def _restoring(get_updates: Any) -> Any:
    @functools.wraps(get_updates)
    def restoring(self: Any, *args: Any, **kwargs: Any) -> Any:
        updates = get_updates(self, *args, **kwargs)
        if self.weights and "_restored" in vars(self):
            self.set_weights(vars(self).pop("_restored"))
        return updates

    return restoring


def _makes_updates(cls: type) -> bool:
    own = vars(cls)
    method = own.get("get_updates")
    if method is None or any(name in own for name in _OF_TODAY):
        return False
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and "updates" in code.co_names


def _rebase(cls: Any, base: type, first: Any, plain: type) -> Any:
    """The class with bases of the older kind; for one of Keras' own, the older one of that name."""
    if not issubclass(cls, base):
        return cls
    if private.is_of_keras(cls):
        known = (getattr(first, each.__name__, None) for each in cls.__mro__)
        found = next((each for each in known if inspect.isclass(each)), plain)
        return plain if found is first.Optimizer else found
    cls.__bases__ = tuple(_rebase(each, base, first, plain) for each in cls.__bases__)
    return cls
