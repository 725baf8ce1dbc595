"""Keeps of ``tpucompat verify --all --json FILE`` what the guide shows of the pairs, in ``docs/pairs.json``.

With it stand the revision, the day, the processor, and of each pair a digest of its two scripts, its row and
the limits: figures that are older than those are not shown, and a test refuses them.

tpucompat verify --all --json all.json
python tools/record_pairs.py all.json       # or several files, made at one revision
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tools")]

import provenance  # noqa: E402

from tpucompat.commands.verify import pairs as table  # noqa: E402

OUT = os.path.join(ROOT, "docs", "pairs.json")


def condensed(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Pair -> its runs, without what is particular to the machine."""
    pairs: dict[str, list[dict[str, Any]]] = {}
    for document in documents:
        name = document["name"].partition(",")[0]
        rungs = [
            {key: rung[key] for key in ("key", "title", "verdict", "worst", "limit", "why")}
            for rung in document["rungs"]
            if rung["verdict"] != "not compared"
        ]
        pairs.setdefault(name, []).append(
            {"cores": document["old"]["cores"], "verdict": document["verdict"], "rungs": rungs}
        )
    there = documents[0]["new"]["environment"]
    known = {pair.name: pair for pair in table.read(os.path.join(ROOT, "examples.toml"))}
    return {
        **provenance.where(),
        "environment": {key: there[key] for key in ("tensorflow", "keras", "python")},
        "digests": {name: known[name].digest for name in pairs},
        "pairs": pairs,
    }


def main(*paths: str) -> int:
    """Reads the comparisons, of which each has some of the pairs, writes the record."""
    documents: list[dict[str, Any]] = []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            documents += json.load(stream)
    text = json.dumps(condensed(documents), indent=1)  # before the record makes the tree dirty
    with open(OUT, "w", encoding="utf-8") as stream:
        # A rung on a line, so that a new record can be compared with the old one.
        stream.write(re.sub(r"\n {5,}", " ", text) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
