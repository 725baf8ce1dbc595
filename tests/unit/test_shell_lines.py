"""What a shell line of a notebook does, and what is left of it."""

import pytest

from tpucompat.runtime.notebooks import shell_lines


@pytest.mark.parametrize(
    "line, left, out",
    [
        ("pip install tensorflow==1.13.1", None, ["tensorflow==1.13.1"]),
        ("pip3 install -q -U tf-nightly", None, ["tf-nightly"]),
        ("pip install tf-nightly-2.0-preview", None, ["tf-nightly-2.0-preview"]),
        ("python -m pip install keras", None, ["keras"]),
        ("{sys.executable} -m pip install Keras==2.2", None, ["Keras==2.2"]),
        ("sudo pip install tensorflow_gpu", None, ["tensorflow_gpu"]),
        ("conda install tensorflow=1.13 -y", None, ["tensorflow=1.13"]),
        ("pip uninstall -y tensorflow", None, ["tensorflow"]),
        ("pip install tensorflow==1.13 # old", None, ["tensorflow==1.13"]),
        ("pip install git+https://github.com/keras-team/keras.git@2.2", None, ["git+https"]),
        (
            "pip install https://x/tensorflow_gpu-1.13.1-cp36-cp36m-linux_x86_64.whl",
            None,
            ["https"],
        ),
        (
            "pip install -q tensorflow-gpu==1.14 tf-hub keras==2.2",
            "pip install -q tf-hub",
            ["tensorflow-gpu==1.14", "keras==2.2"],
        ),
        (
            "pip install 'tensorflow>=1.13,<2' \"numpy<1.20\"",
            'pip install "numpy<1.20"',
            ["tensorflow>=1.13,<2"],
        ),
        ("pip install -r need.txt tensorflow", "pip install -r need.txt", ["tensorflow"]),
        ("pip install -f tensorflow six", "pip install -f tensorflow six", []),
        (
            "pip uninstall -y tensorflow && pip install tensorflow==1.13.1 && echo ok",
            ": && : && echo ok",
            ["tensorflow", "tensorflow==1.13.1"],
        ),
    ],
)
def test_installations_of_tensorflow_are_taken_out(line, left, out):
    seen = shell_lines.read(line)
    assert seen.text == left
    assert len(seen.left_out) == len(out)
    assert all(found.startswith(wanted) for found, wanted in zip(seen.left_out, out))


@pytest.mark.parametrize(
    "line",
    [
        "pip install bert-tensorflow tensorflow_hub keras-bert tensorflow-datasets==1.0",
        "pip list | grep tensorflow",
        "pip show tensorflow",
        "echo pip install tensorflow",
        "nvidia-smi",
        "ls -la {path} | grep 'pip install keras'",
        "",
        "   ",
        "echo 'an open quote",
    ],
)
def test_other_lines_stay_as_they_are(line):
    seen = shell_lines.read(line)
    assert seen.text == line
    assert seen.left_out == ()


@pytest.mark.parametrize(
    "line, programs",
    [
        ("wget -q http://x/y.tar.gz -O {name}.tar.gz", ["wget"]),
        ("test -d bert || git clone https://github.com/google-research/bert", ["git clone"]),
        ("gsutil -m cp -r gs://b/x .", ["gsutil"]),
        ("kaggle datasets download -d a/b && unzip b.zip", ["kaggle"]),
        ("FOO=1 /usr/bin/curl -L $URL > out", ["curl"]),
        ("if [ -d x ]; then wget y; fi", ["wget"]),
        ("apt-get -qq install -y tree > /dev/null", ["apt-get"]),
        ("pip install six tensorflow", ["pip install"]),
        ("pip install tensorflow", []),
        ("ls wget curl", []),
        ("git status", []),
        ("nvidia-smi", []),
        ("echo 'wget x'", []),
        ("cat x # wget y", []),
    ],
)
def test_programs_that_reach_outside(line, programs):
    assert list(shell_lines.read(line).fetches) == programs


def test_a_magic_names_the_program():
    seen = shell_lines.read("install -q tensorflow==1.13 six", "pip")
    assert seen.text == "install -q six"
    assert seen.fetches == ("pip install",)
    assert shell_lines.read("install tensorflow==1.13", "pip").text is None
