"""One row per old symbol; see :mod:`tpucompat.names.rows`."""
