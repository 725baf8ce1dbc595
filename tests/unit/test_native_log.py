"""The lines of TensorFlow's C++ code that are left out while its library is loaded."""

import os
import subprocess
import sys
import textwrap

import pytest

from tpucompat.base import native_log

NOISE = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795491542.941866   10418 cudart_stub.cc:31] Could not find cuda drivers on your machine.
2024-01-02 03:04:05.678901: I tensorflow/core/util/port.cc:113] oneDNN custom operations are on.
To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow.
"""
LEFT = b"F0000 00:00:1 1 cpu_feature_guard.cc:38] compiled to use AVX\na warning of the script's: I0000\n"


def test_only_the_log_s_lines_are_left_out():
    assert native_log._LINES.sub(b"", NOISE + LEFT + NOISE) == LEFT


# A package "tensorflow" whose native code writes to standard error while it is loaded.
PACKAGE = """
import os, sys
os.write(2, {noise!r})
sys.stderr.write("of the package\\n")
{more}
"""


@pytest.mark.skipif(not native_log._has_avx(), reason="the filter is left out on such a machine")
@pytest.mark.parametrize("more", ["", "raise ImportError('broken')"])
def test_what_is_written_during_the_import_is_looked_through(tmp_path, more):
    (tmp_path / "tensorflow.py").write_text(PACKAGE.format(noise=NOISE, more=more))
    program = """
    import importlib.util, os, sys
    from tpucompat.base import native_log
    native_log.quieten()
    assert importlib.util.find_spec("tensorflow") is not None  # as one asks for its version
    os.write(2, b"I0000 00:00:1 before\\n")
    try:
        import tensorflow
    except ImportError as error:
        sys.stderr.write(str(error) + "\\n")
    os.write(2, b"I0000 00:00:1 after\\n")
    assert not any(type(finder).__module__ == "tpucompat.base.native_log" for finder in sys.meta_path)
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), root]))
    for level in (None, "2", "0"):
        environ.pop(native_log.VARIABLE, None)
        environ.update({native_log.VARIABLE: level} if level else {})
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            env=environ,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        noise = NOISE.decode() if level == "0" else ""
        said = ["I0000 00:00:1 before\n", noise, "of the package\n", "broken\n" * bool(more)]
        if level != "0":
            assert done.stderr.decode() == "".join([*said, "I0000 00:00:1 after\n"])
        else:
            assert "cudart_stub" in done.stderr.decode()
