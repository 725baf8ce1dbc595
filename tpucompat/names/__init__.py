"""The old symbols as data: rows, tables, and what became of each; no TensorFlow."""
