"""A receipt from the house is found in its ledger, and no other receipt is."""

from typing import Any

import pytest

from saleroom.bidding.domain.closing import settle
from saleroom.bidding.domain.signatures import InvalidReceipt, check
from saleroom.tools.verify.receipts import find
from tests.bidding.domain.examples import after
from tests.bidding.domain.test_retrace import PlayedAuction
from tests.bidding.domain.test_signatures import KEYS, SIGNER
from tests.tools.verify.ledgers import Json, forged, lines_of, verified


def sale() -> PlayedAuction:
    """A sale in which bob leads, raises his maximum, and stays ahead of cyd."""
    story = PlayedAuction(ends_at=after(1000), soft_close=None, reserve_price="130")
    story.bids("bob up to 120").bids("cyd 110", seconds=2).bids("bob up to 125", seconds=3)
    return story.bids("bob up to 200", seconds=4).bids("dee up to 150", seconds=5)


RUNNING = lines_of(sale().log)
OVER = lines_of(sale().then(settle, after(2000)).log)


def signed(**members: Any) -> str:
    """Return a receipt for cyd's bid of 110, event 3, with `members` replaced."""
    hashes = verified(b"".join(OVER)).hashes
    payload = {
        "gid": "gid",
        "sequence": 4,
        "hash": hashes[max(0, min(members.get("sequence", 4), len(hashes)) - 1)],
        "bidder": "cyd",
        "asked": {"amount": "110.000", "maximum": None},
        "amount": "110.000",
        "maximum": "110.000",
        "leading": False,
        "receivedAt": "2026-11-21T12:00:01.999999Z",
        "decidedAt": "2026-11-21T12:00:02.000000Z",
    }
    return SIGNER.sign([{**payload, **members}, payload])[0]


RAISE = {
    "bidder": "bob",
    "amount": None,
    "maximum": "125.000",
    "asked": {"amount": None, "maximum": "125.000"},
    "leading": True,
    "receivedAt": "2026-11-21T12:00:02.999999Z",
    "decidedAt": "2026-11-21T12:00:03.000000Z",
}
LIFTED = {
    **RAISE,
    "sequence": 5,
    "maximum": "200.000",
    "asked": {"amount": None, "maximum": "200.000"},
    "receivedAt": "2026-11-21T12:00:03.999999Z",
    "decidedAt": "2026-11-21T12:00:04.000000Z",
}


def proves(receipt: str, lines: list[bytes] = OVER) -> str:
    """Return the bid that a receipt proves. Raises InvalidReceipt."""
    return find(check(receipt, KEYS), verified(b"".join(lines)))


@pytest.mark.parametrize("lines", [RUNNING, OVER])
def test_a_receipt_stands(lines: list[bytes]) -> None:
    """The signed bid is found in the ledger, opened or not."""
    assert "the bid of 110.000 by cyd stands at event 3" == proves(signed(), lines)


def test_a_raise_stands_once_it_is_opened() -> None:
    """A raise of the leader's own maximum is hidden while the auction runs, and found once it is over."""
    assert "the maximum of 125.000 by bob stands hidden after event 4" == proves(signed(**RAISE))
    assert "the maximum of 200.000 by bob stands hidden after event 4" == proves(signed(**LIFTED))
    assert "sealed until the auction is over" in proves(signed(**RAISE), RUNNING)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"gid": "other"}, "it is for the auction 'other', and the ledger is that of 'gid'"),
        ({"sequence": 99}, "it is for event 99, and the ledger has only"),
        ({"sequence": 0}, "it is for event 0"),
        ({"hash": "0" * 64}, "another ledger was signed for: event 4 had another hash then"),
        ({"bidder": "dee"}, "the bid that was signed for is not in the ledger at event 4"),
        ({"amount": "111.000"}, "the bid that was signed for is not in the ledger at event 4"),
        ({"maximum": "111.000"}, "the bid that was signed for is not in the ledger at event 4"),
        ({"leading": True}, "the bid that was signed for is not in the ledger at event 4"),
        ({"asked": None}, "the bid that was signed for is not in the ledger at event 4"),
        ({"receivedAt": None}, "the bid that was signed for is not in the ledger at event 4"),
        ({"decidedAt": "2026-11-21T12:00:02.000001Z"}, "the bid that was signed for is not in the ledger at event 4"),
        ({"sequence": 2}, "the bid that was signed for is not in the ledger at event 2"),
        ({"sequence": 1}, "the bid that was signed for is not in the ledger at event 1"),
        ({**RAISE, "maximum": "126.000"}, "the raise that was signed for is not in the ledger after event 4"),
        ({**RAISE, "bidder": "cyd"}, "the raise that was signed for is not in the ledger after event 4"),
        ({**RAISE, "sequence": 2}, "the raise that was signed for is not in the ledger after event 2"),
        ({**LIFTED, "sequence": 6}, "the raise that was signed for is not in the ledger after event 6"),
    ],
)
def test_a_receipt_that_differs_from_the_ledger_is_refused(members: dict[str, Any], why: str) -> None:
    """A receipt that differs from the ledger in any member is refused."""
    with pytest.raises(InvalidReceipt) as refuted:
        proves(signed(**members))
    assert why in str(refuted.value)


def test_a_forged_ledger_is_refuted_by_a_receipt() -> None:
    """A forged ledger with another bidder follows all rules, but does not have the signed bid."""

    def renamed(lines: list[Json]) -> None:
        for line in lines:
            data = line["event"]["data"]
            data.update({name: "eve" for name in ("bidder", "winner") if data.get(name) == "cyd"})
            if "cyd" in data.get("salts", {}):
                data["salts"]["eve"] = data["salts"].pop("cyd")

    other = forged(OVER, renamed)
    assert verified(b"".join(other)).trace is not None
    with pytest.raises(InvalidReceipt, match="another ledger was signed for"):
        proves(signed(), other)
