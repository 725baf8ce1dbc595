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
#: Where the source is hosted, told by the service that builds the guide; "" locally.
REPOSITORY = os.environ.get("READTHEDOCS_GIT_CLONE_URL", "")
if not REPOSITORY and os.environ.get("GITHUB_REPOSITORY"):
    REPOSITORY = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format(**os.environ)
REPOSITORY = REPOSITORY[:-4] if REPOSITORY.endswith(".git") else REPOSITORY
# tools/build_docs.py builds docs/zh as a site of its own, with this file and `-D language=zh_CN`.
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "guide"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "_static", "zh"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Old scripts have lines that this Python cannot read, and shell commands that only look like a language.
highlight_language = "text"

html_theme = "furo"
html_title = f"tpucompat {version}"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_js_files = ["filter.js"]
html_theme_options = {"navigation_with_keys": True}
if REPOSITORY.startswith("https://"):
    html_theme_options.update(
        source_repository=REPOSITORY, source_branch="main", source_directory="docs/"
    )
copybutton_exclude = ".linenos, .gp, .go"
