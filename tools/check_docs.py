"""Checks the documents: links to files and headings exist, and made parts are as their data has them."""

from __future__ import annotations

import glob
import os
import re
import sys

import compatibility

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def headings(path: str) -> set[str]:
    """The anchors of a document, as GitHub makes them from its headings."""
    with open(path, encoding="utf-8") as stream:
        found = re.findall(r"(?m)^#+ +(.+?) *$", re.sub(r"(?s)```.*?```", "", stream.read()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken_links(path: str) -> list[str]:
    """The links of a document that lead to no file or no heading of the repository."""
    with open(path, encoding="utf-8") as stream:
        text = re.sub(r"(?s)```.*?```", "", stream.read())
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(target):
            broken.append(f"{os.path.relpath(path, ROOT)}: {link} is no file")
        elif anchor and target.endswith(".md") and anchor not in headings(target):
            broken.append(f"{os.path.relpath(path, ROOT)}: {link} is no heading")
    return broken


def main() -> int:
    """Prints what is wrong; returns 1 if anything is."""
    documents = glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(
        os.path.join(ROOT, "docs", "**", "*.md"), recursive=True
    )
    problems = [line for path in sorted(documents) for line in broken_links(path)]
    problems += compatibility.outdated()
    print("\n".join(problems) or f"{len(documents)} documents")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
