"""Documents over HTTP: a sale is sold, invoiced, stated, corrected and printed."""

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from pypdf import PdfReader

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, ServeHouse
from tests.sales.api.evening import with_lots
from tests.sales.api.test_block import act

ADA = {"street": "Lange Str. 1", "postcode": "50667", "city": "Köln", "country": "de"}
RATES = {
    "premium": {"tiers": [{"above": "0", "percent": "25"}]},
    "commission": {"tiers": [{"above": "0", "percent": "15"}]},
    "country": "DE",
    "taxScheme": "standard",
}


@pytest.fixture(scope="module")
def house_settings() -> dict[str, Any]:
    """What the house says of itself."""
    return {
        "house_name": "Auktionshaus Süd",
        "house_street": "Kastanienallee 12",
        "house_postcode": "10435",
        "house_city": "Berlin",
        "house_country": "DE",
        "house_vat_id": "DE136695976",
        "house_iban": "DE75 5121 0800 1245 1261 99",
    }


class SaleOfThree:
    """A live sale of three lots: Ada (12) bought two for 100 and 40, and nobody the third. All are Kurt's."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.manager, self.cashier = house.staff(Role.MANAGER), house.staff(Role.CASHIER)
        staff = self.manager
        self.kurt = house.newcomer()
        self.code = code = self.kurt.name.upper()
        staff.json("POST", "/consignors", json={"code": code, "name": "Kurt", "username": self.kurt.name})
        self.gid = gid = with_lots(staff, 3, kind="live", registration="open")
        for label in "123":
            staff.json("PATCH", f"/sales/{gid}/lots/{label}", json={"consignor": code, "reservePrice": None})
        card = staff.json("POST", "/rate-cards", json={"name": f"Rates {gid}", **RATES})["card"]
        staff.json("PUT", f"/sales/{gid}/rates", json={"card": card})
        staff.json("POST", f"/sales/{gid}/publish")
        staff.json("POST", f"/sales/{gid}/participants", json={"personName": "Ada", "bidsBy": "floor", "paddle": 12})
        for price in ("100", "40", None):
            act(staff, gid, "call")
            if price is not None:
                act(staff, gid, "ask", amount=price)
                act(staff, gid, "bid", amount=price)
                act(staff, gid, "name", paddle=12)
                act(staff, gid, "sell")
            else:
                act(staff, gid, "pass")

    def invoice(self, **said: Any) -> Any:
        """Ask for Ada's invoice."""
        return self.cashier.post(
            f"/sales/{self.gid}/documents", json={"documentKind": "invoice", "paddle": 12, **ADA, **said}
        )


@pytest.fixture
def sold(sqlite_house: House) -> SaleOfThree:
    """A sale in a house that says nothing of itself."""
    return SaleOfThree(sqlite_house)


def test_a_buyer_is_invoiced_and_a_consignor_gets_a_statement(sold: SaleOfThree) -> None:
    """By the rate card of the sale, to the last cent: 100 and 40 with 25 % premium and 19 % tax, and without 15 %."""
    key = {"Idempotency-Key": "once"}
    sent = {"documentKind": "invoice", "paddle": 12, "language": "de", **ADA}
    first = sold.cashier.json("POST", f"/sales/{sold.gid}/documents", json=sent, headers=key)
    assert first == sold.cashier.json("POST", f"/sales/{sold.gid}/documents", json=sent, headers=key)
    assert ("175.000", "33.250", "208.250", "208.250") == tuple(
        first[it] for it in ("net", "tax", "total", "amountDue")
    )
    assert ["Lot 1: Zuschlag", "Aufgeld", "Lot 2: Zuschlag", "Aufgeld"] == [
        it["lineText"] for it in first["documentLines"]
    ]
    assert ("Ada", "Köln", "DE", "12") == (
        *(first["party"][it] for it in ("partyName", "city", "partyCountry")),
        first["account"],
    )
    assert ["house country", "house tax"] == first["lacks"], "the house has said neither"
    assert (409, "nothing_to_issue") == refusal(sold.invoice())
    sent = {"documentKind": "statement", "consignor": sold.code}
    statement = sold.cashier.json("POST", f"/sales/{sold.gid}/documents", json=sent)
    assert "115.010" == statement["total"], "140 without 15 % and the tax on that"
    assert ("Kurt", "statement") == (statement["party"]["partyName"], statement["documentKind"])
    listed = sold.cashier.json("GET", f"/sales/{sold.gid}/documents?limit=1")
    assert [first] == listed["documents"]
    following = sold.cashier.json("GET", f"/sales/{sold.gid}/documents?cursor={listed['next']}")
    assert ([statement], None) == (following["documents"], following["next"])


