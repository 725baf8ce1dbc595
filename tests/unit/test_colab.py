"""google.colab and Kaggle's packages elsewhere: what stands in, for whom, and what a question is answered."""

import json
import linecache
import os
import sys

import pytest

from tpucompat.base import journal
from tpucompat.base.errors import SetupError, TPUCompatError, UnknownModuleError
from tpucompat.names import scope as scopes
from tpucompat.runtime import imports
from tpucompat.standins.colab import auth, drive, files, question, userdata

pytestmark = pytest.mark.skipif(
    "google.colab" in sys.modules, reason="on Colab the real package is used"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (drive.VARIABLE, files.DOWNLOADS, files.UPLOADS):
        monkeypatch.delenv(name, raising=False)
    journal.reset()
    yield tmp_path
    journal.reset()


@pytest.fixture
def script():
    """Runs source as a script of the user's would, under a hook."""
    hook = imports.ImportHook("tf1", scopes.Scope())
    hook.install()

    def run(source, name="/home/me/notebook.py"):
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        scope = {"__name__": "__main__", "__file__": name}
        exec(compile(source, name, "exec"), scope)
        return scope

    yield run
    hook.uninstall()


@pytest.mark.parametrize(
    "statement",
    [
        "from google.colab import drive",
        "from google import colab\ndrive = colab.drive",
        "import google.colab\ndrive = google.colab.drive",
        "import google.colab.drive as drive",
        "import importlib\ndrive = importlib.import_module('google.colab.drive')",
    ],
)
def test_every_way_to_import_it(script, statement):
    assert script(statement)["drive"] is drive


@pytest.mark.parametrize(
    "statement",
    ["import google.colab", "from google.colab import drive", "from google import colab"],
)
def test_a_question_gets_the_true_answer(script, statement):
    source = f"try:\n    {statement}\n    there = True\nexcept ImportError:\n    there = False\n"
    assert script(source)["there"] is False
    assert "google.colab" not in sys.modules


def test_an_import_in_a_handler_or_beside_a_try_is_none(script):
    source = "try:\n    1 / 0\nexcept Exception:\n    from google.colab import drive\n"
    assert script(source)["drive"] is drive
    assert (
        script("try:\n    pass\nfinally:\n    from google.colab import drive\n")["drive"] is drive
    )


def test_a_frame_without_source_asks_nothing():
    frame = eval(compile("__import__('sys')._getframe()", "<nowhere>", "eval"))
    assert question.is_question(frame) is False


def test_other_packages_of_google_are_the_real_ones(script):
    protobuf = pytest.importorskip("google.protobuf")
    scope = script("import google.protobuf\nfrom google.protobuf import message\nimport google")
    assert scope["google"] is sys.modules["google"]
    assert scope["message"] is sys.modules["google.protobuf.message"]
    scope = script("import google.colab, google.protobuf\nversion = google.protobuf.__version__")
    assert scope["version"] == protobuf.__version__
    assert not hasattr(sys.modules["google"], "colab")


def test_libraries_do_not_see_it(script):
    with pytest.raises(ImportError):
        script("import google.colab", linecache.__file__)


def test_a_part_without_a_stand_in(script):
    with pytest.raises(UnknownModuleError, match="TPU439"):
        script("from google.colab import nonsense")


def test_drive_is_a_folder_beside_the_notebook(here):
    for _ in range(2):
        drive.mount("content/drive", force_remount=True)
    (here / "content" / "drive" / "My Drive" / "model.txt").write_text("x")
    assert (here / "drive" / "model.txt").read_text() == "x"
    assert (here / "content" / "drive" / "MyDrive" / "model.txt").read_text() == "x"
    assert [code for code, _ in journal.notices()] == ["TPU438"]


def test_drive_is_the_folder_that_is_named(here, monkeypatch):
    mine = here / "mine"
    mine.mkdir()
    (mine / "data.txt").write_text("x")
    monkeypatch.setenv(drive.VARIABLE, str(mine))
    drive.mount(str(here / "gdrive"))
    assert (here / "gdrive" / "My Drive" / "data.txt").read_text() == "x"
    assert os.listdir(str(mine)) == ["data.txt"]


def test_drive_mounted_again_from_another_folder(here, monkeypatch):
    """/content/drive is one for all notebooks of the machine; the folder is that of the one that runs."""
    drive.mount(str(here / "content"))
    (here / "content" / "MyDrive" / "kept").write_text("1")
    (here / "other").mkdir()
    monkeypatch.chdir(here / "other")
    drive.mount(str(here / "content"))
    assert os.path.realpath(here / "content" / "My Drive") == str(here / "other" / "drive")
    assert os.listdir(here / "content" / "MyDrive") == []
    assert os.listdir(here / "drive") == ["kept"]


def test_drive_mounted_where_its_folder_is(here):
    drive.mount("drive")
    (here / "drive" / "My Drive" / "x").write_text("")
    assert (here / "drive" / "MyDrive" / "x").exists()


def test_drive_where_nothing_can_be_made(here):
    (here / "file").write_text("")
    with pytest.raises(SetupError, match="TPU445") as caught:
        drive.mount(str(here / "file" / "drive"))
    assert "mkdir -p" in str(caught.value)


def test_downloads_overwrite_nothing(here):
    (here / "out.txt").write_text("1")
    files.download("out.txt")
    (here / "out.txt").write_text("2")
    files.download("out.txt")
    folder = here / "downloads"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "out.txt": "1",
        "out (1).txt": "2",
    }
    with pytest.raises(FileNotFoundError):
        files.download("absent.txt")


