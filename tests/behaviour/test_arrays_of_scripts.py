"""Several cores leave a script's own arrays alone, also where generators give parts of them."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


RUN = ["-m", "tpucompat", "run", "--quiet", "--cores", "8"]


@pytest.mark.parametrize("program", ["views_tf1", "views_tf2"])
def test_parts_of_arrays_stay_as_they_are(program, tmp_path):
    settings = {"PYTHONPATH": os.getcwd(), "VIEWS_OUT": str(tmp_path / "model")}
    clean = {name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, *RUN, os.path.join(HERE, "programs", f"{program}.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        cwd=str(tmp_path),
        env={**clean, **settings, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.stdout.strip().split("\n")[-1] == "KEPT", done.stderr[-2000:]


def test_columns_of_text_have_the_dtype_of_pandas_3(tmp_path):
    """A migrated script imports pandas first, and its frames are not read as ``object``."""
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas, "StringDtype"):
        pytest.skip("pandas has no dtype of text")
    import tpucompat.v1 as tf

    frame = pandas.DataFrame({"kind": ["a", "b", "a", "c"], "size": [1.0, 2.0, 3.0, 4.0]})
    frame["kind"] = frame["kind"].astype("string")
    labels = frame["kind"].rename("label")
    inputs = tf.estimator.inputs
    given = {"kind": frame["kind"].values, "size": frame["size"].values}
    makers = [
        inputs.pandas_input_fn(frame, labels, batch_size=4, shuffle=False),
        inputs.numpy_input_fn(given, labels.values, batch_size=4, shuffle=False),
    ]
    for input_fn in makers:
        with tf.Graph().as_default():
            features, target = input_fn()
            with tf.train.MonitoredSession() as session:
                (kinds, sizes), texts = session.run([[features["kind"], features["size"]], target])
        assert kinds.tolist() == texts.tolist() == [b"a", b"b", b"a", b"c"]
        assert sizes.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert str(frame["kind"].dtype) == "string"  # the script's own frame
