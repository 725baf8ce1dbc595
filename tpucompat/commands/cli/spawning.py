"""Shows the old namespace to processes that ``multiprocessing`` spawns for the script.

Such a process (of the start methods ``spawn`` and ``forkserver``) imports the script as ``__mp_main__`` before
anything else. With :func:`offer` it imports ``spawned.py`` instead, which runs the script as ``tpucompat run``
does.
"""

from __future__ import annotations

import functools
import json
import multiprocessing.spawn
import os
from typing import Any, Sequence

#: The variable with the arguments of ``tpucompat run``, as JSON, without those of the script.
VARIABLE = "TPUCOMPAT_SPAWNED"
_MAIN = "tpucompat.commands.cli.spawned"


def offer(arguments: Sequence[str]) -> None:
    """Lets processes that this one spawns run the script with the old namespace.

    Args:
      arguments: Those of ``tpucompat run``, the era among them, without those of the script.
    """
    os.environ[VARIABLE] = json.dumps(list(arguments))
    prepared = multiprocessing.spawn.get_preparation_data

    @functools.wraps(prepared)
    def with_our_main(name: str) -> dict[str, Any]:
        data: dict[str, Any] = prepared(name)
        # multiprocessing names the main module by a path, or after `-m` by its name; some programs have none.
        mains = [data.pop(f"init_main_from_{kind}", None) for kind in ("path", "name")]
        if any(mains):
            data["init_main_from_name"] = _MAIN
        return data

    multiprocessing.spawn.get_preparation_data = with_our_main
