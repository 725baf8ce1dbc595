"""The tics that CONTRIBUTING.md lists do not come back into pages, codes, messages, help texts, docstrings."""

from __future__ import annotations

import ast
import glob
import os
import re
from typing import Iterator

import pytest

from tpucompat.base.codes import CODES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

#: What is written -> what it would be in plain English. CONTRIBUTING.md has the same table.
TICS = {
    r"\b(?<!here )(?:is|are|was|were) no (?!longer|more|less|fewer|such|\w+er than)\w+": "is not a",
    r"\b(?:is|are|was|does|do|did|called|computes?|rounds?|works?|behaves?|reported) otherwise\b": (
        "differs, differently"
    ),
    r"\bdial(?:s|led|ling)?\b": "connects to",
    r"\b(?:has|have) not(?= (?:an?|the|one|any)\b|[.,;])": "does not have, unsupported",
    r"\banew\b": "again, re-",
    r"\balike\b": "the same",
    r"\bof today\b(?!'s)": "current, today's",
    r"\b[Ff]rom (?:TensorFlow |Python |Keras )?\d[\d.]* on\b": "since, or later",
    r"\bgo(?:es)? on with\b": "continues with, keeps using",
    r"\b(?:left|leaves? \w+|stays?) as (?:it is|they are)\b": "left unchanged",
    r"\bgives? back\b": "returns",
    r"(?<!there )(?<!There )\bis none\b(?! of)": "None, is missing",
    r"\b(?:nobody|nothing|whoever|he) who\b|\b[Ww]hoever\b": "if you",
    r"\b[Ww]ho (?:wants|asks|reads|looks|compares|needs)\b": "to, if you",
    r"\bin both worlds\b|\bthe old world\b": "in TensorFlow 1 and 2",
    r"\bthe very (?:same|\w+s)\b": "the same",
    r"\bis not whole\b": "is incomplete",
    r"\b(?:is|are) told (?:by|what|to)\b": "receives, is detected by",
    r"\bcannot be seen\b": "is unknown, cannot find",
    r"\bnot there\b": "missing, does not exist",
}
#: Made from tables that are tested themselves, or with names of mistakes; architecture.md is for contributors.
NOT_PROSE = re.compile(r"docs/(codes|made|pairs|zh)/|docs/(architecture|verify_power)\.md$")
PAGES = [
    *(
        os.path.join(ROOT, name)
        for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    ),
    *(
        page
        for page in sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
        if not NOT_PROSE.search(page.replace(os.sep, "/"))
    ),
]
SOURCES = sorted(glob.glob(os.path.join(ROOT, "tpucompat", "**", "*.py"), recursive=True))


def tics(text: str) -> list[str]:
    """What the text has of them, with a few words around each."""
    flat = " ".join(text.split())
    return [
        flat[max(0, found.start() - 40) : found.end() + 40]
        for pattern in TICS
        for found in re.finditer(pattern, flat)
    ]


def _prose(page: str) -> str:
    with open(page, encoding="utf-8") as stream:
        text = stream.read()
    text = re.sub(r"(?ms)^\| not \| but \|$.*?^(?!\|)", "", text + "\n")  # the list of the tics
    text = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1`*$", "", text)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def _messages(path: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that people can see: all literals but docstrings and single words."""
    tree = _parsed(path)
    docstrings = {id(node.body[0].value) for node in _documented(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif _is_text(node) and id(node) not in docstrings:
            yield node.lineno, node.value


def _parsed(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as stream:
        return ast.parse(stream.read())


def _documented(tree: ast.Module) -> Iterator[ast.Module]:
    """The modules, classes and functions with a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            yield node


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: os.path.relpath(page, ROOT))
def test_pages_have_no_tics(page):
    assert tics(_prose(page)) == []


def test_codes_have_no_tics():
    found = {
        code: tics(" ".join((row.title, row.why, row.what_to_do))) for code, row in CODES.items()
    }
    assert {code: one for code, one in found.items() if one} == {}


def test_messages_and_help_texts_have_no_tics():
    found = [
        f"{os.path.relpath(path, ROOT)}:{line}: {tic}"
        for path in SOURCES
        for line, text in _messages(path)
        for tic in tics(text)
    ]
    assert found == []


def test_docstrings_have_no_tics():
    found = [
        f"{os.path.relpath(path, ROOT)}:{getattr(node, 'lineno', 1)}: {tic}"
        for path in SOURCES
        for node in _documented(_parsed(path))
        for tic in tics(ast.get_docstring(node))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "model.py is no notebook",
        "Keras 3 computes otherwise",
        "Nothing is ever dialled",
        "An operation that a TPU has not.",
        "the training begins anew",
        "1.4 and 1.5 are alike",
        "It works from 2.16 on",
        "Keras of today",
        "the script goes on with tpucompat.v1",
        "If decoder is none",
        "the file is not there",
    ],
)
def test_the_tics_are_found(text):
    assert len(tics(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "there is no TPU",
        "it is no longer supported",
        "Otherwise, correct the mapping.",
        "it has not been tested",
        "None of them is a TPU; none is needed",
        "it is not necessary there",
        "None if there is none",
    ],
)
def test_plain_english_is_not(text):
    assert tics(text) == []


def test_contributing_lists_the_tics():
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as stream:
        listed = re.findall(r"(?m)^\| (.+?) \| .+ \|$", stream.read().split("## Style")[1])[1:]
    assert len(listed) == len(TICS)
    for text, pattern in zip(listed, TICS):
        assert re.search(pattern, text), (text, pattern)
