"""``tpucompat check`` without TensorFlow: names of TPUs, verdicts, the compiler's process, bad input."""

import json
import os
import sys

import pytest
import schemas

from tpucompat.base import targets
from tpucompat.base.errors import BadValueError, SetupError
from tpucompat.commands.check import compiler as compilers
from tpucompat.commands.check import pjrt, rehearse, report
from tpucompat.commands.cli import check
from tpucompat.engines import xla_operations as operations

V5E = targets.TARGETS["v5e-8"]


def record(**changes):
    return {
        "name": "training step",
        "line": "script.py:3",
        "replicas": 8,
        "findings": [],
        "operations": 12,
        "reductions": 2,
        "arguments": 100,
        "unsure": "",
        "program": "1.hlo",
        "seconds": 0.1,
        **changes,
    }


@pytest.mark.parametrize(
    "given, expected",
    [
        ("v5e-8,v3-8", ["v5e-8", "v3-8"]),
        (" V2-8 ", ["v2-8"]),
        ("v5litepod-8,v5e-8", ["v5e-8"]),
        (targets.DEFAULT, targets.DEFAULT.split(",")),
    ],
)
def test_names_of_tpus(given, expected):
    assert [target.name for target in targets.parse(given)] == expected


@pytest.mark.parametrize("given, hint", [("v5x-8", "v5e-8"), ("v3-9", "v3-8"), ("", "v2-8")])
def test_unknown_names(given, hint):
    with pytest.raises(BadValueError, match="TPU380") as error:
        targets.parse(given)
    assert hint in str(error.value)


def test_every_target_has_memory_and_a_topology():
    for target in targets.TARGETS.values():
        assert 7 < target.memory / 2**30 < 100 and target.replicas in (1, 4, 8)
        assert target.topology.startswith(target.generation + ":")


def test_the_table_of_operations():
    assert {"MatMul", "Conv2D", "CrossReplicaSum", "While"} <= set(operations.table()["operations"])
    assert (
        "CrossReplicaSum" in operations.on_tpu_only() and "MatMul" not in operations.on_tpu_only()
    )
    for kernels in operations.table()["operations"].values():
        for kernel in kernels:
            assert all(number < len(operations.table()["types"]) for number in kernel.values())


@pytest.mark.parametrize(
    "kind, code",
    [
        ("PyFunc", "TPU371"),
        ("ScalarSummary", "TPU384"),
        ("PrintV2", "TPU385"),
        ("StringJoin", "TPU383"),
        ("ReadFile", "TPU383"),
        ("LookupTableFindV2", "TPU386"),
        ("QueueDequeueManyV2", "TPU386"),
        ("SparseTensorDenseMatMul", "TPU387"),
        ("VariableV2", "TPU389"),
        ("BesselI0", "TPU381"),
        ("Where", "TPU388"),
    ],
)
def test_what_is_said_of_an_operation(kind, code):
    assert operations.kind_of(kind).code == code


@pytest.mark.parametrize(
    ("kind", "code", "instead"),
    [
        ("SegmentMean", "TPU388", "tf.math.unsorted_segment_max"),
        ("SegmentProd", "TPU388", "tf.math.unsorted_segment_max"),
        ("SparseSegmentSum", "TPU387", "tf.gather"),
        ("BesselI1", "TPU381", "bessel_i1e"),
        ("EuclideanNorm", "TPU381", "tf.norm"),
        ("ResourceApplyAdamWithAmsgrad", "TPU381", "amsgrad"),
    ],
)
def test_names_the_operation_that_a_tpu_has_instead(kind, code, instead):
    found = operations.kind_of(kind)
    assert kind not in operations.table()["operations"]
    assert (found.code, instead in found.instead) == (code, True)


def test_compile_options_as_protocol_buffers():
    # CompileOptionsProto{executable_build_options{device_ordinal: -1 num_replicas: 1 num_partitions: 1
    # device_assignment{replica_count: 1 computation_count: 1 computation_devices{replica_device_ids: 0}}}}
    expected = "1a1908ffffffffffffffffff01200128014a08080110011a020800"
    assert pjrt.compile_options(1).hex() == expected
    assert pjrt.compile_options(8, 9).hex().endswith("c00109")  # optimization_level: EFFORT_O0


