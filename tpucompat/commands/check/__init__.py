"""``tpucompat check``: whether a script's TPU computations compile for a named TPU, without a TPU."""
