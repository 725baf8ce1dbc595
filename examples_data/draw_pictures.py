"""Draws the pictures of the pairs cats_dogs_cnn and gcs_tfrecord_training.

    python draw_pictures.py FOLDER              train/ and validation/, with a folder for each class
    python draw_pictures.py --tfrecord FOLDER   the same as train-*.tfrec and validation-*.tfrec

What is called a cat has pointed ears and upright stripes, a dog has hanging ears and spots.
"""

from __future__ import annotations

import argparse
import io
import os
from typing import Iterator

import numpy as np
from PIL import Image, ImageDraw

SIZE = 32
CLASSES = ("cats", "dogs")
PARTS = ("train", "validation")


def draw(kind: str, rng: np.random.RandomState) -> Image.Image:
    """One picture of SIZE x SIZE pixels."""
    background, fur = (tuple(int(v) for v in rng.randint(60, 220, 3)) for _ in range(2))
    picture = Image.new("RGB", (SIZE, SIZE), background)
    pen = ImageDraw.Draw(picture)
    x, y = (int(v) for v in rng.randint(12, 20, 2))
    pen.ellipse([x - 8, y - 7, x + 8, y + 9], fill=fur)
    if kind == "cats":
        for side in (-6, 6):
            pen.polygon(
                [(x + side - 3, y - 4), (x + side, y - 12), (x + side + 3, y - 4)], fill=fur
            )
        for stripe in range(x - 6, x + 7, 4):
            pen.line([(stripe, y - 4), (stripe, y + 6)], fill=background)
    else:
        for side in (-9, 9):
            pen.ellipse([x + side - 2, y - 5, x + side + 2, y + 7], fill=fur)
        for _ in range(6):
            spot = int(x + rng.randint(-5, 5)), int(y + rng.randint(-4, 6))
            pen.ellipse([spot[0], spot[1], spot[0] + 2, spot[1] + 2], fill=background)
    noise = rng.randint(-8, 9, (SIZE, SIZE, 3))
    return Image.fromarray(
        np.clip(np.asarray(picture).astype(int) + noise, 0, 255).astype(np.uint8)
    )


def pictures(count: int, seed: int) -> Iterator[tuple[str, int, Image.Image]]:
    """``count`` pictures, the classes in turn: (class, number, picture)."""
    rng = np.random.RandomState(seed)
    for number in range(count):
        kind = CLASSES[number % 2]
        yield kind, number, draw(kind, rng)


def write_folders(folder: str, counts: tuple[int, int]) -> None:
    """A folder for each part and class."""
    for seed, (part, count) in enumerate(zip(PARTS, counts)):
        for kind, number, picture in pictures(count, seed):
            where = os.path.join(folder, part, kind)
            os.makedirs(where, exist_ok=True)
            picture.save(os.path.join(where, f"{kind[:-1]}.{number:04d}.png"))


def write_tfrecords(folder: str, counts: tuple[int, int]) -> None:
    """Two files for each part, with the features ``image`` (a PNG) and ``label``."""
    import tensorflow as tf

    def feature(**values):
        return tf.train.Feature(**values)

    os.makedirs(folder, exist_ok=True)
    for seed, (part, count) in enumerate(zip(PARTS, counts)):
        files = [
            tf.io.TFRecordWriter(os.path.join(folder, f"{part}-{index}.tfrec")) for index in (0, 1)
        ]
        for kind, number, picture in pictures(count, seed):
            stream = io.BytesIO()
            picture.save(stream, "png")
            features = {
                "image": feature(bytes_list=tf.train.BytesList(value=[stream.getvalue()])),
                "label": feature(int64_list=tf.train.Int64List(value=[CLASSES.index(kind)])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            files[number * 2 // count].write(example.SerializeToString())
        for file in files:
            file.close()


def main() -> None:
    """Draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tfrecord", action="store_true")
    parser.add_argument("--train", type=int, default=128, help="how many to train with")
    parser.add_argument("--validation", type=int, default=32, help="how many to evaluate")
    args = parser.parse_args()
    (write_tfrecords if args.tfrecord else write_folders)(
        args.folder, (args.train, args.validation)
    )


if __name__ == "__main__":
    main()
