"""Catalogues as files over the API: dry runs, imports that change what differs, exports that change nothing."""

import io
import json
import socket
import time
import zipfile
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from sqlalchemy import select

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage.tables import users
from saleroom.bidding.service.recording import begin_ledger
from saleroom.confined import confinement
from saleroom.kernel.parties import Party
from saleroom.sales.domain.publication import created, publish
from saleroom.sales.domain.sale import Kind, Sale, SaleTerms
from saleroom.sales.storage import consignors, lots, sales
from saleroom.storage.database import Transaction
from tests.fixtures_house import House, User
from tests.patience import SECONDS_MAX

SAMPLES = Path(__file__).parents[3] / "docs/samples"
XLSX = "catalogue.xlsx"
_numbers = count(1)


def make_sale(tx: Transaction, name: str) -> str:
    """Store a draft of a sale of the user `name`, and return its gid."""
    owner = tx.execute(select(users.c.id).where(users.c.username == name)).scalar_one()
    terms = SaleTerms(title="Autumn sale", kind=Kind.LIVE, starts_at=tx.now() + timedelta(days=1))
    gid = f"import-{next(_numbers)}"
    sales.add(tx, Sale(id=0, gid=gid, owner=Party(owner, name), terms=terms, created_at=tx.now()))
    for code in ("A17", "B04"):
        if consignors.find(tx, code) is None:
            consignors.add(tx, f"consignor-{code}", code, code, "", None)
    return gid


def publish_sale(tx: Transaction, gid: str) -> None:
    """Publish a sale: each of its lots becomes an auction."""
    sale = sales.lock(tx, gid)
    assert sale is not None
    events, offered = publish(sale, lots.of_sale(tx, sale.id), tx.now())
    made = {
        lot.id: begin_ledger(tx, created(sale, lot, end, tx.now(), "p1.seed"), sale_id=sale.id).id
        for lot, end in offered
    }
    lots.put_up(tx, made)
    sales.record(tx, sale, events)


@pytest.fixture
def staff(house: House) -> User:
    """Return a cataloguer."""
    return house.staff(Role.CATALOGUER)


@pytest.fixture
def gid(house: House, staff: User) -> str:
    """Return the draft of a sale, and let the house have two consignors."""
    return str(house.write(make_sale, staff.name))


def picture(colour: int) -> bytes:
    """Return a small JPEG of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (40, 30), (20 * colour, 80, 80)).save(file, "JPEG")
    return file.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """Return an archive of these files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.usefixtures("confined_process")
@pytest.mark.parametrize("dry_run", ["", "?dry_run=true"])
def test_a_sheet_that_passes_a_limit_costs_the_house_nothing(
    staff: User, gid: str, monkeypatch: pytest.MonkeyPatch, dry_run: str
) -> None:
    """A confined process reads the sheet; if it takes too much memory, the answer is 400 and names limits and remedy."""
    monkeypatch.setattr(
        confinement,
        "START",
        "import sys; sys.path[:] = sys.argv[4:]; from saleroom.sales.service.files import sheets\n"
        "sheets.read_to_send = lambda data: bytearray(2**32)\n"
        "from saleroom.confined.program import main; main()",
    )
    answer = send(staff, gid, to=f"import{dry_run}", catalogue=sheet("1;Clock;5;;"))
    [fault] = answer.json()["message"]["catalogue"]
    assert (400, "sheet_too_costly") == (answer.status_code, fault["code"])
    assert "30 s or 768 MB" in fault["message"] and "save it as CSV" in fault["message"]
    monkeypatch.undo()
    assert (1, 0, 0, 0) == counts(imported(staff, gid, catalogue=sheet("1;Clock;5;;")))


def sheet(*rows: str) -> bytes:
    """Return a sheet with the usual headings."""
    return "\r\n".join(("Lot;Title;Starting price;Reserve;Tax", *rows)).encode("utf-8-sig")


