"""``tpucompat explain``: rows of codes and of old symbols, and what is close to an unknown one."""

import subprocess
import sys

import pytest

from tpucompat.base.codes import CODES
from tpucompat.commands.cli import explain
from tpucompat.names import lookup, rows, symbols


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_page(code, capsys):
    assert explain.main([code]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    row = CODES[code]
    assert shown.startswith(code + ": " + row.title)
    assert " ".join(row.why.split()) in shown and " ".join(row.what_to_do.split()) in shown


@pytest.mark.parametrize(
    "what, step",
    [("TPU9999", "tpucompat scan FILE"), ("tf.contrib.tpu.nothere", "are listed above")],
)
def test_what_is_neither_a_code_nor_a_symbol(what, step, capsys):
    assert explain.main([what]) == 2
    shown = capsys.readouterr().err
    assert step in shown and ("Close: " in shown) == ("above" in step)


def test_a_code_in_small_letters(capsys):
    assert explain.main(["tpu410"]) == 0
    assert capsys.readouterr().out.startswith("TPU410: ")


def test_every_row_can_be_explained():
    names = [*lookup.table_rows("tf1"), *lookup.table_rows("tf2")]
    assert len(names) > 100
    for name in names:
        assert explain.symbol_text(name).startswith("tf." + name)


def test_every_symbol_of_tensorflow_1_can_be_explained():
    for name in symbols.names():
        title, _, text = explain.symbol_text(name).partition("\n\n")
        assert title == f"tf.{name} ({symbols.kind(name)} of TensorFlow 1.15)"
        assert len(text) > 15, name


@pytest.mark.parametrize(
    "module, shown",
    [
        ("tf.contrib", "cluster_resolver"),
        ("tf.contrib.tpu", "keras_to_tpu_model"),
        ("tf.contrib.gan", "tpucompat.contrib.gan"),
        ("tf.contrib.factorization.KMeans", "A name of tf.contrib.factorization."),
        ("tf.contrib.graph_editor.ph", "Other names are removed."),
        ("tf.data.experimental.CheckpointInputPipelineHook", "Removed since 2.16 (TPU101)"),
    ],
)
def test_a_package_or_a_name_in_it(capsys, module, shown):
    assert explain.main([module]) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize("prefix", ["tf.", "tensorflow.", "", "tf.compat.v1."])
def test_a_stand_in(capsys, prefix):
    assert explain.main([prefix + "Session"]) == 0
    assert capsys.readouterr().out == (
        "tf.Session (class of TensorFlow 1.15)\n\n"
        "Replaced by tpucompat: tpucompat.idioms.startup.sessions.Session\n\n"
        "Write today: tf.compat.v1.Session (TPU203).\n"
    )


def test_what_one_writes_today(capsys):
    explain.main(["tf.log"])
    assert capsys.readouterr().out.endswith("\n\nWrite today: tf.math.log (TPU202).\n")
    explain.main(["tf.nn.relu"])
    assert "Write today" not in capsys.readouterr().out


def test_a_symbol_that_moved(capsys):
    assert explain.main(["tf.contrib.cluster_resolver.SimpleClusterResolver"]) == 0
    assert (
        "as tf.compat.v1.distribute.cluster_resolver.SimpleClusterResolver"
        in capsys.readouterr().out
    )


def test_a_symbol_of_early_tensorflow_2(capsys):
    assert explain.main(["tf.distribute.resolver.TPUClusterResolver"]) == 0
    assert "tpucompat.idioms.startup.cluster_resolver.TPUClusterResolver" in capsys.readouterr().out


def test_a_plain_value(capsys):
    assert explain.main(["tf.__version__"]) == 0
    assert "A constant: '1.15.5'" in capsys.readouterr().out


def test_a_symbol_that_is_native(capsys):
    assert explain.main(["tf.nn.relu"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("tf.nn.relu (function of TensorFlow 1.15)")
    assert "tf.compat.v1" in shown


@pytest.fixture
def table(monkeypatch):
    """Puts a made-up table in place of all."""

    def put(made):
        monkeypatch.setattr(
            lookup, "table_rows", lambda era, on_tensorflow_1=False: made if era == "tf1" else {}
        )

    return put


def test_a_symbol_that_is_gone(table):
    table({"contrib.lost": rows.Gone("TPU101", "nobody keeps it", "tf.found")})
    text = explain.symbol_text("contrib.lost")
    assert "Removed (TPU101): nobody keeps it." in text
    assert "Instead: tf.found" in text
    assert CODES["TPU101"].title in text


def test_a_note_is_shown(table):
    table({"contrib.x": rows.StandIn("tpucompat.x:y", "Only for scalars.")})
    assert explain.symbol_text("contrib.x").endswith("tpucompat.x.y\nOnly for scalars.")


def test_a_name_below_a_package_row(table):
    table({"contrib.layers": rows.Package(("tf_slim:layers", "tf_slim"))})
    assert explain.symbol_text("contrib.layers.conv2d").endswith(
        "A name of tf.contrib.layers.\n"
        "The names of this package are looked up in tf_slim.layers, then tf_slim"
    )


def test_a_symbol_of_contrib_that_nothing_answers(table):
    table({})
    assert "no counterpart" in explain.symbol_text("contrib.tpu.shard")


@pytest.mark.parametrize(
    "what, close",
    [
        ("TPU4100", "TPU410"),
        ("tf.contrib.tpu.keras_to_tpu_mode", "tf.contrib.tpu.keras_to_tpu_model"),
        ("tf.tpu.keras_to_tpu_model", "tf.contrib.tpu.keras_to_tpu_model"),
        ("tf.Sesion", "tf.Session"),
    ],
)
def test_an_unknown_one_gets_close_matches(capsys, what, close):
    assert explain.main([what]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("TPU416 ") and close in captured.err


def test_nothing_is_close_to_nonsense(capsys):
    assert explain.main(["zzzzqqqq"]) == 2
    assert "Close:" not in capsys.readouterr().err


def test_no_tensorflow_is_imported():
    script = (
        "import sys; from tpucompat.commands.cli import explain; explain.main(['tf.contrib.tpu.shard']);"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(
    "private, public",
    [
        ("contrib.tpu.python.tpu.tpu_config.RunConfig", "contrib.tpu.RunConfig"),
        ("python.tpu.tpu_config.RunConfig", "contrib.tpu.RunConfig"),
        ("python.keras.callbacks.EarlyStopping", "keras.callbacks.EarlyStopping"),
    ],
)
def test_private_paths_lead_to_public_names(private, public):
    first, second = explain.symbol_text(private).split("\n")[:2]
    assert first == f"tf.{private} is a private path to"
    assert second.startswith(f"tf.{public} (class")


def test_mistyped_private_names_are_no_names(capsys):
    assert explain.main(["tf.contrib.tpu.python.tpu.tpu_config.RunConfg"]) == 2
    assert "TPU416" in capsys.readouterr().err
