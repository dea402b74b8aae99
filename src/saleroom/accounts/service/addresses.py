"""The mail address of a user: given with the password, used once it is verified by a link."""

from __future__ import annotations

import math
from datetime import datetime

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import InvalidLink
from saleroom.accounts.domain.mails import Purpose, Sign, link_number
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.account_mails import mailbox_is_full, post_link, tell_at
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts, mail_addresses, mail_links
from saleroom.kernel.errors import TooManyRequests
from saleroom.storage.database import Transaction, ranked
from saleroom.storage.turns import Rank


class MailState(Struct, frozen=True, kw_only=True):
    """A user's mail address, and the one that waits to be verified."""

    address: str | None = None
    verified_at: datetime | None = None
    unverified: str | None = None
    link_expires_at: datetime | None = None


class VerifiedAddress(Struct, frozen=True):
    """An address that was verified, and whose it is."""

    username: str
    address: str


def own(tx: Transaction, token: str) -> MailState:
    """Return the caller's mail address. Raises Unauthenticated."""
    return _state(tx, authenticate(tx, token, Right.ACCOUNT).id)


def give(tx: Transaction, account: Account, address: str | None, language: str | None) -> MailState | TooManyRequests:
    """Post a link to a new address of the user, who has just given the password; None takes the address away.

    The old address stays in use until the new one is verified. The answer is the same for any address: whether others have it
    stays untold, and a mailbox that has had its share of links gets none, as it may be a stranger's.
    """
    now = tx.now()
    if address is None:
        return _take_away(tx, account)
    used = mail_addresses.find(tx, account.id)
    if used is not None and used.verified_at is not None and used.address == address:
        mail_links.end(tx, account.id, Purpose.VERIFICATION, now)
        return _state(tx, account.id)
    wait = mail_links.account_wait(tx, account.id, Purpose.VERIFICATION, now)
    if wait > 0:
        return TooManyRequests("Too many mails to verify an address; try again later.", retry_after=math.ceil(wait))
    silent = mailbox_is_full(tx, address, Purpose.VERIFICATION)
    link = mail_links.add(tx, account.id, Purpose.VERIFICATION, address, now)
    if not silent:
        post_link(tx, link, language)
    return _state(tx, account.id)


@ranked(Rank.LOGIN)
def verify(tx: Transaction, code: str, language: str | None, sign: Sign) -> VerifiedAddress:
    """Use the address that a link was sent to, and tell the one before. Raises InvalidLink."""
    now, number = tx.now(), link_number(code)
    link = None if number is None else mail_links.find(tx, number)
    if link is None or link.purpose is not Purpose.VERIFICATION or not link.has_code(code, None, sign):
        raise InvalidLink
    accounts.lock_user(tx, link.user_id)
    if not link.is_good(now) or not mail_links.use(tx, link.id, now):
        raise InvalidLink
    before = mail_addresses.find(tx, link.user_id)
    if before is not None and before.verified_at is not None and before.address != link.address:
        tell_at(tx, before, "address_changed", {"removed": False})
    mail_addresses.give(tx, link.user_id, link.address, language, now)
    mail_addresses.verify(tx, link.user_id, link.address, now)
    mail_links.end(tx, link.user_id, Purpose.RESET, now)  # those to the old address
    return VerifiedAddress(accounts.find(tx, link.user_id).username, link.address)


def _take_away(tx: Transaction, account: Account) -> MailState:
    used = mail_addresses.find(tx, account.id)
    if used is not None and used.verified_at is not None:
        tell_at(tx, used, "address_changed", {"removed": True})
    mail_addresses.take_away(tx, account.id)
    for purpose in Purpose:
        mail_links.end(tx, account.id, purpose, tx.now())
    return MailState()


def _state(tx: Transaction, user_id: int) -> MailState:
    used = mail_addresses.find(tx, user_id)
    waits = mail_links.waiting(tx, user_id, Purpose.VERIFICATION, tx.now())
    is_used = used is not None and used.verified_at is not None
    return MailState(
        address=used.address if used is not None and is_used else None,
        verified_at=None if used is None else used.verified_at,
        unverified=None if waits is None else waits.address,
        link_expires_at=None if waits is None else waits.expires_at,
    )
