"""Writes the pages of the guide that are made from tables: one for each code, one for each pair.

They are made when the guide is built, and are not part of the repository.
"""

from __future__ import annotations

import ast
import glob
import html
import json
import os
import re
import tempfile
from typing import Any, Collection, Iterable, Iterator, Mapping

import tomllib

from tpucompat.base.codes import CODES
from tpucompat.commands.analysis import keras_3_rows
from tpucompat.commands.scan import configuration, reporters, scanner
from tpucompat.commands.verify import pairs as table
from tpucompat.names import successors as today
from tpucompat.names import symbols

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: What `tpucompat verify --all` found, written by tools/record_pairs.py.
RECORDED = os.path.join(ROOT, "docs", "pairs.json")

#: Opens a notebook of a GitHub repository.
COLAB = "https://colab.research.google.com/github/"

#: First characters of a code -> (what such codes are about, the page of the guide that goes with them). The
#: longest one that fits decides.
ROOMS: Mapping[str, tuple[str, str]] = {
    "TPU1": ("removed symbols", "topics/tensorflow_versions"),
    "TPU2": ("moved and renamed symbols", "commands/scan"),
    "TPU208": ("moved and renamed symbols", "topics/tpu_vm_and_colab"),
    "TPU211": ("moved and renamed symbols", "idioms/keras_to_tpu_model"),
    "TPU212": ("moved and renamed symbols", "idioms/tpu_estimator"),
    "TPU213": ("moved and renamed symbols", "idioms/batch_parallel"),
    "TPU215": ("moved and renamed symbols", "idioms/keras_to_tpu_model"),
    "TPU216": ("moved and renamed symbols", "topics/keras_2_and_3"),
    "TPU217": ("moved and renamed symbols", "topics/loss_reduction"),
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
    "TPU328": ("TPUEstimator", "topics/checkpoints"),
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
    "TPU37": ("hazards on TPUs", "topics/input_pipelines"),
    "TPU38": ("tpucompat check", "check"),
    "TPU39": ("tpucompat check", "check"),
    "TPU399": ("tpucompat check", "topics/batch_size"),
    "TPU4": ("environment and command line", "commands/doctor"),
    "TPU403": ("environment and command line", "topics/keras_2_and_3"),
    "TPU404": ("environment and command line", "topics/keras_2_and_3"),
    "TPU406": ("environment and command line", "topics/keras_2_and_3"),
    "TPU41": ("environment and command line", "topics/tpu_vm_and_colab"),
    "TPU43": ("notebooks, Colab and paths", "topics/tpu_vm_and_colab"),
    "TPU44": ("notebooks, Colab and paths", "topics/tpu_vm_and_colab"),
    "TPU45": ("scan and migrate", "commands/migrate"),
    "TPU47": ("verify and convert-checkpoint", "commands/verify"),
    "TPU48": ("faults and untrusted files", "reliability"),
    "TPU49": ("faults and untrusted files", "reliability"),
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
    written["made/cheat_sheet.md"] = cheat_sheet()
    messages = dict(_messages())
    written.update((f"codes/{code}.md", code_page(code, messages)) for code in CODES)
    written.update((f"pairs/{pair['name']}.md", pair_page(pair, recorded)) for pair in pairs)
    for name in ("codes", "made", "pairs"):
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


#: Code -> lines of an old script that `tpucompat scan` reports with it; shown with the command's real output.
EXAMPLES: Mapping[str, str] = {
    "TPU101": "tf.contrib.quantize.create_training_graph()",
    "TPU201": "tf.contrib.checkpoint.CheckpointManager(checkpoint, folder, max_to_keep=5)",
    "TPU202": "tf.log(x)",
    "TPU203": "tf.placeholder(tf.float32, [None, 28])",
    "TPU204": "tf.nn.conv2d(images, kernel, [1, 1, 1, 1], 'SAME')",
    "TPU206": "tf.contrib.training.RandomStrategy(num_ps_tasks=4)",
    "TPU207": "tf.contrib.layers.fully_connected(x, 10)",
    "TPU208": "resolver = tf.contrib.cluster_resolver.TPUClusterResolver()",
    "TPU211": "tpu_model = tf.contrib.tpu.keras_to_tpu_model(model)",
    "TPU212": "estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config)",
    "TPU213": "outputs = tf.contrib.tpu.batch_parallel(step, [images], num_shards=8)",
    "TPU214": "model.fit_generator(batches, steps_per_epoch=100)",
    "TPU218": "assert tf.__version__.startswith('1.')",
    "TPU220": "import numpy as np\nx = np.float(1)",
    "TPU221": "import numpy as np\nx = np.load('data.npy')",
    "TPU510": "tf.keras.optimizers.Adam(lr=0.001)",
    "TPU513": "model = tf.keras.Sequential()\nmodel.save_weights('w.h5')",
}


def code_page(code: str, messages: Mapping[str, list[str]]) -> str:
    """The page of one code."""
    row = CODES[code]
    subject, page = room(code)
    silence = (
        "- To silence it in a scan: `# tpucompat: ignore[" + code + "]` on the line, or "
        "`ignore` in [the settings](../commands/scan.md#settings)."
    )
    is_found = code.startswith(("TPU1", "TPU2", "TPU37", "TPU51"))
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
            *_example(code, messages.get(code, [])),
            "## More",
            "",
            f"- [](../{page}.md)",
            f"- On the command line: `tpucompat explain {code}`",
            silence if is_found else "- [All codes](index.md)",
            "",
        ]
    )


