"""tf.contrib.graph_editor."""

import importlib

import numpy as np

from contrib_cases import numbers


def _graph(tf):
    a = tf.constant(numbers(2, 3), name="a")
    b = tf.constant(numbers(2, 3, seed=2), name="b")
    with tf.name_scope("inner"):
        c = tf.multiply(a, b, name="c")
        d = tf.square(c, name="d")
    e = tf.subtract(d, a, name="e")
    with tf.control_dependencies([d]):
        f = tf.negative(e, name="f")
    return a, b, c, d, e, f


def _names(entries):
    return " ".join(sorted(entry.name for entry in entries))


def case_selection(tf):
    editor = importlib.import_module(tf.__name__ + ".contrib.graph_editor")
    with tf.Graph().as_default() as graph:
        a, _b, c, d, e, f = _graph(tf)
        outputs = editor.ControlOutputs(graph)
        boundary = editor.compute_boundary_ts([c.op, d.op])
        return {
            "backward": _names(editor.get_backward_walk_ops(e)),
            "backward_exclusive": _names(editor.get_backward_walk_ops(e.op, inclusive=False)),
            "backward_stop": _names(editor.get_backward_walk_ops(e, stop_at_ts=[d])),
            "backward_control": _names(editor.get_backward_walk_ops(f, control_inputs=True)),
            "forward": _names(editor.get_forward_walk_ops(c)),
            "forward_op": _names(editor.get_forward_walk_ops(c.op)),
            "forward_within": _names(
                editor.get_forward_walk_ops(a, within_ops=[c.op, d.op], inclusive=True)
            ),
            "forward_control": _names(
                editor.get_forward_walk_ops(d.op, inclusive=False, control_outputs=outputs)
            ),
            "between": _names(editor.get_walks_intersection_ops(c, e)),
            "union": _names(editor.get_walks_union_ops(e, c)),
            "scope": _names(editor.get_name_scope_ops(graph, "inner")),
            "regex": _names(editor.filter_ops_from_regex(graph, "^inner/c|^e")),
            "tensors": _names(editor.filter_ts_from_regex([c.op], "a|c")),
            "selected": _names(editor.select_ops("^a$", [f.op], graph=graph)),
            "selected_ts": _names(editor.select_ts("^a:0$", f, graph=graph)),
            "boundary": [_names(part) for part in boundary],
            "all": _names(editor.get_tensors(graph)),
            "consumers": _names(editor.get_consuming_ops([a])),
            "makers": _names(editor.get_generating_ops([a, d])),
            "waiting": _names(outputs.get(d.op)),
            "view": _names(editor.sgv([c.op, d.op]).inputs),
        }


def case_copies(tf):
    editor = importlib.import_module(tf.__name__ + ".contrib.graph_editor")
    results = {}
    with tf.Graph().as_default():
        a, b, c, d, e, f = _graph(tf)
        other = tf.constant(np.ones([2, 3], np.float32), name="other")
        replaced = editor.graph_replace([e, d], {c: other})
        copied, info = editor.copy_with_input_replacements(editor.sgv([c.op, d.op]), {a: other})
        again = info.transformed(d)
        with tf.Session() as sess:
            results["replaced"] = sess.run(replaced)
            results["copied"] = sess.run(again)
            results["count"] = len(copied.ops)
            results["inputs"] = _names(copied.inputs)
    with tf.Graph().as_default():
        a, b, c, d, e, f = _graph(tf)
        other = tf.constant(np.ones([2, 3], np.float32), name="other")
        results["moved"] = editor.reroute_ts([other], [c])
        results["moved_some"] = editor.reroute_ts(other, a, can_modify=[e.op])
        results["swapped"] = editor.swap_ts([b], [other], can_modify=[d.op, c.op])
        editor.add_control_inputs(f.op, [a.op])
        results["waits"] = _names(f.op.control_inputs)
        editor.remove_control_inputs(f.op, [d.op])
        results["waits_less"] = _names(f.op.control_inputs)
        with tf.Session() as sess:
            results["rerouted"] = sess.run([c, d, e, f])
    return results
