"""Executes a notebook's cells in a Jupyter kernel of this Python, and shows what comes.

Needs the packages of the extra "notebook": :mod:`tpucompat.runtime.notebooks.runner` imports this when it has
told which are missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import threading
from typing import Any, Callable

import nbclient
import zmq
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from nbclient.util import ensure_async
from traitlets import default

from tpucompat.runtime import failures, tracebacks

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Up to a carriage return that does not end a line.
_OVERWRITTEN = re.compile(r".*\r(?=[^\r\n])")


class _ThisPython(KernelSpecManager):
    """The one kernel there is: that of this interpreter, installed as a kernel or not."""

    def get_kernel_spec(self, kernel_name: str) -> Any:
        kernel = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.py")
        spec = get_kernel_dict()
        spec["argv"] = [sys.executable, kernel, "-f", "{connection_file}"]
        return KernelSpec(**spec)


class _Manager(AsyncKernelManager):
    """Starts the kernel with this interpreter."""

    @default("kernel_spec_manager")
    def _this_python(self) -> Any:
        return _ThisPython(parent=self)

    @default("transport_encryption")  # from jupyter_client 8.9 on
    def _encrypted_if_possible(self) -> str:
        return "auto" if zmq.has("curve") else "disabled"


class Client(nbclient.NotebookClient):
    """Shows messages as they come, and has the outputs so far kept.

    Args:
      notebook: The notebook.
      folder: Where its cells run.
      keep: Called after each code cell, when the notebook holds its outputs.
      whole: Whether the terminal shows whole tracebacks; the notebook has them always.
    """

    number = 0  # the cell that runs, from 1
    error: tuple[str, str, list[str]] | None = None
    stopped = 0  # the signal that came

    def __init__(
        self, notebook: Any, folder: str, keep: Callable[[], None], whole: bool = False
    ) -> None:
        super().__init__(
            notebook,
            kernel_name="python3",
            kernel_manager_class=_Manager,
            timeout=None,
            allow_errors=False,
            resources={"metadata": {"path": folder}},
        )
        self._keep = keep
        self._whole = whole

    def is_dead(self, error: BaseException) -> bool:
        """Whether an error of nbclient says that there is no kernel any more."""
        return isinstance(error, (DeadKernelError, AssertionError)) or "died" in str(error)

    def on_signal(self, number: int) -> None:
        """Ctrl-C reaches the cell, as in Jupyter; whatever follows ends the kernel."""
        again, self.stopped = self.stopped, number
        manager: Any = self.km
        if number == signal.SIGINT and not again:
            message = manager.interrupt_kernel()
        else:
            message = manager.shutdown_kernel(now=True)
        self.message = asyncio.ensure_future(ensure_async(message))

    async def async_execute_cell(
        self, cell: Any, cell_index: int, *args: Any, **kwargs: Any
    ) -> Any:
        """Executes a cell, and takes the signals over before the first."""
        if not cell_index and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError):  # Windows
                for number in (signal.SIGINT, signal.SIGTERM):  # in place of nbclient's own
                    asyncio.get_event_loop().add_signal_handler(number, self.on_signal, number)
        if cell.cell_type == "code":
            self.number = cell_index + 1
        try:
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)
        finally:
            if cell.cell_type == "code":
                cell.outputs = _as_shown(cell.outputs)
                self._keep()

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """Shows a message of the kernel, and notes an error."""
        content = msg["content"]
        if msg["msg_type"] != "error":
            _show(msg["msg_type"], content, cell_index + 1)
        else:
            self._show_error(content["traceback"])
            files = tracebacks.files_of_lines(content["traceback"])
            self.error = (content["ename"], content["evalue"], files)
        return super().process_message(msg, cell, cell_index)

    def _show_error(self, traceback: list[str]) -> None:
        if self._whole:
            text = "\n".join(traceback) + "\n"
            _write(sys.stderr, text if sys.stderr.isatty() else _COLOURS.sub("", text))
        else:
            _write(sys.stderr, failures.of_cells([_COLOURS.sub("", each) for each in traceback]))


def _as_shown(outputs: Any) -> list[Any]:
    """Outputs as Jupyter shows them: a stream's pieces in one, without what a carriage return has overwritten.

    A progress bar writes thousands of them. nbclient's own ``coalesce_streams`` would put the text behind a
    picture before it.
    """
    shown: list[Any] = []
    for output in outputs:
        kind = (output.output_type, output.get("name"))
        if shown and kind[0] == "stream" and (shown[-1].output_type, shown[-1].get("name")) == kind:
            shown[-1].text += output.text
        else:
            shown.append(output)
    for output in shown:
        if output.output_type == "stream":
            output.text = _OVERWRITTEN.sub("", output.text)
    return shown


def _show(kind: str, content: Any, number: int) -> None:
    """Shows one message of the kernel on the terminal."""
    if kind == "stream":
        target = sys.stderr if content["name"] == "stderr" else sys.stdout
        _write(target, content["text"])
    elif kind in ("execute_result", "display_data"):
        data = content["data"]
        pictures = [mime for mime in data if mime.startswith("image/")]
        if pictures:
            size = len(str(data[pictures[0]])) * 3 // 4 // 1024 + 1
            _write(sys.stdout, f"[cell {number}: a picture, {pictures[0]}, {size} kB]\n")
        elif "text/plain" in data:
            _write(sys.stdout, data["text/plain"] + "\n")
        elif data:
            _write(sys.stdout, f"[cell {number}: {', '.join(sorted(data))}]\n")


def _write(target: Any, text: str) -> None:
    encoding = getattr(target, "encoding", None) or "utf-8"
    target.write(text.encode(encoding, "replace").decode(encoding))
    target.flush()