def _example(code: str, messages: list[str]) -> list[str]:
    """What the code looks like: a scanned line, or the messages that carry it."""
    if code in EXAMPLES:
        return [
            "## Example",
            "",
            "```python",
            EXAMPLES[code],
            "```",
            "",
            "`tpucompat scan` reports:",
            "",
            "```text",
            *scanned(code),
            "```",
            "",
        ]
    if not messages:
        return []
    shown = [f"{code} {message}" for message in messages[:4]]
    return ["## Messages", "", "```text", *shown, "```", ""]


def scanned(code: str) -> list[str]:
    """The findings of a code in its example, as the command prints them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("import tensorflow as tf\n" + EXAMPLES[code] + "\n")
        report = scanner.scan_file(path, configuration.Configuration())
        found = [one._replace(path="script.py") for one in report.findings if one.code == code]
    if not found:
        raise ValueError(f"the example of {code} is not reported")
    text = reporters.text([report._replace(path="script.py", findings=found)])
    return text.split("\n\n")[0].splitlines()


def _messages() -> Iterator[tuple[str, list[str]]]:
    """Code -> the messages that the source raises or prints with it; what is computed is an ellipsis."""
    found: dict[str, list[str]] = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "tpucompat", "**", "*.py"), recursive=True)):
        for node in ast.walk(ast.parse(_read(path))):
            if not isinstance(node, ast.Call):
                continue
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            for code, message in zip(given, given[1:]):
                text = _literal(message)
                if _literal(code) in CODES and len(text.split()) > 2:
                    texts = found.setdefault(_literal(code), [])
                    if text not in texts:
                        texts.append(text)
    yield from found.items()


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return re.sub("…+", "…", "".join(map(str, parts))).split("\n")[0]
    return ""


#: Packages of tf.contrib whose names are listed although only tpucompat still has them.
_LISTED = (
    "contrib.tpu.",
    "contrib.cluster_resolver.",
    "contrib.distribute.",
    "contrib.data.",
    "contrib.training.HParams",
    "contrib.summary.",
)


def cheat_sheet() -> str:
    """Every old name with a successor, on one page that can be filtered."""
    rows = []
    for name in symbols.names():
        fate = today.fate("tensorflow." + name)
        if fate is None or fate.rest or not fate.becomes or fate.code == "TPU101":
            continue
        if fate.code == "TPU206" and not name.startswith(_LISTED):
            continue
        rows.append(
            (not name.startswith("contrib.tpu"), fate.was, fate.becomes, fate.note, fate.code)
        )
    keras = {
        row.was: row
        for group in (keras_3_rows.MEMBERS, keras_3_rows.ARGUMENTS, keras_3_rows.BEHAVIOURS)
        for row in group.values()
        if row.how != "keep"
    }
    rows += [(True, row.was, row.becomes, row.note, row.code) for row in keras.values()]
    lines = [
        "<tr>"
        f"<td><code>{_breakable(was)}</code></td>"
        f"<td>{_becomes(becomes)}{f'<br><small>{html.escape(note)}</small>' if note else ''}</td>"
        f'<td><a href="../codes/{code}.html">{code}</a></td></tr>'
        for _, was, becomes, note, code in sorted(set(rows))
    ]
    return "\n".join(
        [
            "---",
            "hide-toc: true",
            "---",
            "",
            "# Cheat sheet",
            "",
            f"{len(lines)} old names and arguments, and what to write instead, from the tables that "
            "`scan` and `migrate` use. Names that only `tpucompat.v1` provides are listed for the TPU "
            "packages; `tpucompat explain NAME` knows the others.",
            "",
            "```{raw} html",
            '<p><input id="filter" type="search" aria-label="Filter the table" '
            'placeholder="Filter: TPUEstimator, optimizers, TPU202 …"></p>',
            '<p id="filter-count" role="status"></p>',
            '<div class="table-wrapper"><table class="docutils" id="filtered"><thead><tr>'
            "<th>TensorFlow 1, early TensorFlow 2, Keras 2</th><th>TensorFlow 2, Keras 3</th>"
            "<th>code</th></tr></thead><tbody>",
            *lines,
            "</tbody></table></div>",
            "```",
            "",
        ]
    )


def _becomes(text: str) -> str:
    is_code = re.fullmatch(r"[\w.]+(\(.*\))?", text)
    return f"<code>{_breakable(text)}</code>" if is_code else html.escape(text)


def _breakable(name: str) -> str:
    """A dotted name that may be wrapped before its dots."""
    return html.escape(name).replace(".", "<wbr>.")


def code_index() -> str:
    """The list of all codes."""
    families = {
        "1": "Removed",
        "2": "Moved or renamed",
        "3": "Different behavior",
        "4": "Environment, command line, files",
        "5": "Keras 3 and migration",
    }
    lines = [
        "# Codes",
        "",
        "Every error, notice and finding of tpucompat has a stable code. `tpucompat explain CODE` "
        "prints the text of its page; `# tpucompat: ignore[CODE]` silences a finding.",
        "",
    ]
    for digit, title in families.items():
        lines += [f"## {digit}xx: {title}", "", "| code | title |", "|---|---|"]
        lines += [
            f"| [{code}]({code}.md) | {row.title} |"
            for code, row in sorted(CODES.items())
            if code[3] == digit
        ]
        lines.append("")
    # The theme's side bar would not be helped by two hundred of them.
    return "\n".join([*lines, "```{toctree}", ":hidden:", ":glob:", "", "TPU*", "```", ""])


def notebook_list(repository: str) -> str:
    """The notebooks, as Markdown.

    Args:
      repository: The address of the repository; if it is on GitHub, each notebook gets a badge for Colab.
    """
    lines = []
    for path in sorted(glob.glob(os.path.join(ROOT, "notebooks", "*.ipynb"))):
        with open(path, encoding="utf-8") as stream:
            title = "".join(json.load(stream)["cells"][0]["source"]).splitlines()[0].lstrip("# ")
        name = f"notebooks/{os.path.basename(path)}"
        line = f"- {{download}}`{title} <../{name}>`"
        if repository.startswith("https://github.com/"):
            line += (
                f" [![Open in Colab: {title}](https://colab.research.google.com/assets/colab-badge.svg)]"
                f"({repository.replace('https://github.com/', COLAB)}/blob/main/{name})"
            )
        lines.append(line)
    return "\n".join(lines) + "\n"


def pair_index(pairs: Collection[Mapping[str, Any]], recorded: Mapping[str, Any]) -> str:
    """The table of the pairs."""
    scripts = {pair.get("script", pair["name"]) for pair in pairs}
    lines = [
        "---",
        "hide-toc: true",
        "---",
        "",
        "# The pairs",
        "",
        f"{len(scripts)} programs written for TensorFlow 1.12 to 2.4, each with a hand-written "
        "TensorFlow 2 version. "
        "`tpucompat verify --all` runs both from the same initial values and compares them rung by "
        "rung. The figures are the largest relative differences after all steps and in the numbers "
        "that the scripts write.",
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
    script = pair.get("script", name)
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
    lines += ["## Before and after", "", "::::{tab-set}", ":class: wide-code", ""]
    for title, folder in (("Before", "legacy_examples"), ("After", "migrated_examples")):
        lines += [
            f":::{{tab-item}} {title}: {folder}/{script}.py",
            f"```{{literalinclude}} ../../{folder}/{script}.py",
            ":language: python",
            "```",
            ":::",
            "",
        ]
    lines += [
        ":::{tab-item} Diff",
        f"```{{literalinclude}} ../../migrated_examples/{script}.py",
        f":diff: ../../legacy_examples/{script}.py",
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
