"""Writes the pages of the guide that are made from tables: one for each code, one for each pair.

They are made when the guide is built, and are not part of the repository.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping

import tomllib

from tpucompat.codes import CODES
from tpucompat.verify import pairs as table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: What `tpucompat verify --all` found, written by tools/record_pairs.py.
RECORDED = os.path.join(ROOT, "docs", "pairs.json")

#: First characters of a code -> (what such codes are about, the page of the guide that goes with them). The
#: longest one that fits decides.
ROOMS: Mapping[str, tuple[str, str]] = {
    "TPU1": ("what is gone", "topics/tensorflow_versions"),
    "TPU2": ("what lives elsewhere", "commands/scan"),
    "TPU208": ("what lives elsewhere", "topics/tpu_vm_and_colab"),
    "TPU211": ("what lives elsewhere", "idioms/keras_to_tpu_model"),
    "TPU212": ("what lives elsewhere", "idioms/tpu_estimator"),
    "TPU213": ("what lives elsewhere", "idioms/batch_parallel"),
    "TPU215": ("what lives elsewhere", "idioms/keras_to_tpu_model"),
    "TPU216": ("what lives elsewhere", "topics/keras_2_and_3"),
    "TPU217": ("what lives elsewhere", "topics/loss_reduction"),
    "TPU30": ("keras_to_tpu_model", "idioms/keras_to_tpu_model"),
    "TPU304": ("keras_to_tpu_model", "topics/batch_size"),
    "TPU31": ("keras_to_tpu_model", "idioms/keras_to_tpu_model"),
    "TPU314": ("several machines", "idioms/tpu_estimator"),
    "TPU315": ("several machines", "topics/input_pipelines"),
    "TPU316": ("several machines", "idioms/tpu_estimator"),
    "TPU317": ("several machines", "idioms/tpu_estimator"),
    "TPU318": ("several machines", "topics/checkpoints"),
    "TPU319": ("TPUEstimator", "idioms/tpu_estimator"),
    "TPU32": ("TPUEstimator", "idioms/tpu_estimator"),
    "TPU322": ("TPUEstimator", "topics/checkpoints"),
    "TPU324": ("TPUEstimator", "topics/hooks"),
    "TPU327": ("TPUEstimator", "topics/batch_size"),
    "TPU329": ("TPUEstimator", "topics/batch_size"),
    "TPU33": ("TPUEstimator", "idioms/tpu_estimator"),
    "TPU331": ("TPUEstimator", "topics/host_call"),
    "TPU333": ("TPUEstimator", "topics/input_pipelines"),
    "TPU336": ("TPUEstimator", "topics/input_pipelines"),
    "TPU337": ("TPUEstimator", "topics/checkpoints"),
    "TPU339": ("TPUEstimator", "topics/host_call"),
    "TPU34": ("computations in a Session", "idioms/batch_parallel"),
    "TPU340": ("computations in a Session", "topics/loss_reduction"),
    "TPU347": ("computations in a Session", "topics/batch_size"),
    "TPU35": ("computations in a Session", "idioms/batch_parallel"),
    "TPU36": ("several replicas", "architecture"),
    "TPU367": ("several replicas", "topics/batch_size"),
    "TPU37": ("what a TPU does not like", "topics/input_pipelines"),
    "TPU38": ("what check says", "check"),
    "TPU39": ("what check says", "check"),
    "TPU399": ("what check says", "topics/batch_size"),
    "TPU4": ("environment and command line", "commands/doctor"),
    "TPU403": ("environment and command line", "topics/keras_2_and_3"),
    "TPU404": ("environment and command line", "topics/keras_2_and_3"),
    "TPU406": ("environment and command line", "topics/keras_2_and_3"),
    "TPU41": ("environment and command line", "topics/tpu_vm_and_colab"),
    "TPU43": ("notebooks, Colab and paths", "topics/tpu_vm_and_colab"),
    "TPU44": ("notebooks, Colab and paths", "topics/tpu_vm_and_colab"),
    "TPU45": ("scan and migrate", "commands/migrate"),
    "TPU47": ("verify and convert-checkpoint", "commands/verify"),
    "TPU48": ("faults and files of strangers", "reliability"),
    "TPU49": ("faults and files of strangers", "reliability"),
    "TPU5": ("Keras 2 and Keras 3", "topics/keras_2_and_3"),
    "TPU516": ("scan and migrate", "commands/migrate"),
    "TPU517": ("scan and migrate", "commands/migrate"),
}


def make(folder: str) -> None:
    """Writes all pages that are made.

    Args:
      folder: The guide's source folder.
    """
    with open(os.path.join(ROOT, "examples.toml"), "rb") as stream:
        pairs = tomllib.load(stream)["pair"]
    recorded: dict[str, Any] = {}
    if os.path.exists(RECORDED):
        with open(RECORDED, encoding="utf-8") as stream:
            recorded = fresh(json.load(stream))
    written = {"codes/index.md": code_index(), "pairs/index.md": pair_index(pairs, recorded)}
    written.update((f"codes/{code}.md", code_page(code)) for code in CODES)
    written.update((f"pairs/{pair['name']}.md", pair_page(pair, recorded)) for pair in pairs)
    for name in ("codes", "pairs"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for old in os.listdir(os.path.join(folder, name)):
            if f"{name}/{old}" not in written:
                os.remove(os.path.join(folder, name, old))
    for name, text in written.items():
        path = os.path.join(folder, *name.split("/"))
        if not os.path.exists(path) or _read(path) != text:  # Sphinx builds by the files' times
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)


def fresh(recorded: dict[str, Any]) -> dict[str, Any]:
    """The record without what is older than the pairs' scripts, rows and limits."""
    digests = {pair.name: pair.digest for pair in table.read(os.path.join(ROOT, "examples.toml"))}
    there = recorded.get("digests", {})
    runs = {
        name: runs
        for name, runs in recorded["pairs"].items()
        if name in digests and there.get(name) == digests[name]
    }
    return {**recorded, "pairs": runs}


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def room(code: str) -> tuple[str, str]:
    """What a code is about, and the page that goes with it."""
    return max((key, value) for key, value in ROOMS.items() if code.startswith(key))[1]


