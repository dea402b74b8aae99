"""Calendars: a private link by which a program reads the lots that a user watches, without a login."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, token_digest
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.errors import UnknownCalendar
from saleroom.bidding.service.feeds import FeedEntry, entries_of
from saleroom.bidding.storage import auctions, calendar_links, watches
from saleroom.storage.database import Transaction, ranked
from saleroom.storage.turns import Rank

LINK_BYTES = 32
LOTS_MAX = 200
"""Watched lots in a calendar: those that were added last."""
_TOKEN = re.compile("[A-Za-z0-9_-]{43}")


def made_at(tx: Transaction, token: str) -> datetime | None:
    """Return when the user's link was made; None without one. Raises Unauthenticated or MissingRight."""
    return calendar_links.made_at(tx, authenticate(tx, token, Right.READ).id)


def renew(tx: Transaction, token: str) -> str:
    """Return what a new link of the user holds, which is stored nowhere; the one before leads nowhere from now on.

    Raises Unauthenticated or MissingRight.
    """
    account, made = authenticate(tx, token, Right.ACCOUNT), secrets.token_urlsafe(LINK_BYTES)
    accounts.lock_user(tx, account.id)
    calendar_links.put(tx, account.id, token_digest(made), tx.now())
    return made


def end(tx: Transaction, token: str) -> None:
    """End the user's link, if there is one. Raises Unauthenticated or MissingRight."""
    calendar_links.remove(tx, authenticate(tx, token, Right.ACCOUNT).id)


@ranked(Rank.COSTLY)
def watched(tx: Transaction, link: str) -> list[FeedEntry]:
    """Return the lots that the user of a link watches, without hidden ones, the last one added first.

    Raises UnknownCalendar, whatever is wrong with the link.
    """
    user_id = calendar_links.owner(tx, token_digest(link)) if _TOKEN.fullmatch(link) else None
    if user_id is None:
        raise UnknownCalendar
    numbers = [auction_id for _, auction_id in watches.newest(tx, user_id, LOTS_MAX, None)]
    found = {one.id: one for one in auctions.by_ids(tx, numbers) if not one.is_hidden}
    return entries_of(tx, [found[number] for number in numbers if number in found])
