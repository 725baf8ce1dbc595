"""``tpucompat scan``: finds what is old in scripts and notebooks, and what a TPU does not like."""
