"""The line after an error of a script's own."""

import pytest

from tpucompat import advice


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
        ("ModuleNotFoundError", "No module named 'tensorflow_datasets'", "TPU447"),
        ("NotFoundError", "/x/ops.so: undefined symbol: _ZTIN10tensorflow8OpKernelE", "TPU446"),
    ],
)
def test_a_cause_that_can_be_told(kind, text, code):
    found = advice.for_error(kind, text)
    assert found.code == code
    assert "\n" not in str(found)
    assert str(found).endswith(f"[{code}]")


@pytest.mark.parametrize(
    "kind, text",
    [
        ("ZeroDivisionError", "division by zero"),
        ("KeyError", "'x'"),
        ("ModuleNotFoundError", "No module named 'tensorflow.contrib.nothing'"),
        ("ValueError", "the path gs://b/x is not of the right form"),
        ("OSError", "[Errno 28] No space left on device"),
    ],
)
def test_an_error_that_speaks_for_itself(kind, text):
    assert advice.for_error(kind, text) is None
