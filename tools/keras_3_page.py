"""Puts the rows of Keras 2 and 3 into the guide: python tools/keras_3_page.py docs/topics/keras_2_and_3.md"""

from __future__ import annotations

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tpucompat.commands.analysis import keras_3_rows

_BETWEEN = re.compile(r"(?s)(?<=<!-- rows -->\n).*?(?=<!-- end of rows -->)")


def table() -> str:
    """The rows that a script can fall under, each once, in the order of their codes."""
    rows = {
        row.was: row
        for rows in (keras_3_rows.MEMBERS, keras_3_rows.ARGUMENTS, keras_3_rows.BEHAVIOURS)
        for row in rows.values()
        if row.how != "keep"
    }
    lines = [
        "",
        "| Keras 2 | Keras 3 | By `migrate` | By `migrate --keras 2` | Code |",
        "|---|---|---|---|---|",
    ]
    for row in sorted(rows.values(), key=lambda one: (one.code, one.was)):
        words = [row.becomes, row.note]
        what = ". ".join(word.rstrip(".") for word in words if word) or "nothing"
        what = what.replace("|", "\\|")
        how = "rewritten" if row.how else "a TODO"
        kept = "stays" if keras_3_rows.kept_by_keras_2(row) else how
        lines.append(
            f"| `{row.was}` | {what} | {how} | {kept} | [{row.code}](../codes/{row.code}.md) |"
        )
    return "\n".join([*lines, "", ""])


def main() -> None:
    """Writes the table between the marks of a page."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        text = stream.read()
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        stream.write(_BETWEEN.sub(lambda match: table(), text))


if __name__ == "__main__":
    main()
