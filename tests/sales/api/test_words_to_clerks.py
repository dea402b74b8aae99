"""A clerk who bids for a paddle reads of its bidder: the usual sentences on the same refusals speak to the bidder."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House
from tests.sales.live_sale import LiveSale

DECLINED, LIMITED, LEADING = 20, 21, 22
ACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a bid": ("block", {"act": "bid", "amount": "10"}),
    "a line of the book": ("book", {"label": "2", "maximum": "90"}),
    "a result": ("results", {"labels": ["2"], "price": "90"}),
    "a pledge": ("block", {"act": "pledge", "amount": "100"}),
}


@pytest.fixture
def live(sqlite_house: House) -> LiveSale:
    """A live sale of three lots and a fund-a-need; one paddle is declined, one may bid 5, one leads on the second lot."""
    live = LiveSale(sqlite_house)
    live.staff.json("POST", f"/sales/{live.gid}/lots", json={"name": "A roof", "levels": ["100"]})
    people = f"/sales/{live.gid}/participants"
    for paddle in (DECLINED, LIMITED, LEADING):
        made = live.staff.json("POST", people, json={"personName": f"Guest {paddle}", "paddle": paddle})
        if paddle == DECLINED:
            said = {"admission": "declined", "reason": "He never paid."}
            live.staff.json("PATCH", f"{people}/{made['participant']}", json=said)
        if paddle == LIMITED:
            live.staff.json("PATCH", f"{people}/{made['participant']}", json={"bidLimit": "5"})
    live.staff.json("POST", f"/sales/{live.gid}/book", json={"label": "2", "paddle": LEADING, "maximum": "80"})
    return live


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(("paddle", "code"), [(DECLINED, "registration_declined"), (LIMITED, "beyond_limit")])
def test_refusals_speak_of_the_bidder(live: LiveSale, act: str, paddle: int, code: str) -> None:
    """Whatever a clerk enters for a paddle, the sentence names the bidder and never says "you" to the clerk."""
    to, said = ACTS[act]
    if to == "block":
        live.act("call", label="4" if act == "a pledge" else "1")
    answer = live.staff.post(f"/sales/{live.gid}/{to}", json={**said, "paddle": paddle})
    assert code == refusal(answer)[1]
    assert "the bidder with this paddle" in answer.json()["message"]
    assert not re.search(r"\byou", answer.json()["message"], re.IGNORECASE)


def test_a_paddle_that_leads_is_named_as_such(live: LiveSale) -> None:
    """The ask of the lot, from the paddle that leads it."""
    live.act("call", label="2")
    ask = live.staff.json("GET", f"/sales/{live.gid}/block")["onBlock"]["auction"]["minimumBid"]
    said = {"act": "bid", "amount": ask, "paddle": LEADING}
    answer = live.staff.post(f"/sales/{live.gid}/block", json=said)
    assert (409, "already_leading") == refusal(answer)
    assert "The bidder with this paddle leads already." == answer.json()["message"]
