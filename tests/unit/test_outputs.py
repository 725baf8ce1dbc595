"""What editors, shells and CI read: schemas, completion, the action, the problem matcher."""

import json
import os
import re
import subprocess
import sys

import pytest
import schemas

from tpucompat.__main__ import COMMANDS
from tpucompat.commands.cli import convert_checkpoint, doctor, migrate, scan

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = "import tensorflow as tf\ntf.log(1.0)\n"


def _read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as stream:
        return stream.read()


def test_scan_and_doctor_follow_their_schemas(tmp_path, capsys):
    (tmp_path / "old.py").write_text(OLD)
    scan.main([str(tmp_path), "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    schemas.check("scan", document)
    doctor.main(["--json"])
    schemas.check("doctor", json.loads(capsys.readouterr().out))
    jsonschema = pytest.importorskip("jsonschema")
    del document["findings"][0]["line"]
    with pytest.raises(jsonschema.ValidationError, match="line"):
        schemas.check("scan", document)


@pytest.mark.skipif(sys.version_info < (3, 9), reason="migrate needs Python 3.9")
def test_migrate_follows_its_schema(tmp_path, capsys):
    programs = os.path.join(ROOT, "legacy_examples")
    scripts = [
        os.path.join(programs, name) for name in ("mnist_tpu_estimator.py", "device_listing.py")
    ]
    (tmp_path / "open.py").write_text("import tensorflow as tf\nx = tf.contrib.no_such_name(1)\n")
    (tmp_path / "broken.py").write_text("print 'Python 2'\nx = (\n")
    assert migrate.main([*scripts, str(tmp_path), "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["files"] == 4
    assert document["counts"]["open"] >= 1
    assert [len(one["problems"]) for one in document["files"]].count(1) == 1
    schemas.check("migrate", document)
    jsonschema = pytest.importorskip("jsonschema")
    document["files"][0]["way"] = "another"
    with pytest.raises(jsonschema.ValidationError, match="another"):
        schemas.check("migrate", document)


def test_convert_checkpoint_follows_its_schema(tmp_path, capsys):
    h5py = pytest.importorskip("h5py")
    old, like = str(tmp_path / "old.h5"), str(tmp_path / "like.h5")
    for path, names in ((old, ["kernel", "bias"]), (like, ["kernel", "bias", "scale"])):
        with h5py.File(path, "w") as file:
            file.attrs["layer_names"] = [b"dense"]
            group = file.create_group("dense")
            group.attrs["weight_names"] = [f"dense/{name}:0".encode() for name in names]
            for size, name in enumerate(names, 1):
                group.create_dataset(f"dense/{name}:0", data=[0.5] * size)
    for more, kept in (([], []), (["--like", like, "--partial"], ["dense/scale"])):
        new = str(tmp_path / "new.h5")
        assert convert_checkpoint.convert([old, new, "--json", *more]) == 0
        document = json.loads(capsys.readouterr().out)
        schemas.check("convert-checkpoint", document)
        assert document["kept"] == kept
        assert [one["name"] for one in document["variables"]] == ["dense/kernel", "dense/bias"]
        assert {one["by"] for one in document["variables"]} == ({"name"} if more else {""})


def test_each_schema_is_on_the_page_of_the_guide():
    page = _read("docs", "json.md")
    for name in os.listdir(schemas.FOLDER):
        command = json.loads(_read("docs", "schemas", name))["title"].split(",")[0]
        assert f"<schemas/{name}>" in page and f"`{command}" in page


def test_the_problem_matcher_reads_what_scan_prints(tmp_path, capsys):
    (tmp_path / "old.py").write_text(OLD)
    scan.main([str(tmp_path)])
    (matcher,) = json.loads(_read(".github", "problem-matchers", "tpucompat.json"))[
        "problemMatcher"
    ]
    (pattern,) = matcher["pattern"]
    found = re.match(pattern["regexp"], capsys.readouterr().out.splitlines()[0])
    groups = [found.group(pattern[name]) for name in ("file", "line", "column", "code", "message")]
    assert groups[:4] == [str(tmp_path / "old.py"), "2", "1", "TPU202"]
    assert groups[4].startswith("tf.log → tf.math.log")
    cell = re.match(pattern["regexp"], "book.ipynb:cell 3:2:1: TPU202 tf.log")
    assert cell.group(1, 2, 4) == ("book.ipynb", "2", "TPU202")


@pytest.mark.skipif(os.name == "nt", reason="the action runs in bash")
@pytest.mark.parametrize("fail, code", [("true", 1), ("false", 0)])
def test_the_action_scans_and_writes_sarif(tmp_path, fail, code):
    yaml = pytest.importorskip("yaml")
    step = yaml.safe_load(_read("action.yml"))["runs"]["steps"][1]
    (tmp_path / "old.py").write_text(OLD)
    (tmp_path / "tpucompat").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tpucompat "$@"\n')
    (tmp_path / "tpucompat").chmod(0o755)
    inputs = {"PATHS": "old.py", "SELECT": "TPU2", "SARIF": "found.sarif", "FAIL": fail}
    assert set(inputs) == set(step["env"])
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=str(tmp_path),
        env={**os.environ, **inputs, "PATH": path, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == code
    assert done.stdout.startswith("::warning file=old.py,line=2,col=1,title=TPU202::tf.log")
    (run,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["TPU202"]


@pytest.mark.parametrize(
    "line, expected",
    [("tpucompat ", set(COMMANDS)), ("tpucompat scan --f", {"--format"}), ("tpucompat run --co", {"--cores"})],
)  # fmt: skip
def test_a_shell_completes_commands_and_options(tmp_path, line, expected):
    pytest.importorskip("argcomplete")
    answers = tmp_path / "answers"
    environ = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    command = "import sys; sys.argv = ['tpucompat']; from tpucompat.__main__ import main; main()"
    subprocess.run(
        [sys.executable, "-c", command], env={**environ, "PYTHONPATH": ROOT}, check=False
    )
    assert expected <= set(answers.read_text().split("\n"))
