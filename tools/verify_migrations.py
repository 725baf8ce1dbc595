"""Migrates every legacy example by ``tpucompat migrate``, and compares the outcome with the original.

    python tools/verify_migrations.py [--cores N] [--pair NAME] [--unsafe] [--json FILE]

The pairs' own table says the arguments and tolerances; the hand-made halves are replaced by what ``migrate``
writes. "As by hand" is the share of the hand-made half's lines, without comments and blanks, that stand in the
automatic one too.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where the file that a half is told to write has to be called otherwise than for the hand-made one: Keras 3
# saves whole models in its own format only, where the hand-made half exports one.
FLAGS = {'"--model", "{out}/pets"': '"--model", "{out}/pets.keras"'}


def tree(folder: str, unsafe: bool) -> None:
    """The pairs' table with halves that ``migrate`` has written."""
    for name in ("legacy_examples", "examples_data"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    migrated = os.path.join(folder, "migrated_examples")
    shutil.copytree(os.path.join(ROOT, "legacy_examples"), migrated)
    with open(os.path.join(ROOT, "examples.toml"), encoding="utf-8") as stream:
        table = stream.read()
    for before, after in FLAGS.items():
        table = table.replace(before, after)
    with open(os.path.join(folder, "examples.toml"), "w", encoding="utf-8") as stream:
        stream.write(table)
    command = [sys.executable, "-m", "tpucompat", "migrate", "--write", migrated]
    subprocess.run(command + (["--unsafe"] if unsafe else []), check=True)


def sharing(automatic: str, by_hand: str) -> float:
    """How much of the second file's code stands in the first."""

    def code(path: str) -> list[str]:
        with open(path, encoding="utf-8") as stream:
            lines = [line.strip().replace("'", '"') for line in stream]
        return [line for line in lines if line and not line.startswith("#")]

    blocks = difflib.SequenceMatcher(None, code(automatic), code(by_hand), False)
    return sum(block.size for block in blocks.get_matching_blocks()) / len(code(by_hand))


def main() -> int:
    """Runs everything; the exit code is that of ``tpucompat verify``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unsafe", action="store_true", help="with the rewritings of --unsafe")
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="tpucompat-migrations-") as folder:
        tree(folder, options.unsafe)
        migrated = os.path.join(folder, "migrated_examples")
        for name in sorted(os.listdir(os.path.join(ROOT, "migrated_examples"))):
            by_hand = os.path.join(ROOT, "migrated_examples", name)
            print(f"{name:<32}{sharing(os.path.join(migrated, name), by_hand):4.0%} as by hand")
        sys.stdout.flush()
        table = os.path.join(folder, "examples.toml")
        command = [sys.executable, "-m", "tpucompat", "verify", "--all", "--examples", table]
        return subprocess.run([*command, *rest]).returncode


if __name__ == "__main__":
    sys.exit(main())