def send(user: User, gid: str, *, to: str = "import", **files: bytes) -> httpx.Response:
    """Send files to a sale, and return the answer."""
    return user.post(f"/sales/{gid}/{to}", files={name: (f"{name}.bin", data) for name, data in files.items()})


def imported(user: User, gid: str, to: str = "import", **files: bytes) -> dict[str, Any]:
    """Import files that have no fault, and return what that did."""
    answer = send(user, gid, to=to, **files)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def counts(found: dict[str, Any]) -> tuple[int, ...]:
    """Return how many lots are new, changed, unchanged and faulty."""
    return tuple(found[name] for name in ("new", "changed", "unchanged", "faulty"))


def photos(found: dict[str, Any]) -> tuple[int, ...]:
    """Return how many photos are new, replaced and unchanged."""
    return tuple(found[f"photos{name}"] for name in ("New", "Replaced", "Unchanged"))


def exported(user: User, gid: str, which: str = "catalogue.csv") -> bytes:
    """Return an export."""
    answer = user.get(f"/sales/{gid}/{which}")
    assert answer.status_code == 200, answer.text
    return answer.content


def test_a_dry_run_says_what_an_import_would_do_and_changes_nothing(staff: User, gid: str) -> None:
    """A dry run counts and names new lots, and the sale stays empty."""
    found = imported(staff, gid, "import?dry_run=true", catalogue=sheet("1;Clock;100;;", "12a;Vase;80,50;90;margin"))
    assert counts(found) == (2, 0, 0, 0) and found["dryRun"]
    assert [(row["row"], row["lot"], row["effect"]) for row in found["rows"]] == [(2, "1", "new"), (3, "12A", "new")]
    assert exported(staff, gid).count(b"\r\n") == 1


def test_a_second_import_changes_only_what_differs(staff: User, gid: str) -> None:
    """The same file twice is the same as once; another one changes the cells that differ, and empties empty ones."""
    first = sheet("1;Clock;100;150;margin", "2;Vase;80,50;90;standard")
    assert counts(imported(staff, gid, catalogue=first)) == (2, 0, 0, 0)
    assert counts(imported(staff, gid, catalogue=first)) == (0, 0, 2, 0)
    found = imported(staff, gid, catalogue=sheet("2;Vase;80.50;;standard", "1;Clock;120,00;150;Differenzbesteuerung"))
    assert counts(found) == (0, 2, 0, 0)
    assert [row["changes"] for row in found["rows"]] == [
        [{"column": "reservePrice", "was": "90.000", "now": None}],
        [{"column": "startingPrice", "was": "100.000", "now": "120.000"}],
    ]
    assert b"1,Clock,,120.00,150.00,,,,margin," in exported(staff, gid)


def test_all_faults_are_named_and_nothing_is_imported(staff: User, gid: str) -> None:
    """A file with a fault in any row changes nothing, and each fault names its row and column."""
    wrong = sheet("1;Clock;100;;", "2;Vase;1.234;;", "x;;10;5;what")
    answer = send(staff, gid, catalogue=wrong)
    assert answer.status_code == 400
    assert {where: fault["code"] for where, (fault,) in answer.json()["message"].items()} == {
        "row 3, Starting price": "ambiguous_number",
        "row 4, Lot": "label_format",
        "row 4, Title": "required",
        "row 4, Tax": "unknown_tax_scheme",
    }
    dry = imported(staff, gid, "import?dry_run=true", catalogue=wrong)
    assert counts(dry) == (1, 0, 0, 2)
    assert exported(staff, gid).count(b"\r\n") == 1


