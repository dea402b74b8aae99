"""The receipts of a bidder for an auction: found again in its log, signed again, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct, structs

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.ledger import LedgerEvent
from saleroom.bidding.domain.receipt_book import ReceiptBook
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.signatures import InvalidReceipt, Key, Keys, check
from saleroom.bidding.service.admission import known_as
from saleroom.bidding.service.lookup import get_one
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.storage import bids, event_log, signing_keys
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.turns import Rank

PAGE = 100
"""The most events that are read in one transaction, and then decoded while nothing else runs."""


class ReceiptVerdict(StrEnum):
    """What a check of a receipt found."""

    STANDS = "stands"
    UNSIGNED = "unsigned"
    OTHER_LOT = "other_lot"
    MISSING = "missing"


class SignedReceipt(Struct, frozen=True):
    """A receipt and its text; `number` counts its bidder's receipts for the auction from 1."""

    number: int
    receipt: Receipt
    text: str


def bidder(tx: Transaction, token: str | None, gid: str) -> tuple[Auction, str | None]:
    """Return the auction, and the name by which the holder of `token` has bid on it, if they have.

    Raises Unauthenticated or UnknownAuction.
    """
    viewer, auction = authenticate(tx, token, Right.READ), get_one(tx, gid)
    has_bid = bids.highest_limit(tx, auction.id, viewer.id) is not None
    return auction, known_as(tx, auction, viewer.party) if has_bid else None


async def find(database: Database, auction: Auction, name: str) -> list[Receipt]:
    """Return the receipts of the bidder `name`, the oldest first. Raises DatabaseUnavailable."""
    book = ReceiptBook(auction.gid, name)
    for after in range(0, auction.position, PAGE):
        until = min(after + PAGE, auction.position)
        book.read(await database.read(_events, auction.id, after, until))
    return book.receipts


@ranked(Rank.COSTLY)
def _events(tx: Transaction, auction_id: int, after: int, until: int) -> list[LedgerEvent]:
    return event_log.logged(tx, auction_id, after, until)


def sign(tx: Transaction, key: SigningKey, numbered: Sequence[tuple[int, Receipt]]) -> list[SignedReceipt]:
    """Sign receipts of one bidder with the key of the house, all under one signature. Raises Refusal without a key."""
    texts = key.signer(tx).sign([receipt.stated() for _, receipt in numbered])
    return [SignedReceipt(number, receipt, text) for (number, receipt), text in zip(numbered, texts, strict=True)]


async def verdict(database: Database, auction: Auction, text: str) -> tuple[ReceiptVerdict, Receipt | None]:
    """Check the receipt in `text` against the keys of the house and the log of `auction`. Raises DatabaseUnavailable."""
    rows = await database.read(signing_keys.all_keys)
    try:
        receipt = check(text, Keys([Key("OKP", "Ed25519", row.public, row.kid) for row in rows]))
    except InvalidReceipt:
        return ReceiptVerdict.UNSIGNED, None
    if receipt.gid != auction.gid:
        return ReceiptVerdict.OTHER_LOT, receipt
    stands = any(_same(receipt, one) for one in await find(database, auction, receipt.bidder))
    return ReceiptVerdict.STANDS if stands else ReceiptVerdict.MISSING, receipt


def _same(receipt: Receipt, found: Receipt) -> bool:
    """Whether they are the same, except for the `asked` of a raise, which is not in the log."""
    return receipt == (structs.replace(found, asked=receipt.asked) if found.amount is None else found)
