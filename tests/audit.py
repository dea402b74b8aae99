"""Which of the pinned packages have known faults: `make audit`, by pip-audit and the database of PyPI.

Exit codes: 0 none has, 1 some have, 2 nobody could be asked. Nothing is installed or built: the locks have all versions.
"""

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

REQUIREMENTS = Path(__file__).parent.parent / "requirements"
POLICY = "SECURITY.md says how soon each is mended."
KNOWN_TO_BE_FAULTY = f"jinja2==2.10 --hash=sha256:{'0' * 64}\n"
"""Asked about first: an index that knows no fault of it, as many mirrors do, knows none at all. Nothing is downloaded."""
NOT_ASKED = "NOT ASKED: there was no answer, or the index knows no faults, so nothing is known of any package.\n"


class Fault(Struct, frozen=True):
    """A known fault of a pinned package, and the versions that mend it."""

    package: str
    version: str
    name: str
    mended_in: tuple[str, ...]

    def __str__(self) -> str:
        mended = f"mended in {', '.join(self.mended_in)}" if self.mended_in else "not mended yet"
        return f"{self.package} {self.version}: {self.name}, {mended}"


def ask(locks: list[Path]) -> subprocess.CompletedProcess[str]:
    """Run pip-audit over locks."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--disable-pip"]
    files = [part for lock in locks for part in ("--requirement", str(lock))]
    return subprocess.run([*command, "--require-hashes", *files], capture_output=True, text=True, check=False)


def faults_in(output: str) -> list[Fault] | None:
    """Return the faults that an output of pip-audit names, each once; None if it is no answer."""
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
        return list(
            dict.fromkeys(
                Fault(one["name"], one["version"], fault["id"], tuple(fault["fix_versions"]))
                for one in packages
                for fault in one.get("vulns", ())
            )
        )
    except (ValueError, KeyError, TypeError):
        return None


@click.command
@click.argument("locks", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(locks: tuple[Path, ...]) -> None:
    """Ask about LOCKS, files of requirements with digests; all of the project unless some are named."""
    with tempfile.TemporaryDirectory() as folder:
        faulty = Path(folder) / "faulty.txt"
        faulty.write_text(KNOWN_TO_BE_FAULTY)
        asked = ask([faulty])
        if faults_in(asked.stdout):
            asked = ask(list(locks) or sorted(REQUIREMENTS.glob("*.txt")))
            found = faults_in(asked.stdout)
        else:
            found = None
    if found is None:
        sys.stderr.write(f"{asked.stderr[-2000:]}\n{NOT_ASKED}")
        sys.exit(2)
    for fault in found:
        sys.stdout.write(f"{fault}\n")
    said = f"{len(found)} known faults. {POLICY}" if found else "No pinned package has a known fault"
    sys.stdout.write(f"{said} ({datetime.now(UTC).date().isoformat()}).\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
