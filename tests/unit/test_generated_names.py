"""The random programs of ``tests/generated`` draw every public part of which a model is made.

The names are TensorFlow 1.15's own (``tf115_symbols.txt``), so this finds what the tables forget. A name that
no program can have says why. How many names there are, and how many of them are drawn:

    python tests/unit/test_generated_names.py
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

if sys.version_info < (3, 8):
    pytest.skip("ast.Constant is new in Python 3.8", allow_module_level=True)

from tpucompat.names import lookup
from tpucompat.names.rows import Gone

ROOT = Path(__file__).parents[2]
SYMBOLS = ROOT / "tpucompat" / "names" / "tables" / "tf115_symbols.txt"
#: What a model and its training are made of.
NAMESPACES = (
    "contrib.crf",
    "contrib.layers",
    "contrib.legacy_seq2seq",
    "contrib.losses",
    "contrib.losses.metric_learning",
    "contrib.mixed_precision",
    "contrib.opt",
    "contrib.recurrent",
    "contrib.rnn",
    "contrib.seq2seq",
    "keras.activations",
    "keras.backend",
    "keras.callbacks",
    "keras.constraints",
    "keras.initializers",
    "keras.layers",
    "keras.losses",
    "keras.metrics",
    "keras.optimizers",
    "keras.optimizers.schedules",
    "keras.regularizers",
    "layers",
    "losses",
    "math",
    "metrics",
    "nn",
    "nn.rnn_cell",
)
#: Of tf.train, optimizers and learning rates; of tf.contrib.tpu, what is for a model function.
PARTS = {
    "train": re.compile(r".+Optimizer$|.+_decay(_restarts)?$|piecewise_constant"),
    "contrib.tpu": re.compile(
        r"TPUEstimator\w*|RunConfig|TPUConfig|InputPipelineConfig|\w+Optimizer"
    ),
}
OTHER_NAME = "another name of a part that is drawn"
BASE = "a base class, or a function for configurations"
SETTING = "a setting of the process, or a name, and no computation"
RANDOM = "every core would draw numbers of its own"
NO_TPU = "a TPU has no such operation"
#: Pattern of a name -> why no program draws it.
NOT_DRAWN = {
    r"[\w.]+\.(serialize|deserialize|get)$": BASE,
    r"layers\.InputSpec|[\w.]+\.(Loss|Initializer|Regularizer|Constraint)$": BASE,
    r"keras\.optimizers\.Optimizer|keras\.callbacks\.Callback|keras\.layers\.Layer": BASE,
    r"keras\.layers\.\w*(Convolution|MaxPool\d|AvgPool|GlobalAvg|GlobalMaxPool\d)\w*": OTHER_NAME,
    r"keras\.(losses|metrics)\.(KLD|MAE|MAPE|MSE|MSLE)$": OTHER_NAME,
    r"keras\.(losses|metrics)\.(mse|mae|mape|msle|kld|cosine)$": OTHER_NAME,
    r"keras\.constraints\.radial_constraint": OTHER_NAME,
    r"keras\.layers\.CuDNN(GRU|LSTM)": "runs on GPUs alone",
    r"contrib\.layers\.(bow_encoder|embed_sequence|embedding_lookup_unique)$": "a case of test_contrib.py",
    r"contrib\.rnn\.(\w*Fused\w*|LSTMBlockWrapper)$": "a case of test_contrib.py",
    r"keras\.backend\.(set_|reset_uids|get_uid|manual_variable|learning_phase_scope)\w*": SETTING,
    r"keras\.backend\.random_(binomial|normal_variable|uniform_variable)": RANDOM,
    r"keras\.backend\.print_tensor": NO_TPU + " (TPU387)",
    r"keras\.backend\.(ctc_\w+|to_dense)": NO_TPU + " (sparse tensors)",
    r"keras\.backend\.moving_average_update": "its own variables are not initialized, on 1.15 neither",
    r"keras\.backend\.normalize_batch_in_training": "statistics of a core's part of the batch",
    r"nn\.(ctc_\w+|collapse_repeated|embedding_lookup_sparse|safe_embedding_lookup_sparse)": (
        NO_TPU + " (sparse tensors)"
    ),
    r"nn\.\w*(candidate_sampler|accidental_hits)|nn\.(nce|sampled_softmax)_loss": RANDOM,
    r"nn\.fractional_\w+": RANDOM,
    r"nn\.(quantized_\w+|dilation2d|erosion2d|max_pool_with_argmax)": NO_TPU,
    r"nn\.\w+_backprop_(filter|input)\w*": "the gradient of a convolution, which is drawn",
    r"nn\.conv_transpose|nn\.conv1d_transpose": OTHER_NAME,
    r"nn\.static_state_saving_rnn": "reads states out of queues",
    r"keras\.callbacks\.RemoteMonitor": "sends to a server",
    r"keras\.metrics\.MeanTensor": "takes no loss's arguments; tests/behaviour has its numbers",
    r"metrics\.(sparse_\w+|\w+_at_top_k)": OTHER_NAME + ", for indices instead of numbers",
    r"nn\.rnn_cell\.DeviceWrapper": "names a device, and a core has none",
    r"contrib\.crf\.(Crf\w+Cell|crf_multitag_sequence_score)": "a part of functions that are drawn",
    r"contrib\.crf\.viterbi_decode": "a function of NumPy",
    r"contrib\.layers\.(GDN|RevBlock)": OTHER_NAME,
    r"contrib\.layers\.(dense_to_sparse|safe_embedding_lookup_sparse)": NO_TPU
    + " (sparse tensors)",
    r"contrib\.layers\.summarize_\w+": NO_TPU + " (summaries)",
    r"contrib\.legacy_seq2seq\.embedding_(attention|rnn)_decoder": "a part of functions that are drawn",
    r"contrib\.legacy_seq2seq\.(model_with_buckets|one2many_rnn_seq2seq)": "several models in one",
    r"contrib\.losses\.metric_learning\.(cluster_loss|npairs_loss_multilabel)": (
        NO_TPU + " (Python, sparse tensors)"
    ),
    r"contrib\.mixed_precision\.LossScaleManager|contrib\.rnn\.LayerRNNCell": BASE,
    r"contrib\.rnn\.Conv3DLSTMCell": "as Conv2DLSTMCell, with a dimension more",
    r"contrib\.rnn\.DeviceWrapper": "names a device, and a core has none",
    r"contrib\.rnn\.static_state_saving_rnn": "reads states out of queues",
    r"contrib\.seq2seq\.(AttentionMechanism|Decoder|Helper)$": BASE,
    r"contrib\.seq2seq\.(\w+Output|\w+State|gather_tree)$": "a part of decoders that are drawn",
    r"contrib\.seq2seq\.(SampleEmbedding|ScheduledEmbeddingTraining)Helper": RANDOM,
    r"train\.SyncReplicasOptimizer": "waits for parameter servers",
    r"train\.noisy_linear_cosine_decay": "every core would draw a rate of its own",
}


def drawn():
    """The words of the programs; of a name that is put together (``f"Conv{rank}D"``) none would say which."""
    words = set()
    for path in (ROOT / "tests" / "generated").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
    return words


def names(namespace):
    """The public classes and functions that 1.15 has there, without its submodules' own; not what is gone."""
    wanted = PARTS.get(namespace)
    for line in SYMBOLS.read_text(encoding="utf-8").splitlines():
        name, _, kind = line.partition(" ")
        head, _, last = name.rpartition(".")
        if head != namespace or kind not in ("class", "function"):
            continue
        if isinstance(lookup.table_rows("tf1").get(name), Gone):
            continue
        if wanted is None or wanted.match(last):
            yield last


@pytest.mark.parametrize("namespace", [*NAMESPACES, *PARTS])
def test_a_program_draws_every_part(namespace):
    words = drawn()
    every = list(names(namespace))
    assert every
    forgotten = [
        name
        for name in every
        if name not in words
        and not any(re.match(known, f"{namespace}.{name}") for known in NOT_DRAWN)
    ]
    assert forgotten == []


def test_what_is_not_drawn_is_known():
    every = [
        f"{namespace}.{name}" for namespace in [*NAMESPACES, *PARTS] for name in names(namespace)
    ]
    for known in NOT_DRAWN:
        assert any(re.match(known, name) for name in every), known


def counts():
    """Namespace -> how many names it has, how many are drawn, how many are left out for a reason."""
    words, found = drawn(), {}
    for namespace in [*NAMESPACES, *PARTS]:
        every = list(names(namespace))
        left = [name for name in every if name not in words]
        found[namespace] = len(every), len(every) - len(left), len(left)
    return found


if __name__ == "__main__":
    for where, (public, known, left_out) in counts().items():
        print(f"{where}: {public} public, {known} drawn, {left_out} left out for a reason")
