"""Version sniffing, from made-up installations: every TensorFlow release, and broken set-ups."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest
from installations import ACCEL, NVIDIA, RELEASES, VFIO, made_up

from tpucompat.base import codes, journal, probes, problems
from tpucompat.base.errors import SetupError
from tpucompat.base.machine import CAPABILITIES, environment, sniff
from tpucompat.base.releases import NEWEST, release_of
from tpucompat.engines import accelerator


def codes_of(made, severity=None):
    return [each.code for each in made.problems() if severity in (None, each.severity)]


# Releases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version, keras, python", RELEASES)
def test_a_complete_installation_of_each_release_has_no_problem(version, keras, python):
    here = sniff(made_up(version))
    assert here.problems() == []
    assert here.release == release_of(version)
    assert here.engine == "session"
    assert here.replicas == "one CPU replica"
    here.require()  # does not raise


@pytest.mark.parametrize("version, keras, python", RELEASES)
def test_what_each_release_can_do(version, keras, python):
    here = sniff(made_up(version))
    release = here.release
    assert here.has("contrib") == here.has("graph_mode") == (release < (2, 0))
    assert here.has("logical_devices") == (release >= (2, 1))
    assert here.has("strategy_run") == (release >= (2, 2))
    assert here.has("experimental_run_v2") == ((2, 0) <= release < (2, 4))
    assert here.has("tpu_strategy") == (release >= (2, 3))
    assert here.has("tpu_local") == (release >= (2, 4))
    assert here.has("keras_package") == (release >= (2, 6))
    assert here.has("legacy_keras_switch") == (release >= (2, 15))
    assert here.has("keras_2") == here.has("estimator") == (release < (2, 16))
    assert here.needs_legacy_keras == (release >= (2, 16))
    assert here.estimator == ("native" if release < (2, 16) else "package")
    kind = "tf-keras" if release >= (2, 16) else "2" if release >= (2, 6) else "bundled 2"
    assert here.keras == kind


def test_each_capability_names_its_source_once():
    names = [row.name for row in CAPABILITIES]
    assert len(set(names)) == len(names)
    for row in CAPABILITIES:
        assert row.since or row.until
        assert (
            "RELEASE.md" in row.source or "tensorflow/python/" in row.source or "tf." in row.source
        )


def test_an_unknown_capability_is_a_mistake():
    with pytest.raises(KeyError):
        sniff(made_up()).has("no_such_thing")


@pytest.mark.parametrize(
    "distribution",
    ["tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-tpu", "tf-nightly"],
)
def test_distributions_of_tensorflow(distribution):
    here = sniff(made_up("2.15.1", distribution))
    assert (here.distribution, here.tensorflow) == (distribution, "2.15.1")
    assert here.cpu_only == (distribution == "tensorflow-cpu")


@pytest.mark.parametrize("part", ["tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws"])
def test_a_platform_part_beside_tensorflow_is_no_second_distribution(part):
    here = sniff(made_up("2.15.1", versions={part: "2.15.1"}))
    assert here.distribution == "tensorflow"
    assert codes_of(here) == []
    alone = sniff(made_up("2.15.1", part))
    assert (alone.distribution, alone.tensorflow) == (part, "2.15.1")


# Broken set-ups ----------------------------------------------------------------------------------


def only_problem(here):
    (problem,) = here.problems()
    return problem


@pytest.mark.parametrize(
    "python, repair",
    [
        ((3, 7, 16), 'pip install "tensorflow==2.11.*"'),
        ((3, 8, 10), 'pip install "tensorflow==2.13.*"'),
        (
            (3, 9, 2),
            'pip install "tensorflow==2.20.*" "tf-keras==2.20.*" tensorflow-estimator==2.15.0',
        ),
        (
            (3, 12, 1),
            'pip install "tensorflow==2.21.*" "tf-keras==2.21.*" tensorflow-estimator==2.15.0',
        ),
        (
            (3, 14, 0),
            'python3.13 -m venv tf && tf/bin/pip install "tensorflow==2.21.*" '
            '"tf-keras==2.21.*" tensorflow-estimator==2.15.0',
        ),
    ],
)
def test_without_tensorflow_the_complete_set_for_this_python_is_named(python, repair):
    here = sniff(probes.Probes({}, frozenset(), {}, python))
    problem = only_problem(here)
    assert (problem.code, problem.severity, problem.repair) == ("TPU400", "error", repair)
    assert (here.tensorflow, here.keras, here.one_line()[:17]) == ("", "", "TensorFlow (none)")
    with pytest.raises(SetupError) as caught:
        here.require()
    assert caught.value.code == "TPU400" and repair in caught.value.next_step


def test_without_tensorflow_on_a_tpu_vm():
    here = sniff(probes.Probes({}, frozenset(), {}, (3, 11, 0), ("/dev/accel0",), True))
    assert here.problems()[0].repair == (
        'pip install "tensorflow-tpu==2.20.*" -f '
        "https://storage.googleapis.com/libtpu-tf-releases/index.html && "
        'pip install --no-deps "tf-keras==2.20.*" tensorflow-estimator==2.15.0'
    )


def test_metadata_without_a_module():
    made = made_up("2.21.0")
    here = sniff(dataclasses.replace(made, modules=frozenset()))
    assert "the module tensorflow is missing" in only_problem(here).text


@pytest.mark.parametrize("version", ["1.12.3", "1.4.0", "0.12.1"])
def test_too_old(version):
    here = sniff(made_up(version, versions={"keras": None}))
    assert codes_of(here, "error") == ["TPU401"]
    assert version in here.problems()[0].text


@pytest.mark.parametrize("version", ["2.22.0", "2.23.0.dev20260101", "3.0.0"])
def test_newer_than_known_is_one_warning(version):
    journal.reset()
    here = sniff(made_up(version))
    problem = only_problem(here)
    assert (problem.code, problem.severity) == ("TPU402", "warning")
    assert here.has("strategy_run") and here.needs_legacy_keras
    here.require()
    here.require()
    assert [code for code, _ in journal.notices()] == ["TPU402"]


def test_unknown_version_counts_as_the_newest():
    made = made_up("2.21.0")
    versions = {name: each for name, each in made.versions.items() if name != "tensorflow"}
    here = sniff(dataclasses.replace(made, versions=versions))
    assert (here.tensorflow, here.distribution, here.release) == ("unknown", "", None)
    assert only_problem(here).code == "TPU402"
    assert here.needs_legacy_keras and here.has("strategy_run")


@pytest.mark.parametrize(
    "distribution, repair",
    [
        ("tensorflow", 'pip install "tf-keras==2.21.*"'),
        ("tensorflow-cpu", 'pip install --no-deps "tf-keras==2.21.*"'),
        ("tensorflow-tpu", 'pip install --no-deps "tf-keras==2.21.*"'),
    ],
)
@pytest.mark.parametrize("installed, code", [(None, "TPU403"), ("2.19.0", "TPU404")])
def test_tf_keras_missing_or_of_another_minor(distribution, repair, installed, code):
    here = sniff(made_up("2.21.0", distribution, versions={"tf-keras": installed}))
    problem = only_problem(here)
    assert (problem.code, problem.severity, problem.repair) == (code, "error", repair)


@pytest.mark.parametrize("value", ["0", "False", "no", "true "])
def test_a_setting_against_legacy_keras_is_an_error(value):
    here = sniff(made_up("2.21.0", environ={"TF_USE_LEGACY_KERAS": value}))
    if value.strip() == "true":
        assert here.problems() == [] and here.keras == "tf-keras"
    else:
        assert codes_of(here) == ["TPU406"] and here.keras == "3"


@pytest.mark.parametrize("value", ["", "1", "true", "True"])
def test_a_setting_for_legacy_keras_is_fine(value):
    here = sniff(made_up("2.21.0", environ={"TF_USE_LEGACY_KERAS": value}))
    assert (codes_of(here), here.keras) == ([], "tf-keras")


@pytest.mark.parametrize(
    "version, tf_keras, expected, keras",
    [
        ("2.15.1", None, ["TPU406"], ""),
        ("2.15.1", "2.15.1", [], "tf-keras"),
        ("2.15.1", "2.16.0", ["TPU404"], "tf-keras"),
        ("2.14.1", None, [], "2"),  # knows no such variable
        ("1.15.5", None, [], "bundled 2"),
    ],
)
def test_the_legacy_keras_setting_on_older_releases(version, tf_keras, expected, keras):
    changed = {"tf-keras": tf_keras}
    here = sniff(made_up(version, environ={"TF_USE_LEGACY_KERAS": "1"}, versions=changed))
    assert (codes_of(here), here.keras) == (expected, keras)


@pytest.mark.parametrize(
    "version, keras, text",
    [
        ("2.15.1", "3.4.0", "keras 3.4.0 does not match"),
        ("2.6.0", "2.11.0", "keras 2.11.0 does not match"),
        ("2.15.1", None, "is not installed"),
    ],
)
def test_the_package_keras_of_another_generation(version, keras, text):
    here = sniff(made_up(version, versions={"keras": keras}))
    problem = only_problem(here)
    minor = ".".join(version.split(".")[:2])
    assert (problem.code, problem.severity) == ("TPU409", "error")
    assert problem.repair == f'pip install "keras=={minor}.*"'
    assert text in problem.text


@pytest.mark.parametrize(
    "version, repair",
    [
        ("2.21.0", "pip install tensorflow-estimator==2.15.0"),
        ("2.15.1", 'pip install "tensorflow-estimator==2.15.*"'),
        ("1.15.5", 'pip install "tensorflow-estimator==1.15.*"'),
    ],
)
def test_without_the_estimator_scripts_still_run(version, repair):
    here = sniff(made_up(version, versions={"tensorflow-estimator": None}))
    problem = only_problem(here)
    assert (problem.code, problem.severity, problem.repair) == ("TPU405", "note", repair)
    assert here.estimator == "absent"
    journal.reset()
    here.require()
    assert journal.notices() == []


@pytest.mark.parametrize(
    "second, severity", [("2.21.0", "warning"), ("2.20.0", "error"), ("2.19.1", "error")]
)
def test_two_distributions_at_once(second, severity):
    here = sniff(made_up("2.21.0", versions={"tensorflow-cpu": second}))
    problem = only_problem(here)
    assert (problem.code, problem.severity) == ("TPU407", severity)
    assert problem.repair == (
        "pip uninstall -y tensorflow tensorflow-cpu && pip install --no-deps tensorflow==2.21.0"
    )


@pytest.mark.parametrize(
    "version, python",
    [("2.15.1", (3, 12, 0)), ("1.15.5", (3, 8, 0)), ("2.21.0", (3, 9, 5)), ("2.20.0", (3, 14, 0))],
)
def test_a_python_that_the_release_was_not_published_for(version, python):
    here = sniff(made_up(version, python=python))
    problem = only_problem(here)
    assert (problem.code, problem.severity) == ("TPU408", "warning")
    assert "Python {}.{}".format(*python) in problem.text


def test_the_python_table_covers_all_releases_without_gaps():
    covered = problems.PYTHONS
    assert covered[0].first == (1, 13) and covered[-1].last == NEWEST
    for version, _, python in RELEASES:
        rows = [row for row in covered if row.first <= release_of(version) <= row.last]
        assert len(rows) == 1 and rows[0].newest == python
    assert [problems.newest_for((3, minor)) for minor in range(7, 15)] == [
        (2, 11), (2, 13), (2, 20), (2, 21), (2, 21), (2, 21), (2, 21), None,
    ]  # fmt: skip


def test_several_problems_come_worst_first():
    here = sniff(
        made_up(
            "2.21.0",
            versions={"tf-keras": None, "tensorflow-estimator": None, "tensorflow-cpu": "2.21.0"},
            environ={"TF_USE_LEGACY_KERAS": "0", "TPUCOMPAT_CORES": "many"},
        )
    )
    assert [each.severity for each in here.problems()] == ["error"] * 3 + ["warning", "note"]
    assert codes_of(here) == ["TPU406", "TPU403", "TPU412", "TPU407", "TPU405"]
    assert all(each.code in codes.CODES for each in here.problems())


# Accelerators ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "devices, libtpu, distribution, found, engine, codes_found",
    [
        (ACCEL, True, "tensorflow-tpu", ACCEL, "strategy", []),
        (VFIO, True, "tensorflow-tpu", VFIO, "strategy", []),
        (ACCEL, True, "tensorflow", ACCEL, "strategy", ["TPU414"]),
        (ACCEL, False, "tensorflow-tpu", ACCEL, "session", ["TPU414"]),
        (VFIO, False, "tensorflow", (), "session", []),  # a device of another kind
        (("/dev/accel",), True, "tensorflow", (), "session", []),  # the kernel's directory
    ],
)
def test_tpu_chips(devices, libtpu, distribution, found, engine, codes_found):
    here = sniff(made_up("2.20.0", distribution, devices=devices, libtpu=libtpu))
    assert (here.tpu_devices, here.engine) == (found, engine)
    assert here.tpu == (engine == "strategy")
    assert codes_of(here) == codes_found
    if here.tpu:
        assert here.replicas == f"the cores of {len(found)} TPU chips"


def test_tensorflow_without_tpu_support_on_a_tpu_vm_gets_the_command():
    here = sniff(made_up("2.21.0", "tensorflow-cpu", devices=ACCEL, libtpu=True))
    assert only_problem(here).repair == (
        'pip uninstall -y tensorflow-cpu && pip install "tensorflow-tpu==2.20.*" -f '
        "https://storage.googleapis.com/libtpu-tf-releases/index.html"
    )


@pytest.mark.parametrize(
    "masked, visible",
    [(None, 2), ("0,1", 2), ("1", 1), ("", 0), ("-1", 0), ("0,-1,1", 1), ("GPU-a1,GPU-b2", 2)],
)
def test_gpus_and_their_mask(masked, visible):
    environ = {} if masked is None else {"CUDA_VISIBLE_DEVICES": masked}
    here = sniff(made_up(devices=(*NVIDIA, "/dev/nvidia-modeset"), environ=environ))
    assert here.gpus == visible
    assert here.engine == ("strategy" if visible > 1 else "session")
    assert here.replicas == ["one CPU replica", "one GPU replica", "2 GPUs"][visible]


def test_a_cpu_build_uses_no_gpu():
    here = sniff(made_up("2.21.0", "tensorflow-cpu", devices=NVIDIA))
    assert (here.engine, here.replicas) == ("session", "one CPU replica")


@pytest.mark.parametrize("setting, cores", [("8", 8), (" 4 ", 4), ("1", 1), ("08", 8), ("", 0)])
def test_emulated_cores(setting, cores):
    here = sniff(made_up(environ={"TPUCOMPAT_CORES": setting}, devices=NVIDIA))
    assert here.emulated_cores == cores
    assert here.engine == ("session" if cores == 1 else "strategy")
    if cores > 1:
        assert here.replicas == f"{cores} emulated cores"
    assert codes_of(here) == []


@pytest.mark.parametrize("setting", ["0", "-1", "eight", "2.5", "1e3", "8 cores"])
def test_cores_that_are_no_number(setting):
    here = sniff(made_up(environ={"TPUCOMPAT_CORES": setting}))
    assert here.emulated_cores == 0
    assert only_problem(here).code == "TPU412"
    assert setting in only_problem(here).text


@pytest.mark.parametrize("setting", ["1", "true", "yes"])
def test_a_required_tpu(setting):
    environ = {"TPUCOMPAT_REQUIRE_TPU": setting}
    assert codes_of(sniff(made_up(environ=environ))) == ["TPU411"]
    on_tpu = made_up("2.20.0", "tensorflow-tpu", environ=environ, devices=ACCEL, libtpu=True)
    assert codes_of(sniff(on_tpu)) == []
    for off in ("0", "", "false"):
        assert codes_of(sniff(made_up(environ={"TPUCOMPAT_REQUIRE_TPU": off}))) == []


def test_the_address_of_an_old_tpu_node():
    environ = {"COLAB_TPU_ADDR": "10.0.0.2:8470"}
    here = sniff(made_up(environ=environ))
    assert here.tpu_address == "COLAB_TPU_ADDR=10.0.0.2:8470"
    assert (only_problem(here).code, only_problem(here).severity) == ("TPU417", "note")
    assert sniff(made_up(environ={"TPU_NAME": "tpucompat.invalid:8470"})).tpu_address == ""
    on_tpu = made_up("2.20.0", "tensorflow-tpu", environ=environ, devices=ACCEL, libtpu=True)
    assert codes_of(sniff(on_tpu)) == []


# The environment as a value, and the probes of this machine --------------------------------------


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        sniff(made_up()).tensorflow = "1.15.5"


def test_as_data_it_is_json():
    here = sniff(made_up("2.21.0", versions={"tf-keras": None}, devices=ACCEL))
    data = json.loads(json.dumps(here.as_dict()))
    assert data["tensorflow"] == "2.21.0" and data["python"] == "3.13.4"
    assert data["capabilities"]["contrib"] is False
    assert data["problems"][0]["code"] == "TPU403"
    assert data["tpu_devices"] == list(ACCEL)


def test_one_line():
    line = sniff(made_up("2.21.0", environ={"TPUCOMPAT_CORES": "8"})).one_line()
    assert line == (
        "TensorFlow 2.21.0, tf-keras 2.21.0, Python 3.13.4, strategy engine on 8 emulated cores"
    )


def test_this_machine_is_sniffed_without_importing_tensorflow():
    script = (
        "import sys, json; from tpucompat.base.machine import environment;"
        "here = environment(); assert environment() is here;"
        "print(json.dumps([here.tensorflow, sorted(sys.modules)]))"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ, PYTHONPATH=root),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    version, modules = json.loads(done.stdout.decode())
    assert not {"tensorflow", "keras", "tf_keras", "numpy", "pkg_resources"} & set(modules)
    assert version == environment().tensorflow
    assert release_of(version) is not None


def test_the_settings_are_read_again_on_request(monkeypatch):
    before = environment()
    monkeypatch.setenv("TPUCOMPAT_CORES", "16")
    assert environment() is before
    assert environment(refresh=True).emulated_cores == 16
    monkeypatch.undo()
    environment(refresh=True)


def folder_with(path, *names):
    for name in names:
        (path / name).mkdir()
    return str(path)


def test_metadata_is_found_by_directory_names(tmp_path, monkeypatch):
    folder = folder_with(
        tmp_path,
        "tensorflow-1.15.5.dist-info",
        "tensorflow_estimator-1.15.1.dist-info",
        "Keras-2.2.4-py3.7.egg-info",
        "not_a_distribution",
        "tf_nightly-2.0.0.dev20190401.dist-info",
    )
    monkeypatch.setattr(sys, "path", ["/no/such/folder", folder])
    assert probes.scan_path() == {
        "tensorflow": "1.15.5",
        "tensorflow-estimator": "1.15.1",
        "keras": "2.2.4",
        "tf-nightly": "2.0.0.dev20190401",
    }


def test_the_first_of_two_folders_wins(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = folder_with(tmp_path / "a", "tensorflow-2.15.1.dist-info")
    second = folder_with(tmp_path / "b", "tensorflow-2.21.0.dist-info")
    monkeypatch.setattr(sys, "path", [first, second])
    assert probes.scan_path()["tensorflow"] == "2.15.1"


def test_a_tensorflow_that_no_package_manager_knows(tmp_path, monkeypatch):
    header = tmp_path / "tensorflow" / "include" / "tensorflow" / "core" / "public"
    header.mkdir(parents=True)
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise SystemExit('imported')")
    (header / "version.h").write_text(
        "#define TF_MAJOR_VERSION 2\n#define TF_MINOR_VERSION 9\n#define TF_PATCH_VERSION 3\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(probes, "installed_versions", dict)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert probes.probe().versions == {"tensorflow": "2.9.3"}
    (header / "version.h").write_text("nothing of use")
    assert sniff(probes.probe()).tensorflow == "unknown"


def test_where_libtpu_lies(tmp_path, monkeypatch):
    library = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(library))
    monkeypatch.setattr(probes, "_LIBTPU_FILES", ())
    assert not probes.probe().libtpu
    library.write_bytes(b"")
    assert probes.probe().libtpu


@pytest.mark.parametrize("tensorflow", ["1.13.1", "1.14.0", "2.21.0"])
def test_several_cores_need_1_14(tensorflow):
    here = sniff(made_up(tensorflow))
    if tensorflow.startswith("1.13"):
        with pytest.raises(SetupError, match="TPU357"):
            accelerator.require_several_cores(here)
    else:
        accelerator.require_several_cores(here)
