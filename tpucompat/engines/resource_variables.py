"""``tf.enable_resource_variables`` and its opposite, where what a script asks for is counted as it was."""

from __future__ import annotations

import tensorflow

from tpucompat.engines import references


def enable_resource_variables() -> None:
    """Gives resource variables from here on, and knows that they would be so in 1.15 too."""
    tensorflow.compat.v1.enable_resource_variables()
    references.ask_for_resources(True)


def disable_resource_variables() -> None:
    """Gives reference variables from here on, as 1.15 does where a script asks for nothing."""
    tensorflow.compat.v1.disable_resource_variables()
    references.ask_for_resources(False)
