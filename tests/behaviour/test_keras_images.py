"""Pictures that ``keras.preprocessing.image`` moves, beside TensorFlow 1.15 with Keras-Preprocessing 1.1.2."""

from __future__ import annotations

import numpy as np
import pytest

from tpucompat.engines import session
from tpucompat.runtime import namespace

pytest.importorskip("scipy")
session.enter_graph_mode()
PICTURE = np.random.RandomState(0).randint(0, 200, (12, 10, 3)).astype("float32")
# What 1.15 gave for PICTURE after np.random.seed(3), as one number for each picture.
OF_115 = {
    "rotation": 6384189.564517,
    "shift": 6544707.237471,
    "shear": 6379001.137067,
    "zoom": 6785043.510297,
    "rotation of the first axes": 6310777.463721,
    "all at once": 6672828.718399,
    "nothing": 6379782.0,
    "reflected": 6312609.377947,
    "generator": [5977254.0, 5479535.0, 4198145.0],
    "channels first": 6234221.688779,
}


def one_number(picture):
    return float(np.sum(picture * np.arange(picture.size).reshape(picture.shape)))


def image(name):
    return namespace.V1.lookup("keras.preprocessing.image", name)


def test_a_shift_is_along_the_axis_that_it_was():
    rows = np.arange(9.0).reshape(3, 3, 1)
    moved = image("apply_affine_transform")(rows, tx=1)
    np.testing.assert_array_equal(moved[..., 0], [[3, 4, 5], [6, 7, 8], [6, 7, 8]])


def test_pictures_are_moved_as_in_115():
    # The generator brightens by way of Pillow.
    pytest.importorskip("PIL")
    np.random.seed(3)
    axes = (0, 1, 2)
    found = {
        "rotation": one_number(image("random_rotation")(PICTURE, 30, *axes)),
        "shift": one_number(image("random_shift")(PICTURE, 0.2, 0.3, *axes)),
        "shear": one_number(image("random_shear")(PICTURE, 20, *axes)),
        "zoom": one_number(image("random_zoom")(PICTURE, (0.5, 1.5), *axes)),
    }
    first = PICTURE.transpose(2, 0, 1)
    found["rotation of the first axes"] = one_number(image("random_rotation")(first, 30))
    affine = image("apply_affine_transform")
    found["all at once"] = one_number(affine(PICTURE, 10, 1.5, -2, 5, 0.9, 1.1))
    found["nothing"] = one_number(affine(PICTURE))
    # SciPy reflected at the edges in another way before 1.6.
    found["reflected"] = one_number(affine(PICTURE, 50, 25, -13, fill_mode="reflect"))
    generator = image("ImageDataGenerator")(
        rotation_range=20,
        width_shift_range=0.2,
        height_shift_range=3,
        shear_range=10,
        zoom_range=0.3,
        channel_shift_range=10,
        fill_mode="constant",
        cval=7.0,
        horizontal_flip=True,
        vertical_flip=True,
        brightness_range=(0.5, 1.5),
    )
    found["generator"] = [one_number(generator.random_transform(PICTURE)) for _ in range(3)]
    generator = image("ImageDataGenerator")(rotation_range=20, data_format="channels_first")
    batch = next(generator.flow(first[np.newaxis], batch_size=1))
    found["channels first"] = one_number(batch[0])
    for name, numbers in OF_115.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-6, err_msg=name)


def test_both_generations_of_scripts_get_them():
    one = namespace.V1.lookup("keras.preprocessing.image", "ImageDataGenerator")
    assert one is namespace.V2.lookup("keras.preprocessing.image", "ImageDataGenerator")
