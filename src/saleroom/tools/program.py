"""The program as its user can call it where they stand."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def program() -> str:
    """Return the words that start this program again: its name if the shell finds it by that, otherwise its path."""
    here = Path(sys.argv[0])
    if here.name == "__main__.py":
        return f"{shlex.quote(_near(Path(sys.executable)))} -m saleroom"
    found = shutil.which(here.name)
    if found is not None and Path(found).resolve() == here.resolve():
        return here.name
    return shlex.quote(_near(here))


def _near(file: Path) -> str:
    """Return the path from this folder, or the whole path of a file that is not below it."""
    whole = file.absolute()  # and not resolved, which would follow the link of a virtual environment
    near = str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(whole)
    return near if "/" in near else f"./{near}"
