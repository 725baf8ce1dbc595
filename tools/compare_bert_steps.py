"""Fifty steps of google-research/bert, from one checkpoint of TensorFlow 1.15: there, and through tpucompat.

    TPUCOMPAT_PROGRAMS=~/checkouts python tools/compare_bert_steps.py --python-115 PYTHON \\
        --python PYTHON [--python PYTHON]

One replica: run_classifier.py, unmodified, with its dropout and shuffling, on TensorFlow 1.15 itself and
through ``tpucompat run`` on each --python. Eight cores: run_pretraining.py without dropout (every core draws
its own), unmodified, through ``tpucompat run --cores 8``, and as eight towers of one graph of TensorFlow 1.15
(``tools/bert_steps/towers.py``). Compared are the loss of the last step and all variables of the last
checkpoint: the largest difference of an element over the largest element of its kind (weights, and the
optimizer's first and second moments). Not of its variable: nothing depends on the bias of BERT's keys, which
softmax takes out again, so that its moments are nothing but rounding. Seeds and the order of the examples:
``tools/bert_steps/sitecustomize.py``. Exit code 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

import public_data
import run_public_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: What one replica and eight cores may differ by from TensorFlow 1.15.
LIMITS = {"run_classifier.py": 1e-6, "run_pretraining.py": 1e-5}
STEPS = 50
CORES = 8

_READ = """
import numpy, sys, tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
names = sorted(reader.get_variable_to_shape_map())
numpy.savez(sys.argv[2], **{name.replace("/", "|"): reader.get_tensor(name) for name in names})
"""


def main() -> int:
    """Runs all of it; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python-115", required=True, help="an interpreter with TensorFlow 1.15")
    parser.add_argument("--python", action="append", required=True, help="one to compare with it")
    args = parser.parse_args()
    checkouts = pathlib.Path(os.environ.get("TPUCOMPAT_PROGRAMS", "checkouts")).expanduser()
    programs = json.loads(run_public_programs.TABLE.read_text(encoding="utf-8"))
    program = next(each for each in programs if each["name"] == "bert-classifier")
    with tempfile.TemporaryDirectory(prefix="tpucompat-bert-") as name:
        folder = pathlib.Path(name)
        run_public_programs.copy_program(program, checkouts, folder / "program")
        (folder / "data").mkdir()
        public_data.bert(folder / "data", folder)
        comparison = Comparison(folder, args.python_115)
        return max([comparison.one_replica(args.python), comparison.cores(args.python)])


class Run(NamedTuple):
    """What a program left: the prefix of its last checkpoint, and the loss of its last step."""

    checkpoint: str
    loss: float


