"""The seeds of ``tools/seeded_start``, and one order of the examples for every TensorFlow and number of cores.

A Dataset's shuffle that was given no seed takes one from the graph it is made in, which is another one in
each program that is compared here (``tools/compare_bert_steps.py``).
"""

from __future__ import annotations

import importlib.util
import pathlib

_path = pathlib.Path(__file__).resolve().parent.parent / "seeded_start" / "sitecustomize.py"
_spec = importlib.util.spec_from_file_location("seeded_start", str(_path))
seeded_start = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(seeded_start)


def _shuffle_alike(module):
    original = module.DatasetV2.shuffle

    def shuffle(self, buffer_size, seed=None, *args, **kwargs):
        return original(self, buffer_size, 7 if seed is None else seed, *args, **kwargs)

    module.DatasetV2.shuffle = shuffle


for _package in ("tensorflow", "tensorflow_core"):
    seeded_start._AFTER_IMPORT[f"{_package}.python.data.ops.dataset_ops"] = _shuffle_alike
