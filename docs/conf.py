"""Sphinx's settings for the guide. ``tools/build_docs.py`` builds it, and checks what came out."""

from __future__ import annotations

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "docs", "_ext")]

from tpucompat.version import VERSION  # noqa: E402

project = "tpucompat"
author = "the authors of tpucompat"
version = release = VERSION
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "guide"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "_static"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Old scripts have lines that this Python cannot read, and shell commands that only look like a language.
highlight_language = "text"

html_theme = "furo"
html_title = "tpucompat"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