def code_page(code: str) -> str:
    """The page of one code."""
    row = CODES[code]
    subject, page = room(code)
    return "\n".join(
        [
            f"# {code}: {row.title}",
            "",
            f"*{subject}*",
            "",
            "## Why",
            "",
            row.why,
            "",
            "## What to do",
            "",
            row.what_to_do,
            "",
            "## More",
            "",
            f"- [](../{page}.md)",
            f"- On the command line: `tpucompat explain {code}`",
            "- To silence it in a scan: `# tpucompat: ignore[" + code + "]` on the line, or "
            "`ignore` in [the settings](../commands/scan.md#settings)."
            if code.startswith(("TPU1", "TPU2", "TPU37"))
            else "- [All codes](index.md)",
            "",
        ]
    )


def code_index() -> str:
    """The list of all codes."""
    families = {
        "1": "Gone",
        "2": "Elsewhere, or called otherwise",
        "3": "Behaves differently, or cannot be",
        "4": "Environment, command line, files",
    }
    lines = [
        "# Codes",
        "",
        "Every error and every notice of tpucompat has a code. A code is stable: scripts, issues and "
        "`# tpucompat: ignore[…]` may refer to it. `tpucompat explain CODE` prints what its page says.",
        "",
    ]
    for digit, title in families.items():
        lines += [f"## {digit}xx: {title}", "", "| code | |", "|---|---|"]
        lines += [
            f"| [{code}]({code}.md) | {row.title} |"
            for code, row in sorted(CODES.items())
            if code[3] == digit
        ]
        lines.append("")
    # The theme's side bar would not be helped by two hundred of them.
    return "\n".join([*lines, "```{toctree}", ":hidden:", ":glob:", "", "TPU*", "```", ""])


