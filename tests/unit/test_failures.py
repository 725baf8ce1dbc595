"""How an error that ends a script is shown: in at most 25 lines, and the whole in a file."""

import logging
import os
import re
import subprocess
import sys
import textwrap
import types

import pytest

from tpucompat.engines import script_lines as sources
from tpucompat.engines.script_lines import Line
from tpucompat.runtime import failures

# The text of an error of a Session (TensorFlow 2.21), with fewer frames.
IN_A_SESSION = """\
Graph execution error:

Detected at node 'xent/Xent' defined at (most recent call last):
    File "/me/train.py", line 46, in <module>
    File "/lib/tensorflow/app.py", line 36, in run
Node: 'xent/Xent'
Received a label value of 16 which is outside the valid range of [0, 10).  Label values: 7 8
\t [[{{node xent/Xent}}]]

Original stack trace for 'xent/Xent':
  File "/me/train.py", line 46, in <module>
    main()
  File "/lib/tensorflow/ops.py", line 2726, in _create_op_internal
"""
# Of a step on several replicas.
ON_REPLICAS = """\
<stack traces unavailable>
2 root error(s) found.
  (0) INVALID_ARGUMENT:  Received a label value of 12
\t [[{{node replica_2/replay/xent}}]]
\t [[AddN_3/_52]]
  (1) INVALID_ARGUMENT:  Received a label value of 12
\t [[{{node replica_3/replay/xent}}]]
0 successful operations.
0 derived errors ignored. [Op:__inference_function_1178]
"""
# Of a generator (py_func.cc) and of a function that AutoGraph has converted.
IN_A_GENERATOR = """\
ValueError: row 40 is bad
Traceback (most recent call last):

  File "/lib/tensorflow/script_ops.py", line 269, in __call__
    ret = func(*args)
          ^^^^^^^^^^^

  File "/me/train.py", line 21, in rows
    raise ValueError('row 40 is bad')

ValueError: row 40 is bad


\t [[{{node PyFunc}}]]
"""
IN_USER_CODE = """\
in user code:

    File "/me/train.py", line 9, in parse  *
        return tf.reshape(x, [5])

    ValueError: Cannot reshape a tensor with 4 elements
"""


@pytest.mark.parametrize(
    "text, said",
    [
        (
            IN_A_SESSION,
            [
                "Received a label value of 16 which is outside the valid range of [0, 10).  Label values: 7 8",
                "[[{{node xent/Xent}}]]",
            ],
        ),
        (ON_REPLICAS, ["Received a label value of 12", "[[{{node replica_2/replay/xent}}]]"]),
        (IN_A_GENERATOR, ["ValueError: row 40 is bad", "[[{{node PyFunc}}]]"]),
        (IN_USER_CODE, ["ValueError: Cannot reshape a tensor with 4 elements"]),
        ("one\n\ntwo\n", ["one", "two"]),
        ("Traceback (most recent call last):", ["Traceback (most recent call last):"]),
        ("", []),
    ],
)
def test_the_words_of_an_error(text, said):
    assert failures.words(text) == said


def test_the_type_of_an_error_is_named_once():
    shown = failures.shortened(ValueError(IN_USER_CODE), None, "", "")
    assert shown == "ValueError: Cannot reshape a tensor with 4 elements\n"


def test_many_words_are_cut_in_the_middle():
    said = failures.words("\n".join(f"line {number}" for number in range(100)))
    assert said[:2] == ["line 0", "line 1"] and said[-1] == "line 99" and "…" in said
    assert len(said) == failures._WORDS


def test_what_tensorflow_logs_of_an_error_has_no_stack_trace(caplog):
    logger = logging.getLogger("tensorflow.of_this_test")
    caplog.set_level(logging.WARNING, logger.name)  # not that of other tests
    logger.addFilter(failures.Terse())
    logger.error("Closing session due to error %s", IN_A_SESSION)
    logger.warning("a\nb\nc %d", 7)
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("Closing session due to error") and "Received a label value" in first
    assert len(first.splitlines()) == 3
    assert second == "a\nb\nc 7"


def run(folder, source, *options):
    (folder / "script.py").write_text(textwrap.dedent(source))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "run", *options, "script.py"],
        cwd=str(folder),
        env=dict(os.environ, PYTHONPATH=path, TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=120,
    )
    return done.returncode, done.stderr.partition("── tpucompat")[0]


# json's decoder stands for TensorFlow: frames of a library between two of the script's.
LONG = """
import json

def parse(pairs):
    raise ValueError("a bad pair" + "".join(f"\\n  File \\"/lib/x.py\\", line {n}, in f" for n in range(60)))

def read():
    json.loads('{"a": 1}', object_pairs_hook=parse)

read()
"""


