"""`make fuzz`: everything in this folder, and schemathesis, with new seeds until the time is over.

A failed test is written to `build/fuzz/failures.txt` as one line that repeats it, with its output in a file beside it.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path("build/fuzz")
FAILURES = FOLDER / "failures.txt"
SCHEMATHESIS = "tests/http/test_schemathesis.py"
SCHEMATHESIS_SECONDS = 60
SEEDS = 2**32
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_EXAMPLES = re.compile(r"([0-9]+) passing(?: examples)?, ([0-9]+) failing")


def environment(file: str) -> dict[str, str]:
    """Return the environment variables of a run of `file`."""
    if file == SCHEMATHESIS:
        return {"SALEROOM_TEST_SCHEMATHESIS_SECONDS": str(SCHEMATHESIS_SECONDS)}
    return {"HYPOTHESIS_PROFILE": "fuzz"}


def command(test: str, seed: int) -> list[str]:
    """Return the command that runs a file or a test with a seed; schemathesis draws its own, and prints how to repeat it."""
    program = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", test]
    return program if test.startswith(SCHEMATHESIS) else [*program, f"--hypothesis-seed={seed}"]


def replay(test: str, seed: int) -> str:
    """Return the shell command that repeats a test as it has just failed."""
    before = [f"{name}={value}" for name, value in environment(test.partition("::")[0]).items()]
    return " ".join([*before, *(f"'{word}'" if "[" in word else word for word in command(test, seed))])


def run(file: str, seed: int) -> tuple[list[str], int]:
    """Run one file; return the tests that failed, and how many examples were tried."""
    done = subprocess.run(
        [*command(file, seed), *([] if file == SCHEMATHESIS else ["--hypothesis-show-statistics"])],
        env=os.environ | environment(file),
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    failed = sorted({*_FAILED.findall(output)}) or ([file] if done.returncode not in (0, 5) else [])
    if failed:
        (FOLDER / f"{Path(file).stem}-{seed}.txt").write_text(output)
    return failed, sum(int(passing) + int(failing) for passing, failing in _EXAMPLES.findall(output))


def main() -> int:
    """Fuzz until the time is over, with a report after each file. The exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10, help="How long to go on; a file that has begun is finished."
    )
    parser.add_argument("--only", default="", help="Words that the names of files to be run hold, with commas.")
    options = parser.parse_args()
    wanted = [word for word in options.only.split(",") if word]
    every = [*sorted(map(str, Path("tests/fuzz").glob("test_*.py"))), SCHEMATHESIS]
    files = [file for file in every if not wanted or any(word in file for word in wanted)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    began, round_number, examples = time.monotonic(), 0, 0
    failures: Counter[str] = Counter()
    while files and time.monotonic() - began < options.minutes * 60:
        round_number += 1
        for file in files:
            if time.monotonic() - began >= options.minutes * 60:
                break
            seed = random.randrange(SEEDS)
            failed, tried = run(file, seed)
            examples += tried
            for test in failed:
                failures[test] += 1
                line = replay(test, seed)
                with FAILURES.open("a") as kept:
                    kept.write(f"{line}\n")
                print(f"  FAILED {line}", flush=True)  # noqa: T201  # a program that talks to people
            minutes = (time.monotonic() - began) / 60
            stands = (
                f"{minutes:5.1f} min  round {round_number}  {examples} examples  {failures.total()} failures  {file}"
            )
            print(stands, flush=True)  # noqa: T201  # a program that talks to people
    print(f"{examples} examples, {len(failures)} tests failed{f': {FAILURES}' if failures else ''}")  # noqa: T201  # as above
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main())
