"""The ledgers of docs/ledgers, written by older houses, verify, and would be written as the same bytes today."""

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
RECEIPTS = [row for row in TABLE if ".receipt.txt" in row[0]]


def test_each_sample_is_in_the_table() -> None:
    """Every sample is tested below."""
    listed = {words(name)[0] for name, *_ in TABLE}
    assert listed == {file.name for file in FOLDER.iterdir()} - {"README.md", "keys.json"}


@pytest.mark.parametrize("row", LEDGERS, ids=lambda row: words(row[0])[0])
def test_a_sample_is_accepted(row: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sample verifies with the same result as ever."""
    name, outcome, head, _ = row
    assert 0 == main(["verify", str(FOLDER / words(name)[0])])
    output = capsys.readouterr().out.splitlines()
    assert outcome == output[1]
    assert output[2].endswith(f"head {words(head)[0]}")


@pytest.mark.parametrize("row", RECEIPTS, ids=lambda row: words(row[0])[0])
def test_a_receipt_of_a_sample_stands(row: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sample receipt is found in its ledger, and in no other."""
    receipt, proven = FOLDER / words(row[0])[0], row[1]
    own = receipt.name.partition(".")[0]
    for ledger in FOLDER.glob("*.ndjson"):
        code = main(["verify", str(ledger), "--receipt", str(receipt), "--key", str(FOLDER / "keys.json")])
        output = capsys.readouterr()
        assert (0 if ledger.stem == own else 1) == code
        assert (f"receipt: {proven}\n" in output.out) == (ledger.stem == own)


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
        assert canonical(bare) == canonical(cloud_event(ledger.gid, placed.sequence, event, public))
        assert canonical(wire["opened"]["data"]) == canonical(sealed)