class Comparison:
    """The runs in one folder, which has the program and its data.

    Args:
      folder: With ``program`` and ``data``.
      python_115: The interpreter with TensorFlow 1.15.
    """

    def __init__(self, folder: pathlib.Path, python_115: str) -> None:
        self._folder = folder
        self._python_115 = python_115

    def one_replica(self, pythons: list[str]) -> int:
        """Compares run_classifier.py; 1 where it differs too much."""
        script = "run_classifier.py"
        data = self._folder / "data"
        flags = [
            "--task_name=MRPC",
            "--do_train=true",
            f"--data_dir={data}/mrpc",
            f"--vocab_file={data}/vocab.txt",
            f"--bert_config_file={data}/bert_config.json",
            "--max_seq_length=32",
            "--train_batch_size=16",
            "--learning_rate=1e-4",
        ]
        start = self._run([self._python_115, script, *flags, "--num_train_epochs=1"]).checkpoint
        # 64 examples in batches of 16: the epochs of fifty steps.
        flags += [f"--init_checkpoint={start}", f"--num_train_epochs={STEPS / 4}"]
        expected = self._run([self._python_115, script, *flags])
        ours = {python: [python, "-m", "tpucompat", "run", script, *flags] for python in pythons}
        return self._compare(script, "1 replica", expected, ours)

    def cores(self, pythons: list[str]) -> int:
        """Compares run_pretraining.py; 1 where it differs too much."""
        script = "run_pretraining.py"
        data = self._folder / "data"
        flags = [
            f"--input_file={data}/pretraining.tfrecord",
            f"--bert_config_file={data}/no_dropout.json",
            "--do_train=true",
            "--max_seq_length=32",
            "--max_predictions_per_seq=5",
            "--train_batch_size=16",
            "--learning_rate=1e-4",
        ]
        first = [self._python_115, script, *flags, "--num_train_steps=1", "--num_warmup_steps=0"]
        flags += [f"--num_train_steps={STEPS}", "--num_warmup_steps=5"]
        flags += [f"--init_checkpoint={self._run(first).checkpoint}"]
        towers = str(ROOT / "tools" / "bert_steps" / "towers.py")
        expected = self._run([self._python_115, towers, f"--towers={CORES}", *flags])
        run = ["-m", "tpucompat", "run", "--cores", str(CORES), script, *flags]
        run += ["--use_tpu=true", "--tpu_name=mytpu", "--iterations_per_loop=10"]
        ours = {python: [python, *run] for python in pythons}
        return self._compare(script, f"{CORES} cores", expected, ours)

    def _compare(self, script: str, what: str, expected: Run, ours: dict[str, list[str]]) -> int:
        worst = 0.0
        for python, command in ours.items():
            run = self._run(command)
            off, name = self._difference(run.checkpoint, expected.checkpoint)
            losses = abs(run.loss - expected.loss) / abs(expected.loss)
            say = [python, "-c", "import tensorflow; print(tensorflow.__version__)"]
            release = subprocess.check_output(say, text=True, stderr=subprocess.DEVNULL).strip()
            told = f"{script}, {what}, {STEPS} steps, TensorFlow {release}"
            print(
                f"{told}: loss {run.loss:.7f}, {losses:.1e}; variables {off:.1e} ({name})",
                flush=True,
            )
            worst = max(worst, off, losses)
        return int(not worst <= LIMITS[script])

    def _run(self, command: list[str]) -> Run:
        """Runs a program into a new folder."""
        out = pathlib.Path(tempfile.mkdtemp(prefix="out-", dir=self._folder))
        seeds = ROOT / "tools" / "bert_steps"
        program = self._folder / "program"
        done = subprocess.run(
            [*command, f"--output_dir={out}"],
            cwd=program,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (seeds, program, ROOT))),
                "CUDA_VISIBLE_DEVICES": "-1",
                "TF_CPP_MIN_LOG_LEVEL": "2",
                "TPUCOMPAT_EXACT": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise SystemExit(
                f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-3000:]}"
            )
        last = max(out.glob("model.ckpt-*.index"), key=lambda path: int(path.stem.split("-")[-1]))
        loss = re.findall(r"Loss for final step: ([-+.e0-9]*\d)", done.stdout)[-1]
        return Run(str(last.with_suffix("")), float(loss))

    def _difference(self, ours: str, expected: str) -> tuple[float, str]:
        """The largest difference of two checkpoints, and the variable that has it."""
        import numpy as np

        values = []
        for number, checkpoint in enumerate((ours, expected)):
            path = str(self._folder / f"values{number}.npz")
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
            environment.pop("PYTHONPATH", None)
            command = [sys.executable, "-c", _READ, checkpoint, path]
            subprocess.run(command, check=True, env=environment, stderr=subprocess.PIPE)
            with np.load(path) as stored:
                values.append({name: np.asarray(stored[name], np.float64) for name in stored.files})
        got, wanted = values
        if set(got) != set(wanted):
            raise SystemExit(f"not the same variables: {sorted(set(got) ^ set(wanted))}")

        sizes: dict[str, float] = collections.defaultdict(float)
        for name, value in wanted.items():
            sizes[_kind(name)] = max(sizes[_kind(name)], np.abs(value).max())

        def off(name: str) -> float:
            return float(np.abs(got[name] - wanted[name]).max() / (sizes[_kind(name)] or 1.0))

        worst = max(wanted, key=off)
        return off(worst), worst.replace("|", "/")


def _kind(name: str) -> str:
    """Of a variable: "weights", one of the moments, or the step, which is a kind of its own."""
    last = name.rpartition("|")[2]
    return last if last in ("adam_m", "adam_v", "global_step") else "weights"


if __name__ == "__main__":
    sys.exit(main())
