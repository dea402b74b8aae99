"""The erasure of people: by themselves with their password, by staff above them, by the command line of the house."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from saleroom.accounts.domain import sanctions as rules
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import LastOwner, UnknownUser
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import Person
from saleroom.accounts.service import account_mails, codes
from saleroom.accounts.service.accounts import Accounts, authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.storage import erasures as rows
from saleroom.accounts.storage import mail_addresses, people
from saleroom.kernel.errors import Contradiction, Refusal
from saleroom.kernel.parties import ERASED
from saleroom.storage.database import Transaction

log = structlog.get_logger()

RANDOM_BYTES = 8
Forget = Callable[[Transaction, int], None]
"""Deletes the rows of all areas that belong to a person, by their number. Raises LotsRunning."""


class Erasures:
    """The erasures of one house. `forget` reaches into all areas."""

    def __init__(self, accounts: Accounts, sealing: Sealing, forget: Forget) -> None:
        self._accounts = accounts
        self._sealing = sealing
        self.forget = forget

    async def erase_own(self, token: str, password: str, code: str | None, address: str) -> None:
        """Erase the token's user, who gives the password, and a code if they have one-time codes.

        Raises Unauthenticated, MissingRight, WrongPassword, CodeRequired, WrongCode, LastOwner, LotsRunning,
        TooManyRequests or Busy.
        """
        erase = partial(_erase_own, forget=self.forget)
        pseudonym = await self._accounts.with_password(token, password, address, erase, self._sealing, code)
        log.info("somebody has erased their account", user=pseudonym)


def erase(tx: Transaction, token: str, username: str, reason: str, forget: Forget, typed: str | None = None) -> str:
    """Erase a user as staff above them, and return the pseudonym. `typed` is the name as a form asks for it, to confirm.

    Raises Unauthenticated, MissingRight, Barred, UnknownUser, NotOneself, NotAboveThem, LastOwner or LotsRunning, and
    Contradiction if another name was typed.
    """
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    locked = people.lock(tx, username, by.id)
    # Somebody else may have taken this user's own role until the rows were locked.
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    on = _known(tx, locked, username)
    rules.refuse_to_sanction(Person(by.id, by.role), Person(on.id, on.role), other_owners=True)
    if typed is not None and typed.strip().lower() != username:
        raise Contradiction.one("name", "another_name", "must be the name of the user")
    return _erase(tx, by, on, locked, forget, reason)


def erase_by_house(tx: Transaction, username: str, reason: str, forget: Forget) -> str:
    """Erase a user by the command line of the house, and return the pseudonym. Raises UnknownUser, LastOwner or LotsRunning."""
    locked = people.lock(tx, username, None)
    return _erase(tx, None, _known(tx, locked, username), locked, forget, reason)


def refuse_unknown(tx: Transaction, username: str) -> None:
    """Raise UnknownUser unless there is a user of this name who was not erased."""
    found = people.find(tx, username)
    _known(tx, [found] if found is not None else [], username)


def _erase_own(tx: Transaction, account: Account, sealing: Sealing, code: str | None, forget: Forget) -> str | Refusal:
    refused = codes.refusal_of(tx, sealing, account.id, code)
    if refused is not None:
        return refused
    locked = people.lock(tx, account.username, None)
    return _erase(tx, account, _known(tx, locked, account.username), locked, forget, "")


def _known(tx: Transaction, locked: Sequence[Account], username: str) -> Account:
    """Return the user of this name, who is locked. Raises UnknownUser, also for somebody who was erased."""
    found = next((one for one in locked if one.username == username), None)
    if found is None or rows.is_erased(tx, found.id):
        raise UnknownUser
    return found


def _erase(
    tx: Transaction, by: Account | None, on: Account, locked: Sequence[Account], forget: Forget, reason: str
) -> str:
    others = any(one.role is Role.OWNER and one.bar is None and one.id != on.id for one in locked)
    if on.role is Role.OWNER and not others:
        raise LastOwner
    now, pseudonym = tx.now(), f"{ERASED}{secrets.token_hex(RANDOM_BYTES)}"
    told = mail_addresses.verified(tx, [on.id]).get(on.id)
    rows.forget_words(tx, on.id)
    # The other areas come first, since they may wait for decisions under way; from here to the end nobody bids.
    forget(tx, on.id)
    rows.rename(tx, on, pseudonym, now)
    note(tx, by, Act.USER_ERASED, on.id, {"role": on.role.value}, {"role": None}, reason)
    if told is not None:
        account_mails.tell_of_erasure(tx, told)
    return pseudonym
