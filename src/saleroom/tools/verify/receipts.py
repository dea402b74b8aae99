"""Receipts: the signed bid is found in the ledger (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from saleroom.bidding.domain.events import BidPlaced, BidVoided, MaximumRaised
from saleroom.bidding.domain.pseudonyms import is_pseudonym
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.signatures import InvalidReceipt
from saleroom.bidding.domain.voiding import BidBook
from saleroom.tools.verify.reading import Ledger


def find(receipt: Receipt, ledger: Ledger, money: Callable[[Decimal], str] = str) -> str:
    """Return in words where the bid of `receipt` is in `ledger`. Raises InvalidReceipt if it is not there."""
    if receipt.gid != ledger.gid:
        raise InvalidReceipt(f"it is for the auction {receipt.gid!r}, and the ledger is that of {ledger.gid!r}")
    if not 1 <= receipt.sequence <= len(ledger.hashes):
        raise InvalidReceipt(f"it is for event {receipt.sequence}, and the ledger has only {len(ledger.hashes)}")
    if ledger.hashes[receipt.sequence - 1] != receipt.hash:
        raise InvalidReceipt(f"another ledger was signed for: event {receipt.sequence} had another hash then")
    if receipt.amount is None:
        return _raise(receipt, ledger, money)
    requests = [p for p in ledger.events if isinstance(p.event, BidPlaced) and not p.event.automatic]
    last = next((p for p in reversed(requests) if p.sequence <= receipt.sequence), None)
    if last is None or not isinstance(last.event, BidPlaced) or not _same(receipt, last.event, opened=ledger.opened):
        raise InvalidReceipt(f"the bid that was signed for is not in the ledger at event {receipt.sequence}")
    where = f"the bid of {money(receipt.amount)} by {receipt.bidder} stands at event {last.sequence}"
    return where + _voided(ledger, ledger.events.index(last))


def _voided(ledger: Ledger, index: int) -> str:
    """Return in words that the house had accepted what is at `index`, and voided it later; nothing if it stands."""
    places = BidBook(each.event for each in ledger.events).places
    for placed in ledger.events:
        if isinstance(placed.event, BidVoided) and index in places[placed.event.voided]:
            return f"; it was accepted, and voided at event {placed.sequence}: {placed.event.reason}"
    return ""


def _same(receipt: Receipt, bid: BidPlaced, *, opened: bool) -> bool:
    public = (receipt.amount, receipt.leading, receipt.received_at, receipt.decided_at) == (
        bid.amount, bid.leading, bid.received_at, bid.at,
    )  # fmt: skip
    sealed = (receipt.asked, receipt.maximum) == (bid.asked, bid.maximum)
    return public and _is_named(receipt, bid.bidder) and (sealed or not opened)


def _is_named(receipt: Receipt, name: str) -> bool:
    """Whether `name` is that of the receipt's bidder. Of somebody who was erased, the ledger does not say it any more."""
    return receipt.bidder == name or is_pseudonym(name)


def _raise(receipt: Receipt, ledger: Ledger, money: Callable[[Decimal], str]) -> str:
    """Return in words where the raise of a bidder's own maximum is, if the ledger is opened."""
    if ledger.trace is None:
        return (
            f"event {receipt.sequence} is the one that was signed; the raise itself is sealed until the auction is over"
        )
    for bid in ledger.trace.bids:
        placed = ledger.events[bid.index]
        told = (bid.limit, bid.received_at, bid.at)
        near = receipt.sequence - 1 <= placed.sequence <= receipt.sequence
        asked = (receipt.maximum, receipt.received_at, receipt.decided_at)
        if isinstance(placed.event, MaximumRaised) and near and told == asked and _is_named(receipt, bid.bidder):
            where = f"the maximum of {money(receipt.maximum)} by {receipt.bidder} stands hidden after event {placed.sequence}"
            return where + _voided(ledger, bid.index)
    raise InvalidReceipt(f"the raise that was signed for is not in the ledger after event {receipt.sequence}")
