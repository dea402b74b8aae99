"""An evening after the hammer: the sample catalogue is sold, and its money is in every state that the pages show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from saleroom.settings import Settings
from saleroom.settlement.domain.documents.content import Party
from tests.settlement.camt import IBAN, credit, statement
from tests.settlement.late import issue_late

CATALOGUE = Path(__file__).parents[2] / "docs" / "samples" / "katalog.csv"
HOUSE = {
    "house_street": "Quay 4",
    "house_postcode": "28195",
    "house_city": "Bremen",
    "house_country": "DE",
    "house_vat_id": "DE136695976",
    "house_iban": IBAN,
    "house_account_holder": "Harbour Auctions",
}
"""The settings of a house that issues invoices."""
CARD = {
    "name": "House card 2026",
    "premium": {"tiers": [{"above": "0", "percent": "25"}, {"above": "1000", "percent": "20"}], "cumulative": True},
    "commission": {"tiers": [{"above": "0", "percent": "15"}], "minimum": "5"},
    "surcharges": {"online": "3"},
    "entryFee": "2",
    "photoFee": "5",
    "unsoldFee": "10",
    "insurance": "1",
    "resaleRight": "consignor",
    "country": "DE",
    "goods": "art",
    "taxScheme": "margin",
}
CONSIGNORS = {"A17": "Nachlass Dr. Henning", "B04": "Sammlung Wiegand"}
ACCOUNT = {"accountHolder": "Sammlung Wiegand", "iban": "DE89370400440532013000"}
GUESTS = ("Anna Ahrens", "Bernd Boehm", "Clara Okonkwo", "Dario Conti", "Elif Yildiz", "Frode Aas", "Gesa Petersen")
FIRST = 101
UNSOLD = ("3", "23", "41", "49")
LATE_DAYS = 51
"""How long ago the invoice that is overdue was issued."""


class SettledEvening:
    """The sale of the sample catalogue, made by the owner over HTTP; `names` has what the pages show, by a word for each."""

    def __init__(self, ask: Callable[..., Any], http: httpx.Client, token: str, settings: Settings) -> None:
        self._settings = settings
        self._ask = ask
        self._http = http
        self._token = token
        self.names: dict[str, str] = {}

    def sell(self, starts: str, online: Mapping[str, str]) -> None:
        """Sell the catalogue to guests and to users online, by their tokens; the consignor of B04 is the first of them."""
        terms = {"title": "Prints, books and curiosities", "venue": "Harbour Hall, Quay 4", "kind": "live"}
        terms |= {"names": "paddles", "registration": "open", "startsAt": starts}
        gid = self.names["settled"] = str(self._staff("POST", "/sales", terms)["gid"])
        for code, name in CONSIGNORS.items():
            user = {"username": next(iter(online))} if code == "B04" else {}
            self._staff("POST", "/consignors", {"code": code, "name": name, **user})
        card = self.names["card"] = str(self._staff("POST", "/rate-cards", CARD)["card"])
        self._staff("PUT", f"/sales/{gid}/rates", {"card": card})
        files = {"catalogue": (CATALOGUE.name, CATALOGUE.read_bytes())}
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self._http.post(f"/sales/{gid}/import", files=files, headers=headers)
        assert answer.is_success, answer.text
        self._staff("POST", f"/sales/{gid}/publish")
        for name in GUESTS:
            self._staff("POST", f"/sales/{gid}/participants", {"personName": name, "contact": "in the hall"})
        paddles = [FIRST - 1 + place for place in range(len(GUESTS))]
        for token in online.values():
            self._ask("PUT", f"/sales/{gid}/registration", token)
            paddles.append(int(self._ask("GET", f"/sales/{gid}/registration", token)["paddle"]))
        seller = paddles[len(GUESTS)]
        for place, lot in enumerate(self._staff("GET", f"/sales/{gid}/lots?limit=100")["lots"]):
            paddle = paddles[place % len(paddles)]
            if paddle == seller and lot["consignor"] == "B04":
                paddle = paddles[0]
            least = Decimal(lot["startingPrice"]) * (2 + place % 4) / 2
            line: dict[str, Any] = {"labels": [lot["label"]], "isSure": True}
            if lot["label"] not in UNSOLD:
                line |= {"price": f"{max(least, Decimal(lot['reservePrice'] or 0)):.0f}", "paddle": paddle}
            self._staff("POST", f"/sales/{gid}/results", line)

    def settle(self) -> None:
        """Take payments, issue papers, correct a paddle after its payment, hand lots out, offer one, and pay a consignor."""
        gid, first = self.names["settled"], FIRST - 1
        for place, payments in enumerate(
            ([("cash", "10000")], [("card", "100"), ("bank", "50")], [("cash", "40000")], [("card", "10")])
        ):
            sent = {"payments": [{"method": method, "amount": amount} for method, amount in payments], "invoice": True}
            if place == 3:
                sent["language"] = "de"
            done = self._staff("POST", f"/sales/{gid}/desk/{first + place}/payments", sent)
            self.names[f"invoice{place}"] = str(done["issuedInvoice"])
        seller = first + len(GUESTS)
        address = {"street": "Elbchaussee 12", "postcode": "22765", "city": "Hamburg", "country": "DE"}
        party = Party(name="", **address)
        late = issue_late(self._settings, self._token, gid, first + 4, days=LATE_DAYS, language="de", party=party)
        self.names["invoice"] = str(late["document"])
        invoice = {"documentKind": "invoice", "language": "de", "paddle": seller, **address}
        self._staff("POST", f"/sales/{gid}/documents", invoice)
        for code in CONSIGNORS:
            made = self._staff("POST", f"/sales/{gid}/documents", {"documentKind": "statement", "consignor": code})
            self.names[f"statement{code}"] = str(made["document"])
        labels = [one["label"] for one in self._staff("GET", f"/sales/{gid}/desk/{first}")["settledLots"]]
        wrong = {"paddle": first + 1, "reason": "The number was misread.", "method": "cash"}
        self._staff("POST", f"/sales/{gid}/lots/{labels[0]}/correction", wrong)
        papers = self._staff("GET", f"/sales/{gid}/documents?limit=100")["documents"]
        self.names["credit"] = next(one["document"] for one in papers if one["documentKind"] == "credit_note")
        self._staff("POST", f"/sales/{gid}/desk/{seller}/netting")
        for label in labels[1:3]:
            self._staff("POST", f"/sales/{gid}/lots/{label}/pickup", {})
        offer = {"paddle": first + 2, "offerPrice": "1500", "until": "2026-12-10T12:00:00Z"}
        self._staff("POST", f"/sales/{gid}/lots/3/offers", offer)
        number, open_ = late["documentNumber"], late["stillOpen"]
        booked = (credit("120.00", f"Rechnung {number}", payer="E. Yildiz"), credit(open_[:-1], "danke"))
        self._file("/bank-statements", statement(*booked))
        self._staff("PUT", "/consignors/B04/payout-account", ACCOUNT)
        due = self._staff("GET", "/payouts/due")["duePayouts"]
        owed = next(one["toPayOut"] for one in due if one["sale"] == gid and one["consignor"] == "B04")
        half = f"{(Decimal(owed) / 2):.2f}"
        made = self._staff("POST", "/payment-files", {"payouts": [{"sale": gid, "consignor": "B04", "amount": half}]})
        self.names["file"] = str(made["paymentFile"])

    def _file(self, path: str, data: bytes) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self._http.post(path, files={"statement": ("camt.xml", data, "application/xml")}, headers=headers)
        assert answer.is_success, answer.text

    def _staff(self, method: str, path: str, body: Any = None) -> Any:
        return self._ask(method, path, self._token, body)