def test_documents_of_somebody_who_was_erased_stay_as_they_were_issued(sold: SaleOfThree) -> None:
    """The law wants the name in them for years; of the consignor the house keeps the code alone besides."""
    sent = {"documentKind": "statement", "consignor": sold.code}
    statement = sold.cashier.json("POST", f"/sales/{sold.gid}/documents", json=sent)
    sold.manager.json("POST", f"/staff/users/{sold.kurt.name}/erasure", json={"reason": "He asked for it."})
    after = sold.cashier.json("GET", f"/documents/{statement['document']}")
    assert ("Kurt", statement) == (after["party"]["partyName"], after)
    [one] = [it for it in sold.manager.json("GET", "/consignors")["consignors"] if it["code"] == sold.code]
    assert (sold.code, "", None) == (one["name"], one["contact"], one["username"])


def test_lines_are_taken_back_by_credit_notes(sold: SaleOfThree) -> None:
    """First one lot, then the rest; the lot can be invoiced again, and the numbers have no gap."""
    first = sold.invoice().json()
    path = f"/documents/{first['document']}/credit"
    sent: dict[str, Any] = {"json": {"lines": [0, 1], "reason": "Damaged."}, "headers": {"Idempotency-Key": "back"}}
    note = sold.cashier.json("POST", path, **sent)
    assert note == sold.cashier.json("POST", path, **sent)
    assert ("148.750", "credit_note", first["documentNumber"]) == tuple(
        note[name] for name in ("total", "documentKind", "creditsNumber")
    )
    assert [0, 1] == [line["creditsLine"] for line in note["documentLines"]]
    again = sold.invoice().json()
    assert "148.750" == again["total"]
    rest = sold.cashier.json("POST", path, json={"reason": "All of it."})
    assert "59.500" == rest["total"]
    assert (409, "credited_already") == refusal(sold.cashier.post(path, json={"reason": "Once more."}))
    assert (409, "not_to_credit") == refusal(sold.cashier.post(path, json={"lines": [4], "reason": "None such."}))
    back = f"/documents/{note['document']}/credit"
    assert (409, "not_to_credit") == refusal(sold.cashier.post(back, json={"reason": "A note."}))
    places = [int(one["documentNumber"][-5:]) for one in (first, again)]
    assert [1, 1] == [places[1] - places[0], int(rest["documentNumber"][-5:]) - int(note["documentNumber"][-5:])]


def test_who_sees_a_document(sold: SaleOfThree) -> None:
    """Those who settle and its party; to all others there is none, and a bidder issues none."""
    first = sold.invoice().json()
    said = {"documentKind": "statement", "consignor": sold.code}
    statement = sold.cashier.json("POST", f"/sales/{sold.gid}/documents", json=said)["document"]
    anyone, member = sold.house.anyone, sold.house.newcomer()
    for path in (f"/documents/{first['document']}", f"/documents/{first['document']}/paper.pdf", "/documents/none"):
        assert (404, "unknown_document") == refusal(member.get(path))
        assert (401, "unauthenticated") == refusal(anyone.get(path))
    assert first == sold.cashier.json("GET", f"/documents/{first['document']}")
    assert statement == sold.kurt.json("GET", f"/documents/{statement}")["document"]
    assert (404, "unknown_document") == refusal(sold.kurt.get(f"/documents/{first['document']}"))
    assert (403, "missing_right") == refusal(member.get(f"/sales/{sold.gid}/documents"))
    assert (403, "missing_right") == refusal(member.post(f"/sales/{sold.gid}/documents", json=said))
    why = {"reason": "Mine."}
    assert (403, "missing_right") == refusal(member.post(f"/documents/{first['document']}/credit", json=why))