GIB = 2**30
FITS = compilers.Outcome(
    "compiles",
    memory={"arguments": GIB, "outputs": GIB, "temporaries": 2 * GIB, "aliased": GIB, "code": 0},
    flops=2.5e9,
)


@pytest.mark.parametrize(
    "changes, outcome, verdict, text",
    [
        (
            {},
            FITS,
            "compiles",
            "compiles with libtpu 0.0.51 for v5e, 8 replicas; 3.00 of 15.75 GiB",
        ),
        ({}, None, "lowers", "not compiled: libtpu 0.0.51"),
        (
            {"findings": [{"code": "TPU371", "text": "PyFunc (f) runs Python"}]},
            FITS,
            "does not compile",
            "PyFunc (f) runs Python",
        ),
        ({"program": "", "unsure": "strange"}, None, "unknown", "strange"),
        (
            {},
            compilers.Outcome("too big", "23 G"),
            "does not compile",
            "does not fit 15.75 GiB per core: 23 G [TPU398]",
        ),
        (
            {},
            compilers.Outcome("refused", "no"),
            "does not compile",
            "rejects it for v5e: no [TPU395]",
        ),
        ({}, compilers.Outcome("unknown", "it ended"), "unknown", "it ended"),
    ],
)
def test_verdicts(changes, outcome, verdict, text):
    row = report.judge(record(**changes), V5E, outcome, "libtpu 0.0.51")
    assert (row.verdict, text in row.text) == (verdict, True), row
    checked = [report.Checked(record(**changes), [row])]
    assert report.overall(checked) == verdict


def test_more_shards_than_cores():
    """Eight shards run on the eight cores of a v5e-8, not on the four double ones of a v4-8."""
    rows = {
        (name, shards): report.judge(
            record(replicas=shards), targets.TARGETS[name], None, "libtpu 0.0.51"
        )
        for name in ("v4-8", "v5e-8")
        for shards in (1, 4, 8)
    }
    refused = [key for key, row in rows.items() if row.verdict == "does not compile"]
    assert refused == [("v4-8", 8)]
    assert "num_shards=4 [TPU382]" in rows["v4-8", 8].text


def test_the_worst_verdict_counts():
    rows = [report.Row(V5E, verdict, "", None) for verdict in ("lowers", "unknown", "compiles")]
    checked = [report.Checked(record(), rows)]
    assert report.overall(checked) == "unknown" and report.EXIT["unknown"] == 2
    bad = report.Row(V5E, "does not compile", "", None)
    assert report.EXIT[report.overall([*checked, report.Checked(record(), [bad])])] == 1
    assert report.overall([]) == "unknown"


def test_a_number_of_cores_for_which_nothing_was_seen():
    checked = [report.unseen(4, [targets.TARGETS["v4-8"]])]
    assert report.overall(checked) == "unknown"
    assert "no computation when it ran on 4 cores" in report.text(checked, [], "")


def test_the_report():
    finding = {
        "code": "TPU371",
        "text": "PyFunc (f) runs Python",
        "line": "script.py:7",
        "source": "tf.py_func(f, [x], tf.float32)",
        "instead": "compute it in the input function",
    }
    refused = record(findings=[finding])
    checked = [
        report.Checked(record(), [report.judge(record(), V5E, FITS, "libtpu 0.0.51")]),
        report.Checked(refused, [report.judge(refused, V5E, None, "libtpu 0.0.51")]),
    ]
    text = report.text(checked, ["the script ended"], "")
    assert text.splitlines() == [
        "training step  (script.py:3, 12 operations, 2 sums over the cores, "
        "2.5 GFLOP per core and step)",
        "  v5e-8  compiles with libtpu 0.0.51 for v5e, 8 replicas; 3.00 of 15.75 GiB per core",
        "         GiB: arguments 1.00, outputs 1.00, temporaries 2.00, aliased 1.00",
        "",
        "training step  (script.py:3, 12 operations, 2 sums over the cores)",
        "  TPU371 PyFunc (f) runs Python",
        "    at script.py:7: tf.py_func(f, [x], tf.float32)",
        "    instead: compute it in the input function",
        "  v5e-8  does not compile",
        "",
        "note: the script ended",
    ]
    shown = report.as_dict(checked, [], "libtpu 0.0.51", {"end": True})
    assert shown["verdict"] == "does not compile" and shown["exit"] == 1
    first = shown["computations"][0]["targets"][0]
    assert (first["tpu"], first["total"], first["flops"]) == ("v5e-8", 3 * GIB, 2.5e9)
    schemas.check("check", json.loads(json.dumps(shown)))


