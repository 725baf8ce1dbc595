"""Where this package lies."""

import os

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
