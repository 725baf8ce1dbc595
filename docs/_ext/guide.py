"""What is particular to this guide: pages made from the project's own tables, and options from its parsers."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import textwrap
from typing import Any

import pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tpucompat.__main__ import COMMANDS


class OptionsDirective(SphinxDirective):
    """``{options} scan``: usage and options of a command, from its argparse parser."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The nodes that stand in the directive's place."""
        name = self.arguments[0]
        if name not in COMMANDS:
            raise self.error(f"there is no command {name!r}")
        # The command decides what is on its page: the page is built anew when it changes.
        module = importlib.import_module(COMMANDS[name][0])
        self.env.note_dependency(str(module.__file__))
        return self.parse_text_to_nodes(options(module.parser()))


class NotebooksDirective(SphinxDirective):
    """``{notebooks}``: the notebooks of the repository, with badges where the repository is known."""

    def run(self) -> list[nodes.Node]:
        """The nodes that stand in the directive's place."""
        repository = self.config.html_theme_options.get("source_repository", "")
        return self.parse_text_to_nodes(pages.notebook_list(repository))


def options(parser: argparse.ArgumentParser) -> str:
    """Usage and options of a parser, as Markdown."""
    os.environ["COLUMNS"] = "96"
    parser.formatter_class = argparse.HelpFormatter
    usage = " ".join(parser.format_usage().split()).replace("usage: ", "", 1)
    wrapped = textwrap.wrap(usage, 76, subsequent_indent="    ", break_on_hyphens=False)
    lines = ["```text", *wrapped, "```", "", "| option | effect |", "|---|---|"]
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        effect = " ".join(str(action.help or "").split()) % {**vars(action), "prog": parser.prog}
        effect = re.sub(r"([*|<>_`])", r"\\\1", effect)  # it is no Markdown
        lines.append(f"| {_name(action)} | {effect} |")
    return "\n".join(lines) + "\n"


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = ""
    if action.nargs != 0:
        choices = ",".join(map(str, action.choices or ()))
        value = " " + str(action.metavar or (f"{{{choices}}}" if choices else action.dest.upper()))
        if action.nargs == argparse.REMAINDER:
            value = " MODULE …"
    return f"`{', '.join(action.option_strings)}{value}`"


def _is_chinese(app: Sphinx) -> bool:
    return str(app.config.language).startswith("zh")


def _make_pages(app: Sphinx) -> None:
    if not _is_chinese(app):
        pages.make(str(app.srcdir))


def _language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Links a page to the same page in the other language."""
    if "body" not in context:
        return
    source = os.path.join(pages.ROOT, "docs", *([] if _is_chinese(app) else ["zh"]), page + ".md")
    if not os.path.exists(source):
        return
    up = "../" * page.count("/")
    link = f"{up}../{page}.html" if _is_chinese(app) else f"{up}zh/{page}.html"
    tongue, name = ("en", "English") if _is_chinese(app) else ("zh-CN", "简体中文")
    context["body"] = (
        f'<p class="other-language"><a href="{link}" hreflang="{tongue}" lang="{tongue}">'
        f"{name}</a></p>\n{context['body']}"
    )


_OUTSIDE = re.compile(r"\[([^\]\n]*)\]\(((?:\.\./)+[^)\s]*)\.md(#[^)\s]*)?\)")


def _leave(app: Sphinx, page: str, source: list[str]) -> None:
    """Turns links from the Chinese site to pages that exist in English only into links to the English site."""
    if not _is_chinese(app):
        return

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if not os.path.normpath(os.path.join(os.path.dirname(page), target)).startswith(".."):
            return match.group()
        shown = re.sub("`([^`]+)`", r"<code>\1</code>", text) or os.path.basename(target)
        return f'<a href="{target}.html{anchor}" hreflang="en">{shown}</a>'

    source[0] = _OUTSIDE.sub(link, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("options", OptionsDirective)
    app.add_directive("notebooks", NotebooksDirective)
    app.connect("builder-inited", _make_pages)
    app.connect("source-read", _leave)
    app.connect("html-page-context", _language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
