"""Writes docs/check.md: what `tpucompat check` says of the examples, and of BERT with its real sizes.

    python tools/check_examples.py                     # checks all pairs of examples.toml
    python tools/check_examples.py --bert CHECKOUT     # google-research/bert; other batches by --batches
    python tools/check_examples.py --bert CHECKOUT --search    # the batch at which it stops fitting
    python tools/check_examples.py --steps             # the steps of tests/behaviour/check_cases.py
    python tools/compare_flops.py PYTHON-1.15          # adds the comparison of FLOPs
    python tools/check_examples.py --write             # only writes the page from the kept results

It needs Python 3.11, TensorFlow and libtpu (whose licence is the Google Cloud terms of service). Results
are kept in tools/check_examples.json after each script, so that a run can be continued.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpucompat.base import targets  # noqa: E402
from tpucompat.commands.check import report  # noqa: E402
from tpucompat.commands.verify import pairs  # noqa: E402

RESULTS = ROOT / "tools" / "check_examples.json"
PAGE = ROOT / "docs" / "check.md"
HEAD = ROOT / "tools" / "check_examples_head.md"
TPUS = "v2-8,v3-8,v4-8,v5e-8,v6e-8"
BERT_TPUS = "v2-8,v3-8,v5e-8"


def check(arguments: list[str], options: list[str], folder: str) -> dict:
    """What the command says as JSON, with the seconds that it took."""
    start = time.time()
    done = subprocess.run(
        [sys.executable, "-m", "tpucompat", "check", "--json", *options, *arguments],
        cwd=folder,
        env=dict(os.environ, PYTHONPATH=str(ROOT), TF_CPP_MIN_LOG_LEVEL="2"),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr.strip()}
    return {**found, "seconds": round(time.time() - start, 1)}


def examples(results: dict, names: list[str]) -> None:
    """Checks both scripts of each pair."""
    for pair in pairs.read(str(ROOT / "examples.toml")):
        task = pair.task(8, sys.executable, sys.executable)
        for kind, half in (("legacy", task.old), ("migrated", task.new)):
            key = f"{kind}_examples/{pair.script}.py"
            if (names and pair.name not in names) or (key in results and not names):
                continue
            with tempfile.TemporaryDirectory() as folder:
                places = {"{out}": folder + "/out", "{data}": folder + "/data"}
                os.mkdir(places["{out}"])
                if task.prepare:
                    made = [_placed(word, places) for word in task.prepare]
                    subprocess.run([sys.executable, *made], check=True, stdout=subprocess.DEVNULL)
                given = [half.script, *(_placed(word, places) for word in half.arguments)]
                options = [_placed(word, places) for word in half.options]
                found: dict = {}
                for number, names_ in enumerate((TPUS.replace("v4-8,", ""), "v4-8")):
                    # A script goes on where it was before: each run gets a folder of its own.
                    os.mkdir(f"{places['{out}']}/{number}")
                    there = [word.replace("/out", f"/out/{number}") for word in given]
                    _join(found, check(there, ["--tpu", names_, *options], folder))
                results[key] = _without(found, folder)
            print(key, results[key].get("verdict"), results[key]["seconds"], flush=True)
            keep(results, key)


def _join(found: dict, more: dict) -> None:
    """Adds what was found for other TPUs."""
    found["seconds"] = round(found.get("seconds", 0.0) + more.pop("seconds"), 1)
    found.setdefault("computations", []).extend(more.pop("computations", []))
    worst = ("compiles", "lowers", "unknown", "does not compile")
    found["verdict"] = max(
        (each["verdict"] for each in (found, more) if each.get("verdict")),
        key=worst.index,
        default=None,
    )
    found.update({key: value for key, value in more.items() if key not in found})


def _placed(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word


def _without(found: dict, folder: str, own: str = str(ROOT)) -> dict:
    """The result without the paths of this machine: those of the programs begin where ``own`` ends."""
    text = json.dumps(found).replace(folder, "…").replace(own.rstrip("/") + "/", "")
    return json.loads(text)


def bert(results: dict, checkout: str, batch: int, length: int, tpus: list[str]) -> None:
    """Checks run_classifier.py with BERT-base's sizes, at one batch size per core."""
    config = {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 768,
        "initializer_range": 0.02,
        "intermediate_size": 3072,
        "max_position_embeddings": 512,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "type_vocab_size": 2,
        "vocab_size": 30522,
    }
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words += [f"w{number}" for number in range(config["vocab_size"] - len(words))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "train.tsv").write_text(
            "".join(f"x\t{row % 2}\t\tw1 w{row % 9} w3\n" for row in range(8 * batch))
        )
        flags = {
            "task_name": "cola",
            "do_train": "true",
            "data_dir": name,
            "vocab_file": folder / "vocab.txt",
            "bert_config_file": folder / "config.json",
            "max_seq_length": length,
            "train_batch_size": 8 * batch,
            "num_train_epochs": 20,
            "use_tpu": "true",
            "tpu_name": "demo",
            "output_dir": folder / "out",
        }
        given = [os.path.join(checkout, "run_classifier.py")]
        given += [f"--{key}={value}" for key, value in flags.items()]
        options = ["--tpu", ",".join(tpus), "--patience", "600", "--compile-limit", "1200"]
        found = _without(check(given, options, name), name, os.path.abspath(checkout))
    key = f"{length}/{batch}"
    known = results.setdefault("bert", {}).get(key)
    if known and known.get("computations") and found.get("computations"):
        rows = known["computations"][0]["targets"]
        rows = [row for row in rows if row["tpu"] not in tpus]
        found["computations"][0]["targets"] += rows
    results["bert"][key] = {
        key: found.get(key) for key in ("verdict", "computations", "compiler", "seconds", "error")
    }
    verdicts = {tpu: _fits(results, length, batch, tpu) for tpu in tpus}
    print("bert", length, batch, verdicts, found["seconds"], flush=True)
    keep(results, "bert")


