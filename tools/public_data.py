"""Small made-up data for public programs, the same on every machine; needs NumPy, and h5py for Keras' weights.

A maker gets two folders: ``data``, which a program's arguments name, and ``home``, its home folder, where
Keras looks for what it has downloaded.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import pickle
import random
import struct
import zlib
from typing import Any, Callable, Dict, Iterator

import numpy as np

Maker = Callable[[pathlib.Path, pathlib.Path], None]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def signs(seed: int, count: int) -> np.ndarray:
    """So many numbers that are 1 or -1."""
    return np.random.RandomState(seed).randint(0, 2, count) * 2 - 1


# Records of tf.Example, by hand ----------------------------------------------------------------------


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def _masked_crc(data: bytes) -> bytes:
    """CRC-32C as TFRecord files have it (tensorflow/core/lib/hash/crc32c.h)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def example(**features: bytes | list[float] | list[int]) -> bytes:
    """A serialized tf.train.Example."""
    entries = b""
    for name, value in sorted(features.items()):
        if isinstance(value, bytes):
            feature = _field(1, _field(1, value))
        elif any(isinstance(number, float) for number in value):
            feature = _field(2, _field(1, struct.pack(f"<{len(value)}f", *value)))
        else:
            feature = _field(3, _field(1, b"".join(_varint(int(number)) for number in value)))
        entries += _field(1, _field(1, name.encode()) + _field(2, feature))
    return _field(1, entries)


def write_records(path: pathlib.Path, records: list[bytes]) -> None:
    """A TFRecord file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as stream:
        for record in records:
            length = struct.pack("<Q", len(record))
            stream.write(length + _masked_crc(length) + record + _masked_crc(record))


def png(pixels: np.ndarray) -> bytes:
    """A picture of (height, width, 3 or 1) bytes; unlike JPEG it is decoded alike everywhere."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    height, width, colours = pixels.shape
    rows = b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if colours == 3 else 0, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + content


# BERT ------------------------------------------------------------------------------------------------


def _words(count: int = 160) -> list[str]:
    chooser = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(chooser.choice(_LETTERS) for _ in range(chooser.randint(3, 7)))] = None
    return list(words)


def _vocabulary(path: pathlib.Path) -> int:
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(5)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += [*_words(), *_LETTERS, ".", ",", "?", *("##" + letter for letter in _LETTERS)]
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return len(tokens)


def _bert_config(path: pathlib.Path, words: int, **more: Any) -> None:
    config = {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 32,
        "initializer_range": 0.02,
        "intermediate_size": 64,
        "max_position_embeddings": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "type_vocab_size": 2,
        "vocab_size": words,
        **more,
    }
    path.write_text(json.dumps(config), encoding="utf-8")


def _sentence(chooser: random.Random, words: int = 8) -> str:
    return " ".join(chooser.choice(_words()) for _ in range(words))