def test_uploads_come_from_a_list(here, monkeypatch):
    with pytest.raises(SetupError, match=files.UPLOADS):
        files.upload()
    (here / "elsewhere").mkdir()
    source = here / "elsewhere" / "kaggle.json"
    source.write_text("{}")
    (here / "kaggle.json").write_text("mine")
    monkeypatch.setenv(files.UPLOADS, str(source))
    assert files.upload() == {"kaggle (1).json": b"{}"}
    assert (here / "kaggle.json").read_text() == "mine"
    assert (here / "kaggle (1).json").read_text() == "{}"
    monkeypatch.setenv(files.UPLOADS, str(here / "absent"))
    with pytest.raises(SetupError, match="absent"):
        files.upload()


def test_secrets_are_environment_variables(monkeypatch):
    monkeypatch.setenv("A_SECRET", "x")
    assert userdata.get("A_SECRET") == "x"
    with pytest.raises(TPUCompatError, match="TPU439"):
        userdata.get("ANOTHER_SECRET")


@pytest.mark.parametrize("known", [None, {"refresh_token": "t"}, "not valid JSON"])
def test_authentication_leaves_the_credentials_of_this_machine(here, monkeypatch, known):
    monkeypatch.setattr(auth, "FILE", str(here / "content" / "adc.json"))
    login = here / "login.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(login))
    if known is not None:
        login.write_text(known if isinstance(known, str) else json.dumps(known))
    auth.authenticate_user()
    left = here / "content" / "adc.json"
    assert json.loads(left.read_text()) == (known if isinstance(known, dict) else {})
    assert left.stat().st_mode & 0o077 == 0
    left.write_text("mine")
    auth.authenticate_user()
    assert left.read_text() == "mine"


def test_authentication_without_a_place_for_the_file(here, monkeypatch):
    (here / "content").write_text("no folder")
    monkeypatch.setattr(auth, "FILE", str(here / "content" / "adc.json"))
    auth.authenticate_user()
    assert (here / "content").read_text() == "no folder"


# Kaggle -------------------------------------------------------------------------------------------


def test_a_data_set_of_kaggle_is_a_folder(script, here, monkeypatch):
    """By its name or as the only one; in ../input as Kaggle's notebooks see it, or in a folder of one's own."""
    monkeypatch.delenv("TPUCOMPAT_KAGGLE_INPUT", raising=False)
    for folder in ("input/flowers", "working", "mine/flowers", "mine/toxic"):
        (here / folder).mkdir(parents=True)
    monkeypatch.chdir(here / "working")
    sets = script("from kaggle_datasets import KaggleDatasets\nsets = KaggleDatasets()")["sets"]
    if not os.path.isdir("/kaggle/input"):
        assert sets.get_gcs_path() == sets.get_gcs_path("flowers") == str(here / "input/flowers")
    monkeypatch.setenv("TPUCOMPAT_KAGGLE_INPUT", str(here / "mine"))
    assert sets.get_gcs_path("toxic") == str(here / "mine" / "toxic")
    for name, text in (("absent", "'absent' is not in"), (None, "names no dataset, and 2 are")):
        with pytest.raises(SetupError, match=f"TPU449 get_gcs_path: {text}"):
            sets.get_gcs_path(name)


def test_secrets_of_kaggle_are_variables(script, monkeypatch):
    monkeypatch.setenv("WANDB", "s3cret")
    secrets = script("import kaggle_secrets\nclient = kaggle_secrets.UserSecretsClient()")["client"]
    assert secrets.get_secret("WANDB") == "s3cret"
    secrets.set_tensorflow_credential(secrets.get_gcloud_credential())
    with pytest.raises(SetupError, match="TPU439"):
        secrets.get_secret("ABSENT")


def test_whether_a_script_is_on_kaggle_is_answered_truly(script):
    source = "try:\n    import kaggle_datasets\n    there = True\nexcept ImportError:\n    there = False\n"
    assert script(source)["there"] is False
    assert "kaggle_datasets" not in sys.modules


@pytest.mark.parametrize(
    "module, variable",
    [
        ("kaggle_datasets", "TPUCOMPAT_KAGGLE_INPUT"),
        ("google.colab", "TPUCOMPAT_DRIVE"),
        ("google.colab.files", "TPUCOMPAT_UPLOADS"),
    ],
)
def test_a_user_who_names_the_folder_has_answered_the_question(
    script, monkeypatch, tmp_path, module, variable
):
    source = (
        f"try:\n    import {module}\n    there = True\nexcept ImportError:\n    there = False\n"
    )
    assert script(source)["there"] is False
    monkeypatch.setenv(variable, str(tmp_path))
    assert script(source)["there"] is True