def test_a_long_error_is_shown_in_25_lines_and_the_whole_in_a_file(tmp_path):
    code, shown = run(tmp_path, LONG)
    assert code == 1
    assert len(shown.splitlines()) <= failures.LINES
    assert "in read" in shown and "in parse" in shown and "decoder.py" not in shown
    assert "ValueError: a bad pair" in shown
    assert re.search(r"tpucompat: at script\.py:5: raise ValueError", shown)
    file = re.search(r"the full traceback is in (\S+); --traceback shows it", shown).group(1)
    with open(file) as whole:
        text = whole.read()
    assert "decoder.py" in text and 'x.py", line 59' in text


def test_the_whole_traceback_where_it_is_asked_for(tmp_path):
    code, shown = run(tmp_path, LONG, "--traceback")
    assert code == 1
    assert "decoder.py" in shown and "the full traceback is in" not in shown


def test_a_short_error_is_shown_as_python_does(tmp_path):
    code, shown = run(tmp_path, "import json\njson.loads('{')")
    assert code == 1
    assert "decoder.py" in shown and "the full traceback" not in shown


def test_an_error_with_a_code_ends_with_its_next_step(tmp_path):
    source = """
    from tpucompat.base.errors import BadValueError
    def f():
        raise BadValueError("TPU304", "100 on 8 cores" + "\\n\\nx" * 30)
    f()
    """
    code, shown = run(tmp_path, source)
    assert code == 2
    lines = shown.splitlines()
    assert len(lines) <= failures.LINES
    assert lines[-2].startswith("Next: Make the batch size") and lines[-1].endswith("TPU304")
    assert any(line.startswith("tpucompat: at script.py:4: raise") for line in lines)


def test_the_advice_comes_last(tmp_path):
    source = LONG.replace(
        "a bad pair", "Received a label value of 9 which is outside the valid range"
    )
    # Passed on, as TensorFlow's: what the script raises itself gets no advice.
    source = source.replace("raise ValueError(", "error = ValueError(")
    source = source.replace("\n\ndef read", "\n    raise error\n\ndef read")
    _, shown = run(tmp_path, source)
    assert shown.splitlines()[-1].endswith("[TPU478]")
    assert len(shown.splitlines()) <= failures.LINES


def test_the_line_of_a_failed_node_is_that_of_the_traced_operation(monkeypatch):
    """The names of a replayed step's nodes end in those of the graph that it was traced from."""

    class Graph:
        pass

    def of_operation(self, graph, name, function=""):
        return Line("train.py:11", "loss = f()") if name == "xent" else Line()

    graph = Graph()
    sources.remember(graph)
    monkeypatch.setattr(sources.Sources, "of_operation", of_operation)
    assert sources.Sources().of_nodes(ON_REPLICAS).place == "train.py:11"
    assert failures.place_of(ValueError(ON_REPLICAS)) == "train.py:11: loss = f()"


def test_a_node_of_a_data_sets_function_is_not_taken_for_one_of_the_graph(monkeypatch):
    """TensorFlow shows the line of the graph's operation of that name (``error_interpolation.py`` of 2.21)."""

    class Graph:
        pass

    graph = Graph()
    sources.remember(graph)
    monkeypatch.setattr(sources.Sources, "of_operation", lambda *_: Line("train.py:11", "reshape"))
    text = IN_A_SESSION.replace("xent/Xent", "Reshape_1").replace(
        "\n\nOriginal", "\n\t [[input/while/IteratorGetNext]]\n\nOriginal"
    )
    error = ValueError(text)
    monkeypatch.setattr(sources.Sources, "is_own", lambda self, file: file == "/me/train.py")
    assert sources.Sources().of_error(ValueError(IN_A_SESSION)).place.endswith("train.py:46")
    assert sources.Sources().of_error(error) == Line() == sources.Sources().of_nodes(text)


def test_a_cell_is_named_as_the_notebook_names_it(monkeypatch):
    class Shell:
        """The compiler of IPython 8, as far as it names cells."""

        compile = property(lambda self: self)

        def format_code_name(self, file):
            return ("Cell", "In[3]") if file == "/tmp/ipykernel_7/42.py" else None

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = Shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    error = ValueError('in user code:\n  File "/tmp/ipykernel_7/42.py", line 5, in step')
    assert sources.Sources().of_error(error).place == "Cell In[3], line 5"
    monkeypatch.delitem(sys.modules, "IPython")
    assert sources.Sources().of_error(error).place == ""
