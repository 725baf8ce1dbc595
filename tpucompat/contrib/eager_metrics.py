"""``tf.contrib.eager.metrics``: metrics that are called with a batch and give their ``result()``.

Behaviour follows tensorflow/contrib/eager/python/metrics_impl.py of TensorFlow 1.15: sums are kept in
float64 unless told otherwise, by resource variables among the local ones of a graph.
"""

from __future__ import annotations

import re
from typing import Any, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.tf import private

__all__ = ["Accuracy", "Mean", "Metric"]


class Metric(private.trackable_class()):  # type: ignore[misc]
    """A state that batches are added to, eagerly or in a graph.

    Calling a metric with a batch makes its variables where there are none yet (``build``) and adds the
    batch (``call``). In a graph that is one operation, and ``init_variables()`` has to run before.

    Args:
      name: What its variables and its summary are called; the class's name where it is None.
      use_global_variables: Whether the variables of a graph are global ones, and not local ones.
    """

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._built = False
        self._vars: list[Any] = []
        self._starts: list[Any] = []
        self._use_global_variables = use_global_variables
        name = name or type(self).__name__
        prefix = re.sub("[^A-Za-z0-9.]", "_", name)
        with tf.variable_scope(prefix, use_resource=True, reuse=False) as scope:
            found = scope.name.rfind(prefix)
            self._name = name + scope.name[found + len(prefix) :]
            self._scope = scope
        # Where the metric is called from may be another graph, such as a function's.
        self._world = (
            private.eager_mode if tf.executing_eagerly() else tf.get_default_graph().as_default
        )
        build = self.build

        def build_once(*args: Any, **kwargs: Any) -> None:
            build(*args, **kwargs)
            self._built = True

        self.build = build_once  # type: ignore[method-assign]
        if not tf.executing_eagerly():
            # Updates of a function happen in the order in which they are written, and all of them.
            self.call = tf.function(  # type: ignore[method-assign]
                self.call, autograph=False
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch; gives what ``call`` does, in a graph as tensors that make the update."""
        self._make_variables_for(args, kwargs)
        return self.call(*args, **kwargs)

    def _make_variables_for(self, args: Any, kwargs: Any) -> None:
        if self._built:
            return
        with tf.variable_scope(self._scope), self._world():
            self.build(*args, **kwargs)

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self._name

    @property
    def variables(self) -> list[Any]:
        """The variables that hold the state."""
        return self._vars

    def init_variables(self) -> Any:
        """Sets the state back: at once where execution is eager, else by the operation that it gives."""
        if tf.executing_eagerly():
            for variable, start in zip(self._vars, self._starts):
                variable.assign(start)
            return None
        return tf.group([variable.initializer for variable in self._vars])

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables, by :meth:`add_variable`; a subclass has it.

        Args:
          args: What the metric was called with first.
          kwargs: The same.
        """
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch to the variables; a subclass has it.

        Args:
          args: The batch.
          kwargs: The same.
        """
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """The value of the metric; a subclass has it."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Any:
        """The result as a tensor of the graph; where execution is eager, the function that computes it."""
        return self.result if tf.executing_eagerly() else self.result()

    def aggregate(self, metrics: Sequence[Metric]) -> None:
        """Adds the state of other metrics of the same class.

        Args:
          metrics: The others, whose variables were made in the same order.

        Raises:
          TypeError: One is of another class.
          ValueError: Its variables have other names.
        """
        for other in metrics:
            if type(other) is not type(self):
                raise TypeError(
                    f"All metrics must be the same type, '{type(self)}' != '{type(other)}'."
                )
        for place, variable in enumerate(self._vars):
            others = [other._vars[place] for other in metrics]
            if any(other.name != variable.name for other in others):
                raise ValueError("All metrics must have variables in the same order.")
            variable.assign_add(tf.add_n([other.read_value() for other in others]))

    def add_variable(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None
    ) -> Any:
        """Makes a variable of the state, which a checkpoint of the metric holds; for ``build``.

        Args:
          name: Its name below the metric's.
          shape: Its shape.
          dtype: Its type.
          initializer: Where it starts from.

        Raises:
          RuntimeError: The metric is built already.
        """
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        collections = None
        if not tf.executing_eagerly():
            keys = tf.GraphKeys
            shared = self._use_global_variables
            collections = [keys.GLOBAL_VARIABLES if shared else keys.LOCAL_VARIABLES]
            collections.append(keys.METRIC_VARIABLES)
        variable = self._add_variable_with_custom_getter(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=False,
            collections=collections,
            use_resource=True,
            getter=tf.get_variable,
            overwrite=True,  # a name that is there twice is tf.get_variable's error
        )
        self._vars.append(variable)
        if tf.executing_eagerly():
            self._starts.append(tf.identity(variable))
        return variable


class Mean(Metric):
    """The mean of values, weighted or not.

    Args:
      name: See :class:`Metric`.
      dtype: Of the sums and of the result.
      use_global_variables: See :class:`Metric`.
    """

    def __init__(
        self, name: str | None = None, dtype: Any = tf.float64, use_global_variables: bool = False
    ) -> None:
        super().__init__(name=name, use_global_variables=use_global_variables)
        self.dtype = dtype

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the sums of values and of weights."""
        self.numer, self.denom = map(self._sum_from_zero, ("numer", "denom"))

    def _sum_from_zero(self, name: str) -> Any:
        return self.add_variable(name, (), self.dtype, tf.zeros_initializer)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Adds values.

        Args:
          values: Of any shape.
          weights: One for each value, or of a shape that broadcasts; 1 where it is None.

        Returns:
          The sum of the values, or the weighted values and the weights, so that calls can be chained.
        """
        number, amount, given = self._counted(values, weights)
        self.denom.assign_add(tf.cast(number, self.dtype))
        self.numer.assign_add(tf.cast(amount, self.dtype))
        return given

    def _counted(self, values: Any, weights: Any) -> tuple[Any, Any, Any]:
        """How many values there are, or how much they weigh; their sum; and what the call returns."""
        if weights is None:
            total = tf.reduce_sum(values)
            return tf.size(values), total, total
        weights = tf.cast(weights, self.dtype)
        weighted = tf.cast(values, self.dtype) * weights
        return tf.reduce_sum(weights), tf.reduce_sum(weighted), (weighted, weights)

    def result(self, write_summary: Any = True) -> Any:
        """The mean so far, a scalar of the metric's type.

        Args:
          write_summary: Whether the default summary writer gets it too; True, False or such a tensor.
        """
        mean = self.numer / self.denom

        def write() -> Any:
            private.summary_ops_v2().scalar(name=self.name, tensor=mean)
            return mean

        private.smart_cond(tf.convert_to_tensor(write_summary), write, lambda: mean)
        return mean


class Accuracy(Mean):
    """How often predictions equal labels of the same shape and type.

    Args:
      name: See :class:`Metric`.
      dtype: Of the result.
    """

    def __init__(self, name: str | None = None, dtype: Any = tf.float64) -> None:
        super().__init__(name, dtype)

    def call(  # type: ignore[override]
        self, labels: Any, predictions: Any, weights: Any = None
    ) -> Any:
        """Adds a batch.

        Args:
          labels: What is right.
          predictions: What was said.
          weights: One for each example; 1 where it is None.

        Returns:
          The arguments, without the weights where they are None.
        """
        given = [each for each in (labels, predictions, weights) if each is not None]
        tf.assert_equal(
            *map(tf.shape, given[:2]), message="Shapes of labels and predictions are unequal"
        )
        super().call(tf.cast(tf.equal(labels, predictions), self.dtype), weights)
        return tuple(given)
