"""The Keras model that ``keras_to_tpu_model`` returns.

Keras' own graph-mode training loops (fit, fit_generator, evaluate, predict, train_on_batch ...) do
the work. On one replica they run the script's own layers in the script's own graph and session; on
several replicas the functions that they call for every batch are replaced by replicated ones
(:mod:`tpucompat.idioms.keras_tpu.replicated_function`), which is the seam that TensorFlow 1.13's
``TPUFunction`` used.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tpucompat.base import errors, keras_generation
from tpucompat.engines import accelerator, observer, refusals, session
from tpucompat.idioms.keras_tpu import inputs as keras_inputs
from tpucompat.idioms.keras_tpu import replicated_function
from tpucompat.tf import private

_keras = keras_generation.graph_keras()
_Model: Any = _keras.Model


class KerasTPUModel(_Model):
    """A Keras model that trains on the cores of a TPU, or on whatever stands in for them.

    Follows ``KerasTPUModel`` of TensorFlow 1.13.1 and 1.15. Different on purpose: sample and class
    weights count (1.13 dropped them on the way to the TPU), a Dataset can be given as it is (its
    batches are global batches then), and saved files hold the trained optimizer's state.

    Args:
      cpu_model: A functional or Sequential model, compiled or not. Its layers are shared.
      strategy: The :class:`~tpucompat.idioms.keras_tpu.strategy.TPUDistributionStrategy` that tells the
        number of cores.

    Raises:
      tpucompat.base.errors.BadValueError: The model has no static graph of layers (TPU312).
    """

    def __init__(self, cpu_model: Any, strategy: Any) -> None:
        session.enter_graph_mode()
        if not cpu_model.inputs or not getattr(cpu_model, "_is_graph_network", True):
            raise errors.BadValueError(
                "TPU312",
                (
                    "Expected `model` argument to be a functional `Model` instance, but got "
                    f"{type(cpu_model).__name__!r}, whose inputs are unknown."
                ),
            )
        assignment = strategy._make_assignment_for_model(cpu_model)
        cores = assignment.num_towers
        inputs, outputs = cpu_model.inputs, cpu_model.outputs
        per_core_batch = keras_inputs.static_batch_size(cpu_model)
        problem: Exception | None = None
        context: Any = contextlib.ExitStack()  # None in particular.
        replicated = cores > 1 or accelerator.is_tpu()
        if observer.watched() or (replicated and keras_inputs.has_loops(cpu_model)):
            # As in 1.13, where the model was cloned inside tpu.rewrite: a TPU compiles the gradient
            # of a loop only if it was built for XLA.
            context = private.XlaContext()
        if isinstance(context, private.XlaContext) or (
            per_core_batch is not None and not cpu_model.stateful
        ):
            try:
                inputs, outputs = keras_inputs.rebuilt(cpu_model, context)
            except Exception as error:
                problem = error  # Told when a batch of another size comes, which may be never.
        super().__init__(inputs=inputs, outputs=outputs, name=cpu_model.name)
        batch = None  # The global batch of the cores; None in the script's own Session.
        if replicated or observer.watched():
            batch = replicated_function.GlobalBatch(self.outputs[0].graph, cores)
        # Past Keras' attribute tracking, which would make the wrapped model one more layer of this
        # one.
        for name, value in (
            ("_cpu_model", cpu_model),
            ("_tpu_assignment", assignment),
            ("_batch", batch),
            ("_context", context),
            ("_tpu_cluster_resolver", strategy._tpu_cluster_resolver),
            ("_per_core_batch", per_core_batch),
            ("_fixed_batch_problem", problem),
            ("_synced_loss_functions", None),
            # Names of the original that scripts reach into: here both models have the same weights.
            ("_tpu_model", self),
            ("_tpu_weights_initialized", True),
        ):
            object.__setattr__(self, name, value)
        if cpu_model.optimizer:
            self.compile(
                cpu_model.optimizer,
                cpu_model.loss,
                clone_metrics(cpu_model._compile_metrics),
                cpu_model.loss_weights,
                cpu_model.sample_weight_mode,
                clone_metrics(cpu_model._compile_weighted_metrics),
            )
            self._mark_synced()

    # What TensorFlow 1.13's class has beyond a Model ------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """The wrapped model, the address and the assignment of cores, as 1.13 answered."""
        resolver = self._tpu_cluster_resolver
        return {
            "cpu_model": self._cpu_model,
            "tpu_name_or_address": resolver.master() if resolver is not None else "",
            "tpu_assignment": self._tpu_assignment,
        }

    @property
    def cpu_optimizer(self) -> Any:
        """The optimizer of the plain model."""
        return self._cpu_model.optimizer or getattr(self, "optimizer", None)

    def sync_to_cpu(self) -> Any:
        """The plain Keras model with the trained weights, compiled as this one is."""
        optimizer = getattr(self, "optimizer", None)
        if optimizer and self._synced_loss_functions is not self.loss_functions:
            self._cpu_model.compile(
                optimizer,
                self.loss,
                clone_metrics(self._compile_metrics),
                self.loss_weights,
                self.sample_weight_mode,
                clone_metrics(self._compile_weighted_metrics),
            )
            self._mark_synced()
        return self._cpu_model

    def _mark_synced(self) -> None:
        # Every compile makes a new list of loss functions, also one that a script runs past this
        # class.
        object.__setattr__(self, "_synced_loss_functions", self.loss_functions)

    # What the plain model has beside its layers: add_loss and add_metric make layers of no output ----

    @property
    def losses(self) -> list[Any]:
        """The losses of the layers, and those that the script gave to the plain model."""
        plain = self.__dict__.get("_cpu_model")
        if plain is None:  # while the constructor runs
            return list(super().losses)
        own = _difference(self.layers, plain.layers)
        return [*plain.losses, *(loss for layer in own for loss in layer.losses)]

    @property
    def metrics(self) -> list[Any]:
        """The metrics of this model, and those that the script gave to the plain model."""
        return [*super().metrics, *self._plain_metrics()]

    @property
    def metrics_names(self) -> list[str]:
        """The names of the loss and the metrics; Keras of 1.15 takes them from its layers alone."""
        names = list(super().metrics_names)
        return names + [one.name for one in self._plain_metrics() if one.name not in names]

    def _plain_metrics(self) -> list[Any]:
        plain = self.__dict__.get("_cpu_model")
        others = _difference(plain.layers, self.layers) if plain else []
        return [metric for layer in others for metric in layer.metrics]

    # Weights and files: those of the plain model -----------------------------------------------

    def get_weights(self) -> Any:
        """The trained weights as a list of arrays."""
        return self._cpu_model.get_weights()

    def set_weights(self, weights: Any) -> None:
        """Sets the weights from a list of arrays."""
        self._cpu_model.set_weights(weights)

    def save_weights(self, *args: Any, **kwargs: Any) -> Any:
        """Saves the plain model's weights, as ``keras.Model.save_weights``."""
        return self._cpu_model.save_weights(*args, **kwargs)

    def load_weights(self, filepath: Any, by_name: bool = False, **kwargs: Any) -> Any:
        """Loads weights into the plain model, as ``keras.Model.load_weights``."""
        return self._cpu_model.load_weights(filepath, by_name=by_name, **kwargs)

    def save(self, *args: Any, **kwargs: Any) -> Any:
        """Saves the plain model, as ``keras.Model.save``."""
        return self.sync_to_cpu().save(*args, **kwargs)

    def to_json(self, **kwargs: Any) -> Any:
        """The plain model's architecture as JSON."""
        return self._cpu_model.to_json(**kwargs)

    def to_yaml(self, **kwargs: Any) -> Any:
        """The plain model's architecture as YAML, where Keras still writes it."""
        return self._cpu_model.to_yaml(**kwargs)

    # Training, evaluation, prediction: arguments prepared, the loops are Keras' -----------------

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        **kwargs: Any,
    ) -> None:
        """Compiles as ``keras.Model.compile``, for TensorFlow's and Keras' optimizers.

        Raises:
          tpucompat.base.errors.BadValueError: ``target_tensors`` on a TPU or with several cores (TPU311).
        """
        if target_tensors is not None and self._batch is not None:
            raise errors.BadValueError(
                "TPU311", "target_tensors is not supported for TPU execution."
            )
        optimizer = plain_optimizer(optimizer)
        private.track_tf_optimizer(optimizer)
        super().compile(
            optimizer,
            loss,
            metrics,
            loss_weights,
            sample_weight_mode,
            weighted_metrics,
            target_tensors,
            **kwargs,
        )

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Any = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: float | None = None,
        validation_steps: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Trains as ``keras.Model.fit``; ``x`` may also be a function that returns a Dataset."""
        given = x, validation_data
        kwargs.pop("_pipeline", None)  # 1.13: whether infeed and computation overlap.
        epochs = kwargs.pop("nb_epoch", epochs)  # Keras 1's name, which 1.15 takes instead.
        x, y, sample_weight = self._unwrapped(
            x, y, sample_weight, steps_per_epoch, "steps_per_epoch"
        )
        if keras_inputs.is_dataset_function(validation_data):
            validation_data = self._dataset(
                validation_data, None, validation_steps, "validation_steps"
            )
        elif keras_inputs.is_iterator(validation_data):
            validation_data = tuple(
                part for part in keras_inputs.unpack_iterator(validation_data) if part is not None
            )
        with keras_inputs.named_errors(), self._named_ends(*given):
            return super().fit(
                x,
                y,
                batch_size=batch_size,
                epochs=epochs,
                verbose=verbose,
                callbacks=callbacks,
                validation_split=validation_split,
                validation_data=validation_data,
                shuffle=shuffle,
                class_weight=class_weight,
                sample_weight=sample_weight,
                initial_epoch=initial_epoch,
                steps_per_epoch=keras_inputs.whole_steps(steps_per_epoch),
                validation_steps=keras_inputs.whole_steps(validation_steps),
                **kwargs,
            )

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Any = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Evaluates as ``keras.Model.evaluate``; ``x`` may be a function that returns a Dataset."""
        given = x
        x, y, sample_weight = self._unwrapped(x, y, sample_weight, steps, "steps")
        with keras_inputs.named_errors(), self._named_ends(given):
            return super().evaluate(
                x,
                y,
                batch_size=self._inferred_batch_size(x, batch_size, steps),
                verbose=verbose,
                sample_weight=sample_weight,
                steps=keras_inputs.whole_steps(steps),
                **kwargs,
            )

    def predict(
        self,
        x: Any,
        batch_size: Any = None,
        verbose: int = 0,
        steps: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Predicts as ``keras.Model.predict``; ``x`` may be a function that returns a Dataset."""
        given = x
        x, _, _ = self._unwrapped(x, None, None, steps, "steps")
        with keras_inputs.named_errors(), self._named_ends(given):
            return super().predict(
                x,
                batch_size=self._inferred_batch_size(x, batch_size, steps),
                verbose=verbose,
                steps=keras_inputs.whole_steps(steps),
                **kwargs,
            )

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: float | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """Trains on a generator's batches as ``keras.Model.fit_generator``."""
        with keras_inputs.named_errors():
            return super().fit_generator(
                generator,
                steps_per_epoch=keras_inputs.whole_steps(steps_per_epoch),
                epochs=epochs,
                verbose=verbose,
                callbacks=callbacks,
                validation_data=validation_data,
                validation_steps=keras_inputs.whole_steps(validation_steps),
                **kwargs,
            )

    def evaluate_generator(
        self, generator: Any, steps: float | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Evaluates on a generator's batches as ``keras.Model.evaluate_generator``."""
        with keras_inputs.named_errors():
            return super().evaluate_generator(
                generator, keras_inputs.whole_steps(steps), *args, **kwargs
            )

    def predict_generator(
        self, generator: Any, steps: float | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Predicts a generator's batches as ``keras.Model.predict_generator``."""
        with keras_inputs.named_errors():
            return super().predict_generator(
                generator, keras_inputs.whole_steps(steps), *args, **kwargs
            )

    def _standardize_user_data(self, *args: Any, **kwargs: Any) -> Any:
        """Every loop's way in for data; a misfit gets a code here."""
        with keras_inputs.named_shape_errors(self):
            x, y, weights = super()._standardize_user_data(*args, **kwargs)
        return (
            x,
            y,
            keras_inputs.weights_or_ones(weights, y, getattr(self, "_training_endpoints", ())),
        )

    def _compile_weights_loss_and_weighted_metrics(self, *args: Any, **kwargs: Any) -> Any:
        """Keras calls this when weights come for the first time: all functions are outdated then.

        Keras itself renews only the one that it is about to run; another would go on without
        weights, or take the learning phase for them.
        """
        super()._compile_weights_loss_and_weighted_metrics(*args, **kwargs)
        self.train_function = None
        self.test_function = None

    # Several replicas: the seams at which Keras builds loss, metrics and functions ---------------

    def _prepare_total_loss(self, masks: Any) -> Any:
        if self._batch is None:
            return super()._prepare_total_loss(masks)
        with self._batch.in_endpoints(self._training_endpoints):
            return super()._prepare_total_loss(self._batch.join_all(masks))

    def _handle_metrics(
        self,
        outputs: Any,
        targets: Any = None,
        sample_weights: Any = None,
        masks: Any = None,
        **kwargs: Any,
    ) -> Any:
        if self._batch is not None:
            join = self._batch.join_all
            outputs, targets, sample_weights, masks = map(
                join, (outputs, targets, sample_weights, masks)
            )
        return super()._handle_metrics(
            outputs,
            targets=targets,
            sample_weights=sample_weights,
            masks=masks,
            **kwargs,
        )

    def _make_train_function(self) -> Any:
        if self._batch is None:
            super()._make_train_function()
        else:
            cores = self._batch.cores
            averaged = replicated_function.averaged_gradients(self.optimizer, cores)
            with self._context, refusals.told(), averaged:
                super()._make_train_function()
        return self._adapted("train_function")

    def _make_test_function(self) -> Any:
        super()._make_test_function()
        return self._adapted("test_function")

    def _make_predict_function(self) -> Any:
        super()._make_predict_function()
        return self._adapted("predict_function")

    def _adapted(self, name: str) -> Any:
        """Puts a function that Keras has just built on the replicas."""
        function = getattr(self, name)
        if isinstance(function, (replicated_function.ReplicatedFunction, keras_inputs.FixedBatch)):
            return function
        if self._batch is not None:
            layers = [*self.layers, *self._cpu_model.layers]
            self._batch.count_together(metric for layer in layers for metric in layer.metrics)
            joins = name == "predict_function"
            function = replicated_function.ReplicatedFunction(function, self._batch, joins)
        if self._fixed_batch_problem is not None and self._per_core_batch is not None:
            size = self._per_core_batch * self._tpu_assignment.num_towers
            function = keras_inputs.FixedBatch(function, size, self._fixed_batch_problem)
        setattr(self, name, function)
        return function

    def _unwrapped(self, x: Any, y: Any, sample_weight: Any, steps: Any, steps_name: str) -> Any:
        if keras_inputs.is_dataset_function(x):
            return self._dataset(x, y, steps, steps_name), None, sample_weight
        if keras_inputs.is_iterator(x):
            return keras_inputs.unpack_iterator(x)
        return x, y, sample_weight

    def _dataset(self, function: Any, y: Any, steps: Any, steps_name: str) -> Any:
        return keras_inputs.dataset_from(
            function, y, steps, steps_name, self._tpu_assignment.num_towers
        )

    def _named_ends(self, *given: Any) -> Any:
        return keras_inputs.named_ends(given, self._tpu_assignment.num_towers)

    def _inferred_batch_size(self, x: Any, batch_size: Any, steps: Any) -> Any:
        """Where none is given, Keras takes the Input layer's static batch size for arrays."""
        if batch_size is not None or steps is not None or self._per_core_batch is None:
            return batch_size
        return self._per_core_batch if hasattr(_first(x), "shape") else None


def _first(x: Any) -> Any:
    if isinstance(x, dict):
        return next(iter(x.values()), None)
    if isinstance(x, (list, tuple)):
        return x[0] if x else None
    return x


def plain_optimizer(optimizer: Any) -> Any:
    """The optimizer inside a ``CrossShardOptimizer``: this model sums over the cores itself."""
    while any(base.__name__ == "CrossShardOptimizer" for base in type(optimizer).__mro__):
        optimizer = optimizer._opt
    return optimizer


def clone_optimizer(optimizer: Any, config: Any = None, worker_name: Any = None) -> Any:
    """A new Keras optimizer configured like the given one; others are returned as they are.

    ``_clone_optimizer`` of ``keras_support``, which scripts import that replace ``compile``.
    """
    del worker_name
    optimizer = plain_optimizer(optimizer)
    if not isinstance(optimizer, _keras.optimizers.Optimizer) or hasattr(optimizer, "optimizer"):
        return optimizer
    return type(optimizer).from_config(config or optimizer.get_config())


def clone_metrics(metrics: Any) -> Any:
    """Metrics for a second compile: objects are made again, since a metric belongs to one model."""
    if isinstance(metrics, dict):
        return {name: clone_metrics(metric) for name, metric in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [clone_metrics(metric) for metric in metrics]
    kind: Any = getattr(_keras.metrics, "Metric", ())  # 1.13 has functions alone
    if isinstance(metrics, kind):
        return type(metrics).from_config(metrics.get_config())
    return metrics


def _difference(layers: list[Any], others: list[Any]) -> list[Any]:
    """Those of ``layers`` that are none of ``others``; in one pass, since Keras asks at every step."""
    known = set(map(id, others))
    return [layer for layer in layers if id(layer) not in known]