def bert(data: pathlib.Path, home: pathlib.Path) -> None:
    """A vocabulary, a small configuration, MRPC, SQuAD, text, and pre-training records."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "bert_config.json", count)
    _bert_config(
        data / "no_dropout.json", count, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    chooser = random.Random(1)
    (data / "mrpc").mkdir()
    for name, rows in (("train", 64), ("dev", 24), ("test", 24)):
        lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for row in range(rows):
            one = _sentence(chooser)
            other = one if row % 2 else _sentence(chooser)
            lines.append(f"{row % 2}\t{row}\t{row}\t{one}\t{other}")
        (data / "mrpc" / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, texts in (("train", 6), ("dev", 3)):
        paragraphs = []
        for text in range(texts):
            context = [chooser.choice(_words()) for _ in range(30)]
            questions = []
            for question in range(3):
                at = chooser.randrange(25)
                start = len(" ".join(context[:at])) + (1 if at else 0)
                answer = {"text": " ".join(context[at : at + 2]), "answer_start": start}
                questions.append(
                    {
                        "id": f"q{text}_{question}",
                        "question": f"what is {context[at]} ?",
                        "answers": [answer],
                    }
                )
            paragraphs.append({"context": " ".join(context), "qas": questions})
        squad = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
        (data / f"squad_{name}.json").write_text(json.dumps(squad), encoding="utf-8")
    text = [_sentence(chooser) for _ in range(8)]
    (data / "text.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    corpus = ["\n".join(_sentence(chooser, 10) for _ in range(8)) for _ in range(10)]
    (data / "corpus.txt").write_text("\n\n".join(corpus), encoding="utf-8")

    ids = [[chooser.randrange(10, count) for _ in range(24)] for _ in range(64)]
    write_records(data / "pretraining.tfrecord", [_masked_language_model(row) for row in ids])


def _masked_language_model(ids: list[int]) -> bytes:
    """A record as create_pretraining_data.py makes them: two sentences, and five words to guess."""
    pad = [0] * (32 - len(ids))
    return example(
        input_ids=[7, *ids[1:-1], 8, *pad],
        input_mask=[1] * len(ids) + pad,
        segment_ids=[0] * 12 + [1] * (len(ids) - 12) + pad,
        masked_lm_positions=[3, 5, 8, 14, 20],
        masked_lm_ids=ids[3:8],
        masked_lm_weights=[1.0] * 5,
        next_sentence_labels=[ids[0] % 2],
    )


def _questions(chooser: random.Random, count: int, **more: list[int]) -> list[bytes]:
    """32 examples of a question and a document as token numbers below a count; every fourth answers it."""

    def pair(label: int) -> bytes:
        question = [7, *(chooser.randrange(10, 90) for _ in range(3)), 8]
        document = [*(chooser.randrange(90, count) for _ in range(6)), 8]
        return example(query_ids=question, doc_ids=document, label=[label], **more)

    return [pair(int(n % 4 == 0)) for n in range(32)]


def ranking(data: pathlib.Path, home: pathlib.Path) -> None:
    """Pairs of a question and a document as token numbers, for dl4marco-bert."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "bert_config.json", count)
    chooser = random.Random(2)

    for name in ("train", "dev", "eval"):
        write_records(data / f"dataset_{name}.tf", _questions(chooser, count))
        lines = [f"q{n // 8}\td{n}\n" for n in range(32)]
        (data / f"query_doc_ids_{name}.txt").write_text("".join(lines), encoding="utf-8")


