"""``tpucompat migrate``: rewrites old scripts and notebooks to TensorFlow 2."""
