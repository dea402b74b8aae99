"""The ledgers of docs/ledgers, written by older houses, verify, and would be written as the same bytes today."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from saleroom.bidding.domain.views import cloud_event, event_parts, sealed_part
from saleroom.cli import main
from saleroom.kernel.chain import canonical
from saleroom.tools.verify.reading import read
from tests.test_docs import rows, words

FOLDER = Path(__file__).parents[3] / "docs" / "ledgers"
TABLE = rows((FOLDER / "README.md").read_text("utf-8"))
LEDGERS = [row for row in TABLE if ".ndjson" in row[0]]
OTHER_KEYS = {
    "batch": "batch.keys.json",
    "voided": "voided.keys.json",
    "pseudonyms": "pseudonyms.keys.json",
    "erased": "pseudonyms.keys.json",
}
"""The keys of the ledgers from other houses."""
RECEIPTS = [row for row in TABLE if ".receipt.txt" in row[0]]


def test_each_sample_is_in_the_table() -> None:
    """Every sample is tested below."""
    listed = {words(name)[0] for name, *_ in TABLE}
    assert listed == {file.name for file in FOLDER.iterdir()} - {"README.md", "keys.json", *OTHER_KEYS.values()}


@pytest.mark.parametrize("row", LEDGERS, ids=lambda row: words(row[0])[0])
def test_a_sample_is_accepted(row: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sample verifies with the same result as ever."""
    name, outcome, head, _ = row
    assert 0 == main(["verify", str(FOLDER / words(name)[0])])
    output = capsys.readouterr().out.splitlines()
    assert outcome == output[1]
    assert output[2].endswith(f"head {words(head)[0]}")


def keys_of(receipt: Path) -> Path:
    """Return the file with the keys of the house that signed a sample receipt."""
    return FOLDER / OTHER_KEYS.get(receipt.name.partition(".")[0], "keys.json")


@pytest.mark.parametrize("row", RECEIPTS, ids=lambda row: words(row[0])[0])
def test_a_receipt_of_a_sample_stands(row: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sample receipt is found in its ledger, and in no other."""
    receipt, proven = FOLDER / words(row[0])[0], row[1]
    own, keys = receipt.name.partition(".")[0], keys_of(receipt)
    for ledger in FOLDER.glob("*.ndjson"):
        code = main(["verify", str(ledger), "--receipt", str(receipt), "--key", str(keys)])
        output = capsys.readouterr()
        assert (0 if ledger.stem == own else 1) == code
        assert (f"receipt: {proven}\n" in output.out) == (ledger.stem == own)


def check_alone(receipt: Path, keys: Path) -> subprocess.CompletedProcess[str]:
    """Run the program of docs/ledger.md, which knows nothing of saleroom."""
    page = (FOLDER.parent / "ledger.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-I", "-c", program, str(receipt), str(keys)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program_of_the_document_checks_receipts(tmp_path: Path) -> None:
    """The example in docs/ledger.md reads every sample receipt, old or new, and refuses a changed one."""
    for receipt in FOLDER.glob("*.receipt.txt"):
        done = check_alone(receipt, keys_of(receipt))
        assert (0, "") == (done.returncode, done.stderr)
        stated = msgspec.json.decode(done.stdout)
        assert receipt.name.split(".")[1].partition("-")[0] == stated["bidder"]
    text = (FOLDER / "batch.cyd.receipt.txt").read_text().strip()
    signed, statement, place = text.split("~")
    other = (FOLDER / "batch.bob.receipt.txt").read_text().split("~")
    for changed, why in [
        (f"{signed}~{statement}A~{place}", "the tree"),
        (f"{signed}~{statement}~0{place[1:]}", "the tree"),
        (f"{signed}~{statement}~5{place[1:]}", "the tree"),
        (f"{signed}~{statement}~{place[:-44]}", "the tree"),
        (f"{signed}~{statement}~{place}{place[1:]}", "the tree"),
        (f"{signed}~{other[1]}~{place}", "the tree"),
        (f"{signed[:-86]}{'A' * 86}~{statement}~{place}", "InvalidSignature"),
    ]:
        (tmp_path / "changed.txt").write_text(changed)
        done = check_alone(tmp_path / "changed.txt", FOLDER / "batch.keys.json")
        assert (1, "") == (done.returncode, done.stdout)
        assert why in done.stderr


@pytest.mark.parametrize("row", [row for row in LEDGERS if "running" not in row[0]], ids=lambda row: words(row[0])[0])
def test_a_house_writes_the_same_as_ever(row: list[str]) -> None:
    """Events are hashed as before: a new member that is null is left out (decision 26)."""
    raw = (FOLDER / words(row[0])[0]).read_bytes()
    lines = [msgspec.json.decode(line) for line in raw.splitlines()]
    with (FOLDER / words(row[0])[0]).open("rb") as file:
        ledger = read(file)
    for placed in ledger.events:
        wire, event = lines[placed.line - 1], placed.event
        public, private = event_parts(event)
        sealed = sealed_part(type(event), private)
        if not event.PUBLIC:
            assert sealed in [each["data"] for each in wire["opened"]["hidden"]]
            continue
        bare = {name: value for name, value in wire["event"].items() if name not in ("commitment", "hash")}
        bare["data"].pop("salts", None)
        assert canonical(bare) == canonical(cloud_event(ledger.gid, placed.sequence, event, public))
        assert canonical(wire["opened"]["data"]) == canonical(sealed)
