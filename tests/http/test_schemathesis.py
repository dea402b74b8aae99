"""schemathesis against a running house: no generated request gets a 5xx or an undocumented answer.

The cases are the same each time. For the seconds in `SALEROOM_TEST_SCHEMATHESIS_SECONDS` it looks for new ones.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract import DOCUMENT
from tests.fixtures_database import KINDS
from tests.fixtures_house import House

SECONDS = int(os.environ.get("SALEROOM_TEST_SCHEMATHESIS_SECONDS", "0"))
CASES = [f"--max-time={SECONDS}"] if SECONDS else ["--seed=1", "--max-examples=8"]
"""Without seconds the cases are few, for slow machines."""
SLOW_SECONDS = 900
PROGRAM = Path(sys.executable).with_name("schemathesis")
NOT_CHECKED = (
    "positive_data_acceptance",  # a schema cannot say that a reserve is not below the starting price, nor many decimals
    "use_after_free",  # a cancelled auction stays, with its history (docs/rules.md, "States")
    "ensure_resource_availability",  # a new auction is there, but not the question that a body names (fuzz/test_machine.py)
)
OPERATIONS = sum(len(found) for found in DOCUMENT["paths"].values())
SETTINGS = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431]
"""
"""The statuses with which bad data may be refused: those that the tool expects, and that for its size."""
ENDLESS = ("followAuction", "followAll")
ENDING = ("logOut", "endSession", "endAllSessions")
BESIDE = 1 + len(ENDING) + len(ENDLESS)
"""Operations that the main run leaves out: those that would end its own token, the document it reads, and streams, which do
not end (test_live.py has them)."""

LEFT_OUT = [f"--exclude-operation-id={name}" for name in (*ENDING, *ENDLESS)]

pytestmark = pytest.mark.databases(*(KINDS if SECONDS else ("postgresql",)))
"""PostgreSQL refuses more values than SQLite, such as a zero byte in a text."""


def run(house: House, folder: Path, *options: str) -> str:
    """Run schemathesis as a new user and return its output. Fail if any check fails."""
    house.user("ada")  # the example in the document: schemathesis would otherwise register it
    user = house.newcomer()
    document = f"{user.http.base_url}/openapi.json"
    headers = {"Authorization": f"Bearer {user.token}", "X-Requested-With": "schemathesis"}
    command: list[str] = [
        *(str(PROGRAM), "run", document, "--no-color", "--generation-database=none", *CASES),
        *("--checks=all", f"--exclude-checks={','.join(NOT_CHECKED)}", "--mode=all", "--warnings=off", *options),
        *(f"--header={name}: {value}" for name, value in headers.items()),
    ]
    (folder / "schemathesis.toml").write_text(SETTINGS)
    limit = SECONDS + SLOW_SECONDS
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, "\n".join(line[:1000] for line in (done.stdout + done.stderr).splitlines())
    return done.stdout


@pytest.mark.parametrize("phases", ["examples,coverage,stateful", "fuzzing"])
def test_no_answer_is_undocumented(house: House, tmp_path: Path, phases: str) -> None:
    """Well-formed and malformed requests to every operation, alone and in chains, get a documented answer below 500."""
    output = run(house, tmp_path, *LEFT_OUT, f"--phases={phases}")
    tested = re.search(r"Tested: ([0-9]+)", output)
    assert tested is not None
    assert OPERATIONS - BESIDE == int(tested[1])


def test_logging_out_has_documented_answers_too(house: House, tmp_path: Path) -> None:
    """The operations that may end the token of their own test get documented answers too, in a separate run."""
    only = [f"--include-operation-id={name}" for name in ENDING]
    output = run(house, tmp_path, *only, "--phases=coverage,fuzzing")
    assert f"Tested: {len(ENDING)}" in output
