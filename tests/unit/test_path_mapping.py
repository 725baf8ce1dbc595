"""Which folder stands for which gs:// path, and what is set where there is no network."""

import os
import pathlib
import re

import pytest

from tpucompat.base.errors import SetupError
from tpucompat.runtime.paths import gcs, mapping


@pytest.fixture
def path_map():
    return mapping.PathMap(
        [
            mapping.Folder("gs://bucket", "/data/b"),
            mapping.Folder("gs://bucket/deep", "/data/[d]"),
        ]
    )


@pytest.mark.parametrize(
    "remote, local",
    [
        ("gs://bucket", "/data/b"),
        ("gs://bucket/", "/data/b/"),
        ("gs://bucket/x/y.txt", "/data/b/x/y.txt"),
        (b"gs://bucket/x", b"/data/b/x"),
        ("gs://bucket/deep/x", "/data/[d]/x"),
        ("gs://bucket/deeper", "/data/b/deeper"),
        ("gs://bucket-two/x", "gs://bucket-two/x"),
        ("gs://other/x", "gs://other/x"),
        ("/tmp/gs://bucket/x", "/tmp/gs://bucket/x"),
        ("", ""),
        (None, None),
        (7, 7),
    ],
)
def test_a_remote_path_becomes_local(path_map, remote, local):
    assert path_map.local(remote) == local
    assert type(path_map.local(remote)) is type(local)


def test_the_longest_remote_path_wins_in_any_order():
    folders = [mapping.Folder("gs://b/x", "/1"), mapping.Folder("gs://b", "/2")]
    for order in (folders, folders[::-1]):
        assert mapping.PathMap(order).local("gs://b/x/f") == "/1/f"


def test_a_local_path_becomes_remote_again(path_map):
    for remote in ("gs://bucket", "gs://bucket/x/y", "gs://bucket/deep/z"):
        assert path_map.remote(path_map.local(remote)) == remote
    assert path_map.remote(b"/data/b/x") == b"gs://bucket/x"
    assert path_map.remote("/data/bb/x") == "/data/bb/x"


def test_a_folder_with_glob_characters_in_its_name(path_map):
    assert path_map.local("gs://bucket/deep/*.txt", pattern=True) == r"/data/\[d\]/*.txt"


def test_a_path_object_that_is_local_stays_one(path_map):
    path = pathlib.PurePosixPath("/data/x")
    assert path_map.local(path) is path


def test_the_expressions_for_graphs_say_the_same(path_map):
    def through(rows, text):
        for pattern, replacement in rows:
            text = re.sub(pattern, replacement, text, count=1)
        return text

    for remote in ("gs://bucket/x", "gs://bucket", "gs://bucket/deep/x", "gs://bucket-two/x"):
        local = through(path_map.to_local(), remote)
        assert local == path_map.local(remote)
        assert through(path_map.to_remote(), local) == remote


@pytest.mark.parametrize(
    "text", ["bucket=/tmp", "gs://bucket", "gs://bucket=", "=/tmp", "gs://=/tmp", ""]
)
def test_what_is_no_mapping(text):
    with pytest.raises(SetupError, match="TPU440"):
        mapping.parse(text)


def test_a_file_cannot_stand_for_a_bucket(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="is a file"):
        mapping.parse("gs://b={}".format(tmp_path / "file"))


def test_a_relative_folder_is_taken_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mapping.parse("gs://b/=sub/x") == ("gs://b", str(tmp_path / "sub" / "x"))
    assert mapping.parse("gs://b=~/x").local == os.path.expanduser("~/x")


def test_two_folders_for_one_bucket():
    with pytest.raises(SetupError, match="is mapped twice"):
        mapping.parse_all(["gs://b=/1", "gs://b=/2"])
    assert len(mapping.parse_all(["gs://b=/1", "gs://b=/1"]).folders) == 1


def test_the_variable_holds_several(monkeypatch):
    monkeypatch.setenv(mapping.VARIABLE, "gs://a=/x y/;z;gs://b=/w,gs://c=/v")
    path_map = mapping.from_environment()
    assert path_map.local("gs://a/1") == "/x y/;z/1"
    assert path_map.local("gs://b/1") == "/w/1"
    assert path_map.local("gs://c/1") == "/v/1"
    monkeypatch.setenv(mapping.VARIABLE, mapping.to_environment(path_map))
    assert mapping.from_environment().folders == path_map.folders
    monkeypatch.delenv(mapping.VARIABLE)
    assert mapping.from_environment().folders == ()


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A machine that is not Google's."""
    monkeypatch.setattr(gcs, "_PRODUCT", str(tmp_path / "product"))
    monkeypatch.setattr(gcs, "_HOSTS", str(tmp_path / "hosts"))
    return tmp_path


def test_without_credentials_nothing_waits_long(elsewhere):
    environ = {"HOME": str(elsewhere), "NO_GCE_CHECK": "false"}
    assert "NO_GCE_CHECK" not in gcs.offer_settings(environ)
    assert environ["NO_GCE_CHECK"] == "false"  # the user's own
    assert int(environ["GCS_RETRY_CONFIG_MAX_RETRIES"]) < 10
    assert int(environ["GCS_REQUEST_CONNECTION_TIMEOUT_SECS"]) < 120


@pytest.mark.parametrize(
    "sign",
    ["product", "hosts", "colab", "file", "home", "config"],
)
def test_credentials_and_googles_cloud_are_left_alone(elsewhere, sign):
    environ = {"HOME": str(elsewhere)}
    file = elsewhere / "application_default_credentials.json"
    if sign == "product":
        (elsewhere / "product").write_text("Google Compute Engine\n")
    elif sign == "hosts":
        (elsewhere / "hosts").write_text("169.254.169.254 metadata.google.internal\n")
    elif sign == "colab":
        environ["COLAB_RELEASE_TAG"] = "release"
    else:
        file.write_text("{}")
        if sign == "file":
            environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(file)
        elif sign == "config":
            environ["CLOUDSDK_CONFIG"] = str(elsewhere)
        else:
            folder = elsewhere / ".config" / "gcloud"
            folder.mkdir(parents=True)
            file.rename(folder / file.name)
    before = dict(environ)
    assert gcs.offer_settings(environ) == []
    assert environ == before
    assert gcs.can_sign_in(environ)
