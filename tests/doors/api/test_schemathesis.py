"""schemathesis against a running house: whatever it thinks of, no answer is 5xx or not as the document promises.

It takes `SECONDS` on each database; `SALEROOM_TEST_SCHEMATHESIS_SECONDS` makes it longer, and then it looks for new cases.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.contract import DOCUMENT
from tests.fixtures_house import House, User

SECONDS = int(os.environ.get("SALEROOM_TEST_SCHEMATHESIS_SECONDS", "12"))
SEED = [] if "SALEROOM_TEST_SCHEMATHESIS_SECONDS" in os.environ else ["--seed=1"]
PROGRAM = Path(sys.executable).with_name("schemathesis")
NOT_CHECKED = (
    "positive_data_acceptance",  # a schema cannot say that a reserve is not below the starting price, nor many decimals
    "use_after_free",  # a cancelled auction stays, with its history (contract.md, "Auctions")
)
OPERATIONS = sum(len(found) for found in DOCUMENT["paths"].values())
SETTINGS = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431]
"""
"""How bad data may be refused: as the tool expects it, and for its size."""
ENDLESS = ("followAuction", "followAll")
ENDING = ("logOut", "endSession", "endAllSessions")
BESIDE = 1 + len(ENDING) + len(ENDLESS)
"""Operations that the main run leaves out: those that would end its own token, the document it reads, and streams, which do
not end (test_live.py has them)."""


LEFT_OUT = [f"--exclude-operation-id={name}" for name in (*ENDING, *ENDLESS)]


def run(user: User, folder: Path, *options: str) -> str:
    """Run schemathesis as `user` and return what it says. It fails where any check does."""
    headers = {"Authorization": f"Bearer {user.token}", "X-Requested-With": "schemathesis"}
    command: list[str] = [
        *(str(PROGRAM), "run", f"{user.http.base_url}/openapi.json", "--no-color", "--generation-database=none", *SEED),
        *("--checks=all", f"--exclude-checks={','.join(NOT_CHECKED)}", "--mode=all", "--warnings=off", *options),
        *(f"--header={name}: {value}" for name, value in headers.items()),
    ]
    (folder / "schemathesis.toml").write_text(SETTINGS)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS + 120, check=False)
    assert done.returncode == 0, "\n".join(line[:1000] for line in (done.stdout + done.stderr).splitlines())
    return done.stdout


def test_no_answer_is_undocumented(house: House, tmp_path: Path) -> None:
    """Well-formed and malformed requests to every operation, alone and in chains, get a documented answer below 500."""
    said = run(house.newcomer(), tmp_path, f"--max-time={SECONDS}", *LEFT_OUT)
    tested = re.search(r"Tested: ([0-9]+)", said)
    assert tested is not None
    assert OPERATIONS - BESIDE == int(tested[1])


def test_logging_out_has_documented_answers_too(house: House, tmp_path: Path) -> None:
    """The operations that may end the token of their own test, by themselves."""
    only = [f"--include-operation-id={name}" for name in ENDING]
    said = run(house.newcomer(), tmp_path, *only, "--max-examples=10", "--phases=coverage,fuzzing")
    assert f"Tested: {len(ENDING)}" in said
