"""The defaults of a script's flags: a comparison sets most flags, and does not see their defaults."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from tpucompat.commands.verify.recorder import Recorder

_WORD = re.compile(r"[A-Za-z][\w-]*")
#: Names of flags whose single words are paths too.
_PATH = re.compile(r"(?i)dir|path|file|folder|output|name|prefix|checkpoint")


class Flags:
    """Watches argparse and absl; defaults that are numbers, switches or single words are kept.

    Other texts are paths and addresses, which a migration changes.

    Args:
      recorder: Where to write.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._defaults: dict[str, Any] = {}

    def open(self) -> None:
        """Begins to watch."""
        parsers: Any = argparse.ArgumentParser
        original = parsers.parse_known_args
        outer = self

        def parse_known_args(parser: Any, *args: Any, **kwargs: Any) -> Any:
            for action in parser._actions:
                outer._note(action.dest, parser.get_default(action.dest))
            return original(parser, *args, **kwargs)

        parsers.parse_known_args = parse_known_args

    def _note(self, name: str, default: Any) -> None:
        word = isinstance(default, str) and _WORD.fullmatch(default) and not _PATH.search(name)
        if word or isinstance(default, (bool, int, float)):
            self._defaults.setdefault(name.replace("-", "_"), default)

    def finish(self) -> None:
        """The script has ended: flags of absl are known by now."""
        absl = sys.modules.get("absl.flags")
        if absl is not None:
            for module, flags in absl.FLAGS.flags_by_module_dict().items():
                if not module.startswith("absl."):
                    for flag in flags:
                        self._note(flag.name, flag.default)
        if self._defaults:
            self._recorder.write("flags", defaults=self._defaults)