# The compiler's process: a made-up one in the place of tpucompat.commands.check.pjrt ------------------------

MADE_UP = """
import json, sys, time
print(json.dumps({"api": [0, 90]}), flush=True)
for line in sys.stdin:
    program = json.loads(line)["program"]
    if program == "dies":
        sys.stderr.write("F1121 compiler.cc:1] Check failed: x == y\\n"); sys.exit(134)
    if program == "hangs":
        time.sleep(60)
    answer = {"error": program} if program != "fine" else {
        "memory": {"arguments": 5, "outputs": 3, "aliased": 2, "temporaries": 1, "code": 1},
        "flops": 7.0}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def compile_(tmp_path, monkeypatch):
    (tmp_path / "made_up.py").write_text(MADE_UP)
    monkeypatch.setattr(compilers, "PROCESS", str(tmp_path / "made_up.py"))
    compiler = compilers.Compiler(compilers.Libtpu("libtpu.so", "0.0.51"), seconds=2.0)
    yield lambda program: compiler.compile(program, V5E, 8, "quick")
    compiler.close()


def test_a_compiler_that_dies_or_hangs_knows_nothing(compile_):
    fine = compile_("fine")
    assert (fine.verdict, fine.total, fine.flops) == ("compiles", 8, 7.0)
    dead = compile_("dies")
    assert dead.verdict == "unknown" and "134" in dead.text and "Check failed" in dead.text
    assert compile_("fine").verdict == "compiles"  # in a new process
    slow = compile_("hangs")
    assert slow.verdict == "unknown" and "none within 2 s" in slow.text


@pytest.mark.parametrize(
    "said, verdict",
    [
        ("E1000: CompileTimeHbmOom: Ran out of memory on HBM", "too big"),
        ("RESOURCE_EXHAUSTED: too much", "too big"),
        ("INTERNAL: RET_CHECK failure", "unknown"),
        ("this libtpu is too old: it has no PJRT_Compile", "unknown"),
        ("INVALID_ARGUMENT: no such convolution", "refused"),
    ],
)
def test_what_the_compiler_says(compile_, said, verdict):
    assert compile_(said).verdict == verdict


def test_a_file_that_is_no_compiler(tmp_path):
    """Of another kind, or for another machine: nothing is known then, and the reason is said."""
    file = tmp_path / "libtpu.so"
    file.write_text("no library")
    compiler = compilers.Compiler(compilers.Libtpu(str(file), ""), seconds=20.0)
    outcome = compiler.compile("program", V5E, 8, "quick")
    compiler.close()
    assert outcome.verdict == "unknown" and "this libtpu cannot be used" in outcome.text


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system, machine, variable, text",
    [
        ("Darwin", "arm64", "", "Linux on x86-64"),
        ("Linux", "aarch64", "", "Linux on x86-64"),
        ("Linux", "x86_64", "/nowhere/libtpu.so", "is not a file"),
    ],
)
def test_no_compiler(monkeypatch, system, machine, variable, text):
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setenv(compilers.VARIABLE, variable)
    with pytest.raises(SetupError, match="TPU379") as error:
        compilers.find()
    assert text in str(error.value)


def test_the_version_of_the_compiler(tmp_path, monkeypatch):
    (tmp_path / "libtpu").mkdir()
    (tmp_path / "libtpu" / "libtpu.so").write_text("")
    (tmp_path / "libtpu-0.0.51.dist-info").mkdir()
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv(compilers.VARIABLE, str(tmp_path / "libtpu" / "libtpu.so"))
    assert compilers.find().version == "0.0.51"
    monkeypatch.delenv(compilers.VARIABLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "libtpu" / "__init__.py").write_text("")
    sys.modules.pop("libtpu", None)
    assert compilers.find().version == "0.0.51"


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--tpu", "v9-8", "x.py"], "Unknown TPU 'v9-8'"),
        ([], "No script was given"),
        (["nowhere.py"], "nowhere.py: no such file"),
    ],
)
def test_bad_command_lines(arguments, text, capsys):
    assert check.main(arguments) == 2
    assert text in capsys.readouterr().err


def test_records_of_a_script_that_was_cut_off(tmp_path):
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps(record()) + "\n" + '{"note": "a note"}\n' + '{"name": "half')
    (tmp_path / "output.txt").write_text("what it printed")
    done = check._read(str(file), "stopped", str(tmp_path / "output.txt"))
    assert [each["name"] for each in done.records] == ["training step"]
    assert done.notes == ["stopped", "a note"]
    done = check._read(str(tmp_path / "none"), "", str(tmp_path / "output.txt"))
    assert "exited" in str(check._nothing(done.ended, done.notes))


@pytest.mark.parametrize(
    "ended, step",
    [
        ({"error": "FileNotFoundError: no data", "missing_file": True}, "--map"),
        ({"error": "ModuleNotFoundError: No module named 'yaml'"}, "PYTHONPATH"),
        ({"error": "ValueError: --data_dir is needed"}, "--verbose"),
        ({"end": True}, "--use_tpu=True"),
    ],
)
def test_a_script_without_a_computation(ended, step):
    notes = ["the script failed with FileNotFoundError: no data"] if "error" in ended else []
    assert step in check._nothing(ended, notes).next_step


def test_the_code_of_the_compiler_needs_no_package():
    """It runs in a process of its own, where importing TensorFlow would take seconds."""
    with open(os.path.abspath(pjrt.__file__), encoding="utf-8") as text:
        assert "import tensorflow" not in text.read()


def test_a_job_is_checked_before_it_runs(tmp_path, monkeypatch, capsys):
    from tpucompat.commands.cli import run

    (tmp_path / "job.py").write_text("")
    called = []
    monkeypatch.setattr(run.subprocess, "run", lambda command, **kwargs: called.append(command))
    script = str(tmp_path / "job.py")
    options = run.parser().parse_args(["--check-tpu", "v5e-8", "--map", "gs://a=b", script, "--x"])
    run._check_first(options)
    assert called[0][1:] == [
        *["-m", "tpucompat", "check", "--tpu", "v5e-8", "--map=gs://a=b", script, "--x"]
    ]
    assert run.main(["--check-tpu", "v5x-8", script]) == 2
    assert "did you mean v5p-8?" in capsys.readouterr().err


REFUSED = """Traceback (most recent call last):
  File "/x/train.py", line 41, in <module>
    train(data)
tpucompat.base.errors.UnsupportedGraphError: TPU371 Py (f) runs Python; made at train.py:25: tf.py_function(g)
  Next: compute it in the input function
  More: tpucompat explain TPU371
"""


@pytest.mark.parametrize(
    ("code", "output", "verdict", "codes"),
    [
        (0, "loss 0.1\n", "lowers", []),
        (2, REFUSED, "does not compile", ["TPU371"]),
        (1, "Traceback\nKeyError: 'data'\n", "unknown", []),
        (None, "", "unknown", []),
    ],
)
def test_what_a_rehearsal_shows(code, output, verdict, codes):
    findings, found, said = rehearse.judge(code, output)
    assert (found, [finding.code for finding in findings]) == (verdict, codes) and said
    for finding in findings:
        assert finding.line == "train.py:25" and finding.source == "tf.py_function(g)"
        assert finding.instead == "compute it in the input function"


def test_a_rehearsal_of_no_tpu(tmp_path):
    with pytest.raises(SetupError, match="TPU455"):
        rehearse.check("v9-8", ["x.py"], str(tmp_path), 1.0, {})
