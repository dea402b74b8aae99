"""Money in and out: exact to 20 digits and 3 decimals, however it is written; anything else is refused."""

import re
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")

EXACT = re.compile(r"[0-9]{1,17}\.[0-9]{3}")
LIMIT = "99999999999999999.999"

READ = {
    "0": "0.000",
    "1": "1.000",
    "12.5": "12.500",
    "12.50": "12.500",
    "0.001": "0.001",
    "0.1": "0.100",
    "1.000": "1.000",
    "4503599627370497.5": "4503599627370497.500",
    "99999999999999999": "99999999999999999.000",
    LIMIT: LIMIT,
}
"""Amounts, bare or in quotes, and how they come back."""

REFUSED = {
    "1.2345": "money_decimals",
    "1.0000": "money_decimals",
    "100000000000000000": "money_digits",
    "100000000000000000.000": "money_digits",
    "99999999999999999999": "money_digits",
    "-1": "money_negative",
    "-0": "money_negative",
    "-0.001": "money_negative",
    "1e3": "money_format",
    "1E+3": "money_format",
    "1E3": "money_format",
    "1.0e0": "money_format",
    "1e400": "money_format",
}
"""Texts that are refused, bare or in quotes alike."""

REFUSED_TEXTS: tuple[str, ...] = (
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "1_0",
    " 5 ",
    "5 ",
    " 5",
    "5\t",
    "5\n",
    "",
    " ",
    "+1",
    "01",
)
REFUSED_TEXTS += (
    "1.",
    ".5",
    "1,5",
    "1.2.3",
    "0x10",
    "1/2",
    "$5",
    "5 EUR",
    "\u0665",
    "\uff15",
    "\u00bd",
    "1\u00a0000",
    "5\0",
)
NO_AMOUNTS = ("true", "false", "null", "[]", "{}", '["1"]', '{"amount": "1"}')
NO_JSON = ("NaN", "Infinity", "-Infinity", "+1", "01", "1.", ".5", "1_0", "0x10", "\u0665", "5 5")


def create(seller: User, raw: str) -> httpx.Response:
    """Create an auction whose starting price is exactly this JSON."""
    body = f'{{"name": "Clock", "startingPrice": {raw}}}'
    return seller.post("/auctions", content=body.encode(), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("quote", ["", '"'], ids=["number", "string"])
@pytest.mark.parametrize("written", READ)
def test_money_is_read_and_written_exactly(house: House, quote: str, written: str) -> None:
    """A JSON number or string of up to 20 digits and 3 decimals comes back as a string with exactly three."""
    ada = house.user("ada")
    answer = create(ada, f"{quote}{written}{quote}")
    assert (201, READ[written]) == (answer.status_code, answer.json()["startingPrice"])
    assert READ[written] == ada.json("GET", answer.headers["location"])["startingPrice"]


@pytest.mark.parametrize("quote", ["", '"'], ids=["number", "string"])
@pytest.mark.parametrize("written", REFUSED)
def test_money_that_cannot_be_kept_exactly_is_refused(sqlite_house: House, quote: str, written: str) -> None:
    """More decimals or digits, a sign or an exponent is 400 and never rounded."""
    answer = create(sqlite_house.user("ada"), f"{quote}{written}{quote}")
    assert {"startingPrice": [REFUSED[written]]} == faults(answer)


@pytest.mark.parametrize("text", REFUSED_TEXTS, ids=ascii)
def test_text_that_is_no_amount_is_refused(sqlite_house: House, text: str) -> None:
    """Words, spaces, underscores, foreign digits and anything but plain digits and one point are 400."""
    answer = sqlite_house.user("ada").post("/auctions", json={"name": "Clock", "startingPrice": text})
    assert {"startingPrice": ["money_format"]} == faults(answer)


@pytest.mark.parametrize("raw", NO_AMOUNTS)
def test_other_json_types_are_no_amounts(sqlite_house: House, raw: str) -> None:
    """Booleans, null, arrays and objects are not amounts."""
    assert {"startingPrice": ["money_type"]} == faults(create(sqlite_house.user("ada"), raw))


@pytest.mark.parametrize("raw", NO_JSON, ids=ascii)
def test_numbers_that_json_does_not_have_are_refused(sqlite_house: House, raw: str) -> None:
    """A bare NaN, Infinity, sign, leading zero or foreign digit is not JSON."""
    assert {"body": ["malformed_json"]} == faults(create(sqlite_house.user("ada"), raw))


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("POST", "/auctions", "reservePrice"),
        ("POST", "/auctions", "buyNowPrice"),
        ("POST", "/auctions", "increment"),
        ("PATCH", "/auctions/{gid}", "startingPrice"),
        ("PATCH", "/auctions/{gid}", "reservePrice"),
        ("POST", "/auctions/{gid}/bids", "amount"),
        ("POST", "/auctions/{gid}/bids", "maximum"),
    ],
)
def test_every_amount_is_read_alike(sqlite_house: House, method: str, path: str, field: str) -> None:
    """Each field that holds money refuses the same forms."""
    ada = sqlite_house.user("ada")
    path = path.replace("{gid}", ada.auction())
    needed = {"name": "Clock", "startingPrice": "1"} if path == "/auctions" else {}
    refused: list[Any] = ["1e3", "NaN", "1_0", " 5 ", "\u0665", True, -1, 1.2345, "100000000000000000", {}]
    for value in refused:
        found = faults(ada.request(method, path, json={**needed, field: value}))
        assert [field] == list(found), f"{value!r} {found}"


