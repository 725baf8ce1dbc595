"""``kaggle_datasets``: a data set that was attached to the notebook is a folder here.

On Kaggle, whose TPUs read from Google Cloud Storage only, ``get_gcs_path`` named the bucket that held a copy of
``/kaggle/input/NAME``. The devices here read files, so it names the folder.
"""

from __future__ import annotations

import os

from tpucompat.base import journal
from tpucompat.base.errors import SetupError

#: The folder that stands for ``/kaggle/input``.
VARIABLE = "TPUCOMPAT_KAGGLE_INPUT"

# Kaggle's notebooks run in /kaggle/working, and many of them read "../input".
_PLACES = ("/kaggle/input", "../input", "input")


class KaggleDatasets:
    """Where attached data sets are."""

    def get_gcs_path(self, dataset_dir: str | None = None) -> str:
        """The folder of a data set.

        Args:
          dataset_dir: Its name, that of the folder below ``/kaggle/input``; not needed where only one
            is there.

        Raises:
          SetupError: It does not exist, or there are several (TPU449).
        """
        places = [os.environ[VARIABLE]] if os.environ.get(VARIABLE) else list(_PLACES)
        places = [os.path.abspath(os.path.expanduser(place)) for place in places]
        if dataset_dir is None:
            found = [path for place in places for path in _folders(place)]
            text = f"names no dataset, and {len(found)} are"
        else:
            found = [os.path.join(place, dataset_dir) for place in places]
            found = [path for path in found if os.path.isdir(path)][:1]
            text = f"{dataset_dir!r} is not"
        if len(found) != 1:
            raise SetupError(
                "TPU449",
                f"get_gcs_path: {text} in {', '.join(places)}.",
                (
                    f"put it there (kaggle datasets download, unzip), or set {VARIABLE} to "
                    "the folder that contains it."
                ),
            )
        journal.notice("TPU438", f"KaggleDatasets().get_gcs_path: {found[0]}")
        return found[0]


def _folders(place: str) -> list[str]:
    if not os.path.isdir(place):
        return []
    return [entry.path for entry in os.scandir(place) if entry.is_dir()]
