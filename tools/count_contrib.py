"""Counts which symbols of ``tf.contrib`` public programs for TPUs use, for docs/contrib.md.

    TPUCOMPAT_PROGRAMS=~/checkouts python tools/count_contrib.py            # counts, and writes both files
    python tools/count_contrib.py --page                                    # the page alone, from the counts

``TPUCOMPAT_PROGRAMS`` names a folder of Git clones called ``owner+name``, with their histories. A repository is
read as it was at each of :data:`DATES`, at its end, and at the revisions of tools/public_programs.json. A file
counts if it names one of the TPU's own interfaces, or if such a file imports it, directly or not; tests do not
count. The counts are kept in tools/contrib_uses.json.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
from typing import Any, Iterator, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpucompat.commands.analysis import sources  # noqa: E402
from tpucompat.names import lookup, symbols  # noqa: E402
from tpucompat.names import used as names  # noqa: E402
from tpucompat.names.rows import Gone, Row  # noqa: E402
from tpucompat.names.tables import contrib_unused  # noqa: E402

COUNTS = ROOT / "tools" / "contrib_uses.json"
PAGE = ROOT / "docs" / "contrib.md"
HEAD = ROOT / "tools" / "contrib_head.md"
#: TensorFlow 1.5 to the end of the years in which programs were moved to TensorFlow 2.
DATES = ("2018-03-01", "2018-09-01", "2019-03-01", "2019-09-01", "2020-03-01", "2020-09-01")
#: A clone of a fork -> the project whose history it carries, where that one's own is too large to bring along.
FORKS = {
    "lifeixianshen/google-research": "google-research/google-research",
    "yick2232/google-research": "google-research/google-research",
    "tfboyd/models": "tensorflow/models",
    "zhaowt96/models": "tensorflow/models",
    "vmdhhh/MobileNetV2": "tensorflow/models",
}

_TPU = re.compile(
    rb"\b(TPU(Estimator|EstimatorSpec|ClusterResolver|Strategy|Config)|keras_to_tpu_model|batch_parallel"
    rb"|CrossShardOptimizer|tf\.tpu|contrib\.tpu|contrib import tpu|contrib_tpu|use_tpu)\b"
)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(.+)|import[ \t]+(.+))$", re.M
)
_TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$|(^|/)tests?/")


class Repository:
    """A clone, read without a working tree."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.name = folder.name.replace("+", "/", 1)
        inside = folder / "repo" if (folder / "repo").is_dir() else folder
        self.path = inside / ".git" if (inside / ".git").exists() else inside

    def git(self, *arguments: str) -> str:
        """What a command of Git's prints."""
        command = ["git", f"--git-dir={self.path}", *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, errors="replace"
        ).stdout

    def revisions(self, pinned: set[str]) -> list[str]:
        """The commits that are read, oldest first."""
        found = dict.fromkeys(
            self.git("rev-list", "-1", "--first-parent", f"--before={date}", "HEAD").strip()
            for date in DATES
        )
        found[self.git("rev-parse", "HEAD").strip()] = None
        for revision in sorted(pinned):
            found[self.git("rev-parse", revision + "^{commit}").strip()] = None
        return [revision for revision in found if revision]

    def files(self, revision: str) -> dict[str, str]:
        """Path -> blob of the scripts and notebooks of a commit."""
        listed = self.git("ls-tree", "-r", "-z", revision).split("\0")
        rows = (line.split(None, 3) for line in listed if line)
        return {
            path: blob
            for _, kind, blob, path in rows
            if kind == "blob" and path.endswith((".py", ".ipynb")) and not _TEST.search(path)
        }

    def blobs(self, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
        """(blob, content) of those that the clone has."""
        command = ["git", f"--git-dir={self.path}", "cat-file", "--batch", "--buffer"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin and process.stdout

            def ask(stream: Any) -> None:
                with stream:
                    stream.write("".join(name + "\n" for name in sorted(wanted)).encode())

            # Git writes while it reads, so that neither side may wait for the other.
            asking = threading.Thread(target=ask, args=(process.stdin,))
            asking.start()
            for line in process.stdout:
                name, *rest = line.split()
                if rest[0] != b"missing":
                    yield name.decode(), process.stdout.read(int(rest[1]) + 1)[:-1]
            asking.join()


def imported(data: bytes) -> set[str]:
    """The dotted names that a file may import, as paths with slashes."""
    found = set()
    for origin, names_of, plain in _IMPORT.findall(data):
        if plain:
            parts = [part.split(b" as ")[0].strip() for part in plain.split(b",")]
            found.update(part.replace(b".", b"/").decode("latin-1") for part in parts)
            continue
        base = origin.lstrip(b".").replace(b".", b"/").decode("latin-1")
        found.add(base)
        for part in names_of.strip(b"() \t\r\\").split(b","):
            name = part.split(b" as ")[0].strip().decode("latin-1")
            found.add(f"{base}/{name}".lstrip("/"))
    return found


def reached(files: dict[str, str], contents: dict[str, tuple[bool, set[str]]]) -> set[str]:
    """The files of a commit that belong to a program for TPUs."""
    modules = collections.defaultdict(set)
    for path in files:
        stem = path[: -len(".py")] if path.endswith(".py") else path
        stem = stem[: -len("/__init__")] if stem.endswith("/__init__") else stem
        parts = stem.split("/")
        for start in range(len(parts)):
            modules["/".join(parts[start:])].add(path)
    todo = [path for path, blob in files.items() if contents.get(blob, (False,))[0]]
    found = set(todo)
    while todo:
        path = todo.pop()
        for name in contents[files[path]][1]:
            # A name that many folders have ("utils") is that of the nearest one.
            near = sorted(modules.get(name, ()), key=lambda other: -_shared(path, other))
            for other in near[:1]:
                if other not in found and files[other] in contents:
                    found.add(other)
                    todo.append(other)
    return found


def _shared(one: str, other: str) -> int:
    return len(os.path.commonpath([one, other]))


def symbols_of(path: str, data: bytes) -> set[str]:
    """The symbols of ``tf.contrib`` in a file, without ``tf.``; none where it is no Python of today."""
    try:
        source = sources.decode(path, data)
        walk = names.Names()
        for unit in source.units:
            if unit.text:
                walk.add(sources.parse(unit.text, source.is_notebook))
    except sources.SourceError:
        return set()
    uses = {
        use.name[len("tensorflow.") :]
        for use in walk.uses
        if use.name[:19] == "tensorflow.contrib."
    }
    return {symbol for symbol in map(public_symbol, uses) if symbol}


def public_symbol(name: str) -> str | None:
    """The symbol of 1.15 that a dotted name is, or an attribute of; None for a package alone."""
    parts = name.split(".")
    package = ".".join(parts[:2])
    if "python" in parts:
        for last in parts[3:]:
            if symbols.kind(f"{package}.{last}") not in (None, "module"):
                return f"{package}.{last}"
    for end in range(len(parts), 2, -1):
        if symbols.kind(".".join(parts[:end])) not in (None, "module"):
            return ".".join(parts[:end])
    return None if symbols.kind(name) == "module" else name


def count(folder: pathlib.Path) -> dict[str, Any]:
    """What was read, and symbol -> project -> [files of programs for TPUs, other files]."""
    pinned = collections.defaultdict(set)
    for listed in ("public_programs.json", "verified_programs.json"):
        for row in json.loads((ROOT / "tools" / listed).read_text(encoding="utf-8")):
            if "repository" in row:
                pinned[row["repository"]].add(row["revision"])
    used: dict[str, dict[str, tuple[set[str], set[str]]]] = {}
    read: dict[str, tuple[set[str], set[str]]] = {}
    for place in sorted(folder.iterdir()):
        if "+" not in place.name:
            continue
        repository = Repository(place)
        project = FORKS.get(repository.name, repository.name)
        files = read.setdefault(project, (set(), set()))
        commits = repository.revisions(pinned[repository.name])
        trees = [repository.files(commit) for commit in commits]
        contents, texts, seen = {}, {}, {}
        for blob, data in repository.blobs({blob for tree in trees for blob in tree.values()}):
            contents[blob] = (bool(_TPU.search(data)), imported(data))
            if b"contrib" in data:
                texts[blob] = data
        for tree in trees:
            of_tpus = reached(tree, contents)
            for path, blob in tree.items():
                kind = 0 if path in of_tpus else 1
                files[kind].add(path)
                if blob not in texts:
                    continue
                if blob not in seen:
                    seen[blob] = symbols_of(path, texts[blob])
                for symbol in seen[blob]:
                    of_symbol = used.setdefault(symbol, {})
                    of_symbol.setdefault(project, (set(), set()))[kind].add(path)
        print(repository.name, len(trees), len(seen), file=sys.stderr, flush=True)
    return {
        "projects": {
            project: [len(files) for files in both]
            for project, both in sorted(read.items())
            if both[0]
        },
        "symbols": {
            symbol: {
                project: [len(both[0]), len(both[1] - both[0])]
                for project, both in sorted(of_symbol.items())
            }
            for symbol, of_symbol in sorted(used.items())
        },
    }


def page(counts: dict[str, Any]) -> str:
    """The text of docs/contrib.md."""
    rows = lookup.table_rows("tf1")
    kinds: dict[str, list[str]] = {"here": [], "gone": []}
    for symbol, projects in counts["symbols"].items():
        row = row_of(rows, symbol)
        answer = f"gone: {row.instead}" if isinstance(row, Gone) else "here"
        of_tpus = {name: both[0] for name, both in projects.items() if both[0]}
        others = {name: both[1] for name, both in projects.items() if not both[0]}
        who = ", ".join(name.rpartition("/")[2] for name in (of_tpus or others))
        who = who if len(who) <= 60 else who[:60].rpartition(",")[0] + ", …"
        line = (
            f"| `{symbol[len('contrib.') :]}` | {len(of_tpus)} | {sum(of_tpus.values())} "
            f"| {len(others)} | {who} | {answer} |"
        )
        kinds["gone" if isinstance(row, Gone) else "here"].append(line)
    unused = [
        f"| {package} | {', '.join(f'`{name}`' for name in names)} | {instead} |"
        for package, names, instead in unused_symbols()
    ]
    numbers = {
        "PROJECTS": len(counts["projects"]),
        "FILES": sum(both[0] for both in counts["projects"].values()),
        "SYMBOLS": len(counts["symbols"]),
        "HERE": len(kinds["here"]),
        "NAMES": ", ".join(counts["projects"]),
    }
    head = HEAD.read_text(encoding="utf-8")
    for word, value in numbers.items():
        head = head.replace("{" + word + "}", str(value))
    titles = "| symbol | projects | files | other projects | which | tpucompat |\n|---|---|---|---|---|---|"
    return "\n".join(
        [
            head.rstrip(),
            "",
            "## What is used and is here",
            "",
            titles,
            *kinds["here"],
            "",
            "## What is used and is gone",
            "",
            titles,
            *kinds["gone"],
            "",
            "## What no program was found to use, and is gone for that",
            "",
            "| package | symbols | instead |\n|---|---|---|",
            *unused,
            "",
            "Made by `tools/count_contrib.py`.",
            "",
        ]
    )


def row_of(rows: Mapping[str, Row], symbol: str) -> Row | None:
    """The row that decides about a symbol: its own, or that of the nearest module above it."""
    parts = symbol.split(".")
    found = (rows.get(".".join(parts[:end])) for end in range(len(parts), 1, -1))
    return next((row for row in found if row is not None), None)


def unused_symbols() -> Iterator[tuple[str, list[str], str]]:
    """(package, names, what to use instead) of tables/contrib_unused.py."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, row in contrib_unused.ROWS.items():
        _, package, rest = (name + "..").split(".", 2)
        groups.setdefault((package, row.instead), []).append(rest.strip(".") or "all of it")
    for (package, instead), found in sorted(groups.items()):
        yield package, found, instead


def main(argv: Sequence[str] | None = None) -> int:
    """Counts, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--page", action="store_true", help="write the page from the counts that are there"
    )
    args = parser.parse_args(argv)
    if not args.page:
        folder = pathlib.Path(os.environ.get("TPUCOMPAT_PROGRAMS", "checkouts")).expanduser()
        counts = count(folder)
        lines = ",\n".join(
            f"{json.dumps(k)}: {json.dumps(v)}" for k, v in counts["symbols"].items()
        )
        projects = json.dumps(counts["projects"])
        COUNTS.write_text(
            f'{{"projects": {projects},\n"symbols": {{\n{lines}\n}}}}\n', encoding="utf-8"
        )
    PAGE.write_text(page(json.loads(COUNTS.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
