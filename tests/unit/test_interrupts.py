"""Ctrl-C while the main thread waits for a compilation, in which Python hears of no signal."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")

# What stands for a compilation: nothing interrupts it, and other threads run meanwhile.
COMPILES = """
import hashlib, signal, sys
from tpucompat.base import interrupts

def compile_a_step(rounds):
    with interrupts.compiling():
        print("begins", flush=True)
        hashlib.pbkdf2_hmac("sha512", b"", b"", rounds)

LONG = 200_000_000
"""


@pytest.fixture
def started(tmp_path):
    """Starts a script with ``tpucompat run``."""
    processes = []

    def start(text):
        script = tmp_path / "script.py"
        script.write_text(COMPILES + textwrap.dedent(text))
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "tpucompat", "run", "--quiet", str(script)],
                env=dict(os.environ, PYTHONPATH=path),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                # A shell starts what runs in the background with Ctrl-C ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def begun(process, times=1):
    """Waits until a compilation has begun, and the main thread is in it."""
    assert [process.stdout.readline() for _ in range(times)] == ["begins\n"] * times
    time.sleep(0.3)


def test_ctrl_c_ends_the_first_compilation_with_one_sentence(started):
    process = started("compile_a_step(LONG)")
    begun(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert (
        err.startswith("tpucompat: stopped while a step was being compiled")
        and err.count("\n") == 1
    )


def test_what_was_trained_can_be_saved_at_the_first_ctrl_c(started):
    process = started("compile_a_step(1); compile_a_step(LONG)")
    begun(process, 2)
    process.send_signal(signal.SIGINT)
    assert "at once at the next Ctrl-C" in process.stderr.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_that_saves_ends_at_once(started, number, code):
    process = started(
        f"""
        def stop(number, frame):
            sys.exit(5)

        signal.signal({int(number)}, stop)
        compile_a_step(1)
        interrupts.saves(stop)
        compile_a_step(LONG)
        """
    )
    begun(process, 2)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == code


def test_a_training_that_saves_does_not_begin_to_compile_after_ctrl_c(started):
    process = started(
        """
        import time

        def stop(number, frame):
            time.sleep(1)

        signal.signal(signal.SIGINT, stop)
        interrupts.saves(stop)
        print("begins", flush=True)
        for _ in range(40):
            time.sleep(0.1)
        compile_a_step(LONG)
        """
    )
    begun(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_a_handler_of_the_script_s_own_is_called(started):
    process = started(
        """
        signal.signal(signal.SIGINT, lambda number, frame: sys.exit(5))
        compile_a_step(10_000_000)
        """
    )
    begun(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 5


def test_outside_of_compilations_ctrl_c_is_python_s(started):
    process = started(
        """
        import time
        try:
            print("begins", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            sys.exit(6)
        """
    )
    begun(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 6
