"""Writes the pins of every tox environment: ``python tools/make_constraints.py [RELEASE ...]``.

One file ``constraints/tf-RELEASE.txt`` for each TensorFlow release of :data:`ROWS`, with the version of
every package that the environment gets, so that an environment that was built today is built the same next
year. ``uv pip compile`` resolves them (``pip install uv``), for the Python that the row names.

What a release needs but never said (TensorFlow 1.x and 2.0 to 2.11 set few upper limits, and the packages
went on) stands in :data:`LIMITS`, each with the reason.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "constraints")


class Row(NamedTuple):
    """One TensorFlow release of the matrix.

    Attributes:
      release: TensorFlow's "major.minor".
      python: The Python that the environment has: the newest with wheels up to 3.12, but the oldest
        where the release is from the time of 3.7, so that every Python is met somewhere.
      requirement: The distribution and its last patch; tensorflow-cpu, where that exists.
      tf_keras: The tf-keras of the same minor, or "" where Keras 2 is bundled. It asks for
        ``tensorflow``, not -cpu, and is therefore installed without its dependencies.
    """

    release: str
    python: str
    requirement: str
    tf_keras: str = ""

    @property
    def number(self) -> tuple[int, int]:
        """The release as numbers, to compare."""
        major, minor = self.release.split(".")
        return int(major), int(minor)


ROWS = (
    Row("1.13", "3.7", "tensorflow==1.13.2"),
    Row("1.14", "3.7", "tensorflow==1.14.0"),
    Row("1.15", "3.7", "tensorflow==1.15.5"),
    Row("2.0", "3.7", "tensorflow==2.0.4"),
    Row("2.1", "3.7", "tensorflow-cpu==2.1.4"),
    Row("2.2", "3.8", "tensorflow-cpu==2.2.3"),
    Row("2.3", "3.8", "tensorflow-cpu==2.3.4"),
    Row("2.4", "3.8", "tensorflow-cpu==2.4.4"),
    Row("2.5", "3.9", "tensorflow-cpu==2.5.3"),
    Row("2.6", "3.9", "tensorflow-cpu==2.6.5"),
    Row("2.7", "3.9", "tensorflow-cpu==2.7.4"),
    Row("2.8", "3.10", "tensorflow-cpu==2.8.4"),
    Row("2.9", "3.10", "tensorflow-cpu==2.9.3"),
    Row("2.10", "3.10", "tensorflow-cpu==2.10.1"),
    Row("2.11", "3.10", "tensorflow-cpu==2.11.1"),
    Row("2.12", "3.11", "tensorflow-cpu==2.12.1"),
    Row("2.13", "3.11", "tensorflow-cpu==2.13.1"),
    Row("2.14", "3.11", "tensorflow-cpu==2.14.1"),
    Row("2.15", "3.11", "tensorflow-cpu==2.15.1"),
    Row("2.16", "3.12", "tensorflow-cpu==2.16.2", "tf-keras==2.16.0"),
    Row("2.17", "3.12", "tensorflow-cpu==2.17.1", "tf-keras==2.17.0"),
    Row("2.18", "3.12", "tensorflow-cpu==2.18.1", "tf-keras==2.18.0"),
    Row("2.19", "3.12", "tensorflow-cpu==2.19.1", "tf-keras==2.19.0"),
    Row("2.20", "3.13", "tensorflow-cpu==2.20.0", "tf-keras==2.20.1"),
    Row("2.21", "3.13", "tensorflow-cpu==2.21.0", "tf-keras==2.21.0"),
)


class Limit(NamedTuple):
    """A package that releases from ``first`` to ``last`` cannot go beyond, though they do not say so."""

    last: tuple[int, int]
    requirement: str
    reason: str
    first: tuple[int, int] = (1, 13)

    def holds_for(self, row: Row) -> bool:
        """Whether the limit is about a release."""
        return self.first <= row.number <= self.last


LIMITS = (
    Limit((1, 14), "gast<0.3", "AutoGraph of these releases is written for gast 0.2, as 1.15 says"),
    Limit((1, 14), "numpy<1.17", "1.17 warns of the dtypes that these releases define"),
    Limit((1, 15), "numpy<1.19", "1.15.5 and 2.0.4 say so themselves"),
    Limit((2, 7), "numpy<1.24", "they use np.object and np.bool, which 1.24 removed"),
    Limit((2, 13), "ipython<8.19", "later ones need a newer typing-extensions", first=(2, 12)),
    Limit((2, 17), "numpy<2", "RELEASE.md 2.18.0: the first release that is built for NumPy 2"),
    Limit((2, 3), "h5py<3", "their Keras decodes attributes, which h5py 3 gives as str"),
    Limit((2, 6), "matplotlib-inline<0.2", "later ones need a matplotlib that needs NumPy 1.20"),
    Limit((2, 6), "jsonschema<4.18", "later ones need a typing-extensions that 2.6 does not allow"),
    Limit((2, 10), "protobuf<3.21", "generated modules of their age are refused from 4.21 on"),
    Limit((2, 21), "setuptools<81", "TensorBoard imports pkg_resources, which later ones lack"),
)


def pins(row: Row, uv: str) -> list[str]:
    """The resolved requirements of a release's environment.

    Args:
      row: The release.
      uv: The program ``uv``.

    Raises:
      SystemExit: There is no such set of versions; uv's own explanation names the packages.
    """
    wanted = [row.requirement, "tf-slim==1.1.0", "tensorboard"]
    if row.number >= (2, 16):  # the last release of tensorflow-estimator, which needs no TensorFlow
        wanted.append("tensorflow-estimator==2.15.0")
    limits = [limit.requirement for limit in LIMITS if limit.holds_for(row)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("wanted.in", "limits.txt")]
        for path, lines in zip(paths, (wanted, limits)):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write("\n".join(lines) + "\n")
        command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
        command += ["--python-version", row.python, "--constraint", paths[1]]
        command += ["--extra", "test", os.path.join(ROOT, "pyproject.toml"), paths[0]]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"no set of packages for TensorFlow {row.release}, Python {row.python}")
    lines = done.stdout.split("\n")
    return sorted({line for line in lines if line} | ({row.tf_keras} if row.tf_keras else set()))


def main() -> None:
    """Writes the constraint files of the releases that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    asked = parser.parse_args().releases
    unknown = set(asked) - {row.release for row in ROWS}
    uv = shutil.which("uv") or shutil.which("uv", path=os.path.dirname(sys.executable))
    if unknown or uv is None:
        parser.error(
            f"no row for {sorted(unknown)}" if unknown else "uv is not here: pip install uv"
        )
    os.makedirs(FOLDER, exist_ok=True)
    for row in ROWS:
        if asked and row.release not in asked:
            continue
        lines = [f"# TensorFlow {row.release}, Python {row.python}; by tools/make_constraints.py"]
        lines += [
            f"# {limit.requirement}: {limit.reason}" for limit in LIMITS if limit.holds_for(row)
        ]
        path = os.path.join(FOLDER, f"tf-{row.release}.txt")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines + pins(row, uv)) + "\n")
        print(path)


if __name__ == "__main__":
    main()
