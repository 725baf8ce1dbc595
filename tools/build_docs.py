"""Builds the guide: every warning of Sphinx is an error, and no link of the built pages leads nowhere.

python -m pip install '.[docs]'
python tools/build_docs.py            # to build/guide
"""

from __future__ import annotations

import glob
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "build", "guide")


class Page(HTMLParser):
    """The links of a page, and the anchors in it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        with open(path, encoding="utf-8") as stream:
            self.feed(stream.read())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(folder: str) -> list[str]:
    """The links in a built site that lead to no file of it, or to no anchor."""
    paths = glob.glob(os.path.join(folder, "**", "*.html"), recursive=True)
    pages = {os.path.realpath(path): Page(path) for path in paths}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = os.path.join(os.path.dirname(path), unquote(parts.path))
                target = os.path.realpath(target)
            # The theme's own links to the top of the page and to the search's parts.
            known = not parts.fragment or unquote(parts.fragment) in getattr(
                pages.get(target), "anchors", {unquote(parts.fragment)}
            )
            if not os.path.exists(target) or not known:
                dead.append(f"{os.path.relpath(path, folder)}: {link}")
    return dead


def main(out: str = OUT) -> int:
    """Builds; returns 1 if anything is wrong."""
    from sphinx.cmd.build import main as sphinx

    source = os.path.join(ROOT, "docs")
    code = sphinx(["-W", "-n", "-E", "--keep-going", "-q", "-b", "html", source, out])
    if code:
        return 1
    dead = dead_links(out)
    count = len(glob.glob(os.path.join(out, "**", "*.html"), recursive=True))
    print("\n".join(sorted(set(dead))) or f"{count} pages in {os.path.relpath(out, ROOT)}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
