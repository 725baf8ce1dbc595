"""The line after an error of a script's own."""

import importlib.util
import re
import sys
import types

import pytest

from tpucompat.base import journal
from tpucompat.runtime import advice, installation, tracebacks


@pytest.mark.parametrize(
    "kind, text, code",
    [
        (
            "FailedPreconditionError",
            "Error executing an HTTP request: libcurl code 6 meaning 'Could not resolve hostname', error "
            "details: Could not resolve host: www.googleapis.com\n\t when reading metadata of gs://b/x",
            "TPU442",
        ),
        ("AbortedError", "All 10 retry attempts failed. The last failure: x gs://b/x", "TPU442"),
        ("URLError", "<urlopen error [Errno -2] Name or service not known>", "TPU443"),
        ("Exception", "URL fetch failure on https://x/mnist.npz: None -- [Errno -2]", "TPU443"),
        ("ConnectionError", "HTTPSConnectionPool(host='x'): Max retries exceeded", "TPU443"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'train.csv'", "TPU444"),
        ("NotFoundError", "/content/x.txt; No such file or directory", "TPU444"),
        (
            "InvalidArgumentError",
            "assertion failed: [No files matched pattern: /d/train-*]",
            "TPU444",
        ),
        ("DataLossError", "inflate() failed with error -3: incorrect header check", "TPU460"),
        ("DataLossError", "corrupted record at 0 [Op:IteratorGetNext] name: ", "TPU460"),
        ("ModuleNotFoundError", "No module named 'tensorflow_datasets'", "TPU447"),
        ("InvalidArgumentError", "Conv2DCustomBackpropFilterOp only supports NHWC.", "TPU474"),
        (
            "InvalidArgumentError",
            "The Conv2D op currently only supports the NHWC tensor format on the CPU. The op was given the "
            "format: NCHW",
            "TPU474",
        ),
        ("NotFoundError", "/x/ops.so: undefined symbol: _ZTIN10tensorflow8OpKernelE", "TPU446"),
        (
            "InvalidArgumentError",
            "Received a label value of 16 which is outside the valid range of [0, 10).  Label values: 7",
            "TPU478",
        ),
        (
            "ValueError",
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: …",
            "TPU479",
        ),
        (
            "ValueError",
            "Error when checking target: expected dense_1 to have shape (1,) but got array with shape (3,)",
            "TPU479",
        ),
        (
            "ValueError",
            "Can not squeeze dim[1], expected a dimension of 1, got 3 for '{{node metrics/acc/Squeeze}}",
            "TPU479",
        ),
        (
            "ValueError",
            "Cannot feed value of shape (16, 5) for Tensor x:0, which has shape (?, 4)",
            "TPU480",
        ),
        (
            "InvalidArgumentError",
            "Number of ways to split should evenly divide the split dimension, but got split_dim 0",
            "TPU489",
        ),
        ("ValueError", "Empty training data.", "TPU490"),
        (
            "TypeError",
            "Value passed to parameter 'labels' has DataType float32 not in list of allowed values: int32",
            "TPU494",
        ),
        ("ValueError", 'Loss must be scalar, given: Tensor("x:0", shape=(2,))', "TPU495"),
        ("ValueError", "Missing loss.", "TPU495"),
        (
            "TypeError",
            "Input 'y' of 'Sub' Op has type int32 that does not match type float32 of argument 'x'.",
            "TPU494",
        ),
        ("ValueError", "Missing train_op.", "TPU498"),
        ("ValueError", "Missing predictions.", "TPU498"),
        (
            "ValueError",
            "Layer count mismatch when loading weights from file. Model expected 2 layers, found 1",
            "TPU337",
        ),
        (
            "ValueError",
            'Input 0 of layer "sequential" is incompatible with the layer: expected shape=(None, 4), found …',
            "TPU303",
        ),
        (
            "ValueError",
            "The passed save_path is not a valid checkpoint: ckpt/model.ckpt-100",
            "TPU444",
        ),
        ("TypeError", "'float' object cannot be interpreted as an integer", "TPU499"),
        ("InvalidArgumentError", "Restoring from checkpoint failed: w has the shape [2]", "TPU337"),
        ("ValueError", "Invalid TPUConfig `iterations_per_loop` value.", "TPU335"),
        ("ValueError", "No gradients provided for any variable, check your graph", "TPU496"),
        ("NanLossDuringTrainingError", "NaN loss during training.", "TPU497"),
        (
            "InvalidArgumentError",
            "Gradient for dense/kernel:0 is NaN : Tensor had NaN values",
            "TPU497",
        ),
        ("TypeError", "'zip' object is not subscriptable", "TPU499"),
        ("TypeError", "object of type 'map' has no len()", "TPU499"),
        ("TypeError", "unsupported operand type(s) for +: 'range' and 'list'", "TPU499"),
        ("TypeError", 'can only concatenate list (not "range") to list', "TPU499"),
        ("AttributeError", "'dict_keys' object has no attribute 'sort'", "TPU499"),
        ("AttributeError", "'generator' object has no attribute 'next'", "TPU499"),
        ("AttributeError", "'OrderedDict' object has no attribute 'iteritems'", "TPU499"),
        ("ValueError", "Expected input data to be non-empty.", "TPU490"),
        ("FailedPreconditionError", "Attempting to use uninitialized value w", "TPU481"),
        (
            "InvalidArgumentError",
            "x\nTraceback (most recent call last):\n\n [[{{node PyFunc}}]]",
            "TPU482",
        ),
        ("OutOfRangeError", "End of sequence\n\t [[{{node IteratorGetNext}}]]", "TPU336"),
        ("KeyError", "'COLAB_TPU_ADDR'", "TPU477"),
        ("ValueError", "Parent directory of /no/m.ckpt doesn't exist, can't save.", "TPU476"),
        (
            "OSError",
            "Unable to create file (unable to open file: name = 'no/m.h5', errno = 2)",
            "TPU476",
        ),
    ],
)
def test_a_cause_that_can_be_told(kind, text, code):
    found = advice.for_error(kind, text)
    assert found.code == code
    assert "\n" not in str(found)
    assert str(found).endswith(f"[{code}]")


@pytest.mark.parametrize(
    "text, era, step",
    [
        ("'SymbolicTensor' object has no attribute 'numpy'", "tf1", "--era tf2"),
        ("'SymbolicTensor' object has no attribute 'numpy'", "tf2", "tf.print"),
        ("x is not supported in eager mode", "tf1", "enable_eager_execution"),
        ("x is not supported in eager mode", "tf2", "--era tf1"),
    ],
)
def test_the_next_step_is_never_the_era_that_the_script_has(monkeypatch, text, era, step):
    monkeypatch.setattr(installation, "_current", types.SimpleNamespace(era=era))
    assert step in advice.for_error("RuntimeError", text).next_step


def test_a_bucket_is_named():
    found = advice.for_error("AbortedError", "All 10 retry attempts failed: gs://my-data.x/train/a")
    assert "--map gs://my-data.x=DIR" in str(found)
    found = advice.for_error("AbortedError", "All 10 retry attempts failed for gs:// paths")
    assert "--map gs://bucket=DIR" in str(found)


@pytest.mark.parametrize(
    "kind, text",
    [
        ("ZeroDivisionError", "division by zero"),
        ("KeyError", "'x'"),
        ("KeyError", "'MY_TPU_NAME'"),
        ("InvalidArgumentError", "Can not squeeze dim[1], expected a dimension of 1, got 3"),
        ("InvalidArgumentError", "Incompatible shapes: [3] vs. [4]\n\t [[{{node add}}]]"),
        ("ModuleNotFoundError", "No module named 'tensorflow.contrib.nothing'"),
        ("ValueError", "the path gs://b/x is not of the right form"),
        ("OSError", "[Errno 28] No space left on device"),
        # TPUEstimator's, of TensorFlow's type.
        ("OutOfRangeError", "TPU336 End of sequence\n  Next: Repeat the Dataset"),
    ],
)
def test_an_error_that_speaks_for_itself(kind, text):
    assert advice.for_error(kind, text) is None


SITE = "/usr/lib/python3/site-packages/"
CONTRIB = ("AttributeError", "module 'tensorflow' has no attribute 'contrib'")


@pytest.mark.parametrize(
    "kind, text",
    [
        CONTRIB,
        ("AttributeError", "module 'tensorflow_hub.tf_v1' has no attribute 'estimator'"),
        ("ImportError", "cannot import name 'Layer' from 'keras.engine.topology' (x.py)"),
        ("ModuleNotFoundError", "No module named 'tensorflow.contrib'"),
        ("TypeError", "Descriptors cannot be created directly.\nIf this call came from"),
    ],
)
def test_an_installed_package_that_is_out_of_date_is_named(kind, text):
    found = advice.for_error(kind, text, ["/me/a.py", SITE + "old/x.py", SITE + "google/y.py"])
    assert found.code == "TPU428"
    assert "--legacy-package old`" in str(found)


@pytest.mark.parametrize(
    "kind, text, files",
    [
        (*CONTRIB, []),
        (*CONTRIB, ["/me/a.py"]),
        (
            *CONTRIB,
            [SITE + "pytest/x.py", "/me/a.py"],
        ),  # the script, called by an installed package
        (*CONTRIB, ["/me/a.py", SITE + "tensorflow/x.py"]),
        ("AttributeError", "'int' object has no attribute 'x'", [SITE + "old/x.py"]),
    ],
)
def test_the_script_s_own_slip_names_no_package(kind, text, files):
    assert advice.for_error(kind, text, files) is None


def test_files_of_ipython_s_tracebacks():
    lines = [
        "\x1b[0;31m-----\x1b[0m",
        "AttributeError       Traceback (most recent call last)",
        "Cell \x1b[0;32mIn[1], line 3\x1b[0m\n\x1b[1;32m      1\x1b[0m import bert",
        "File \x1b[0;32m~/x/site-packages/bert/optimization.py:87\x1b[0m, in f(a)\n     85 import re",
        "AttributeError: module 'tensorflow' has no attribute 'contrib'",
    ]
    assert tracebacks.files_of_lines(lines) == ["", "~/x/site-packages/bert/optimization.py"]
    older = "~/x/bert/optimization.py in f(a)\n 85 import re\n---> 87 class A"
    assert tracebacks.files_of_lines(["<ipython-input-1-2f> in <module>", older]) == [
        "",
        "~/x/bert/optimization.py",
    ]


def test_a_package_without_a_name_that_the_script_uses(monkeypatch):
    def version(name):
        if name == "tensorflow-hub":
            return "0.16.1"
        raise ImportError(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    lacks = "module 'tensorflow_hub' has no attribute 'create_module_spec'"
    found = advice.for_error("AttributeError", lacks, ["/me/model.py"])
    assert found.code == "TPU461" and "tensorflow_hub 0.16.1 lacks" in found.cause
    moved = "cannot import name 'Module' from 'tensorflow_hub' (/x/__init__.py)"
    assert advice.for_error("ImportError", moved, ["/me/model.py"]).code == "TPU461"
    own = "module 'helpers' has no attribute 'x'"
    assert advice.for_error("AttributeError", own, ["/me/model.py"]) is None


def test_an_error_that_a_smoke_run_may_have_made():
    journal.reset()
    assert advice.for_error("ValueError", "x and y must have the same first dimension") is None
    journal.take_over((), [("TPU425", "smoke run: at most 1 epoch of 3 steps")])
    found = advice.for_error("ValueError", "x and y must have the same first dimension")
    known = advice.for_error("FileNotFoundError", "No such file or directory: 'train.csv'")
    journal.reset()
    assert found.code == "TPU425" and "without --smoke" in found.next_step
    assert known.code == "TPU444"


def test_a_module_of_python_2_has_no_package():
    found = advice.for_error("ModuleNotFoundError", "No module named 'urllib2'")
    assert found.code == "TPU475"
    assert "pip" not in str(found) and "Use urllib.request" in str(found)


def test_the_modules_of_python_2_are_gone_and_their_successors_are_there():
    for old, new in advice.PYTHON_2_MODULES.items():
        assert importlib.util.find_spec(old) is None, old
        for name in re.findall(r"[a-z_][\w.]+", new):
            if "set" not in new:
                assert name == "and" or importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize(
    "kind, text, line, code",
    [
        (
            "NotFoundError",
            "/proc/no; No such file or directory",
            "x.RecursivelyCreateDir(path)",
            "TPU476",
        ),
        (
            "FileNotFoundError",
            "[Errno 2] No such file or directory: '/no/x'",
            "os.mkdir(a)",
            "TPU476",
        ),
        (
            "PermissionError",
            "[Errno 13] Permission denied: '/root/x'",
            "mkdir(name, mode)",
            "TPU476",
        ),
        (
            "FileNotFoundError",
            "[Errno 2] No such file or directory: 'o/x'",
            "open(p, 'wb')",
            "TPU476",
        ),
        (
            "FileNotFoundError",
            "[Errno 2] No such file or directory: 'o/x'",
            "open(p, 'rb')",
            "TPU444",
        ),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'o/x'", "open(p)", "TPU444"),
    ],
)
def test_what_cannot_be_made_is_no_missing_file(kind, text, line, code):
    assert advice.for_error(kind, text, line=line).code == code


def test_a_script_of_a_package_is_started_as_a_module():
    text = "attempted relative import with no known parent package"
    found = advice.for_error("ImportError", text, ["/me/app/train.py"])
    assert found.next_step.endswith("`cd /me; tpucompat run -m app.train`.")


def test_a_file_that_hides_a_module_is_named(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("")
    (tmp_path / "mine.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    hidden = advice.for_error("AttributeError", "module 'numpy' has no attribute 'zeros'")
    assert hidden.cause == f"{tmp_path / 'numpy.py'} hides the module numpy."
    assert "another name" in hidden.next_step
    assert advice.for_error("AttributeError", "module 'mine' has no attribute 'x'") is None
