"""Remarks over HTTP: a seller adds them, everybody reads them, nobody changes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House

pytestmark = pytest.mark.databases("sqlite")


def test_a_remark_stands_for_everybody(house: House) -> None:
    """Added after a bid, it is 201 with its date; the list has all, the oldest first; the auction and ledger are as before."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = ada.auction(startingPrice="10")
    bob.bid(gid, amount="10")
    before = house.anyone.get(f"/auctions/{gid}"), house.anyone.get(f"/auctions/{gid}/ledger").content
    for number, text in enumerate((" The key is missing.\nSorry. ", "It has been found."), 1):
        answer = ada.post(f"/auctions/{gid}/remarks", json={"text": text})
        assert (201, number, text.strip()) == (answer.status_code, answer.json()["number"], answer.json()["text"])
        age = datetime.now(UTC) - datetime.fromisoformat(answer.json()["writtenAt"])
        assert abs(age.total_seconds()) < 60
    listed = house.anyone.json("GET", f"/auctions/{gid}/remarks")["remarks"]
    assert ["The key is missing.\nSorry.", "It has been found."] == [one["text"] for one in listed]
    assert before[0].json() == house.anyone.json("GET", f"/auctions/{gid}")
    assert before[1] == house.anyone.get(f"/auctions/{gid}/ledger").content
    assert 405 == ada.delete(f"/auctions/{gid}/remarks").status_code


def test_remarks_that_are_refused(house: House) -> None:
    """Others may not, nor may the seller once it is over; too long, empty and unknown are told; nothing is added."""
    ada, bob = house.newcomer(), house.newcomer()
    gid, over = ada.auction(), ada.auction()
    ada.delete(f"/auctions/{over}")
    tries = [
        (bob.post(f"/auctions/{gid}/remarks", json={"text": "Mine"}), 403, "not_author"),
        (ada.post(f"/auctions/{over}/remarks", json={"text": "Late"}), 409, "auction_closed"),
        (ada.post("/auctions/none/remarks", json={"text": "Where"}), 404, "unknown_auction"),
        (house.anyone.post(f"/auctions/{gid}/remarks", json={"text": "Who"}), 401, "unauthenticated"),
    ]
    for answer, status, code in tries:
        assert (status, code) == refusal(answer)
    for text in ("", " ", "x" * 2001, "bell\x07", 5, None):
        assert 400 == ada.post(f"/auctions/{gid}/remarks", json={"text": text}).status_code
    assert 404 == house.anyone.get("/auctions/none/remarks").status_code
    assert [[], []] == [house.anyone.json("GET", f"/auctions/{one}/remarks")["remarks"] for one in (gid, over)]


def test_a_lot_has_so_many_remarks(house: House) -> None:
    """The eleventh is refused; the same text twice in a row counts once."""
    ada = house.newcomer()
    gid = ada.auction()
    for number in range(10):
        for _ in range(2):
            assert number + 1 == ada.json("POST", f"/auctions/{gid}/remarks", json={"text": f"No. {number}"})["number"]
    answer = ada.post(f"/auctions/{gid}/remarks", json={"text": "One more"})
    assert ((409, "too_many_remarks"), 10) == (refusal(answer), answer.json()["limit"])
    assert 10 == len(house.anyone.json("GET", f"/auctions/{gid}/remarks")["remarks"])
