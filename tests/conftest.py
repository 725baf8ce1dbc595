"""What a TensorFlow release cannot pass, from ``tests/expected_failures``: those tests have to fail there."""

from __future__ import annotations

import expected_failures
import pytest
import targets

from tpucompat.base.machine import environment

try:
    import hypothesis
except ImportError:  # the modules that need it are skipped
    pass
else:
    # How long an example takes is the machine's matter, and fails no test.
    hypothesis.settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items):
    """Marks the tests that are expected to fail under the installed TensorFlow."""
    rows = expected_failures.rows_for(environment(), targets.REHEARSED)
    for item in items:
        for row in rows:
            if row.names(item.nodeid):
                # Strict: a test that passes after all fails, and its line is to be deleted.
                item.add_marker(
                    pytest.mark.xfail(
                        reason=f"{row.cause} ({row.link})", strict=True, run=not row.crashes
                    )
                )


def pytest_report_header():
    """The environment, above the results."""
    return "tpucompat: " + environment().one_line()
