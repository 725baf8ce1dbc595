"""``tf.contrib.opt``: optimizers on TensorFlow's own kernels, with TensorFlow 1.15's update rules.

Behaviour follows tensorflow/contrib/opt/python/training of TensorFlow 1.15, file by file as named
below. Slot and variable names are those of 1.15, so that checkpoints fit.
"""

from __future__ import annotations

import contextlib
import math
import types
from typing import Any, Callable, Iterator, Sequence

import tensorflow.compat.v1 as tf

from tpucompat.errors import BadTypeError, BadValueError

# Reads a hyperparameter that may be a function.
_Number = Any


def _value(number: _Number) -> Any:
    return number() if callable(number) else number


def _cast(number: Any, var: Any) -> Any:
    return tf.cast(number, var.dtype.base_dtype)


def _kernel(name: str, var: Any, slots: dict[str, Any], **inputs: Any) -> Any:
    """Runs an optimizer's kernel on a variable and its slots, of either kind of variable."""
    if var.dtype == var.dtype.base_dtype:
        handles = {slot: variable.handle for slot, variable in slots.items()}
        return getattr(tf.raw_ops, "Resource" + name)(var=var.handle, **handles, **inputs)
    references = {slot: variable._ref() for slot, variable in slots.items()}
    return getattr(tf.raw_ops, name)(var=var._ref(), **references, **inputs).op