def test_photos_are_made_once_replaced_by_number_and_kept_if_they_are_the_same(staff: User, gid: str) -> None:
    """Photos come by label and number; the same bytes are no change, others at a number replace that photo alone."""
    lots_of = sheet("1;Clock;100;;", "2;Vase;80;;")
    pictures = {"a/1-1.jpg": picture(1), "a/1-2.jpg": picture(2), "2.jpg": picture(1), "__MACOSX/._2.jpg": b"x"}
    assert photos(imported(staff, gid, catalogue=lots_of, photos=zipped(pictures))) == (3, 0, 0)
    assert photos(imported(staff, gid, photos=zipped(pictures))) == (0, 0, 3)
    pictures["a/1-2.jpg"] = picture(3)
    found = imported(staff, gid, "import?dry_run=true", photos=zipped(pictures))
    assert (photos(found), found["lotPhotos"]) == ((0, 1, 2), [{"lot": "1", "newNumbers": [], "replacedNumbers": [2]}])
    assert photos(imported(staff, gid, photos=zipped(pictures))) == (0, 1, 2)
    assert photos(imported(staff, gid, photos=zipped(pictures))) == (0, 0, 3)


def test_a_photo_of_a_row_with_faults_is_of_a_lot_that_the_sheet_has(staff: User, gid: str) -> None:
    """Only the row is at fault, so nobody looks for another name of the photo."""
    archive = zipped({"01.jpg": picture(1), "9.jpg": picture(1)})
    found = imported(staff, gid, "import?dry_run=true", catalogue=sheet("1;Clock;much;;"), photos=archive)
    assert (1, ["9.jpg"]) == (found["faulty"], [one["path"] for one in found["photoFaults"]])


def test_pictures_that_cannot_be_used_are_named_and_nothing_is_imported(staff: User, gid: str) -> None:
    """All photos that cannot be decoded or placed are named; lots of the same import are not made either."""
    archive = zipped({"1.jpg": picture(1), "2.jpg": b"no picture", "3.jpg": picture(1)})
    answer = send(staff, gid, catalogue=sheet("1;Clock;100;;", "2;Vase;80;;"), photos=archive)
    assert "3.jpg" in answer.json()["message"]
    answer = send(staff, gid, catalogue=sheet("1;Clock;100;;", "2;Vase;80;;", "3;Box;1;;"), photos=archive)
    (fault,) = answer.json()["message"]["photos"]
    assert fault["code"] == "not_an_image" and fault["message"].startswith("2.jpg: ")
    assert exported(staff, gid).count(b"\r\n") == 1


def test_progress_is_told_line_by_line(staff: User, gid: str) -> None:
    """The import with progress says how many photos are made, then what an import answers."""
    answer = send(
        staff, gid, to="import.ndjson", catalogue=sheet("1;Clock;100;;"), photos=zipped({"1.jpg": picture(9)})
    )
    first, *_, last = map(json.loads, answer.text.splitlines())
    assert first == {"photos": 0, "of": 1}
    assert counts(last) == (1, 0, 0, 0)
    refused = send(staff, gid, to="import.ndjson", catalogue=b"x")
    assert refused.status_code == 400


def test_a_published_sale_takes_new_lots_and_changes_before_the_first_bid(house: House, staff: User, gid: str) -> None:
    """Lots of a published sale change until somebody has bid; a row that would change terms then stops the whole import."""
    imported(staff, gid, catalogue=sheet("1;Clock;10;;", "2;Vase;20;;"), photos=zipped({"1.jpg": picture(1)}))
    house.write(publish_sale, gid)
    found = imported(
        staff,
        gid,
        catalogue=sheet("1;Clock;12;;", "2;Vase;20;;margin", "3;Box;5;;"),
        photos=zipped({"3.jpg": picture(4)}),
    )
    assert (counts(found), photos(found)) == ((1, 2, 0, 0), (1, 0, 0))
    by_label = dict(house.read(_auctions, gid))
    view = house.anyone.json("GET", f"/auctions/{by_label['1']}")
    assert view["startingPrice"] == "12.000"
    assert len(house.anyone.json("GET", f"/auctions/{by_label['3']}/photos")["photos"]) == 1
    assert house.user("bidder").bid(by_label["1"], amount="50").status_code == 201
    answer = send(staff, gid, catalogue=sheet("1;Watch;12;;exempt", "2;Urn;20;;"))
    assert answer.status_code == 400
    ((where, faults),) = answer.json()["message"].items()
    assert (where, faults[0]["code"]) == ("row 2, Title", "has_bids")
    assert b"Urn" not in exported(staff, gid)
    assert counts(imported(staff, gid, catalogue=sheet("1;Clock;12;;exempt", "2;Urn;20;;margin"))) == (0, 2, 0, 0)
    assert exported(staff, gid, "results.csv").splitlines()[1] == b"1,Clock,open,,,1"