def pair_index(pairs: Iterable[Mapping[str, Any]], recorded: Mapping[str, Any]) -> str:
    """The table of the pairs."""
    lines = [
        "---",
        "hide-toc: true",
        "---",
        "",
        "# The pairs",
        "",
        "Ten programs as they were written for TensorFlow 1.12 to 2.4, each beside what a TensorFlow 2 "
        "programmer writes today. `tpucompat verify --all` runs both halves from the same initial values and "
        "compares them rung by rung. The figures are the largest relative differences after all steps, and in "
        "the numbers that the scripts write.",
        "",
        *_versions(recorded),
        "::::{div} side-by-side",
        "| pair | the old idiom | written for | one replica | 8 cores |",
        "|---|---|---|---|---|",
    ]
    names = []
    for pair in pairs:
        names.append(pair["name"])
        runs = recorded.get("pairs", {}).get(pair["name"], [])
        cells = [
            f"[{pair['name']}]({pair['name']}.md)",
            pair["idiom"],
            pair["tensorflow"],
            *(map(_summary, runs) if runs else ("not recorded", "")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "::::", "", "```{toctree}", ":hidden:", "", *names, "```", ""])


def _versions(recorded: Mapping[str, Any]) -> list[str]:
    if not recorded.get("pairs"):
        return []
    there = recorded["environment"]
    return [
        f"Recorded by `tools/record_pairs.py` on {recorded['date']} at revision {recorded['revision']}, with "
        f"TensorFlow {there['tensorflow']} and Keras {there['keras']} for the migrated half, on a CPU "
        f"({recorded['processor']}).",
        "",
    ]


def _summary(run: Mapping[str, Any]) -> str:
    """The verdict, and the largest difference on any rung that goes over several steps."""
    worst = [rung["worst"] for rung in run["rungs"] if rung["key"] in ("steps", "files")]
    return f"**{run['verdict']}**, {_figure(max(filter(None, worst), default=0))}"


def _figure(number: float | None) -> str:
    if number is None:
        return "–"
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    # With a hyphen that does not break.
    return f"{mantissa}e\u2011{-int(exponent)}" if number else "0"


def pair_page(pair: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    """The page of one pair: what it is, the ladder, both halves side by side."""
    name = pair["name"]
    lines = [
        "---",
        "hide-toc: true",
        "---",
        "",
        f"# {name}",
        "",
        f"{pair['idiom']}. Written for TensorFlow {pair['tensorflow']}. Data: {pair['data']}.",
        "",
    ]
    runs = recorded.get("pairs", {}).get(name, [])
    if runs:
        lines += ["## What verify found", "", *_versions(recorded), *_ladder(runs)]
    lines += [
        "## Before and after",
        "",
        "::::{grid} 1 1 2 2",
        ":gutter: 2",
        ":class-container: side-by-side",
        "",
    ]
    for title, folder in (("Before", "legacy_examples"), ("After", "migrated_examples")):
        lines += [
            ":::{grid-item}",
            f"**{title}**: `{folder}/{name}.py`",
            "",
            f"```{{literalinclude}} ../../{folder}/{name}.py",
            ":language: python",
            "```",
            ":::",
            "",
        ]
    return "\n".join([*lines, "::::", ""])


def _ladder(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The rungs as rows, the runs as columns."""
    runs = list(runs)
    heads = ["one replica" if run["cores"] == 1 else f"{run['cores']} cores" for run in runs]
    lines = [
        "| rung | " + " | ".join(heads) + " | limit | why this limit |",
        "|---" * (len(runs) + 3) + "|",
    ]
    rungs = {rung["key"]: rung for run in reversed(runs) for rung in run["rungs"]}
    # In the order of the ladder, which each run keeps.
    for key in max((list(map(_key, run["rungs"])) for run in runs), key=len):
        cells = [rungs[key]["title"]]
        for run in runs:
            own = next((rung for rung in run["rungs"] if rung["key"] == key), None)
            figure = f" ({_figure(own['worst'])})" if own and own["worst"] else ""
            cells.append(own["verdict"] + figure if own else "–")
        limit = _figure(rungs[key]["limit"]) if rungs[key]["limit"] else "–"
        lines.append("| " + " | ".join([*cells, limit, rungs[key]["why"] or ""]) + " |")
    return [
        *lines,
        "",
        "Differences are relative; rungs that these scripts have no part in are left out.",
        "",
    ]


def _key(rung: Mapping[str, Any]) -> str:
    return str(rung["key"])
