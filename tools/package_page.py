"""Prepares what a package index shows: ``python tools/package_page.py REPOSITORY REVISION``.

README's links lead to files of the repository, which an index does not have. Before the release is built, this
turns them into addresses at the tag, and adds the repository to the addresses in pyproject.toml.
"""

from __future__ import annotations

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)(\))")


def absolute_links(text: str, repository: str, revision: str) -> str:
    """The text with full addresses for links to files.

    Args:
      text: Markdown.
      repository: Address of the repository, such as ``https://github.com/OWNER/tpucompat``.
      revision: A tag or commit.
    """

    def changed(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"  # a picture, or a page
        return f"{link[1]}{link[2]}{repository}/{kind}/{revision}/{link[3]}{link[4]}"

    return LINK.sub(changed, text)


def with_repository(pyproject: str, repository: str) -> str:
    """pyproject.toml with the repository and its issues among the project's addresses."""
    table = "[project.urls]\n"
    if pyproject.count(table) != 1:
        raise ValueError(f"{table.strip()} is not there once")
    added = f'Source = "{repository}"\nIssues = "{repository}/issues"\n'
    return pyproject.replace(table, table + added)


def main(repository: str, revision: str) -> None:
    """Changes README.md and pyproject.toml in place."""
    changes = {
        "README.md": lambda text: absolute_links(text, repository, revision),
        "pyproject.toml": lambda text: with_repository(text, repository),
    }
    for name, change in changes.items():
        path = os.path.join(ROOT, name)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(change(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
