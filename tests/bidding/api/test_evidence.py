"""Evidence: ledgers, receipts, the house's time, and the lateness of a late bid."""

import base64
import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from saleroom.bidding.service import ledgers
from saleroom.bidding.storage import signing_keys
from tests.bidding.api.answers import after, instant, refusal
from tests.fixtures_database import FakeClock
from tests.fixtures_house import CheckedClient, House, ServeHouse, User

pytestmark = pytest.mark.databases("sqlite")


def lines(user: CheckedClient, gid: str) -> list[dict[str, Any]]:
    """Return an auction's ledger."""
    answer = user.get(f"/auctions/{gid}/ledger")
    assert (200, "application/x-ndjson") == (answer.status_code, answer.headers["content-type"].partition(";")[0])
    return [json.loads(line) for line in answer.text.splitlines()]


def opened(receipt: str, user: User) -> dict[str, Any]:
    """Return the statement of a receipt of one bid after checking it with the house's key. Raises InvalidSignature."""
    signed, leaf, place = receipt.split("~")
    head, tree, signature = signed.split(".")
    told = user.json("GET", "/.well-known/saleroom.json")
    assert "EUR" == told["currency"]
    shown = told["keys"]
    [key] = [key for key in shown if key["kid"] == decoded(head)["kid"]]
    public = Ed25519PublicKey.from_public_bytes(raw(key["x"]))
    public.verify(raw(signature), f"{head}.{tree}".encode())
    assert ("0", 1) == (place, decoded(tree)["size"])
    if hashlib.sha256(b"\0" + raw(leaf)).digest() != raw(decoded(tree)["root"]):
        raise InvalidSignature
    _, statement = json.loads(raw(leaf))
    return dict(statement)


def raw(text: str) -> bytes:
    """Read base64url."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def decoded(text: str) -> dict[str, Any]:
    """Read JSON in base64url."""
    found: dict[str, Any] = json.loads(raw(text))
    return found


def test_a_ledger_is_opened_at_the_end(house: House) -> None:
    """A running auction's ledger has its events, chained; maximum bids, the reserve and raises appear once it is over."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction(reservePrice="40")
    bob.bid(gid, maximum="77.125")
    cy.bid(gid, amount=50)
    bob.bid(gid, maximum="99.875")
    running = ada.get(f"/auctions/{gid}/ledger").text
    assert not any(secret in running for secret in ("77.125", "99.875", "reservePrice", "opened", '"salt"', "raised"))
    assert ada.json("GET", f"/auctions/{gid}")["head"] == lines(bob, gid)[-1]["event"]["hash"]
    ada.json("POST", f"/auctions/{gid}/close", json={})
    over = lines(house.anyone, gid)
    assert {"reservePrice": "40.000"} == over[0]["opened"]["data"]
    assert "77.125" == over[1]["opened"]["data"]["maximum"]
    [raised] = over[-1]["opened"]["hidden"]
    assert ("maximum.raised", "99.875") == (raised["type"], raised["data"]["maximum"])
    assert list(range(1, len(over) + 1)) == [line["event"]["sequence"] for line in over]
    assert running == "".join(
        f'{{"event":{json.dumps(line["event"], sort_keys=True, separators=(",", ":"))}}}\n' for line in over[:-1]
    )