class _BothKinds(tf.train.Optimizer):
    """An optimizer whose two methods serve resource variables and reference variables alike."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)


# Decoupled weight decay (weight_decay_optimizers.py) ----------------------------------------------


class DecoupledWeightDecayExtension:
    """Adds the weight decay of Loshchilov and Hutter to an optimizer, which comes second as a base
    class.

    Before each update a variable loses ``weight_decay`` times itself. As in TensorFlow 1.15,
    ``decay_var_list`` works in ``apply_gradients``; ``minimize`` takes it too and then decays all
    variables, because it goes through ``apply_gradients`` without it.

    Args:
      weight_decay: The factor: a number, a tensor or a function that returns one. It is not
        multiplied by the learning rate.
      **kwargs: Of the optimizer.
    """

    _use_locking: bool

    def __init__(self, weight_decay: _Number, **kwargs: Any) -> None:
        self._decay_var_list: Sequence[Any] = ()
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Like the optimizer's own; ``decay_var_list`` has no effect, as in TensorFlow 1.15."""
        return super().minimize(  # type: ignore[misc]
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Like the optimizer's own; the variables of ``decay_var_list`` decay, all by default."""
        self._decay_var_list = list(decay_var_list or ())
        grads_and_vars = list(grads_and_vars)
        gradients = [gradient for gradient, _ in grads_and_vars if gradient is not None]
        # TensorFlow 1.15 let a variable decay while gradients were still being computed from it, so
        # that the result depended on the order in which a machine ran the two.
        with tf.control_dependencies(gradients):
            return super().apply_gradients(  # type: ignore[misc]
                grads_and_vars, global_step=global_step, name=name
            )

    def _decays(self, var: Any) -> bool:
        return not self._decay_var_list or any(var is chosen for chosen in self._decay_var_list)

    @contextlib.contextmanager
    def _decayed(self, var: Any, indices: Any = None) -> Iterator[None]:
        """A scope in which operations run after the variable, or some of its rows, have decayed."""
        if not self._decays(var):
            yield
            return
        decay = _value(self._weight_decay)
        if indices is None:
            decayed = var.assign_sub(decay * var, self._use_locking)
        else:
            rows = tf.IndexedSlices(decay * tf.gather(var, indices), indices)
            decayed = var.scatter_sub(rows)
        with tf.control_dependencies([decayed]):
            yield

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with self._decayed(var):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        with self._decayed(var):
            return super()._resource_apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with self._decayed(var, grad.indices):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        with self._decayed(var, indices):
            return super()._resource_apply_sparse(grad, var, indices)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """An optimizer class with weight decay; its first argument is ``weight_decay``.

    Args:
      base_optimizer: The class to extend.

    Returns:
      A subclass of :class:`DecoupledWeightDecayExtension` and of it.
    """

    class OptimizerWithDecoupledWeightDecay(
        DecoupledWeightDecayExtension,
        base_optimizer,
    ):
        """The base optimizer with decoupled weight decay."""

        def __init__(self, weight_decay: _Number, *args: Any, **kwargs: Any) -> None:
            self._decay_var_list = ()
            self._weight_decay = weight_decay
            base_optimizer.__init__(self, *args, **kwargs)  # type: ignore[misc]

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with decoupled weight decay; the arguments are those of ``tf.train.AdamOptimizer``."""

    def __init__(
        self,
        weight_decay: _Number,
        learning_rate: _Number = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with decoupled weight decay; the arguments are ``tf.train.MomentumOptimizer``'s."""

    def __init__(
        self,
        weight_decay: _Number,
        learning_rate: _Number,
        momentum: _Number,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


# Layer-wise learning rates (lars_optimizer.py)
# -----------------------------------------------------


class LARSOptimizer(_BothKinds):
    """Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017).

    The learning rate of a variable is multiplied by ``eeta * |w| / (|g| + weight_decay * |w| +
    epsilon)``, or by 1 where a norm is zero.

    Args:
      learning_rate: The common rate, before scaling.
      momentum: Of the update.
      weight_decay: Times the variable is added to its gradient.
      eeta: The coefficient of the scaling.
      epsilon: Added to its denominator.
      name: Of the optimizer.
      skip_list: Variables whose names contain one of these words are neither scaled nor decayed.
      use_nesterov: Whether the momentum is Nesterov's.

    Raises:
      ValueError: If ``momentum`` or ``weight_decay`` is negative.
    """

    def __init__(
        self,
        learning_rate: _Number,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise BadValueError("TPU103", f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise BadValueError("TPU103", f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = tf.convert_to_tensor(_value(self._learning_rate))
        self._momentum_tensor = tf.convert_to_tensor(_value(self._momentum))

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """The learning rate of a variable, and its gradient with the weight decay added."""
        rate = _value(self._learning_rate)
        if self._skip_list is not None and any(word in var.name for word in self._skip_list):
            return rate, grad
        w_norm = tf.norm(var, ord=2)
        g_norm = tf.norm(grad, ord=2)
        ratio = self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)
        one = tf.ones_like(ratio)
        ratio = tf.where(w_norm > 0, tf.where(g_norm > 0, ratio, one), one)
        return rate * ratio, grad + self._weight_decay * var

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        rate, grad = self.compute_lr(grad, var)
        # The rate is in the gradient, so that the momentum is one of scaled steps.
        return _kernel(
            "ApplyMomentum",
            var,
            {"accum": self.get_slot(var, "momentum")},
            lr=_cast(1.0, var),
            grad=grad * rate,
            momentum=_cast(_value(self._momentum), var),
            use_nesterov=self._use_nesterov,
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        # Neither scaled nor decayed, in TensorFlow 1.15 too.
        return _kernel(
            "SparseApplyMomentum",
            var,
            {"accum": self.get_slot(var, "momentum")},
            lr=_cast(self._learning_rate_tensor, var),
            grad=grad,
            indices=indices,
            momentum=_cast(self._momentum_tensor, var),
            use_nesterov=self._use_nesterov,
        )


# Kinds of Adam (lazy_adam_optimizer.py, nadam_optimizer.py, adamax.py, adam_gs_optimizer.py)
# --------


class _AdamStep(tf.train.AdamOptimizer):
    """What the update rules of Adam's relatives share."""

    def _coefficients(self, var: Any) -> tuple[Any, Any, Any, Any]:
        """beta1, beta2, epsilon and the step size with Adam's corrections of the first steps."""
        numbers = (self._beta1_t, self._beta2_t, self._epsilon_t, self._lr_t)
        beta1, beta2, epsilon, rate = (_cast(number, var) for number in numbers)
        power1, power2 = self._get_beta_accumulators()
        size = rate * tf.sqrt(1 - _cast(power2, var)) / (1 - _cast(power1, var))
        return beta1, beta2, epsilon, size

    def _adam_kernel(self, grad: Any, var: Any, use_nesterov: bool) -> Any:
        power1, power2 = self._get_beta_accumulators()
        return _kernel(
            "ApplyAdam",
            var,
            {name: self.get_slot(var, name) for name in "mv"},
            beta1_power=_cast(power1, var),
            beta2_power=_cast(power2, var),
            lr=_cast(self._lr_t, var),
            beta1=_cast(self._beta1_t, var),
            beta2=_cast(self._beta2_t, var),
            epsilon=_cast(self._epsilon_t, var),
            grad=grad,
            use_locking=self._use_locking,
            use_nesterov=use_nesterov,
        )


class _LazyRows(_AdamStep):
    """Adam that touches only the rows that have a gradient."""

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        beta1, beta2, epsilon, size = self._coefficients(var)
        m = self.get_slot(var, "m")
        v = self.get_slot(var, "v")
        m_rows = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        v_rows = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        step = size * m_rows / (tf.sqrt(v_rows) + epsilon)
        return tf.group(
            var.scatter_sub(tf.IndexedSlices(step, indices)),
            m.scatter_update(tf.IndexedSlices(m_rows, indices)),
            v.scatter_update(tf.IndexedSlices(v_rows, indices)),
        )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)


class LazyAdamOptimizer(_LazyRows):
    """Adam that leaves the rows and moments without a gradient as they are.

    The arguments are those of ``tf.train.AdamOptimizer``, which differs for sparse gradients only:
    it lets the moments of all rows decay at each step.
    """


class NadamOptimizer(_AdamStep):
    """Adam with Nesterov momentum (Dozat, 2016); the arguments are ``tf.train.AdamOptimizer``'s."""

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._adam_kernel(grad, var, use_nesterov=True)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._adam_kernel(grad, var, use_nesterov=True)

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        beta1, beta2, epsilon, size = self._coefficients(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new = grad * (1 - beta1)
        with tf.control_dependencies([m.assign(m * beta1, use_locking=self._use_locking)]):
            m_all = scatter_add(m, indices, new)
            m_bar = new + beta1 * tf.gather(m_all, indices)
        with tf.control_dependencies([v.assign(v * beta2, use_locking=self._use_locking)]):
            v_all = scatter_add(v, indices, grad * grad * (1 - beta2))
        root = tf.sqrt(tf.gather(v_all, indices))
        return tf.group(scatter_add(var, indices, -size * m_bar / (root + epsilon)), m_bar, v_all)


class AdaMaxOptimizer(tf.train.AdamOptimizer):
    """Adam by the infinity norm (Kingma and Ba, 2014), with the arguments of Adam."""

    def __init__(
        self,
        learning_rate: _Number = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _create_slots(self, var_list: Any) -> None:
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(
            initial_value=self._beta1, name="beta1_power", colocate_with=first
        )
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return _kernel(
            "ApplyAdaMax",
            var,
            {name: self.get_slot(var, name) for name in "mv"},
            beta1_power=_cast(self._get_beta_accumulators(), var),
            lr=_cast(self._lr_t, var),
            beta1=_cast(self._beta1_t, var),
            beta2=_cast(self._beta2_t, var),
            epsilon=_cast(self._epsilon_t, var),
            grad=grad,
            use_locking=self._use_locking,
        )

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_dense(grad, var)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        beta1, beta2 = _cast(self._beta1_t, var), _cast(self._beta2_t, var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = tf.gather(m, indices) * beta1 + grad * (1 - beta1)
        v_rows = tf.maximum(tf.gather(v, indices) * beta2, tf.abs(grad))
        size = -_cast(self._lr_t, var) / (1 - _cast(self._get_beta_accumulators(), var))
        step = size * (m_rows / (v_rows + _cast(self._epsilon_t, var)))
        return tf.group(
            var.scatter_add(tf.IndexedSlices(step, indices)),
            m.scatter_update(tf.IndexedSlices(m_rows, indices)),
            v.scatter_update(tf.IndexedSlices(v_rows, indices)),
        )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            power = self._get_beta_accumulators()
            with tf.colocate_with(power):
                update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, update, name=name_scope)


class AdamGSOptimizer(_AdamStep):
    """Adam that takes the powers of its betas from the global step, not from variables of its own.

    Args:
      global_step: The step's variable; it counts from 0.
      learning_rate: And the rest: as in ``tf.train.AdamOptimizer``.
      beta1: Of the first moment.
      beta2: Of the second moment.
      epsilon: Added to the denominator.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: _Number = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _prepare(self) -> None:
        super()._prepare()
        self._steps = tf.cast(tf.identity(self._global_step) + 1, tf.float32)

    def _get_beta_accumulators(self) -> Any:
        return tf.pow(self._beta1_t, self._steps), tf.pow(self._beta2_t, self._steps)

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        return tf.group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(_LazyRows, AdamGSOptimizer):
    """:class:`AdamGSOptimizer` that leaves the rows without a gradient as they are."""


# Signs (addsign.py, powersign.py, sign_decay.py)
# ---------------------------------------------------


class _SignOptimizer(_BothKinds):
    """Updates that grow where gradient and momentum agree in sign."""

    def __init__(
        self, learning_rate: float, beta: float, sign_decay_fn: Any, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay_t: Any = 1.0

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Like the base class; the decay of the sign is that of ``global_step``."""
        if self._sign_decay_fn is not None:
            self._sign_decay_t = tf.convert_to_tensor(self._sign_decay_fn(global_step))
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        m, beta = self.get_slot(var, "m"), _cast(self._beta, var)
        dense = tf.IndexedSlices(grad, indices, tf.shape(var, out_type=indices.dtype))
        m_all = m.assign(m * beta + tf.convert_to_tensor(dense) * (1 - beta), read_value=True)
        agreement = tf.gather(tf.sign(m_all), indices) * tf.sign(grad)
        factor = self._factor(_cast(self._sign_decay_t, var) * agreement, var)
        step = tf.IndexedSlices(_cast(self._lr, var) * factor * grad, indices)
        return tf.group(var.scatter_sub(step), m_all)

    def _factor(self, agreement: Any, var: Any) -> Any:
        raise NotImplementedError


class AddSignOptimizer(_SignOptimizer):
    """AddSign (Bello et al., 2017): the update is ``(alpha + f(t) * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: Of the update.
      alpha: The constant in it.
      beta: Decay of the moving average m.
      sign_decay_fn: f, a function of the global step; 1 by default.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: float = 0.1,
        alpha: float = 1.0,
        beta: float = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _factor(self, agreement: Any, var: Any) -> Any:
        return _cast(self._alpha, var) + agreement

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return _kernel(
            "ApplyAddSign",
            var,
            {"m": self.get_slot(var, "m")},
            lr=_cast(self._lr, var),
            alpha=_cast(self._alpha, var),
            sign_decay=_cast(self._sign_decay_t, var),
            beta=_cast(self._beta, var),
            grad=grad,
            use_locking=self._use_locking,
        )


class PowerSignOptimizer(_SignOptimizer):
    """PowerSign (Bello et al., 2017): the update is ``base ** (f(t) * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: Of the update.
      base: The base of the power.
      beta: Decay of the moving average m.
      sign_decay_fn: f, a function of the global step; 1 by default.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: float = 0.1,
        base: float = math.e,
        beta: float = 0.9,
        sign_decay_fn: Any = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = math.log(base)

    def _factor(self, agreement: Any, var: Any) -> Any:
        return tf.pow(_cast(math.e, var), _cast(self._logbase, var) * agreement)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return _kernel(
            "ApplyPowerSign",
            var,
            {"m": self.get_slot(var, "m")},
            lr=_cast(self._lr, var),
            logbase=_cast(self._logbase, var),
            sign_decay=_cast(self._sign_decay_t, var),
            beta=_cast(self._beta, var),
            grad=grad,
            use_locking=self._use_locking,
        )


def _progress(global_step: Any, decay_steps: int) -> tuple[Any, Any]:
    """The step, not beyond the last one, and the fraction of the steps done."""
    if global_step is None:
        raise BadValueError("TPU103", "global_step is required for the decay of the sign.")
    step = tf.minimum(tf.convert_to_tensor(global_step), decay_steps)
    return step, tf.cast(step, tf.float32) / tf.cast(decay_steps, tf.float32)


def get_linear_decay_fn(decay_steps: int) -> Callable[[Any], Any]:
    """A function of the global step that falls from 1 to 0 in ``decay_steps``."""

    def linear_decay_fn(global_step: Any) -> Any:
        step, _ = _progress(global_step, decay_steps)
        left = tf.cast(decay_steps, tf.int32) - tf.cast(step, tf.int32)
        return tf.maximum(0.0, tf.cast(left, tf.float32) / tf.cast(decay_steps, tf.float32))

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """A function of the global step: ``num_periods`` of a cosine between 1 and 0.

    Args:
      decay_steps: Steps in all.
      num_periods: Periods in them.
      zero_after: The number of periods after which it is 0.

    Returns:
      The function.
    """

    def cosine_decay_fn(global_step: Any) -> Any:
        _, done = _progress(global_step, decay_steps)
        fraction = 2.0 * num_periods * done
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is None:
            return decayed
        return tf.where(fraction >= 2 * zero_after, tf.zeros_like(decayed), decayed)

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """A function of the global step: half a cosine, started again ``num_periods`` times.

    Args:
      decay_steps: Steps in all.
      num_periods: Starts in them.
      zero_after: The number of periods after which it is 0.

    Returns:
      The function.
    """

    def restart_decay_fn(global_step: Any) -> Any:
        step, _ = _progress(global_step, decay_steps)
        total = tf.cast(decay_steps, tf.float32)
        fraction = tf.mod(num_periods * tf.cast(step, tf.float32), total) / total
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is None:
            return decayed
        periods = tf.cast(num_periods * step, tf.float32) / total
        return tf.where(periods >= zero_after, tf.zeros_like(decayed), decayed)

    return restart_decay_fn


# Around another optimizer
# --------------------------------------------------------------------------


class MovingAverageOptimizer(tf.train.Optimizer):
    """Keeps a moving average of the variables that another optimizer trains
    (moving_average_optimizer.py).

    Args:
      opt: The other optimizer.
      average_decay: Of the average.
      num_updates: Makes the decay smaller at the start, as in
        ``tf.train.ExponentialMovingAverage``.
      sequential_update: Whether the average is updated after the variables, or beside them.
    """

    def __init__(
        self,
        opt: Any,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients and updates the averages; one operation for both."""
        grads_and_vars = list(grads_and_vars)
        train = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [var for gradient, var in grads_and_vars if gradient is not None]
        with tf.control_dependencies([train] if self._sequential_update else []):
            average = self._ema.apply(variables)
        self._swapped = {}
        for var in variables:
            names = var.op.name, self._ema.average(var).op.name
            self._swapped.update([names, names[::-1]])
        return tf.group(train, average, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """A Saver that writes averages under the names of their variables, and the reverse.

        Args:
          var_list: Variables, or name to variable; all global ones by default.
          name: Of the saver.
          **kwargs: More arguments of ``tf.train.Saver``.

        Returns:
          The saver.

        Raises:
          RuntimeError: Before ``apply_gradients`` or ``minimize``.
          ValueError: If a variable is to be saved without its average.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        saved = _by_name(tf.global_variables() if var_list is None else var_list)
        known: dict[str, Any] = {}
        for key, entry in saved.items():
            if isinstance(entry, list):
                known.update((part.op.name, part) for part in entry)
            else:
                known[key] = entry
        swapped = {
            key: [self._other(known, part.op.name, part) for part in entry]
            if isinstance(entry, list)
            else self._other(known, key, entry)
            for key, entry in saved.items()
        }
        return tf.train.Saver(swapped, name=name, **kwargs)

    def _other(self, known: dict[str, Any], name: str, variable: Any) -> Any:
        assert self._swapped is not None
        other = self._swapped.get(name)
        if other is None:
            return variable
        if other not in known:
            raise BadValueError(
                "TPU103",
                f"Variable to swap {other} is not part of variables to save. "
                "This breaks MovingAverageOptimizer.",
            )
        return known[other]


def _by_name(var_list: Any) -> dict[str, Any]:
    """Name in the checkpoint -> variable, or the list of the parts of a partitioned one."""
    if isinstance(var_list, dict):
        return {
            name: entry if isinstance(entry, tf.Variable) or tf.is_tensor(entry) else list(entry)
            for name, entry in var_list.items()
        }
    found: dict[str, Any] = {}
    for var in var_list:
        part = getattr(var, "_save_slice_info", None)
        if part is None:
            found[var.op.name] = var
        else:
            found.setdefault(part.full_name, []).append(var)
    return found


class VariableClippingOptimizer(tf.train.Optimizer):
    """Clips variables to a norm after another optimizer's step (variable_clipping_optimizer.py).

    Args:
      opt: The other optimizer.
      vars_to_clip_dims: Variable to the dimensions over which its norm is taken.
      max_norm: The largest norm.
      use_locking: Whether updates are locked.
      colocate_clip_ops_with_vars: Whether the clipping runs where the variable is.
      name: Of the optimizer.
    """

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: dict[Any, Any],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._clip_dims = [(var, list(dims)) for var, dims in vars_to_clip_dims.items()]
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies the gradients, then clips; one operation for both."""
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as name:
            done = [self._opt.apply_gradients(grads_and_vars, global_step=global_step)]
            with tf.control_dependencies(done[:1]):
                for gradient, var in grads_and_vars:
                    dims = next((dims for known, dims in self._clip_dims if known is var), None)
                    if gradient is not None and dims is not None:
                        with tf.name_scope("clip_" + var.op.name):
                            done.append(self._clip(gradient, var, dims))
            return tf.group(*done, name=name)

    def _clip(self, gradient: Any, var: Any, dims: list[int]) -> Any:
        colocated = tf.colocate_with(var) if self._colocate else contextlib.nullcontext()
        if isinstance(gradient, tf.IndexedSlices) and 0 not in dims:
            rows = tf.gather(var, gradient.indices)
            with colocated:
                change = rows - tf.clip_by_norm(rows, self._max_norm, dims)
            return var.scatter_sub(tf.IndexedSlices(change, gradient.indices, gradient.dense_shape))
        now = var.read_value()
        with colocated:
            change = now - tf.clip_by_norm(now, self._max_norm, dims)
        return var.assign_sub(change, use_locking=self._use_locking)


def _all_zeros(gradient: Any) -> Any:
    values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    return tf.equal(tf.count_nonzero(values), 0)


class MultitaskOptimizerWrapper:
    """An optimizer that skips the update of a variable whose gradient is all zeros.

    From multitask_optimizer_wrapper.py: without it, momentum moves the variables of tasks that the
    batch had no examples of. The given optimizer is changed in place.

    Args:
      opt: A ``tf.train.Optimizer``.

    Raises:
      TypeError: If it is none.
    """

    _WRAPPED = ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse")

    def __init__(self, opt: Any) -> None:
        if not isinstance(opt, tf.train.Optimizer):
            raise BadTypeError(
                "TPU103", "Supplied optimizer must be an instance of tf.train.Optimizer"
            )
        self._opt = opt
        for name in self._WRAPPED:
            setattr(opt, name, types.MethodType(self._skipping(getattr(opt, name)), opt))

    @staticmethod
    def _skipping(apply: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: Any, gradient: Any, *args: Any, **kwargs: Any) -> Any:
            def update() -> Any:
                with tf.control_dependencies([apply(gradient, *args, **kwargs)]):
                    return tf.no_op()

            return tf.cond(_all_zeros(gradient), tf.no_op, update)

        return wrapper

    def __getattr__(self, name: str) -> Any:
        """Everything else is the wrapped optimizer's."""
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(
    gradients_variables: Any, clip_norm: float = 20.0
) -> tuple[list[tuple[Any, Any]], Any]:
    """Clips gradients by their common norm.

    Args:
      gradients_variables: (gradient, variable) pairs.
      clip_norm: The largest common norm.

    Returns:
      The pairs with clipped gradients, and the norm before.
    """
    gradients, variables = zip(*gradients_variables)
    norm = tf.global_norm(gradients)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(clipped, variables)), norm


class RegAdagradOptimizer(tf.train.AdagradOptimizer):
    """Adagrad whose accumulators can be left alone for a while (reg_adagrad_optimizer.py).

    Args:
      learning_rate: Of the update.
      initial_accumulator_value: Where the accumulators start.
      use_locking: Whether updates are locked.
      name: Of the optimizer.
    """

    def __init__(
        self,
        learning_rate: _Number,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(
            learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            use_locking=use_locking,
            name=name,
        )
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """A scope in which applied gradients leave the accumulators as they are."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _apply(self, kernel: str, grad: Any, var: Any, **inputs: Any) -> Any:
        return _kernel(
            kernel,
            var,
            {"accum": self.get_slot(var, "accumulator")},
            lr=_cast(self._learning_rate_tensor, var),
            grad=grad,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
            **inputs,
        )

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdagrad", grad, var)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdagrad", grad, var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply("SparseApplyAdagrad", grad.values, var, indices=grad.indices)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply("SparseApplyAdagrad", grad, var, indices=indices)
