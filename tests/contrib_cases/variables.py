"""The variables of a graph as programs look at them: their operations, names and values."""

import importlib

import contrib_cases
from contrib_cases import numbers


def _model(tf):
    features = tf.constant(numbers(4, 3))
    with tf.variable_scope("model"):
        hidden = tf.layers.dense(features, 5, tf.nn.relu, name="hidden")
        table = tf.get_variable("table", [7, 5])
        scale = tf.Variable(numbers(5), name="scale")
        shift = tf.get_variable("shift", [5], use_resource=True)
        rows = tf.nn.embedding_lookup(table, [1, 2, 1, 6])
        return tf.reduce_mean(tf.square(hidden * scale + shift + rows))


def case_kinds(tf):
    """The kind and type of each variable, those of an optimizer too."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer(0.1).minimize(_model(tf), step)
        average = tf.train.ExponentialMovingAverage(0.9)
        average.apply(tf.trainable_variables())
        made = tf.global_variables()
        kinds = [v.op.name + " " + v.op.type + " " + v.dtype.name for v in made]
        return {
            "kinds": ", ".join(sorted(kinds)),
            "true": [bool(v) for v in made if v.op.type == "VariableV2"],
        }


def case_reachable(tf):
    """What neither the result nor the initialization of a model needs, as in BERT's own test."""
    with tf.Graph().as_default() as graph:
        ends = [_model(tf).op, tf.global_variables_initializer()]
        found = set()
        while ends:
            operation = ends.pop()
            if operation not in found:
                found.add(operation)
                ends += [tensor.op for tensor in operation.inputs] + operation.control_inputs
        left = [op.name for op in graph.get_operations() if op not in found]
        return {"left": sorted(name for name in left if not name.startswith("model/shift/"))}


def case_by_name(tf):
    """Values by the names of variables, fed and fetched, and by assignment."""
    with tf.Graph().as_default() as graph:
        weights = tf.get_variable("weights", initializer=numbers(2, 2))
        doubled = weights * 2
        assigned = tf.assign(weights, numbers(2, 2, seed=2))
        with contrib_cases.session(tf) as session:
            found = {"fetched": session.run("weights:0"), "type": weights.dtype.name}
            found["fed"] = session.run(doubled, {weights: numbers(2, 2, seed=3)})
            found["assigned"] = session.run(assigned)
            found["tensor"] = session.run(graph.get_tensor_by_name("weights:0"))
            return found


def case_own_optimizer(tf):
    """An optimizer as programs write them: for the variables that there are, and for rows of them."""

    class Sign(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Sign")

        def _apply_dense(self, grad, var):
            return tf.assign_sub(var, 0.5 * tf.sign(grad))

        def _apply_sparse(self, grad, var):
            return tf.scatter_sub(var, grad.indices, 0.5 * tf.sign(grad.values))

    def build():
        dense = tf.get_variable("dense", initializer=numbers(3, 2))
        table = tf.get_variable("table", initializer=numbers(5, 3))
        loss = tf.reduce_sum(tf.matmul(tf.gather(table, [0, 3]), dense) ** 2)
        return {"train": Sign().minimize(loss), "fetch": {"dense": dense, "table": table}}

    return contrib_cases.run(tf, build, 2)


def case_shapes(tf):
    """Shapes by the functions that TensorFlow's own modules had for them."""
    shapes = importlib.import_module(tf.__name__ + ".python.framework.tensor_shape")
    made = [shapes.scalar(), shapes.vector(3), shapes.matrix(2, None), shapes.unknown_shape()]
    return {"shapes": str([shape.dims and shape.as_list() for shape in made])}