def test_a_long_ledger_comes_whole(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger of several pages has the same bytes as one page, with hidden events at a page's edge too."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    for price in range(20, 40, 4):
        bob.bid(gid, amount=price)
        bob.bid(gid, maximum=price + 1)
        cy.bid(gid, amount=price + 2)
    ada.json("POST", f"/auctions/{gid}/close", json={})
    whole = ada.get(f"/auctions/{gid}/ledger").content
    for page in (1, 2, 7):
        monkeypatch.setattr(ledgers, "PAGE", page)
        assert whole == ada.get(f"/auctions/{gid}/ledger").content


def test_a_ledger_without_an_auction(house: House) -> None:
    """An unknown auction has no ledger; HEAD gets the headers alone."""
    ada = house.user("ada")
    assert (404, "unknown_auction") == refusal(ada.get("/auctions/nothing/ledger"))
    answer = ada.head(f"/auctions/{ada.auction()}/ledger")
    assert (200, b"", "application/x-ndjson") == (answer.status_code, answer.content, answer.headers["content-type"])


def test_a_receipt_says_what_was_taken(house: House) -> None:
    """Each accepted bid, raise and purchase has a receipt, signed with the house's key, that names its place in the ledger."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    first = bob.bid(gid, maximum="40").json()
    statement = opened(first["receipt"], bob)
    event = lines(bob, gid)[-1]["event"]
    assert {
        "gid": gid,
        "sequence": 2,
        "hash": event["hash"],
        "bidder": "bob",
        "asked": {"amount": None, "maximum": "40.000"},
        "amount": "10.000",
        "maximum": "40.000",
        "leading": True,
        "receivedAt": first["bid"]["receivedAt"],
        "decidedAt": first["bid"]["placedAt"],
    } == statement
    raised = opened(bob.bid(gid, maximum="50").json()["receipt"], bob)
    assert (2, None, "50.000") == (raised["sequence"], raised["amount"], raised["maximum"])
    bought = bob.json("POST", f"/auctions/{ada.auction(buyNowPrice='90')}/buy", json={})
    assert (None, "90.000", 3) == tuple(
        opened(bought["receipt"], bob)[name] for name in ("asked", "amount", "sequence")
    )
    signed, leaf, place = first["receipt"].split("~")
    forged = base64.urlsafe_b64encode(raw(leaf).replace(b"40.000", b"41.000")).decode().rstrip("=")
    with pytest.raises(InvalidSignature):
        opened(f"{signed}~{forged}~{place}", bob)


def test_a_repeat_has_the_same_receipt(house: House) -> None:
    """The same Idempotency-Key gets the first answer again, byte for byte, with its receipt."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    first, second = [bob.bid(gid, amount=20, **{"Idempotency-Key": "once"}) for _ in range(2)]
    assert first.content == second.content


def test_each_bid_says_when_it_came_and_when_it_was_decided(house: House) -> None:
    """Both instants are in the answer, the history and the event; an automatic bid was requested earlier."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    bob.bid(gid, maximum=40)
    bid = cy.bid(gid, amount=20).json()["bid"]
    assert instant(bid["receivedAt"]) <= instant(bid["placedAt"])
    automatic, own, _ = ada.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert (None, True) == (automatic["receivedAt"], automatic["automatic"])
    assert bid["receivedAt"] == own["receivedAt"]
    assert bid["receivedAt"] == lines(ada, gid)[2]["event"]["data"]["receivedAt"]


def test_a_late_bid_is_told_how_late_it_was(clocked_house: House, clock: FakeClock) -> None:
    """A bid after the end is told when it came, when it was decided, and how many microseconds late that was."""
    ada, bob = clocked_house.user("ada"), clocked_house.user("bob")
    end = after(ada.json("GET", "/me")["createdAt"], seconds=3600)
    gid = ada.auction(endsAt=end, softClose=None)
    clock.advance(3600, microseconds=153_421)
    late = bob.bid(gid, amount=20)
    assert (409, "auction_closed") == refusal(late)
    facts = late.json()
    decided = instant(end) + timedelta(microseconds=153_421)
    assert (153_421, decided, decided) == (
        *(facts["lateMicroseconds"], instant(facts["decidedAt"]), instant(facts["receivedAt"])),
    )


def test_the_clock_of_the_house(house: House) -> None:
    """GET /time is the clock that decides, and no cache stores it."""
    ada = house.user("ada")
    before = instant(ada.json("GET", f"/auctions/{ada.auction()}")["createdAt"])
    answer = ada.get("/time")
    then = instant(answer.json()["time"])
    assert before <= then <= before + timedelta(seconds=60)
    assert "no-store" == answer.headers["cache-control"]
    assert isinstance(then, datetime)


def test_a_key_in_a_file_leaves_none_in_the_database(serve_house: ServeHouse, tmp_path: Path) -> None:
    """With signing_key_file, the file's key signs receipts, and is made if it is missing; the older key still verifies."""
    file = tmp_path / "receipts.pem"
    served = serve_house(signing_key_file=file)
    ada, bob = served.user("ada"), served.user("bob")
    assert 0o600 == file.stat().st_mode & 0o777
    opened(bob.bid(ada.auction(), amount=20).json()["receipt"], bob)
    assert [None, None] == [key.private for key in served.read(signing_keys.all_keys)]
    assert b"PRIVATE KEY" in file.read_bytes()
