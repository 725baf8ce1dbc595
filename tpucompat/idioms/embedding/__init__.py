"""The embedding tables of a TPU, in software.

A TPU keeps large embedding tables beside its cores: the host sends them the ids of a batch, the
cores are given the looked-up rows, and send back the gradients, by which the tables update
themselves with an optimizer of their own. TensorFlow's part of that is
``tensorflow/python/tpu/tpu_embedding.py`` (to release 2.15), which only describes the tables to the
hardware. Here the tables are variables of the step:

* ``config``: how tables, features and their optimizers are described, where TensorFlow no longer
  has the classes;
* ``optimizers``: the update rules, one row each;
* ``tables``: ``TPUEmbedding``: ids in, activations out, gradients back;
* ``gradients``: how the gradients of activations are caught on their way to the model's optimizer.
"""