def augmented(data: pathlib.Path, home: pathlib.Path) -> None:
    """Labelled texts and pairs of a text and its paraphrase as token numbers, for UDA."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "bert_config.json", count)
    chooser = random.Random(3)

    def text(prefix: str = "", label: int | None = None) -> dict[str, list[int]]:
        ids = [7, *(chooser.randrange(10, count) for _ in range(6)), 8]
        pad = [0] * 8
        out = {"input_ids": ids + pad, "input_mask": [1] * 8 + pad, "input_type_ids": [0] * 16}
        out = {prefix + name: value for name, value in out.items()}
        return out if label is None else {**out, "label_ids": [label]}

    name = "tf_examples.tfrecord.0"
    write_records(data / "train" / name, [example(**text(label=n % 2)) for n in range(20)])
    # The program evaluates as many steps as 25,000 texts make, and a TPU wants an input for each of them.
    write_records(data / "dev" / name, [example(**text(label=n % 2)) for n in range(40)])
    (data / "dev" / name).write_bytes((data / "dev" / name).read_bytes() * 625)
    pairs = [example(**text("ori_"), **text("aug_")) for _ in range(20)]
    write_records(data / "more" / "uni-0.9" / "0" / f"{name}.0", pairs)


def entities(data: pathlib.Path, home: pathlib.Path) -> None:
    """BERT's data, and sentences with a tag for each word: CoNLL's four columns, and two."""
    bert(data, home)
    tags = {
        # BERT-BiLSTM-CRF-NER numbers its labels in the order of their hashes; with few of them there is a seed
        # of Python's hashes for each of its releases that gives one order.
        2: ["B-PER", "I-PER", "O"],
        4: ["B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-MISC", "I-MISC", "O"],
    }
    for columns in (2, 4):
        folder = data / f"columns{columns}"
        folder.mkdir()
        chooser = random.Random(columns)
        for name, sentences in (("train", 32), ("dev", 16), ("test", 16)):
            lines = []
            for _ in range(sentences):
                for _ in range(7):
                    cells = [chooser.choice(_words()), *["NN", "B-NP"][: columns - 2]]
                    lines.append(" ".join([*cells, chooser.choice(tags[columns])]))
                lines += [". . O O" if columns == 4 else ". O", ""]
            (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def text_pairs(data: pathlib.Path, home: pathlib.Path) -> None:
    """Pairs of sentences with a label, as LCQMC has them, for albert_zh."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "albert_config.json", count, embedding_size=16, ln_type="postln")
    chooser = random.Random(4)
    for name, rows in (("train", 33), ("dev", 17), ("test", 17)):
        lines = ["text_a\ttext_b\tlabel"]
        for row in range(rows):
            one = _sentence(chooser)
            lines.append(f"{one}\t{one if row % 2 else _sentence(chooser)}\t{row % 2}")
        (data / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def characters(data: pathlib.Path, home: pathlib.Path) -> None:
    """A text in which every character is a word of its own, for transformer-xl."""
    chooser = random.Random(5)
    for name, length in (("train", 4000), ("valid", 1200), ("test", 1200)):
        text = " ".join(str(chooser.randrange(32, 60)) for _ in range(length))
        (data / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


def nothing(data: pathlib.Path, home: pathlib.Path) -> None:
    """The program makes its own data."""


# Language models -------------------------------------------------------------------------------------


def stories(data: pathlib.Path, home: pathlib.Path) -> None:
    """Files of token numbers and a configuration, for ConnorJL's GPT-2.

    It reads its files in no certain order and takes pieces of the texts at random; all texts are the
    same, and as long as one piece, so that this makes no difference.
    """
    chooser = random.Random(11)
    text = example(hash=b"x", text=[chooser.randrange(1, 90) for _ in range(12)])
    for number in range(93):
        write_records(data / f"openwebtext-newspaper-long_{number}.tfrecords", [text] * 2)
    config = {
        **dict.fromkeys(("embed_dropout", "attn_dropout", "res_dropout"), 0.1),
        **dict.fromkeys(("train_batch_size", "eval_batch_size"), 8),
        **dict.fromkeys(("scale_by_depth", "scale_by_in"), True),
        "lr": 0.001,
        "warmup_steps": 4,
        "beta1": 0.9,
        "beta2": 0.98,
        "epsilon": 1e-9,
        "n_head": 2,
        "n_layer": 2,
        "n_embd": 16,
        "n_ctx": 23,
        "n_vocab": 50257,
        "train_steps": 6,
        "eval_steps": 2,
        "max_steps": 10,
        "iterations": 3,
        "data_path": "../data",
        "encoder_path": "",
        "input": "openwebtext_long",
        "model": "GPT2",
        "model_path": "../out",
        "opt_name": "adam",
        "predict_batch_size": 1,
        "predict_path": "logs/predictions.txt",
        "weight_decay": 0.01,
    }
    (data / "gpt.json").write_text(json.dumps(config), encoding="utf-8")


def permuted(data: pathlib.Path, home: pathlib.Path) -> None:
    """Token numbers with some of them to be guessed, as xlnet's data_utils.py writes them."""
    chooser = random.Random(12)
    rows = []
    for row in range(48):
        ids = [chooser.randrange(10, 200) for _ in range(33)]
        masked = [int(place % 6 == 2) for place in range(32)]
        segments = [0] * 20 + [1] * 12
        features = {"target": ids[1:], "seg_id": segments, "label": [row % 2], "is_masked": masked}
        rows.append(example(input=ids[:32], **features))
    name = "train-0-0.bsz-16.seqlen-32.reuse-16.uni.alpha-6.beta-1.fnp-8."
    write_records(data / f"{name}tfrecords", rows)
    info = {"filenames": [f"{name}tfrecords"], "num_batch": 3}
    (data / f"record_info-{name}json").write_text(json.dumps(info), encoding="utf-8")


def news(data: pathlib.Path, home: pathlib.Path) -> None:
    """Token numbers of texts and a configuration, for grover and for what was made of it."""
    chooser = random.Random(15)
    texts = [[chooser.randrange(1, 120) for _ in range(25)] for _ in range(48)]
    write_records(data / "news.tfrecord", [example(input_ids=text) for text in texts])
    _bert_config(data / "config.json", 130, max_position_embeddings=32, num_attention_heads=2)


def replaced_words(data: pathlib.Path, home: pathlib.Path) -> None:
    """Token numbers and settings of training and evaluation, with a TPU and without one, for ELECTRA."""
    chooser = random.Random(13)
    count = _vocabulary(data / "vocab.txt")
    rows = []
    for _ in range(64):
        ids = [7, *(chooser.randrange(10, count) for _ in range(28)), 8, 0, 0]
        segments = [0] * 16 + [1] * 16
        rows.append(example(input_ids=ids, input_mask=[1] * 30 + [0] * 2, segment_ids=segments))
    write_records(data / "pretrain_tfrecords" / "pretrain_data.tfrecord-0-of-1", rows)
    settings = {
        "num_train_steps": 8,
        "num_eval_steps": 3,
        "num_warmup_steps": 2,
        "learning_rate": 1e-3,
        "save_checkpoints_steps": 8,
        "iterations_per_loop": 4,
        "train_batch_size": 8,
        "eval_batch_size": 8,
        "max_seq_length": 32,
        "vocab_size": count,
        "model_hparam_overrides": {"num_hidden_layers": 2, "hidden_size": 64},
        "embedding_size": 32,
    }
    for task, more in (("train", {}), ("eval", {"do_train": False, "do_eval": True})):
        text = json.dumps({**settings, **more})
        (data / f"{task}.json").write_text(text, encoding="utf-8")


def edits(data: pathlib.Path, home: pathlib.Path) -> None:
    """Token numbers with an edit for each, for LaserTagger."""
    count = _vocabulary(data / "vocab.txt")
    sizes = {"decoder_num_hidden_layers": 1, "decoder_hidden_size": 32, "decoder_filter_size": 64}
    kinds = {"use_t2t_decoder": True, "use_full_attention": True, "vocab_type": ""}
    _bert_config(data / "config.json", count, decoder_num_attention_heads=4, **sizes, **kinds)
    (data / "labels.txt").write_text("KEEP\nDELETE\nKEEP|and\nDELETE|,\n", encoding="utf-8")
    chooser = random.Random(16)
    for name in ("train", "dev"):
        rows = []
        for _ in range(40):
            ids = [7, *(chooser.randrange(10, count) for _ in range(20)), 8, 0, 0]
            rows.append(
                example(
                    input_ids=ids,
                    input_mask=[1] * 22 + [0] * 2,
                    segment_ids=[0] * 24,
                    labels=[chooser.randrange(4) for _ in range(24)],
                    labels_mask=[0] + [1] * 20 + [0] * 3,
                )
            )
        write_records(data / f"{name}.tfrecord", rows)


def relations(data: pathlib.Path, home: pathlib.Path) -> None:
    """BERT's data, and sentences with a label, as biobert's run_re.py reads them."""
    bert(data, home)
    chooser = random.Random(17)
    (data / "gad").mkdir()
    for name in ("train", "dev", "test"):
        lines = [f"{_sentence(chooser)}\t{row % 2}" for row in range(24)]
        if name == "test":
            lines = ["index\tsentence\tlabel", *(f"{n}\t{line}" for n, line in enumerate(lines))]
        (data / "gad" / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def positions(data: pathlib.Path, home: pathlib.Path) -> None:
    """Positions of Go on a board of 9 x 9 with moves and results, for minigo: compressed records."""
    state = np.random.RandomState(14)
    rows = []
    for row in range(640):
        board = state.randint(0, 2, (9, 9, 17)).astype(np.uint8)
        moves = state.rand(82).astype(np.float32)
        outcome = [float(row % 2 * 2 - 1)]
        rows.append(example(x=board.tobytes(), pi=(moves / moves.sum()).tobytes(), outcome=outcome))
    write_records(data / "plain", rows)
    compressed = zlib.compress((data / "plain").read_bytes())
    (data / "games.tfrecord.zz").write_bytes(compressed)


# Pictures --------------------------------------------------------------------------------------------


def _digits(random_state: np.random.RandomState, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy copies of ten made-up pictures, and which of them each is."""
    labels = random_state.randint(0, 10, count).astype(np.uint8)
    patterns = np.random.RandomState(9).randint(0, 256, (10, 28, 28))
    noise = random_state.randint(-40, 40, (count, 28, 28))
    return np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels


def digits(data: pathlib.Path, home: pathlib.Path) -> None:
    """MNIST: as records, as Keras' archive, and as the files of its first page."""
    state = np.random.RandomState(0)
    pictures, labels = _digits(state, 1024)
    more, more_labels = _digits(state, 512)
    for name, some, tags in (
        ("train", pictures, labels),
        ("validation", more, more_labels),
        ("test", more, more_labels),
    ):
        records = [
            example(image_raw=one.tobytes(), label=[int(tag)]) for one, tag in zip(some, tags)
        ]
        write_records(data / f"{name}.tfrecords", records)
    keras = home / ".keras" / "datasets"
    (keras / "fashion-mnist").mkdir(parents=True)
    arrays = {"x_train": pictures, "y_train": labels, "x_test": more, "y_test": more_labels}
    np.savez(str(keras / "mnist.npz"), **arrays)
    for name, content in _mnist_files(pictures, labels, more, more_labels):
        (data / name).write_bytes(content)
        with gzip.open(keras / "fashion-mnist" / f"{name}.gz", "wb") as stream:
            stream.write(content)


def _mnist_files(*arrays: np.ndarray) -> Iterator[tuple[str, bytes]]:
    """Names and contents of MNIST's four files: pictures and labels of training, and of the test."""
    names = "train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"
    for name, array in zip(names, arrays):
        sizes = struct.pack(f">{array.ndim}I", *array.shape)
        yield f"{name}-ubyte", struct.pack(">I", 0x800 + array.ndim) + sizes + array.tobytes()


def all_digits(data: pathlib.Path, home: pathlib.Path) -> None:
    """Keras' archive of MNIST with as many pictures as it has, and its files, for who counts on them."""
    state = np.random.RandomState(0)
    keras = home / ".keras" / "datasets"
    keras.mkdir(parents=True)
    pictures, labels = _digits(state, 60000)
    more, more_labels = _digits(state, 10000)
    np.savez(
        str(keras / "mnist.npz"), x_train=pictures, y_train=labels, x_test=more, y_test=more_labels
    )
    for name, content in _mnist_files(pictures, labels, more, more_labels):
        (data / name).write_bytes(content)


def prepared_digits(data: pathlib.Path, home: pathlib.Path) -> None:
    """MNIST as tensorflow-datasets prepares it: in its folder at home, and as in its bucket, for try_gcs.

    There is one batch of 200 to train on: later releases shuffle in another order in ``fit``.
    """
    state = np.random.RandomState(22)
    records, splits = {}, []
    for name, count in (("train", 200), ("test", 400)):
        pictures, labels = _digits(state, count)
        records[name] = [
            example(image=png(picture[..., np.newaxis]), label=[int(label)])
            for picture, label in zip(pictures, labels)
        ]
        size = str(sum(map(len, records[name])))
        splits.append({"name": name, "shardLengths": [str(count)], "numBytes": size})
    info = {
        "name": "mnist",
        "version": "3.0.1",
        "description": "Made-up digits.",
        "splits": splits,
    }
    package = "tensorflow_datasets.core.features."
    picture_of = {"shape": {"dimensions": ["28", "28", "1"]}, "dtype": "uint8"}
    features = {
        "image": {
            "pythonClassName": package + "image_feature.Image",
            "image": {**picture_of, "encodingFormat": "png"},
        },
        "label": {
            "pythonClassName": package + "class_label_feature.ClassLabel",
            "classLabel": {"numClasses": "10"},
        },
    }
    whole = {
        "pythonClassName": package + "features_dict.FeaturesDict",
        "featuresDict": {"features": features},
    }
    # Releases up to 4.0 read what is particular about a feature from files of its own.
    texts = {
        "dataset_info.json": info,
        "features.json": whole,
        "image.image.json": {"encoding_format": "png", "shape": [28, 28, 1]},
    }
    for place in (home / "tensorflow_datasets", data / "datasets"):
        folder = place / "mnist" / "3.0.1"
        for name, rows in records.items():
            write_records(folder / f"mnist-{name}.tfrecord-00000-of-00001", rows)
        for name, text in texts.items():
            (folder / name).write_text(json.dumps(text), encoding="utf-8")
        labels_text = "".join(f"{number}\n" for number in range(10))
        (folder / "label.labels.txt").write_text(labels_text, encoding="utf-8")


def reviews(data: pathlib.Path, home: pathlib.Path, rows: int = 11024, tests: int = 512) -> None:
    """Keras' archive of film reviews: made-up words, of one length, so that no array is a pickle of lists."""
    state = np.random.RandomState(0)

    keras = home / ".keras" / "datasets"
    keras.mkdir(parents=True)
    np.savez(
        str(keras / "imdb.npz"),
        x_train=state.randint(1, 9000, (rows, 120)),
        y_train=state.randint(0, 2, rows),
        x_test=state.randint(1, 9000, (tests, 120)),
        y_test=state.randint(0, 2, tests),
    )


def three_batches_of_reviews(data: pathlib.Path, home: pathlib.Path) -> None:
    """As many as are left for three batches of 512, where the first 10,000 are set aside."""
    reviews(data, home, 10000 + 3 * 512)


def albert(data: pathlib.Path, home: pathlib.Path) -> None:
    """BERT's vocabulary, a small ALBERT, and records for its pre-training."""
    bert(data, home)
    config = json.loads((data / "bert_config.json").read_text(encoding="utf-8"))
    config.update(embedding_size=16, num_hidden_groups=1, inner_group_num=1, net_structure_type=0)
    config.update(gap_size=0, num_memory_blocks=0, down_scale_factor=1)
    (data / "albert_config.json").write_text(json.dumps(config), encoding="utf-8")
    chooser = random.Random(8)
    rows = []
    for _ in range(64):
        ids = [chooser.randrange(10, config["vocab_size"]) for _ in range(24)]
        rest = [0] * 8
        rows.append(
            example(
                input_ids=[7, *ids[1:-1], 8, *rest],
                input_mask=[1] * 24 + rest,
                segment_ids=[0] * 12 + [1] * 12 + rest,
                token_boundary=[1] * 24 + rest,
                masked_lm_positions=[3, 5, 8, 14, 20],
                masked_lm_ids=ids[3:8],
                masked_lm_weights=[1.0] * 5,
                next_sentence_labels=[ids[0] % 2],
            )
        )
    write_records(data / "albert.tfrecord", rows)


def coloured(data: pathlib.Path, home: pathlib.Path) -> None:
    """Records of 64 pictures of CIFAR's size, colour by colour."""
    state = np.random.RandomState(5)
    rows = [
        example(image=state.randint(0, 256, 3072).astype(np.uint8).tobytes(), label=[number % 10])
        for number in range(64)
    ]
    write_records(data / "train.tfrecord", rows)


def photographs(data: pathlib.Path, home: pathlib.Path) -> None:
    """Records as those of ImageNet: 32 pictures of four classes for training, 16 for validation."""
    state = np.random.RandomState(6)
    for name, count in (("train-00000-of-00001", 32), ("validation-00000-of-00001", 16)):
        rows = []
        for number in range(count):
            picture = state.randint(0, 64, (72, 80, 3)) + 48 * (number % 4)
            content = {"image/encoded": png(picture), "image/class/label": [1 + number % 4]}
            rows.append(example(**content))
        write_records(data / name, rows)


def faces(data: pathlib.Path, home: pathlib.Path) -> None:
    """A picture of each of 176 classes for training and for the test, and weights of DenseNet121.

    The pictures have the size that the program asks for: no release's way of resizing counts.
    """
    state = np.random.RandomState(20)
    for name in ("train", "test"):
        for number in range(176):
            folder = data / "animeface-character-dataset" / name / f"{number:03d}"
            folder.mkdir(parents=True)
            blocks = state.randint(0, 256, (10, 10, 3)).astype(np.uint8)
            pixels = blocks.repeat(16, axis=0).repeat(16, axis=1)
            (folder / "0.png").write_bytes(png(pixels))
    models = home / ".keras" / "models"
    models.mkdir(parents=True)
    name = "densenet121_weights_tf_dim_ordering_tf_kernels_notop.h5"
    _write_keras_weights(models / name, _densenet121(state))


_Weights = Dict[str, Dict[str, np.ndarray]]


def _densenet121(state: np.random.RandomState) -> _Weights:
    """Weights by layer and by name, as for the start of a training, with Keras' names."""
    layers: _Weights = {}

    def convolution(name: str, size: int, before: int, after: int) -> int:
        scale = (2 / (size * size * before)) ** 0.5
        kernel = state.normal(0, scale, (size, size, before, after)).astype(np.float32)
        layers[name] = {f"{name}/kernel:0": kernel}
        return after

    def norm(name: str, size: int) -> None:
        starts = {"gamma": 1, "beta": 0, "moving_mean": 0, "moving_variance": 1}
        layers[name] = {
            f"{name}/{part}:0": np.full(size, value, np.float32) for part, value in starts.items()
        }

    size = convolution("conv1/conv", 7, 3, 64)
    norm("conv1/bn", size)
    for stage, blocks in ((2, 6), (3, 12), (4, 24), (5, 16)):
        for number in range(1, blocks + 1):
            block = f"conv{stage}_block{number}"
            norm(f"{block}_0_bn", size)
            convolution(f"{block}_1_conv", 1, size, 128)
            norm(f"{block}_1_bn", 128)
            size += convolution(f"{block}_2_conv", 3, 128, 32)
        if stage < 5:
            norm(f"pool{stage}_bn", size)
            size = convolution(f"pool{stage}_conv", 1, size, size // 2)
    norm("bn", size)
    return layers


def _write_keras_weights(path: pathlib.Path, layers: _Weights) -> None:
    """A file as Keras 2 writes it by ``save_weights``."""
    import h5py

    with h5py.File(path, "w") as stream:
        stream.attrs["layer_names"] = [name.encode() for name in layers]
        stream.attrs["backend"] = b"tensorflow"
        stream.attrs["keras_version"] = b"2.1.6"
        for name, weights in layers.items():
            group = stream.create_group(name)
            group.attrs["weight_names"] = [weight.encode() for weight in weights]
            for weight, value in weights.items():
                group.create_dataset(weight, data=value)


def coloured_batches(data: pathlib.Path, home: pathlib.Path) -> None:
    """Keras' CIFAR-10 as it lies unpacked: as many pictures as it has, for who counts on them."""
    state = np.random.RandomState(21)
    patterns = state.randint(0, 256, (10, 3, 4, 4)).astype(np.uint8)
    patterns = patterns.repeat(8, axis=2).repeat(8, axis=3).reshape(10, 3072)
    folder = home / ".keras" / "datasets" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    # What Keras looks for first; it unpacks nothing where the folder is there.
    folder.with_name(folder.name + ".tar.gz").touch()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        labels = state.randint(0, 10, 10000)
        noise = state.randint(0, 64, (10000, 3072), dtype=np.uint8)
        content = {b"data": patterns[labels] // 2 + noise, b"labels": labels.tolist()}
        pickled = pickle.dumps(content, protocol=3)
        # The name that NumPy 1 knows, as it stands in the real files.
        pickled = pickled.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n", 1)
        (folder / name).write_bytes(pickled)


def whole_batches_of_reviews(data: pathlib.Path, home: pathlib.Path) -> None:
    """As many as make batches of 1,024 of four fifths, of the last fifth, and of the test's."""
    reviews(data, home, 10 * 1024, 1024)


def flowers(data: pathlib.Path, home: pathlib.Path) -> None:
    """The two files of Iris, where Keras keeps what it has downloaded."""
    state = np.random.RandomState(0)
    keras = home / ".keras" / "datasets"
    keras.mkdir(parents=True)
    for name, rows in (("iris_training.csv", 120), ("iris_test.csv", 32)):
        lines = [f"{rows},4,setosa,versicolor,virginica"]
        for row in range(rows):
            size = 1.0 + row % 3
            cells = [f"{size * scale + state.rand():.1f}" for scale in (2.0, 1.0, 1.5, 0.5)]
            lines.append(",".join([*cells, str(row % 3)]))
        (keras / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def numbers_as_text(data: pathlib.Path, home: pathlib.Path) -> None:
    """A list of shapes, whose text BERT-keras' tutorial counts words in."""
    chooser = random.Random(1)
    shapes = [[chooser.randrange(1, 800) for _ in range(3)] for _ in range(60)]
    folder = data / "openai" / "model"
    folder.mkdir(parents=True)
    (folder / "params_shapes.json").write_text(json.dumps(shapes), encoding="utf-8")


def documents(data: pathlib.Path, home: pathlib.Path) -> None:
    """Pairs as in `ranking`, with the count of relevant documents and a ranking to replace, for TREC CAR."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "bert_config.json", count)
    chooser = random.Random(13)

    for name in ("train", "dev", "test"):
        write_records(data / f"dataset_{name}.tf", _questions(chooser, count, len_gt_titles=[2]))
        lines = [f"q{n // 8} Q0 d{n} {n % 8} 0.5 x\n" for n in range(32)]
        (data / f"{name}.run").write_text("".join(lines), encoding="utf-8")


def yes_no(data: pathlib.Path, home: pathlib.Path) -> None:
    """Questions on a passage whose answer is yes or no, for BoolQ, and pairs of sentences, for CLUE."""
    count = _vocabulary(data / "vocab.txt")
    _bert_config(data / "bert_config.json", count)
    chooser = random.Random(14)
    for name, rows in (("train", 64), ("dev", 24), ("test", 24)):
        lines = []
        for row in range(rows):
            question, passage = _sentence(chooser, 5), _sentence(chooser, 14)
            one = {"question": question, "passage": passage, "answer": row % 2 == 0, "id": row}
            one |= {"sentence1": question, "sentence2": passage, "label": str(row % 2)}
            lines.append(json.dumps(one))
        (data / f"{name}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def fine_tuning(data: pathlib.Path, home: pathlib.Path) -> None:
    """A small ELECTRA's pre-training records and settings, and MRPC for its fine-tuning."""
    replaced_words(data, home)
    bert(data, home)
    (data / "finetuning_data").mkdir()
    (data / "mrpc").rename(data / "finetuning_data" / "mrpc")
    small = json.loads((data / "train.json").read_text(encoding="utf-8"))
    kept = {k: v for k, v in small.items() if k in ("model_hparam_overrides", "vocab_size")}
    kept |= {
        "task_names": ["mrpc"],
        "max_seq_length": 32,
        "train_batch_size": 16,
        "iterations_per_loop": 4,
    }
    kept |= {
        "eval_batch_size": 8,
        "predict_batch_size": 8,
        "num_train_epochs": 3.0,
        "learning_rate": 1e-3,
    }
    kept |= {"model_size": "small", "double_unordered": False, "use_tfrecords_if_existing": False}
    kept["embedding_size"] = small["embedding_size"]
    (data / "fine.json").write_text(json.dumps(kept), encoding="utf-8")


MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        bert,
        ranking,
        augmented,
        entities,
        text_pairs,
        characters,
        stories,
        permuted,
        news,
        replaced_words,
        edits,
        relations,
        positions,
        nothing,
        digits,
        all_digits,
        reviews,
        three_batches_of_reviews,
        whole_batches_of_reviews,
        flowers,
        albert,
        coloured,
        photographs,
        numbers_as_text,
        faces,
        coloured_batches,
        prepared_digits,
        documents,
        yes_no,
        fine_tuning,
    )
}
