"""The process that runs the cells of ``tpucompat run book.ipynb``: a Jupyter kernel with tpucompat in it.

Started by path, with the arguments of ``python -m ipykernel_launcher``, which it shows to the cells too.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any


def main() -> None:
    """Starts the kernel and serves until it is stopped."""
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == here:
        del sys.path[0]
    if importlib.util.find_spec("tpucompat") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    launcher = importlib.util.find_spec("ipykernel_launcher")
    if launcher is not None and launcher.origin:
        # Cells that hand sys.argv to absl or argparse were written for this name and "-f FILE".
        sys.argv[0] = launcher.origin

    from ipykernel.kernelapp import IPKernelApp  # when the process is ready

    class TpucompatKernelApp(IPKernelApp):
        """Loads tpucompat before anything of the user's, configuration files included."""

        name = "ipython-kernel"

        def init_extensions(self) -> None:
            shell: Any = self.shell
            shell.extension_manager.load_extension("tpucompat")
            theirs: Any = super()
            theirs.init_extensions()

    TpucompatKernelApp.launch_instance()


if __name__ == "__main__":
    main()
