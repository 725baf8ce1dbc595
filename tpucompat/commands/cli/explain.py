"""``tpucompat explain``: what a code means, or what became of a symbol of TensorFlow 1.x."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from typing import Sequence

from tpucompat.base.codes import CODES, GUIDE, page
from tpucompat.commands.cli.options import Parser
from tpucompat.names import lookup, symbols
from tpucompat.names import successors as today
from tpucompat.names.rows import Constant, Gone, Moved, Package, Row, StandIn


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = Parser(prog="tpucompat explain", description=__doc__)
    result.add_argument("what", metavar="CODE|SYMBOL", help="TPU410, or tf.contrib.tpu.shard")
    return result


def main(argv: Sequence[str]) -> int:
    """Runs the command.

    Args:
      argv: The arguments behind ``explain``.

    Returns:
      0, or 2 when there is neither such a code nor such a symbol.
    """
    what = parser().parse_args(argv).what
    is_code = what.upper() in CODES
    text = code_text(what.upper()) if is_code else symbol_text(_bare(what))
    if text:
        print(text if is_code else text + _today(_bare(what)))
        return 0
    close = _close_to(what)
    hint = f"\n  Close: {', '.join(close)}" if close else ""
    row = CODES["TPU416"]
    step = "Check the spelling; close names are listed above." if close else row.what_to_do
    sys.stderr.write(f"TPU416 {row.title}: {what}{hint}\n  Next: {step}\n")
    return 2


def code_text(code: str) -> str:
    """A code's row, for people."""
    row = CODES[code]
    return "\n".join(
        [
            f"{code}: {row.title}",
            "",
            _filled("Why", row.why),
            _filled("What to do", row.what_to_do),
            "Guide: " + GUIDE + page(code),
        ]
    )


def symbol_text(name: str) -> str:
    """What became of a symbol, for people.

    Args:
      name: Dotted name below ``tensorflow.``, such as "contrib.tpu.shard".

    Returns:
      The text; "" if neither the tables nor TensorFlow 1.15 know the name.
    """
    row = lookup.find_row(name)
    kind = symbols.kind(name)
    title = f"tf.{name}" + (f" ({kind} of TensorFlow 1.15)" if kind else "")
    if row is not None:
        return "\n".join([title, "", *_row_lines(row)])
    inside = _names_with_rows(name)
    if not kind and not inside:
        public = _public_of_private(name)
        return f"tf.{name} is a private path to\n{symbol_text(public)}" if public else ""
    above, row = today.package_above(name, at_least=1)
    if row is not None:
        return "\n".join([title, "", f"A name of tf.{above}.", *_row_lines(row)])
    if inside:
        listed = textwrap.fill(", ".join(inside), 88, break_on_hyphens=False)
        return "\n".join([title, "", "A module. Known names:", listed])
    text = (
        "The same name in tf.compat.v1 of the installed TensorFlow. If it does not exist "
        "there, using it raises TPU101."
    )
    if name.startswith("contrib."):
        text = "TensorFlow 2 has no counterpart; using it raises TPU101."
    return "\n".join([title, "", textwrap.fill(text, 88, break_on_hyphens=False)])


def _today(name: str) -> str:
    """A line with what one writes in TensorFlow 2 instead, as ``scan`` says and ``migrate`` writes."""
    found = today.fate("tensorflow." + name)
    if found is None or found.rest or not found.becomes:
        return ""
    note = f" ({found.code}). {found.note}".rstrip()
    return "\n\n" + _filled("Write today", found.becomes + note)


def _row_lines(row: Row) -> list[str]:
    if isinstance(row, Gone):
        since = f" since {row.since}" if row.since else ""
        lines = [_filled(f"Removed{since} ({row.code})", row.reason.rstrip(".") + ".")]
        if row.instead:
            lines.append(_filled("Instead", row.instead))
        return [*lines, "", code_text(row.code)] if row.code in CODES else lines
    if isinstance(row, Constant):
        lines = [f"A constant: {row.value!r}"]
    elif isinstance(row, Moved):
        lines = [f"Available, with the same behavior, as {_place(row.target)}"]
    elif isinstance(row, StandIn):
        lines = [f"Replaced by tpucompat: {_place(row.target)}"]
    else:
        assert isinstance(row, Package)
        places = ", then ".join(_place(target) for target in row.targets)
        lines = [f"The names of this package are looked up in {places}"]
        if row.rest is not None:
            lines.append("Other names are removed. " + row.rest.reason)
            lines.append(_filled("Instead", row.rest.instead))
    return [*lines, textwrap.fill(row.note, 88, break_on_hyphens=False)] if row.note else lines


def _place(target: str) -> str:
    """``module:attribute`` as one dotted name."""
    words = {"{tf}": "tf.compat.v1", "{keras}": "Keras 2's source", "{own}": "tpucompat.v1"}
    for word, meaning in words.items():
        target = target.replace(word, meaning)
    return target.replace(":", ".")


def _public_of_private(name: str) -> str:
    """The public name of what a private module defines, or "".

    ``contrib.tpu.RunConfig`` of ``contrib.tpu.python.tpu.tpu_config.RunConfig`` and of
    ``python.tpu.tpu_config.RunConfig``, ``keras.models.Model`` of ``python.keras.models.Model``.
    """
    parts = name.split(".")
    if "python" not in parts[:-2]:
        return ""
    places = [f"contrib.{parts[1]}", parts[1], ".".join(parts[1:-1])]
    names = (f"{place}.{parts[-1]}" for place in places)
    return next((full for full in names if symbols.kind(full) or lookup.find_row(full)), "")


def _names_with_rows(module: str) -> list[str]:
    """The names directly in a module that have rows, or have rows below them."""
    tables = {**lookup.table_rows("tf1"), **lookup.table_rows("tf2")}
    prefix = module + "."
    below = (name[len(prefix) :] for name in tables if name.startswith(prefix))
    return sorted({name.partition(".")[0] for name in below})


def _bare(name: str) -> str:
    for prefix in ("tf.", "tensorflow.", "compat.v1."):
        if name.startswith(prefix):
            name = name[len(prefix) :]
    return name


def _close_to(what: str) -> list[str]:
    codes = difflib.get_close_matches(what.upper(), list(CODES), n=3, cutoff=0.8)
    if codes:
        return codes
    name = _bare(what)
    known = set(symbols.names()) | set(lookup.table_rows("tf1")) | set(lookup.table_rows("tf2"))
    last = name.rpartition(".")[2]
    same = sorted(full for full in known if full.rpartition(".")[2] == last)
    found = same[:3] or difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    return ["tf." + full for full in found]


def _filled(label: str, text: str) -> str:
    indent = " " * (len(label) + 2)
    return textwrap.fill(f"{label}: {text}", 88, subsequent_indent=indent, break_on_hyphens=False)
