"""The pages of the guide: what is told twice is told alike, and each command and code has its page."""

from __future__ import annotations

import argparse
import glob
import importlib
import os
import re
import sys

import guide_blocks
import pytest

from tpucompat.__main__ import COMMANDS
from tpucompat.base import codes
from tpucompat.base.codes import CODES
from tpucompat.commands.analysis import findings
from tpucompat.commands.cli import explain

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(ROOT, "docs")
CHINESE = sorted(glob.glob(os.path.join(DOCS, "zh", "**", "*.md"), recursive=True))
WRITTEN = sorted(
    path
    for path in glob.glob(os.path.join(DOCS, "**", "*.md"), recursive=True)
    if os.path.relpath(path, DOCS).split(os.sep)[0] not in ("codes", "made", "pairs")
)
LANGUAGES = {"", "python", "shell", "text", "toml", "yaml"}
HAN = re.compile(r"[\u4e00-\u9fff]")


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def _english(page: str) -> str:
    return os.path.join(DOCS, os.path.relpath(page, os.path.join(DOCS, "zh")))


def _levels(path: str) -> list[int]:
    without_code = re.sub(r"(?ms)^(```+).*?^\1$", "", _text(path))
    return [len(marks) for marks in re.findall(r"(?m)^(#+) ", without_code)]


def _includes(path: str) -> list[str]:
    """What a page includes, with its options; where the file lies is seen from the page."""
    found = re.findall(r"(?ms)^```\{literalinclude\} (.*?)^```$", _text(path))
    return [re.sub(r"^(\.\./)+", "", text) for text in found]


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: os.path.relpath(page, DOCS))
def test_both_languages_have_the_same_code_and_headings(page):
    english = _english(page)
    ours, theirs = (
        [
            (block.language, block.code, block.marks, block.printed)
            for block in guide_blocks.blocks(one)
            if block.language in ("python", "shell", "text", "toml", "yaml")
        ]
        for one in (page, english)
    )
    assert ours == theirs
    assert _includes(page) == _includes(english)
    assert _levels(page) == _levels(english)
    assert len(HAN.findall(_text(page))) > 300  # it is a translation, and not a copy


def test_the_main_pages_are_there_in_chinese():
    assert [os.path.relpath(page, os.path.join(DOCS, "zh")) for page in CHINESE] == [
        "idioms/batch_parallel.md",
        "idioms/keras_to_tpu_model.md",
        "idioms/tpu_estimator.md",
        "index.md",
        "topics/batch_size.md",
        "topics/loss_reduction.md",
        "topics/tpu_vm_and_colab.md",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_page_with_its_own_options(name):
    text = _text(os.path.join(DOCS, "commands", name + ".md"))
    assert text.startswith(f"# tpucompat {name}\n")
    assert f"```{{options}} {name}\n" in text


def _used_options(line: str) -> tuple[str, list[str]]:
    words = line.split()
    command = words[1]
    options = []
    for word in words[2:]:
        if command in ("run", "check") and re.search(r"\.(py|ipynb)$", word):
            break  # the rest is the script's own
        options += re.findall(r"^--[\w-]+", word)
    return command, options


def test_options_in_the_text_exist():
    """Also those of commands that stand within a sentence."""
    seen = 0
    for page in WRITTEN:
        for line in re.findall(r"(?m)(?:^|`|  - )(tpucompat [a-z].*?)(?:`|$)", _text(page)):
            command, options = _used_options(line.replace("\\\n", " "))
            if command not in COMMANDS:
                continue
            parser: argparse.ArgumentParser = importlib.import_module(COMMANDS[command][0]).parser()
            known = {word for action in parser._actions for word in action.option_strings}
            assert set(options) <= known, (page, line)
            seen += 1
    assert seen > 20


def test_a_block_says_what_it_is_and_why_it_is_not_run():
    blocks = [block for page in WRITTEN for block in guide_blocks.blocks(page)]
    assert {block.language for block in blocks} <= LANGUAGES
    left_out = [block for block in blocks if block.world == "not"]
    for block in left_out:
        assert len(block.marks[1]) > 10, block  # the reason
        assert "TPU" in block.marks[1], block
        assert guide_blocks.unknown_names(block.code) == [], block
    assert len(left_out) <= 2  # English and Chinese


def test_names_that_nobody_defines_are_found():
    assert guide_blocks.unknown_names("for x in y:\n  print(tf.add(x, z))\n") == ["y", "z"]


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the guide is built with Python 3.11 or later"
)
def test_each_code_has_a_page_where_findings_and_errors_lead(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(os.path.join(DOCS, "_ext"))
    pages = importlib.import_module("pages")
    pages.make(str(tmp_path))
    for code, row in CODES.items():
        finding = findings.Finding("x.py", 1, 1, 0, code, "")
        text = (tmp_path / finding.page.replace(".html", ".md")).read_text(encoding="utf-8")
        assert text.startswith(f"# {code}: {row.title}\n")
        assert row.why in text and row.what_to_do in text
        assert os.path.exists(os.path.join(DOCS, pages.room(code)[1] + ".md")), code
        assert explain.code_text(code).endswith(codes.GUIDE + finding.page)
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as stream:
        assert f'Documentation = "{codes.GUIDE}"' in stream.read()
    # A second time nothing is written, so that Sphinx has nothing to read again.
    before = os.stat(tmp_path / "codes" / "index.md").st_mtime_ns
    pages.make(str(tmp_path))
    assert os.stat(tmp_path / "codes" / "index.md").st_mtime_ns == before


def test_pictures_are_drawn_by_the_tool_and_have_a_text(tmp_path):
    import build_docs
    import draw_pictures

    for name, text in draw_pictures.pictures().items():
        assert _text(os.path.join(draw_pictures.OUT, name)) == text, f"{name} is stale"
        # README and guide say of every picture of curves that they coincide.
        assert "_curves" not in name or "The curves coincide" in text
    (tmp_path / "a.html").write_text('<img src="a.svg"><img src="b.svg" alt="b">')
    assert build_docs.untold_pictures(str(tmp_path)) == ["a.html: no alt: a.svg"]


def test_the_built_guide_is_checked_for_dead_links(tmp_path):
    import build_docs

    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="#top">x</a><a id="top">')
    (tmp_path / "b.html").write_text('<p id="there"><a href="c.html">x</a><a href="https://x.y/z">')
    assert sorted(build_docs.dead_links(str(tmp_path))) == ["a.html: b.html#here", "b.html: c.html"]


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the guide is built with Python 3.11 or later"
)
def test_notebooks_have_a_badge_where_colab_can_open_them(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(DOCS, "_ext"))
    pages = importlib.import_module("pages")
    names = sorted(os.listdir(os.path.join(ROOT, "notebooks")))
    with_badges = pages.notebook_list("https://github.com/owner/name")
    found = re.findall(r"\[!\[(Open in Colab: .+?)\]\(https://\S+\.svg\)\]\((\S+)\)", with_badges)
    assert [link for _, link in found] == [
        f"https://colab.research.google.com/github/owner/name/blob/main/notebooks/{name}"
        for name in names
        if name.endswith(".ipynb")
    ]
    assert len(found) == 3
    assert "colab.research" not in pages.notebook_list("")
    assert "colab.research" not in pages.notebook_list("https://example.org/owner/name")
