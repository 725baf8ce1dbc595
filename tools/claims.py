"""The numbers that README and the guide claim, beside where they come from.

    python tools/claims.py        # each claim: what stands there, what it should be; exit code 1 if one differs

A claim whose number is in the repository is compared by a test too. What has to be run to be known (losses,
speed) stands in the README with its command.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from typing import Callable, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Claim(NamedTuple):
    """One number, or several that belong together.

    Attributes:
      page: The file that it stands in.
      pattern: A regular expression, with a group for each number; blanks stand for line ends too.
      source: Where it comes from.
      truth: Gives what should stand there.
    """

    page: str
    pattern: str
    source: str
    truth: Callable[[], tuple[str, ...]]

    def said(self) -> tuple[str, ...]:
        """What stands there.

        Raises:
          ValueError: Nothing of the kind does.
        """
        text = " ".join(_read(self.page).split())
        found = re.search(self.pattern, text)
        if not found:
            raise ValueError(f"{self.page} does not say {self.pattern!r}")
        return tuple(group.lower() for group in found.groups())


def _read(name: str) -> str:
    with open(os.path.join(ROOT, name), encoding="utf-8") as stream:
        return stream.read()


def _json(name: str) -> dict:
    found: dict = json.loads(_read(name))
    return found


def _seeds() -> tuple[str, ...]:
    return (str(len(_json("tests/data/operation_counts.json")["cases"])),)


def _first_release(test: str) -> tuple[str, ...]:
    """The release that a module of tests asks for: ``RELEASE < (2, 15)``."""
    for node in ast.walk(ast.parse(_read(test))):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
            release = node.comparators[0]
            if isinstance(release, ast.Tuple) and len(release.elts) == 2:
                return (".".join(str(ast.literal_eval(each)) for each in release.elts),)
    raise ValueError(f"{test} asks for no release")


def _suite(name: str) -> tuple[str, ...]:
    for line in _read("docs/library_tests.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].endswith(name):
            return cells[2], cells[3]
    raise ValueError(f"there is no suite {name}")


def _estimator_tests() -> tuple[str, ...]:
    found = re.search(r"(\d+) of (\d+) tests", _read("docs/estimator_tests.md"))
    if not found:
        raise ValueError("docs/estimator_tests.md has no total")
    return found.groups()


def _releases() -> tuple[str, ...]:
    """The oldest and the newest minor of TensorFlow with recorded results."""
    minors = re.findall(r"(?m)^\| (\d+\.\d+)\.\d+ \|", _read("docs/compatibility.md"))
    ordered = sorted(set(minors), key=lambda minor: [int(part) for part in minor.split(".")])
    return ordered[0], ordered[-1]


def _mistakes() -> tuple[str, ...]:
    return (str(_read("tools/mistakes.toml").count("[[mistake]]")),)


SEEDS = "tests/behaviour/test_operation_seeds.py"
CLAIMS = [
    Claim(
        "docs/numbers.md", r"the seeds of (\d+) calls", "tests/data/operation_counts.json", _seeds
    ),
    Claim(
        "docs/numbers.md",
        r"On TensorFlow ([\d.]+) and later, a program that sets a seed",
        SEEDS,
        lambda: _first_release(SEEDS),
    ),
    Claim(
        "README.md",
        r"`tf.contrib.distribute` \| partly \| (\d+) of its own (\d+) unit tests pass",
        "docs/library_tests.md",
        lambda: _suite("contrib/distribute")[::-1],
    ),
    Claim(
        "README.md",
        r"(\d+) of (\d+) of its own tests",
        "docs/estimator_tests.md",
        _estimator_tests,
    ),
    Claim(
        "README.md",
        r"TensorFlow ([\d.]+) to ([\d.]+) and Python 3.7 to 3.13 are tested",
        "docs/compatibility.md",
        _releases,
    ),
    Claim(
        "docs/numbers.md",
        r"holds the losses of (\d+) steps",
        "tests/data/first_pair_tf115.json",
        lambda: (str(_json("tests/data/first_pair_tf115.json")["steps"]),),
    ),
    Claim(
        "docs/verify_power.md",
        r"(\d+) typical migration mistakes",
        "tools/mistakes.toml",
        _mistakes,
    ),
]


def main() -> int:
    """Prints all claims."""
    wrong = 0
    for claim in CLAIMS:
        said, truth = claim.said(), claim.truth()
        wrong += said != truth
        mark = "ok   " if said == truth else "WRONG"
        print(f"{mark} {claim.page}: {', '.join(said)}; {claim.source}: {', '.join(truth)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
