"""The buyers of a sale, by paddle or username."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from saleroom.accounts.storage import accounts as users
from saleroom.sales.domain.errors import UnknownParticipant
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import mergers, participants
from saleroom.settlement.domain.journal import Account, Book
from saleroom.settlement.service.documents.receipts import ReceiptHolder
from saleroom.storage.database import Transaction

_PADDLE = re.compile(r"[1-9][0-9]{0,4}")


class Buyer(Struct, frozen=True, kw_only=True):
    """A buyer of a sale, who has no paddle where people bid without one."""

    id: int
    username: str
    name: str
    paddle: int | None


def find_buyer(tx: Transaction, sale: Sale, who: str) -> Buyer:
    """Return the buyer with a paddle, otherwise with a username: who they were merged into, if they were.

    Raises UnknownParticipant.
    """
    one = participants.with_paddle(tx, sale.id, int(who)) if _PADDLE.fullmatch(who) else None
    if one is not None:
        return buyer_of(tx, sale, mergers.person(tx, sale.id, one.user.id))
    user = users.find_login(tx, who)
    if user is None:
        raise UnknownParticipant
    return buyer_of(tx, sale, mergers.person(tx, sale.id, user.account.id))


def buyer_of(tx: Transaction, sale: Sale, user_id: int) -> Buyer:
    """Return the buyer with the number of a user."""
    return buyers_of(tx, {(sale.id, user_id)})[sale.id, user_id]


def buyers_of(tx: Transaction, pairs: Collection[mergers.Pair]) -> dict[mergers.Pair, Buyer]:
    """Return the buyers with these numbers of a sale and a user."""
    known = participants.of_pairs(tx, pairs, locked=False)
    found = {
        pair: Buyer(id=one.user.id, username=one.user.name, name=one.name or one.user.name, paddle=one.paddle)
        for pair, one in known.items()
    }
    others = [pair for pair in pairs if pair not in known]
    names = users.names_of(tx, {user_id for _, user_id in others})
    for sale_id, user_id in others:
        name = names[user_id]
        found[sale_id, user_id] = Buyer(id=user_id, username=name, name=name, paddle=None)
    return found


def payer_of(buyer: Buyer) -> ReceiptHolder:
    """Return a buyer as receipts name them."""
    return ReceiptHolder(Account(Book.BUYERS, buyer.id), buyer.name, str(buyer.paddle or buyer.username), buyer.id)
