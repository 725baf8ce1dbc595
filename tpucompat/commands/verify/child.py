"""``python -m tpucompat.commands.verify.child SPEC.json``: the process of a recorded script.

What runs as ``__main__`` counts as the script's own; the recording must not, so it is elsewhere.
"""

from __future__ import annotations

import atexit
import os
import sys

from tpucompat.commands.verify import recorded

if __name__ == "__main__":
    code = recorded.main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of TensorFlow's that a script leaves behind may keep a process from ending.
    os._exit(code)
