"""Files that serve as proof: ledgers, receipts, keys, exports."""

import asyncio
import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saleroom.areas import TABLES
from saleroom.bidding.domain import signatures
from saleroom.kernel.chain import canonical
from saleroom.storage import transfer
from saleroom.storage.database import Database, Transaction
from saleroom.tools.errors import ToolError, WrongUsage
from saleroom.tools.verify import display, source
from saleroom.tools.verify.reading import Breakage, Ledger
from tests.admin import furnished
from tests.bidding.domain.test_signatures import KEYS, SIGNER, older, signed_together
from tests.fixtures_hypothesis import FUZZED, on_a_database
from tests.fuzz.mangling import any_json, bounded, mangled, nasty
from tests.fuzz.test_bodies import written
from tests.tools.verify import test_reading as ledgers
from tests.tools.verify import test_receipts as signed
from tests.tools.verify.ledgers import Json, forged, verified

OVER, RUNNING = ledgers.closed(), ledgers.running()
RECEIPT = signed.signed()
RECEIPTS = [RECEIPT, signed_together(), older()]


def read(raw: bytes) -> Ledger | None:
    """Return a ledger, or None if it is damaged; its description can be shown either way."""
    try:
        ledger = verified(raw)
    except Breakage as error:
        display.failure_as_json(error.line, error.reason)
        return None
    display.as_json(ledger, [])
    display.show(ledger, [], out=io.StringIO())
    return ledger


@given(mangled(st.sampled_from([b"".join(OVER), b"".join(RUNNING)])))
def test_a_ledger_is_whole_or_damaged(raw: bytes) -> None:
    """Any file is one of the two ledgers, the beginning of the running one, or damaged at a line."""
    with bounded():
        ledger = read(raw)
    assert ledger is None or raw == b"".join(OVER) or raw == b"".join(RUNNING[: len(ledger.hashes)])


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the way to each value within JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for name, one in inner for place in places(one, (*at, name)))]


def put(value: Any, at: tuple[str | int, ...], new: Any) -> None:
    """Replace one value within JSON."""
    for name in at[:-1]:
        value = value[name]
    value[at[-1]] = new


WAYS = [place for place in places([msgspec.json.decode(line) for line in OVER]) if len(place) >= 3]
values = any_json() | st.sampled_from(["1.000", "bob", "2026-11-21T12:00:00.000000Z", "0" * 64, 0, 1, True])


@given(st.lists(st.tuples(st.integers(0, len(WAYS) - 1), values), min_size=1, max_size=3))
def test_a_forged_ledger_is_read_or_damaged(changes: list[tuple[int, Any]]) -> None:
    """With any value in any place, and all hashes recomputed, a ledger is read or damaged, and nothing else."""

    def change(told: list[Json]) -> None:
        for place, new in changes:
            put(told, WAYS[place], new)

    try:
        lines = forged(OVER, change)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return  # the forger cannot write it
    with bounded():
        read(b"".join(lines))


def headed(header: bytes) -> bytes:
    """Return a receipt with this header instead of its own."""
    return base64.urlsafe_b64encode(header).rstrip(b"=") + RECEIPT.encode()[RECEIPT.index(".") :]


@example(headed(b'{"alg": "\xff"}'))
@given(mangled(st.sampled_from([receipt.encode() for receipt in RECEIPTS])))
def test_a_receipt_stands_or_is_refuted(raw: bytes) -> None:
    """Only the signed receipts are valid."""
    text = raw.decode("latin-1")
    with bounded():
        try:
            receipt = signatures.check(text, KEYS)
        except signatures.InvalidReceipt:
            return
    assert text in RECEIPTS
    assert receipt.bidder == "cyd"


key = {"kty": "OKP", "crv": "Ed25519", "x": SIGNER.public, "kid": SIGNER.kid}


@given(mangled(st.just(msgspec.json.encode({"keys": [key]}))) | any_json().map(written))
def test_keys_are_read_or_refused(raw: bytes) -> None:
    """Any published keys are keys or a refusal; with any of them a receipt is opened or refuted."""
    with bounded():
        try:
            signatures.check(RECEIPT, source.keys_of(raw, "here"))
        except (ToolError, signatures.InvalidReceipt):
            return


@given(nasty())
def test_addresses_to_verify_are_read_or_refused(text: str) -> None:
    """The address of an auction, or a refusal."""
    for address in (text, f"http://{text}/auctions/{text}", f"https://a.example/auctions/{text}"):
        with bounded():
            try:
                found = source.auction_address(address)
            except WrongUsage:
                continue
        assert found.gid


class Export(list[bytes]):
    """The lines of an export, kept out of the report of a failure."""

    def __repr__(self) -> str:
        return f"Export of {len(self)} lines"


@pytest.fixture(scope="module")
def exported(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The lines of an export of a furnished house."""
    file = tmp_path_factory.mktemp("exported") / "house.db"
    file.write_bytes(sqlite_template.read_bytes())
    furnished.furnish(f"sqlite:///{file}")

    async def export() -> Export:
        database, lines = Database(f"sqlite:///{file}"), Export()
        await database.read(transfer.export, TABLES, lines.append)
        await database.close()
        return lines

    return asyncio.run(export())


class ExportRead(Exception):
    """The export has been read to its end, and the transaction is rolled back."""


def load(tx: Transaction, data: bytes) -> None:
    """Read an export, and roll back."""
    transfer.load(tx, TABLES, io.BytesIO(data), lambda _: None)
    raise ExportRead


Outcome = Callable[[bytes], type[Exception]]


@pytest.fixture
def outcome(database_url: str) -> Iterator[Outcome]:
    """Return how reading an export into an empty database ends: BadExport or ExportRead. Raises any other exception."""
    # All examples have one connection, which learns each statement once.
    database = Database(database_url)
    with asyncio.Runner() as runner:

        def end(data: bytes) -> type[Exception]:
            try:
                runner.run(database.write(load, data))
            except (transfer.BadExport, ExportRead) as ended:
                return type(ended)
            raise AssertionError("it ends by one of them")

        yield end
        runner.run(database.close())


@pytest.mark.databases(*FUZZED)
@on_a_database(20)
@given(at=st.integers(0, 10_000), way=st.integers(0, 10_000), value=values | st.none())
def test_an_export_is_read_or_broken(outcome: Outcome, exported: Export, at: int, way: int, value: Any) -> None:
    """With any value in any row, well formed, an export is refused at its line, or for its totals."""
    lines = list(exported)
    number = 1 + at % (len(lines) - 1)
    row = msgspec.json.decode(lines[number])
    ways = [place for place in places(row) if place]
    put(row, ways[way % len(ways)], value)
    try:
        lines[number] = canonical(row) + b"\n"
    except (ValueError, TypeError):
        return  # nobody can write it
    assert outcome(b"".join(lines)) in ([ExportRead] if lines == exported else [transfer.BadExport])


@pytest.mark.databases(*FUZZED)
@on_a_database(10)
@given(data=st.data())
def test_a_damaged_export_is_broken(outcome: Outcome, exported: Export, data: st.DataObject) -> None:
    """With changed bytes an export is refused, unless the change changes nothing."""
    whole = b"".join(exported)
    sent = data.draw(mangled(st.just(whole)), label="file")
    assert (ExportRead if sent == whole else transfer.BadExport) is outcome(sent)
