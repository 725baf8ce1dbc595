"""tf.contrib.image."""

import importlib
import math

import numpy as np

from contrib_cases import numbers, run

# Far enough from each other that the splines' linear systems are well conditioned.
PLACES = np.array([[[0, 0], [0, 2], [2, 0], [2, 2], [1, 1], [3, 1]]], np.float32)


def case_transforms(tf):
    image = tf.contrib.image

    def build():
        batch = tf.constant(numbers(2, 6, 5, 3))
        bytes_ = tf.cast(batch * 60 + 128, tf.uint8)
        angle = [0.3, -1.2]
        projective = [1.1, 0.2, -0.5, 0.1, 0.9, 0.3, 0.01, -0.02]
        made = {
            "rotated": image.rotate(batch, angle),
            "rotated_smooth": image.rotate(batch[0], math.pi / 5, interpolation="BILINEAR"),
            "rotated_flat": image.rotate(batch[0, :, :, 0], 0.7, "bilinear"),
            "rotated_bytes": image.rotate(bytes_, 0.5),
            "moved": image.translate(batch, [1, -2]),
            "moved_each": image.translate(batch, [[1.5, 0.25], [-1, 0]], "BILINEAR"),
            "transformed": image.transform(batch, projective),
            "transformed_smooth": image.transform(batch, [projective, projective], "BILINEAR"),
            "resized": image.transform(batch, projective, output_shape=[3, 7]),
            "angles": image.angles_to_projective_transforms(angle, 6.0, 5.0),
            "translations": image.translations_to_projective_transforms([[1, 2], [3.5, 4]]),
            "matrices": image.flat_transforms_to_matrices(projective),
            "flat": image.matrices_to_flat_transforms(tf.constant(numbers(2, 3, 3))),
            "composed": image.compose_transforms(
                projective, image.angles_to_projective_transforms(0.2, 6.0, 5.0)
            ),
        }
        made["gradient"] = tf.gradients(
            made["transformed_smooth"] * tf.constant(numbers(2, 6, 5, 3, seed=4)), batch
        )[0]
        return made

    return run(tf, build)


def case_refused(tf):
    image = tf.contrib.image

    def error(function, *args, **kwargs):
        with tf.Graph().as_default():
            try:
                function(*args, **kwargs)
            except TypeError:
                return "TypeError"
            except ValueError:
                return "ValueError"
        return "accepted"

    return [
        error(image.rotate, numbers(2), 0.1),
        error(image.rotate, numbers(2, 2) > 0, 0.1),
        error(image.rotate, numbers(2, 2), [[0.1]]),
        error(image.translate, numbers(2, 2), 1.0),
        error(image.transform, numbers(2, 2), numbers(1, 1, 8)),
        error(image.transform, numbers(2, 2), numbers(8), output_shape=[1, 2, 3]),
        error(image.flat_transforms_to_matrices, numbers(1, 1, 8)),
        error(image.matrices_to_flat_transforms, numbers(9)),
    ]


def case_colors(tf):
    image = tf.contrib.image
    adjust = getattr(image, "adjust_hsv_in_yiq", None)
    if adjust is None:  # 1.15 has it in its private module only
        adjust = importlib.import_module(
            tf.__name__ + ".contrib.image.python.ops.distort_image_ops"
        ).adjust_hsv_in_yiq
    with tf.Graph().as_default(), tf.Session() as sess:
        colors = np.abs(numbers(2, 4, 5, 3)) / 2
        return {
            "float": sess.run(adjust(tf.constant(colors), 0.7, 1.3, 0.8)),
            "back": sess.run(adjust(tf.constant(colors), -2.0, 0.5)),
            "hue": sess.run(adjust(tf.constant(colors[0]), tf.constant(3.0))),
        }
