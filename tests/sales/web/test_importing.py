"""The import of a catalogue over a slow line: the form comes in pieces, the answer in lines."""

import json
import time
from collections.abc import Iterator

import pytest

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House
from tests.sales.api.evening import with_lots
from tests.sales.api.test_importing import zipped
from tests.site.markup import Page
from tests.site.visitor import Visitor

LOTS = 1_000
SHEET = "Label;Title;Starting price\r\n" + "".join(f"{number};Clock;100\r\n" for number in range(1, LOTS + 1))


def slowly(body: bytes) -> Iterator[bytes]:
    """Yield a body in pieces, each some time after the one before."""
    for start in range(0, len(body), 2_000):
        yield body[start : start + 2_000]
        time.sleep(0.02)


@pytest.mark.parametrize("path", ["/admin/sales/{gid}/import?do=check", "/sales/{gid}/import.ndjson"])
def test_a_form_that_comes_in_pieces_is_read_whole(sqlite_house: House, path: str) -> None:
    """The answer of lines takes no piece of the form away from its reader."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 0)
    visitor = Visitor(sqlite_house, staff, **{"X-Requested-With": "test"})
    form = visitor.page(f"/admin/sales/{gid}/import")
    token = next(one["value"] for one in form.elements if one.attributes.get("name") == "csrfToken")
    request = visitor.http.build_request(
        "POST",
        path.format(gid=gid),
        data={"csrfToken": token} if "admin" in path else {},
        files={"catalogue": ("lots.csv", SHEET.encode())},
        headers={"Accept": "application/x-ndjson", "Authorization": f"Bearer {staff.token}"},
    )
    headers = {name: request.headers[name] for name in ("accept", "authorization", "content-type", "content-length")}
    answer = visitor.http.post(str(request.url), content=slowly(request.read()), headers=headers)
    assert 200 == answer.status_code, answer.text
    last = json.loads(answer.text.splitlines()[-1])
    assert f"{LOTS} new" in last["html"] if "admin" in path else LOTS == last["new"], last


@pytest.mark.parametrize(("row", "is_named"), [("1;Clock;100;K9", True), ("1;Clock;much;", False)])
def test_a_sheet_with_an_unknown_consignor_leads_to_the_consignors(
    sqlite_house: House, row: str, is_named: bool
) -> None:
    """The page of an import leads to the place where the fault is mended, and not there for other faults."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 0)
    visitor = Visitor(sqlite_house, staff, **{"X-Requested-With": "test"})
    token = next(
        one["value"]
        for one in visitor.page(f"/admin/sales/{gid}/import").elements
        if one.attributes.get("name") == "csrfToken"
    )
    answer = visitor.http.post(
        f"/admin/sales/{gid}/import?do=check",
        data={"csrfToken": token},
        files={"catalogue": ("lots.csv", f"Label;Title;Starting price;Consignor\r\n{row}\r\n".encode())},
    )
    report = answer.text.partition("With these faults nothing would be imported.")[2]
    assert report
    assert is_named == ('href="/admin/consignors"' in report)


def test_a_damaged_file_is_named(sqlite_house: House) -> None:
    """A sheet may be an archive, too: the page says which of the two files cannot be read."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 0)
    visitor = Visitor(sqlite_house, staff)
    token = visitor.page(f"/admin/sales/{gid}/import").all("input", name="csrfToken")[0]["value"]
    for field, name, label in (("catalogue", "lots.xlsx", "Sheet (CSV or XLSX)"), ("photos", "a.zip", "Photos (ZIP)")):
        answer = visitor.http.post(
            f"/admin/sales/{gid}/import?do=check",
            data={"csrfToken": token},
            files={field: (name, b"PK\x03\x04 cut off")},
        )
        assert f"{label}: This is no ZIP archive, or it is damaged." in Page(answer).main


def test_each_photo_with_another_name_is_named(sqlite_house: House) -> None:
    """Each photo has a line of its own, once, and no fields are said to be marked."""
    staff = sqlite_house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 0)
    visitor = Visitor(sqlite_house, staff)
    token = visitor.page(f"/admin/sales/{gid}/import").all("input", name="csrfToken")[0]["value"]
    answer = visitor.http.post(
        f"/admin/sales/{gid}/import?do=check",
        data={"csrfToken": token},
        files={"photos": ("a.zip", zipped({"Photos/chest.jpg": b"-", "clock.JPG": b"-"}))},
    )
    page = Page(answer)
    assert "Nothing was imported. Correct these faults and send the files again." == page.one("p", role="alert").text
    named = [one.text for one in page.all("li") if one.text.startswith("Photos (ZIP): ")]
    assert ["Photos/chest.jpg", "clock.JPG"] == [text.split(": ")[1] for text in named]
