"""The mutants explained in `docs/maintaining/mutation.md`, and the survivors of a run of mutmut."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path("docs/maintaining/mutation.md")
PROGRAM = Path(sys.executable).with_name("mutmut")
_ROW = re.compile(r"\| `([a-z.A-Z_]+)` \| `(.+?)` \| `(.*?)` \| (.+) \|")
_LIVES = re.compile(
    r"^ *(saleroom(?:\.\w+)*\.(\w+)\.x(.+)__mutmut_[0-9]+): (survived|no tests|suspicious|segfault)$",
    re.MULTILINE,
)


class Mutant(NamedTuple):
    """A change that no test has noticed: its function of the domain, its line, and the changed line."""

    function: str
    line: str
    made: str


def explained(document: str) -> dict[Mutant, str]:
    """Return the mutants of the document's table, with the reasons why no test kills them."""
    rows = (_ROW.fullmatch(line) for line in document.splitlines())
    return {
        Mutant(row[1], row[2].replace(r"\|", "|"), row[3].replace(r"\|", "|")): row[4]
        for row in rows
        if row is not None
    }


def living(results: str) -> dict[str, str]:
    """Return the names and functions of the surviving mutants from the output of `mutmut results`."""
    return {
        found[1]: f"{found[2]}.{found[3].removeprefix('_').strip('ǁ').replace('ǁ', '.')}"
        for found in _LIVES.finditer(results)
    }


def change(function: str, diff: str) -> Mutant:
    """Return a mutant in the document's form from the output of `mutmut show`."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    before, after = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)).strip() for sign in ("-", "+")
    )
    return Mutant(function, before, after)


def survivors() -> list[Mutant]:
    """Return the survivors of the last run of mutmut."""
    return [change(function, _mutmut("show", name)) for name, function in sorted(living(_mutmut("results")).items())]


def _mutmut(*words: str) -> str:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout
