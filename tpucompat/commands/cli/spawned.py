"""The main module of a process that ``multiprocessing`` spawned; it becomes the script (``spawning.py``)."""

import json
import os

from tpucompat.commands.cli import run, spawning

if __name__ == "__mp_main__":
    run.execute_spawned(json.loads(os.environ[spawning.VARIABLE]), globals())
