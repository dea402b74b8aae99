"""The kinds of words: one table, to which each kind adds a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import Outcome

AT_ONCE = timedelta()
SOON = timedelta(minutes=10)
"""How long before its end the word about a watched lot goes out."""
LOTS_AWAY = 3
"""How many lots before its own call the word about a lot of a live sale goes out."""
NEAR = timedelta(minutes=30)

OVERDUE = "overdue"
"""A reminder, or a strike: it has consequences, and counts only if the person was told."""
Holds = Callable[[Auction, int], bool]
"""Whether a word to a user still says what is so, by the auction as it is now."""


def _is_open(auction: Auction, user_id: int) -> bool:
    return auction.status is Status.OPEN and not auction.is_hidden


def _is_behind(auction: Auction, user_id: int) -> bool:
    return _is_open(auction, user_id) and auction.leader is not None and auction.leader.id != user_id


def _leads(auction: Auction, user_id: int) -> bool:
    return _is_open(auction, user_id) and auction.leader is not None and auction.leader.id == user_id


def _is_hidden(auction: Auction, user_id: int) -> bool:
    return not auction.over and auction.is_hidden


def _is_shown(auction: Auction, user_id: int) -> bool:
    return not auction.over and not auction.is_hidden


def _is_over(auction: Auction, user_id: int) -> bool:
    """The hammer of a live sale may have been undone since."""
    return auction.over


def _has_won(auction: Auction, user_id: int) -> bool:
    return auction.over and auction.leader is not None and auction.leader.id == user_id


def _waits(auction: Auction, user_id: int) -> bool:
    return _is_open(auction, user_id) and auction.block is None


def _is_on_block(auction: Auction, user_id: int) -> bool:
    return _is_open(auction, user_id) and auction.block is not None


def _is_undecided(auction: Auction, user_id: int) -> bool:
    return auction.outcome is Outcome.CONDITIONAL


def _always(auction: Auction, user_id: int) -> bool:
    return True


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of word. With `gathers`, more of them may follow at once, so the first one waits for the others.

    It is dropped if it waits longer than it `lasts`, or if it no longer `holds`. A user who has chosen nothing gets no mail of
    a kind that is not `mailed`: it would come too late. Mails of a kind that `must_be_mailed` go to everybody, whatever they
    chose. A kind that is not `about_lot` is about money: it is a letter of its own, and `outbox/kinds.py` has what it says.
    """

    name: str
    gathers: bool = False
    lasts: timedelta = timedelta(days=3)
    holds: Holds = _always
    mailed: bool = True
    about_lot: bool = True
    must_be_mailed: bool = False


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="outbid", gathers=True, lasts=timedelta(days=1), holds=_is_behind),
        Kind(name="leading", gathers=True, lasts=timedelta(days=1), holds=_leads),
        Kind(name="voided"),
        Kind(name="hidden", holds=_is_hidden),
        Kind(name="shown", holds=_is_shown),
        Kind(name="cancelled"),
        Kind(name="ending", lasts=SOON, holds=_is_open),
        Kind(name="near", lasts=NEAR, holds=_waits),
        Kind(name="called", lasts=SOON, holds=_is_on_block, mailed=False),
        Kind(name="decision_asked", holds=_is_undecided),
        Kind(name="won", holds=_has_won),
        Kind(name="not_won", holds=_is_over),
        Kind(name="sold", holds=_is_over),
        Kind(name="not_sold", holds=_is_over),
        Kind(name="reopened", holds=_is_open),
        Kind(name="question_asked", gathers=True),
        Kind(name="question_answered", gathers=True),
        *(
            Kind(name=name, about_lot=False, must_be_mailed=name == OVERDUE)
            for name in ("invoice", "credit_note", OVERDUE, "paid", "statement", "paid_out", "payout_failed", "offer")
        ),
    )
}
"""Every kind of word that people choose among, in the order in which they do."""
OF_LOTS: Mapping[str, Kind] = {name: kind for name, kind in KINDS.items() if kind.about_lot}
"""Those about lots."""
MUST_BE_MAILED = frozenset(name for name, kind in KINDS.items() if kind.must_be_mailed)
"""Those of which nobody can switch off the mails."""
