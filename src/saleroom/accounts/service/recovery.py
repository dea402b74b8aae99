"""Forgotten passwords: a request is kept, a task answers it by a mail with a link, and the link sets a new password.

A request gets the same answer in the same time, whether or not there is such a user: it only stores what was typed. A task
looks the user up, at an instant that does not depend on the request. Requests have limits, since strangers make them too; no
stranger elsewhere can use up those of a user who asks from a network where they have logged in.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import SystemRandom

import structlog

from saleroom.accounts.domain.accounts import parse_username
from saleroom.accounts.domain.errors import InvalidLink, MailOff
from saleroom.accounts.domain.mails import (
    ACCOUNT_LIMITS,
    NETWORK_LIMITS,
    TYPED_MAX,
    MailLink,
    Purpose,
    Sign,
    link_number,
)
from saleroom.accounts.service.account_mails import mailbox_is_full, post_link, tell
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.throttle import AccountMails, has_logged_in
from saleroom.accounts.storage import accounts, mail_addresses, mail_links
from saleroom.accounts.storage.mail_addresses import MailAddress
from saleroom.accounts.storage.mail_links import Origin
from saleroom.accounts.storage.rate_limits import digest
from saleroom.kernel.errors import Fault, Unauthenticated
from saleroom.kernel.mail import parse_mail_address
from saleroom.kernel.networks import network
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.turns import Rank

log = structlog.get_logger()
_CHANCE = SystemRandom()

ROUND_SECONDS = 2.0
LOOKED_AT = 20
"""Requests that a process looks through for one that no other process is answering."""


class Recovery:
    """The use cases of those who have forgotten their password."""

    def __init__(self, database: Database, passwords: Passwords, sign: Sign, mails: AccountMails | None) -> None:
        """`mails` is None if the house sends no mail."""
        self._database = database
        self._passwords = passwords
        self._sign = sign
        self._mails = mails

    async def ask(self, typed: str, language: str | None, address: str) -> None:
        """Keep the request of somebody who has typed a name or a mail address. Raises MailOff or TooManyRequests."""
        if self._mails is None:
            raise MailOff
        await self._mails.take(address)
        await self._database.write(ask, typed, language, network(address))
        log.info("somebody has forgotten the password", address=address)

    async def reset(self, code: str, new: str, address: str) -> None:
        """Set a new password by the code of a link, and end all sessions of its user.

        Raises InvalidLink, ObviousPassword, BreachedPassword or Busy.
        """
        # A digest takes a while, which only the holder of a link may ask for.
        username = await self._database.read(check, code, self._sign)
        digest = await self._passwords.digest(username, new, network(address))
        username = await self._database.write(reset, code, digest, self._sign)
        log.info("a password was set by a link", user=username, address=address)


@ranked(Rank.LOGIN)
def ask(tx: Transaction, typed: str, language: str | None, place: str | None = None) -> None:
    """Keep what somebody typed who has forgotten the password, and the network that they asked from."""
    mail_links.ask(tx, typed.replace("\0", " ").strip()[:TYPED_MAX], language, tx.now(), place)


def answer_next(tx: Transaction) -> None:
    """Answer one request, once in all processes: post a link to every user that is meant.

    One in a transaction: it locks users and a mailbox, which another process would lock in another order.
    """
    request = next((one for one in mail_links.asked(tx, LOOKED_AT) if mail_links.take(tx, one.id)), None)
    if request is not None:
        for given in [one for one in _meant(tx, request.typed) if _lock(tx, one.user_id)]:
            _answer(tx, given, request.language, request.network)


async def answer_all(database: Database) -> None:
    """Answer all requests that wait."""
    while await database.read(mail_links.asked, 1):
        await database.write(answer_next)


async def run(database: Database) -> None:
    """Answer requests until cancelled, at instants that have nothing to do with theirs."""
    while True:
        with suppress(DatabaseUnavailable):
            await answer_all(database)
        await asyncio.sleep(_CHANCE.uniform(ROUND_SECONDS / 2, ROUND_SECONDS))


@ranked(Rank.LOGIN)
def reset(tx: Transaction, code: str, digest: str, sign: Sign) -> str:
    """Replace the password of a link's user, end all their sessions and tokens, and tell them; return their name.

    A second factor stays as it is. Raises InvalidLink.
    """
    link = _link(tx, code)
    before = accounts.lock_digest(tx, link.user_id)
    if not link.has_code(code, before, sign) or not mail_links.use(tx, link.id, tx.now()):
        raise InvalidLink
    # A request that was answered while the user gave another address may have sent the link to the one before.
    used = mail_addresses.verified(tx, [link.user_id]).get(link.user_id)
    if used is None or used.address != link.address:
        raise InvalidLink
    accounts.set_digest(tx, link.user_id, digest)
    accounts.delete_sessions(tx, link.user_id)
    tell(tx, link.user_id, "password_changed", {"by": "link"})
    return accounts.find(tx, link.user_id).username


def check(tx: Transaction, code: str, sign: Sign) -> str:
    """Return whose link has this code. Raises InvalidLink unless it is still good."""
    link = _link(tx, code)
    login = accounts.login_of(tx, link.user_id)
    if not link.has_code(code, login.password_digest, sign):
        raise InvalidLink
    return login.account.username


def _link(tx: Transaction, code: str) -> MailLink:
    number = link_number(code)
    link = None if number is None else mail_links.find(tx, number)
    if link is None or link.purpose is not Purpose.RESET or not link.is_good(tx.now()):
        raise InvalidLink
    return link


def _meant(tx: Transaction, typed: str) -> list[MailAddress]:
    """Return the verified addresses of those whom a name or an address means."""
    if "@" in typed:
        address = parse_mail_address(typed)
        return [] if isinstance(address, Fault) else mail_addresses.users_with(tx, address)
    name = parse_username(typed)
    login = None if isinstance(name, Fault) else accounts.find_login(tx, name)
    return [] if login is None else list(mail_addresses.verified(tx, [login.account.id]).values())


def _answer(tx: Transaction, given: MailAddress, language: str | None, place: str | None) -> None:
    """Post a link to a locked user who asks from this network, unless there were as many as there may be."""
    now, origin = tx.now(), None if place is None else _origin(tx, given.user_id, place)
    if origin is not None and origin.is_known:
        full = mail_links.network_wait(tx, origin, ACCOUNT_LIMITS, now) > 0
    else:
        full = (
            (origin is not None and mail_links.network_wait(tx, origin, NETWORK_LIMITS, now) > 0)
            or mail_links.account_wait(tx, given.user_id, Purpose.RESET, now) > 0
            or mailbox_is_full(tx, given.address, Purpose.RESET)
        )
    if not full:
        link = mail_links.add(tx, given.user_id, Purpose.RESET, given.address, now, origin)
        post_link(tx, link, given.language or language)


def _lock(tx: Transaction, user_id: int) -> bool:
    """Lock a user; False for somebody who has just been erased."""
    try:
        accounts.lock_user(tx, user_id)
    except Unauthenticated:
        return False
    return True


def _origin(tx: Transaction, user_id: int, place: str) -> Origin:
    """Return where a request for this user comes from. The network itself is not kept with it."""
    is_known = has_logged_in(tx, accounts.find(tx, user_id).username, place)
    return Origin(digest("reset", place, str(user_id)), is_known)
