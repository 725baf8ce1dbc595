"""One row per old symbol; see :mod:`tpucompat.legacy.rows`."""