def test_a_document_is_printed(serve_house: ServeHouse, house_settings: dict[str, Any]) -> None:
    """With the letterhead of the settings, and the electronic form inside as nothing is lacking."""
    sold = SaleOfThree(serve_house(**house_settings))
    first = sold.invoice(language="de", vatId="").json()
    assert [] == first["lacks"]
    answer = sold.cashier.get(f"/documents/{first['document']}/paper.pdf")
    assert (200, "application/pdf") == (answer.status_code, answer.headers["content-type"])
    assert f'inline; filename="{first["documentNumber"]}.pdf"' == answer.headers["content-disposition"]
    pdf = PdfReader(BytesIO(answer.content))
    words = pdf.pages[0].extract_text().replace("\u00a0", " ")
    assert all(one in words for one in ("Auktionshaus Süd", "Kastanienallee 12", "208,25 €", "DE75512108001245126199"))
    assert ["factur-x.xml"] == list(pdf.attachments)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"documentKind": "receipt"}, {"documentKind"}),
        ({"country": "Germany"}, {"country"}),
        ({"country": "QQ"}, {"country"}),
        ({"vatId": "DE136695975"}, {"vatId"}),
        ({"vatId": "QQ1"}, {"vatId"}),
        ({"vatId": "\u0000"}, {"vatId"}),
        ({"dueOn": "9. Dezember"}, {"dueOn"}),
        ({"dueOn": "2026-02-30"}, {"dueOn"}),
        ({"language": "fr"}, {"language"}),
        ({"name": "x" * 101}, {"name"}),
        ({"city": "\u202e"}, {"city"}),
        ({"dueOn": "2026-W01-1"}, {"dueOn"}),
        ({"dueOn": "20261209"}, {"dueOn"}),
        ({"paddle": 0}, {"paddle"}),
    ],
)
def test_faults_of_an_order_are_named(sqlite_house: House, said: dict[str, Any], wrong: set[str]) -> None:
    """Each by its field, before anything is looked up."""
    sent = {"documentKind": "invoice", "paddle": 12, **said}
    assert wrong == faults(sqlite_house.staff(Role.CASHIER).post("/sales/none/documents", json=sent)).keys()


def test_a_day_to_be_paid_by_is_to_come(sold: SaleOfThree) -> None:
    """From today to a year away: a day before or after that is refused for invoices and statements, and nothing is issued."""
    today = sold.house.read(lambda tx: tx.now()).date()
    cases = ((-1, "day_passed"), (-3650, "day_passed"), (366, "day_too_far"), (365_000, "day_too_far"))
    for order in ({"documentKind": "invoice", "paddle": 12}, {"documentKind": "statement", "consignor": sold.code}):
        for days, code in cases:
            sent = {**order, "dueOn": (today + timedelta(days=days)).isoformat()}
            answer = sold.cashier.post(f"/sales/{sold.gid}/documents", json=sent)
            assert {"dueOn": [code]} == faults(answer)
    assert [] == sold.cashier.json("GET", f"/sales/{sold.gid}/documents")["documents"]
    assert today.isoformat() == sold.invoice(dueOn=today.isoformat()).json()["dueOn"]


def test_an_order_for_nobody(sold: SaleOfThree) -> None:
    """A paddle or a code that nobody has, none at all, or two at once; and a sale that is not there."""
    path = f"/sales/{sold.gid}/documents"
    for said, code in (
        ({"documentKind": "invoice", "paddle": 99}, "unknown_paddle"),
        ({"documentKind": "statement", "consignor": "NOBODY"}, "unknown_consignor"),
    ):
        assert code == refusal(sold.cashier.post(path, json=said))[1]
    for kind, other, needed in (
        ("invoice", {"consignor": sold.code}, "paddle"),
        ("statement", {"paddle": 12}, "consignor"),
        ("invoice", {"paddle": 12, "username": sold.kurt.name}, "username"),
        ("invoice", {"paddle": 12, "consignor": sold.code}, "consignor"),
        ("statement", {"paddle": 12, "consignor": sold.code}, "consignor"),
    ):
        assert {needed} == faults(sold.cashier.post(path, json={"documentKind": kind, **other})).keys()
    said = {"documentKind": "invoice", "paddle": 12}
    assert (404, "unknown_sale") == refusal(sold.cashier.post("/sales/none/documents", json=said))
    assert {"lines"} == faults(sold.cashier.post("/documents/none/credit", json={"lines": [-1], "reason": "x"})).keys()
