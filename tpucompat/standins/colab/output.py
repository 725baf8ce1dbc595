"""``google.colab.output``: what notebooks do with their own cells."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from tpucompat.base.errors import GoneError
from tpucompat.base.late import late

display = late("IPython.display")


def clear(wait: bool = False, output_tags: Any = ()) -> None:
    """Clears the output of the running cell."""
    display.clear_output(wait=wait)


@contextlib.contextmanager
def temporary() -> Iterator[None]:
    """Colab removes what is shown inside; here it stays."""
    yield


@contextlib.contextmanager
def use_tags(tags: Any, append: bool = True) -> Iterator[None]:
    """Colab marks what is shown inside; here nothing reads the marks."""
    yield


@contextlib.contextmanager
def redirect_to_element(selector: str) -> Iterator[None]:
    """Colab shows the output elsewhere on the page; here it stays in the cell."""
    yield


def no_vertical_scroll() -> None:
    """Does nothing: it is about Colab's page."""


def enable_custom_widget_manager(*args: Any, **kwargs: Any) -> None:
    """Does nothing: Jupyter shows widgets without it."""


def disable_custom_widget_manager() -> None:
    """Does nothing, likewise."""


def register_callback(function_name: str, callback: Any) -> None:
    """Does nothing: no page calls back."""


def eval_js(script: str, *args: Any, **kwargs: Any) -> Any:
    """Colab runs JavaScript in the browser and waits for its value (camera, microphone, dialogs)."""
    raise GoneError("TPU439", "output.eval_js() needs Colab's page in a browser.")


def serve_kernel_port_as_iframe(*args: Any, **kwargs: Any) -> None:
    """Colab shows a server of the kernel inside the page."""
    raise GoneError(
        "TPU439",
        "output.serve_kernel_port_as_iframe() needs Colab's page.",
        "open the port itself.",
    )


serve_kernel_port_as_window = serve_kernel_port_as_iframe
