"""Builds the guide, and below it the Chinese guide, a site of its own.

Every warning of Sphinx is an error; so are links that lead nowhere, and pictures without a text.

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
    """The links of a page, the anchors in it, and its pictures without an alternative text."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.untold: list[str] = []
        with open(path, encoding="utf-8") as stream:
            self.feed(stream.read())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag."""
        told = dict(attrs)
        if tag == "img" and not (told.get("alt") or "").strip():
            self.untold.append(told.get("src") or "")
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


def untold_pictures(folder: str) -> list[str]:
    """The pictures in a built site that have no alternative text."""
    found = []
    for path in glob.glob(os.path.join(folder, "**", "*.html"), recursive=True):
        found += [f"{os.path.relpath(path, folder)}: no alt: {src}" for src in Page(path).untold]
    return found


def main(out: str = OUT) -> int:
    """Builds; returns 1 if anything is wrong."""
    from sphinx.cmd.build import main as sphinx

    source = os.path.join(ROOT, "docs")
    options = ["-W", "-n", "-E", "--keep-going", "-q", "-b", "html", "-c", source]
    chinese = ["-D", "language=zh_CN", "-D", "html_static_path=_static"]
    chinese += ["-d", os.path.join(out, ".doctrees-zh"), os.path.join(source, "zh")]
    code = sphinx([*options, source, out])
    code = sphinx([*options, *chinese, os.path.join(out, "zh")]) or code
    if code:
        return 1
    dead = dead_links(out) + untold_pictures(out)
    count = len(glob.glob(os.path.join(out, "**", "*.html"), recursive=True))
    print("\n".join(sorted(set(dead))) or f"{count} pages in {os.path.relpath(out, ROOT)}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
