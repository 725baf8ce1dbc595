"""The commands of ``tpucompat``."""