def _auctions(tx: Transaction, gid: str) -> list[tuple[str, str]]:
    sale = sales.get(tx, gid)
    assert sale is not None
    return [(lot.label, lot.gid) for lot in lots.of_sale(tx, sale.id)]


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("name", ["katalog.csv", XLSX])
def test_the_sample_catalogues_are_imported_and_their_exports_change_nothing(staff: User, gid: str, name: str) -> None:
    """A real catalogue, as spreadsheet programs write it, is read whole; every export of it is imported without a change."""
    found = imported(staff, gid, catalogue=(SAMPLES / name).read_bytes())
    assert counts(found) == (64, 0, 0, 0)
    assert {"Rubrik", "Category"} & set(found["ignored"]), "this house has no categories"
    for which in ("catalogue.csv", "catalogue.csv?language=de", XLSX, f"{XLSX}?language=de"):
        assert counts(imported(staff, gid, catalogue=exported(staff, gid, which))) == (0, 0, 64, 0)


@pytest.mark.databases("sqlite")
def test_hostile_and_clumsy_requests_are_refused(house: House, staff: User, gid: str) -> None:
    """Strangers are refused before their files are read; a form without files, and with two of a kind, says what is missing."""
    others = house.newcomer()
    assert send(others, gid, catalogue=sheet()).status_code == 403
    assert others.get(f"/sales/{gid}/catalogue.csv").status_code == 403
    assert send(staff, "nothing-here", catalogue=sheet()).status_code == 404
    assert send(staff, gid, other=b"x").json()["message"]["catalogue"][0]["code"] == "required"
    two = [("catalogue", ("a.csv", sheet())), ("catalogue", ("b.csv", sheet()))]
    assert staff.post(f"/sales/{gid}/import", files=two).json()["message"]["catalogue"][0]["code"] == "repeated"
    answer = staff.post(f"/sales/{gid}/import", content=b"x", headers={"Content-Type": "text/csv"})
    assert answer.json()["message"]["body"][0]["code"] == "malformed_form"
    answer = send(staff, gid, catalogue=b"PK\3\4", photos=b"PK\3\4")
    assert set(answer.json()["message"]) == {"catalogue", "photos"}


def answers(user: User, gid: str, status: int) -> None:
    """Import until the answer has this status."""
    deadline = time.monotonic() + SECONDS_MAX
    while send(user, gid, catalogue=sheet("1;Clock;1;;")).status_code != status:
        assert time.monotonic() < deadline, f"never {status}"
        time.sleep(0.02)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("to", ["import", "import.ndjson"])
def test_one_import_runs_at_a_time_and_one_that_is_cut_off_makes_room(
    house: House, staff: User, gid: str, to: str
) -> None:
    """While a client sends its files slowly, another import is told to wait; a client that hangs up leaves nothing behind."""
    head = (
        f"POST /sales/{gid}/{to} HTTP/1.1\r\nHost: localhost\r\nX-Requested-With: tests\r\nContent-Length: 999999\r\n"
    )
    form = "Content-Type: multipart/form-data; boundary=x\r\n"
    sent = f"{head}{form}Authorization: Bearer {staff.token}\r\n\r\n--x\r\n".encode()
    waits, deadline = False, time.monotonic() + SECONDS_MAX
    while not waits:
        # The other import may come first, and then it is the slow one that has to wait: begin again.
        assert time.monotonic() < deadline, "never told to wait"
        with socket.create_connection(("127.0.0.1", house.port)) as slow:
            slow.sendall(sent)
            waits = any(send(staff, gid, catalogue=sheet("1;Clock;1;;")).status_code == 503 for _ in range(3))
    answers(staff, gid, 200)
    assert exported(staff, gid).count(b"\r\n") == 2
