"""`tests/faults/mortal.py` in a process that may open 400 files."""

import resource
import runpy
from pathlib import Path

MORTAL = Path(__file__).parents[1] / "faults" / "mortal.py"

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
    runpy.run_path(str(MORTAL), run_name="__main__")