def _fits(results: dict, length: int, batch: int, tpu: str) -> bool | None:
    """Whether a batch fits; None where that is not known."""
    found = results.get("bert", {}).get(f"{length}/{batch}") or {}
    for computation in found.get("computations") or ():
        for row in computation["targets"]:
            if row["tpu"] == tpu and row["verdict"] != "unknown":
                return row["verdict"] == "compiles"
    return None


_STEP = 8  # a batch per core that is not a multiple of it is padded on a TPU


def search(results: dict, checkout: str, length: int) -> None:
    """Looks for the largest batch per core, of multiples of 8, that fits each TPU."""
    tpus = BERT_TPUS.split(",")
    while True:
        wanted = {tpu: _next(results, length, tpu) for tpu in tpus}
        wanted = {tpu: batch for tpu, batch in wanted.items() if batch is not None}
        if not wanted:
            return
        batch = min(wanted.values())
        bert(results, checkout, batch, length, [t for t in tpus if wanted.get(t) == batch])


def _next(results: dict, length: int, tpu: str) -> int | None:
    """The batch to be tried next; None where the limit is known, or a trial came to nothing."""
    tried = sorted(int(key.split("/")[1]) for key in results.get("bert", {}) if _of(key, length))
    said = {batch: _fits(results, length, batch, tpu) for batch in tried}
    fit = [batch for batch, fits in said.items() if fits]
    not_fit = [
        batch for batch, fits in said.items() if fits is False and batch > max(fit, default=0)
    ]
    low, high = max(fit, default=0), min(not_fit, default=0)
    if high and high - low <= _STEP:
        return None
    if high:
        batch = max((low + high) // 2 // _STEP * _STEP, low + _STEP)
    elif len(fit) < 2:
        batch = low * 2 or _STEP
    else:  # by the memory of the two largest that fit, the last that does
        first, second = fit[-2:]
        used = [_used(results, length, each, tpu) for each in (first, second)]
        room = targets.TARGETS[tpu].memory - used[1]
        more = room * (second - first) // (used[1] - used[0])
        batch = max(second + more // _STEP * _STEP, low + _STEP)
    return None if batch in said and said[batch] is None else batch


def _of(key: str, length: int) -> bool:
    return key.startswith(f"{length}/")


def _used(results: dict, length: int, batch: int, tpu: str) -> int:
    rows = results["bert"][f"{length}/{batch}"]["computations"][0]["targets"]
    return next(row["total"] for row in rows if row["tpu"] == tpu)


STEPS = """
import sys
sys.path.insert(0, {cases!r})
import tensorflow as tf
import check_cases
for step in check_cases.SOUND:
    with tf.Graph().as_default():
        tf.contrib.tpu.batch_parallel(step, [tf.zeros([64, 16])], num_shards=8)
"""


def steps(results: dict) -> None:
    """Compiles the sound steps of the tests; what a TPU refuses has no lowered form to compile."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "steps.py")
        script.write_text(STEPS.format(cases=str(ROOT / "tests" / "behaviour")))
        found = check([str(script)], ["--tpu", TPUS.replace("v4-8,", "")], folder)
    rows = _rows_of([each for each in found["computations"] if not each["findings"]])
    results["steps"] = {
        "lowered": sum(not each["findings"] for each in found["computations"]),
        "programs": len(rows),
        "compiled": sum(row["verdict"] == "compiles" for row in rows),
        "compiler": found["compiler"],
    }
    print("steps", results["steps"], flush=True)
    keep(results, "steps")


def keep(results: dict, key: str) -> None:
    """Writes one result down; the others may have come from another run meanwhile."""
    now = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    now[key] = results[key]
    results.update(now)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


# The page -----------------------------------------------------------------------------------------


#: Results that are not of an example.
_OTHERS = ("bert", "flops", "steps")


def page(results: dict) -> str:
    """The text of docs/check.md."""
    lines = [HEAD.read_text(encoding="utf-8"), "## The examples", ""]
    scripts = {key: found for key, found in results.items() if key not in _OTHERS}
    compilers = {found["compiler"] for found in scripts.values() if "compiler" in found}
    lines += [
        f"Results of `tools/check_examples.py` with {', '.join(sorted(compilers))}: memory per core in MiB "
        "(arguments, outputs and temporaries; buffers that outputs share with arguments count once), or that a "
        "computation does not compile.",
        "",
        "| script | computation | sums | " + " | ".join(TPUS.split(",")) + " |",
        "|---|---|---|" + "---|" * len(TPUS.split(",")),
    ]
    for key in sorted(scripts):
        lines += _rows(key, scripts[key])
    lines += ["", *_reasons(scripts), "", *_agreement(scripts), ""]
    if "steps" in results:
        lines += _steps(results["steps"])
    if "flops" in results:
        lines += _flops(results["flops"])
    if "bert" in results:
        lines += _bert(results["bert"])
    return "\n".join(lines)


def _rows(key: str, found: dict) -> list[str]:
    if "error" in found:
        first = found["error"].splitlines()[0].replace("tpucompat: error: ", "")
        return [f"| {key} | {first} | | " + " | ".join("–" for _ in TPUS.split(",")) + " |"]
    by_name: dict[str, dict[str, str]] = {}
    sums: dict[str, int] = {}
    for computation in found["computations"]:
        row = by_name.setdefault(computation["name"], {})
        sums[computation["name"]] = computation.get("reductions", 0)
        for target in computation["targets"]:
            row[target["tpu"]] = _cell(target)
    return [
        f"| {key} | {name} | {sums[name]} | "
        + " | ".join(row.get(tpu, "–") for tpu in TPUS.split(","))
        + " |"
        for name, row in by_name.items()
    ]


def _cell(target: dict) -> str:
    if target["verdict"] == "compiles":
        return f"{target['total'] / 2**20:.1f}"
    return target["verdict"]


def _reasons(scripts: dict) -> list[str]:
    """Why something in the table does not compile, or is not known."""
    reasons = []
    for key in sorted(scripts):
        for computation in scripts[key].get("computations", ()):
            for row in computation["targets"]:
                if row["verdict"] != "compiles":
                    reasons.append(f"- {key}, {computation['name']}, {row['tpu']}: {row['text']}")
    return reasons


def _steps(found: dict) -> list[str]:
    return [
        f"Of the steps in the tests (`tests/behaviour/check_cases.py`), tier (a) rejects "
        f"the broken ones, one for each hazard, and lowers the {found['lowered']} valid ones; "
        f"{found['compiler']} compiles {found['compiled']} of their {found['programs']} programs for "
        f"{TPUS.replace('v4-8,', '').replace(',', ', ')}. For what tier (a) rejects there is no "
        "program to compile.",
        "",
    ]


def _agreement(scripts: dict) -> list[str]:
    """How often libtpu takes what tier (a) has lowered, and how long both took."""
    computations = [
        computation for found in scripts.values() for computation in found.get("computations", ())
    ]
    rows = _rows_of([each for each in computations if not each["findings"]])
    asked = [row for row in rows if "TPU382" in row["text"]]
    outcomes = [row["verdict"] for row in rows if row not in asked]
    refused = sum(bool(computation["findings"]) for computation in computations)
    lowering, compiling = _seconds(computations), _seconds(_rows_of(computations))
    whole = [
        sum(each.get("cpu", 0.0) for each in found.get("computations", ()) if _on_v4(each) == on_v4)
        for found in scripts.values()
        for on_v4 in (True, False)  # a script is run once for each number of cores
    ]
    return [
        f"Of {len(outcomes)} programs that tier (a) lowered, libtpu compiled {outcomes.count('compiles')}; "
        f"tier (a) rejected {refused} computations; {len(asked)} request more cores than the TPU has. "
        f"CPU time: lowering took {lowering} per computation, "
        f"and at most {max(whole, default=0.0):.1f} s for all computations of one run of a script; "
        f"compiling with low effort took {compiling} per computation and TPU.",
    ]


def _on_v4(computation: dict) -> bool:
    return any(row["tpu"] == "v4-8" for row in computation["targets"])


def _rows_of(computations: list[dict]) -> list[dict]:
    return [row for computation in computations for row in computation["targets"]]


def _seconds(measured: list[dict]) -> str:
    """The median and the maximum of what was measured."""
    times = sorted(each["cpu"] for each in measured if each.get("cpu"))
    if not times:
        return "0 s"
    return f"a median of {times[len(times) // 2]:.1f} s and at most {times[-1]:.1f} s"


def apart(counts: dict) -> float:
    """The relative difference of the two numbers of operations."""
    first, second = counts.values()
    return abs(first - second) / first


def _flops(found: dict) -> list[str]:
    lines = [
        "## The same step from TensorFlow 1.15",
        "",
        "A step of TensorFlow 1 (two convolutions with batch norm, clipping, Adam), lowered by the XLA of "
        "TensorFlow 1.15 (`tf.contrib.compiler.xla`, before any optimization) and by `tpucompat check` on "
        f"TensorFlow 2. Both were compiled with full effort by {found['compiler']} for one core, which counts "
        "the floating-point operations of the result (`tools/compare_flops.py`). One thing was changed in the "
        "program of TensorFlow 1.15, because current compilers reject it: `get-dimension-size` now returns a "
        "signed integer.",
        "",
        "| TPU | TensorFlow 1.15 | tpucompat | relative difference |",
        "|---|---|---|---|",
    ]
    for tpu, counts in found["flops"].items():
        told = " | ".join(f"{counts[name]:,.0f}" for name in ("TensorFlow 1.15", "tpucompat"))
        lines.append(f"| {tpu} | {told} | {apart(counts):.1e} |")
    return [*lines, ""]


def _bert(found: dict) -> list[str]:
    names = BERT_TPUS.split(",")
    lines = [
        "## BERT-base",
        "",
        "Memory of the training step of google-research/bert's `run_classifier.py` with BERT-base sizes and "
        "float32, including the two moments of the optimizer: GiB per core on 8 cores.",
        "",
        "| tokens | batch per core | "
        + " | ".join(f"{name} ({_room(name)} GiB)" for name in names)
        + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for key in sorted(found, key=lambda k: tuple(map(int, k.split("/")))):
        length, batch = key.split("/")
        for computation in found[key].get("computations") or ():
            cells = {}
            for target in computation["targets"]:
                fits = target["verdict"] == "compiles"
                cells[target["tpu"]] = (
                    report.gib(target["total"]) if fits else _short(target["text"])
                )
            lines.append(
                f"| {length} | {batch} | " + " | ".join(cells.get(n, "–") for n in names) + " |"
            )
    limits = [f"{name}: {_limit(found, name)}" for name in names]
    told = (
        "If memory is short, XLA recomputes values instead of keeping them, so larger batches fit than the "
        "first rows suggest. Largest batch per core, 128 tokens: " + "; ".join(limits) + "."
    )
    return [*lines, "", told, ""]


def _limit(found: dict, tpu: str) -> str:
    """The largest batch that fits and the smallest that does not, of those that were tried."""
    tried = sorted(int(key.split("/")[1]) for key in found if _of(key, 128))
    said = {batch: _fits({"bert": found}, 128, batch, tpu) for batch in tried}
    fit = max((batch for batch, fits in said.items() if fits), default=0)
    not_fit = min((batch for batch, fits in said.items() if fits is False), default=0)
    return f"{fit} fits" + (f", {not_fit} does not" if not_fit else "")


def _short(text: str) -> str:
    return "does not fit" if "TPU398" in text else "unknown"


def _room(name: str) -> str:
    return report.gib(targets.TARGETS[name].memory)


def main() -> None:
    """Checks what was asked for, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help="pairs to be checked (again); all new ones by default"
    )
    parser.add_argument("--bert", metavar="CHECKOUT")
    parser.add_argument("--batches", default="32", help="per core, with commas; default: 32")
    parser.add_argument("--steps", action="store_true", help="the steps of the tests")
    parser.add_argument("--search", action="store_true", help="the largest batch that fits")
    parser.add_argument("--length", type=int, default=128, help="words of a sequence")
    parser.add_argument("--write", action="store_true", help="check nothing")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if args.steps:
        steps(results)
    elif args.bert and args.search:
        search(results, args.bert, args.length)
    elif args.bert:
        for batch in map(int, args.batches.split(",")):
            bert(results, args.bert, batch, args.length, BERT_TPUS.split(","))
    elif not args.write:
        examples(results, args.names)
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
