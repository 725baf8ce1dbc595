"""``gsutil`` of shell lines on folders that stand for buckets."""

import os

import pytest

from tpucompat.runtime.paths import gsutil, mapping


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A bucket with ``a/1.txt``, ``a/2.txt`` and ``b.txt``; the current folder is empty."""
    folder, here = tmp_path / "bucket", tmp_path / "here"
    (folder / "a").mkdir(parents=True)
    here.mkdir()
    for name in ("a/1.txt", "a/2.txt", "b.txt"):
        (folder / name).write_text(name)
    monkeypatch.setenv(mapping.VARIABLE, f"gs://b={folder}")
    monkeypatch.chdir(here)
    return folder


def files():
    return sorted(
        os.path.join(place, name)[2:] for place, _, names in os.walk(".") for name in names
    )


@pytest.mark.parametrize(
    "words, listed",
    [
        ("ls gs://b", ["gs://b/a/", "gs://b/b.txt"]),
        ("ls -l gs://b/a", ["gs://b/a/1.txt", "gs://b/a/2.txt"]),
        ("ls -r gs://b/", ["gs://b/a/", "gs://b/a/1.txt", "gs://b/a/2.txt", "gs://b/b.txt"]),
        ("ls gs://b/*/2*", ["gs://b/a/2.txt"]),
        ("ls gs://b/**.txt", ["gs://b/b.txt"]),
        ("du -s gs://b/a", ["14          gs://b/a/"]),
        ("stat -q gs://b/b.txt", []),
    ],
)
def test_what_is_listed(words, listed, bucket, capsys):
    assert gsutil.main(words.split()) == 0
    assert capsys.readouterr().out.splitlines() == listed


@pytest.mark.parametrize(
    "words, copied",
    [
        ("-m cp -r gs://b/a .", ["a/1.txt", "a/2.txt"]),
        ("cp gs://b/a/*.txt .", ["1.txt", "2.txt"]),
        ("cp -R gs://b/a new", ["new/1.txt", "new/2.txt"]),
        ("cp gs://b/b.txt deep/er/c.txt", ["deep/er/c.txt"]),
        ("cp gs://b/b.txt deep/", ["deep/b.txt"]),
        ("-o GSUtil:x=1 -m rsync -r gs://b all", ["all/a/1.txt", "all/a/2.txt", "all/b.txt"]),
        ("cp gs://b/a .", []),
    ],
)
def test_what_is_copied(words, copied, bucket):
    assert gsutil.main(words.split()) == 0
    assert files() == copied


def test_what_is_written_into_a_bucket(bucket):
    with open("x.txt", "w") as file:
        file.write("x")
    assert gsutil.main(["cp", "x.txt", "gs://b/new/deep/"]) == 0
    assert (bucket / "new" / "deep" / "x.txt").read_text() == "x"
    assert gsutil.main(["mv", "gs://b/b.txt", "gs://b/c.txt"]) == 0
    assert sorted(os.listdir(bucket)) == ["a", "c.txt", "new"]
    assert gsutil.main(["rm", "-rf", "gs://b/a", "gs://b/none"]) == 0
    assert sorted(os.listdir(bucket)) == ["c.txt", "new"]
    assert gsutil.main(["mb", "-l", "us-central1", "gs://b/folder"]) == 0
    assert (bucket / "folder").is_dir()


def test_text_is_printed(bucket, capfd):
    assert gsutil.main(["cat", "gs://b/b.txt", "gs://b/a/1.txt"]) == 0
    assert capfd.readouterr().out == "b.txta/1.txt"


@pytest.mark.parametrize(
    "words, code, said",
    [
        ("ls gs://b/none", 1, "One or more URLs matched no objects."),
        ("rm gs://b/a", 1, "One or more URLs matched no objects."),
        ("cp gs://other/x .", 2, "TPU442 gs://other/x has no local folder."),
        ("mv gs://b/a gs://b/a/c", 1, "cannot move gs://b/a/ into itself"),
        ("acl ch -u a:R gs://b", 2, "TPU442 gsutil acl has no counterpart"),
    ],
)
def test_what_cannot_be_done(words, code, said, bucket, capsys):
    assert gsutil.main(words.split()) == code
    assert said in capsys.readouterr().err
    assert files() == []
    assert (bucket / "a/1.txt").read_text() == "a/1.txt"


@pytest.mark.parametrize(
    "words, copied",
    [
        ("cp -c -p gs://b/b.txt .", ["b.txt"]),
        ("cp -L log gs://b/b.txt .", ["b.txt"]),
        ("rsync -x a.* gs://b/a .", ["1.txt", "2.txt"]),
        ("rsync -d gs://b/a .", ["1.txt", "2.txt", "mine"]),
        ("rsync -n gs://b/a .", []),
    ],
)
def test_options_with_and_without_a_value(words, copied, bucket):
    if " -d " in words:
        open("mine", "w").close()
    assert gsutil.main(words.split()) == 0
    assert files() == copied