def test_a_ladder_reads_its_amounts_alike(sqlite_house: House) -> None:
    """The amounts of a ladder are exact too, and each fault names its tier."""
    ada = sqlite_house.user("ada")
    body = {
        "name": "Clock",
        "startingPrice": "1",
        "increment": [{"from": 0, "step": "1e3"}, {"from": "NaN", "step": 1}],
    }
    answer = ada.post("/auctions", json=body)
    assert {"increment": ["money_format", "money_format"]} == faults(answer)
    messages = [fault["message"] for fault in answer.json()["message"]["increment"]]
    assert messages[0].startswith("tier 1: step ") and messages[1].startswith("tier 2: from ")


@settings(max_examples=40)
@example(thousandths=10**20 - 1, quoted=False, both=True)
@example(thousandths=2**53 * 1000 + 1, quoted=False, both=False)
@given(thousandths=st.integers(1, 10**20 - 1), quoted=st.booleans(), both=st.booleans())
def test_any_amount_goes_through_a_bid_unchanged(house: House, thousandths: int, quoted: bool, both: bool) -> None:
    """Any amount of 20 digits comes back unchanged in the answer, the auction and the history."""
    ada, bob = house.user("ada"), house.user("bob")
    written = str(Decimal(thousandths).scaleb(-3).quantize(Decimal("0.001")))
    raw = f'"{written}"' if quoted else written
    gid = ada.auction(startingPrice="0.001", increment="0.001")
    body = f'{{"amount": {raw}, "maximum": {raw}}}' if both else f'{{"amount": {raw}}}'
    answer = bob.post(f"/auctions/{gid}/bids", content=body, headers={"Content-Type": "application/json"})
    assert (201, written) == (answer.status_code, answer.json()["bid"]["amount"])
    assert written == bob.json("GET", f"/auctions/{gid}")["currentBid"]
    [row] = bob.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert (written, written) == (row["amount"], row["maximum"])


def test_there_is_no_next_bid_once_it_could_not_be_written(house: House) -> None:
    """At the highest amount of 20 digits `minimumBid` is null, and the refusal of a further bid has null too."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    accepted = bob.bid(gid, LIMIT).json()["auction"]
    assert (LIMIT, None) == (accepted["currentBid"], accepted["minimumBid"])
    answer = cy.bid(gid, LIMIT)
    assert (409, "bid_too_low") == refusal(answer)
    assert answer.json()["minimumBid"] is None


@pytest.mark.parametrize("path", ["/auctions/{gid}", "/auctions/{gid}/bids", "/auctions", "/me/auctions"])
def test_money_out_is_text_with_three_decimals(house: House, path: str) -> None:
    """No answer holds money as a JSON number."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(reservePrice=20, buyNowPrice=30.5)
    bob.bid(gid, 10)
    names = {"startingPrice", "currentBid", "minimumBid", "buyNowPrice", "reservePrice", "amount", "maximum"}
    found = [value for name, value in members(ada.json("GET", path.format(gid=gid))) if name in names]
    assert found
    assert all(value is None or (isinstance(value, str) and EXACT.fullmatch(value)) for value in found)


def members(value: Any) -> list[tuple[str, Any]]:
    """Return every member of every object in a JSON value."""
    if isinstance(value, dict):
        return [pair for name, inner in value.items() for pair in [(name, inner), *members(inner)]]
    return [pair for inner in value for pair in members(inner)] if isinstance(value, list) else []
