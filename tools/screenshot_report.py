"""Takes the screenshot of verify's HTML report that the guide shows.

python tools/screenshot_report.py [--chromium PROGRAM]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "docs", "_static", "pictures", "verify_report.png")
PAIR = "sharded_linear_regression.py"


def main() -> None:
    """Compares a pair, and takes the picture of the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chromium", default="chromium", help="the browser; default: chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.html")
        pair = [f"legacy_examples/{PAIR}", f"migrated_examples/{PAIR}"]
        command = [sys.executable, "-m", "tpucompat", "verify", *pair]
        command += ["--args", "--steps 10", "--html", report]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        browser = [options.chromium, "--headless", "--no-sandbox", "--hide-scrollbars"]
        browser += ["--window-size=1100,1000", f"--screenshot={OUT}", f"file://{report}"]
        subprocess.run(browser, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
