"""Sanctions: staff warns, suspends and bans users, and lifts that, which users are told by mail; users read their own.

What bars a user stands in the row that every transaction reads which decides something for them. So from the commit on, a bar
stops bids, purchases, lots and questions in every process, over HTTP, MQTT and the pages.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct, structs

from saleroom.accounts.domain import sanctions as rules
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import Bar, Person, Sanction
from saleroom.accounts.service import account_mails
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage import accounts, people
from saleroom.accounts.storage import sanctions as rows
from saleroom.accounts.storage.sanctions import Record
from saleroom.kernel.instants import instant
from saleroom.storage.database import Transaction

HISTORY_MAX = 200
"""The most sanctions of one user that are shown."""
STRIKES = "strikes"
"""The subject of a ban for strikes."""
_ACTS = {Sanction.WARNING: Act.USER_WARNED, Sanction.SUSPENSION: Act.USER_SUSPENDED, Sanction.BAN: Act.USER_BANNED}


class Standing(Struct, frozen=True):
    """A user, and all sanctions they have had, the latest first."""

    user: Account
    history: list[Record]


class _Parties(Struct, frozen=True):
    """Who sanctions whom; `by` is None for the command line of the house."""

    by: Account | None
    on: Account
    now: datetime


def sanction(
    tx: Transaction,
    token: str,
    username: str,
    kind: Sanction,
    reason: str,
    ends: datetime | timedelta | None = None,
) -> Standing:
    """Warn, suspend or ban a user. A suspension or a ban takes the place of the one in force.

    It `ends` at an instant, or after a time; without either it has no end.
    Raises Unauthenticated, MissingRight, Barred, UnknownUser, and as `domain.sanctions.refuse_to_sanction` and `refuse_end`.
    """
    who = _locked(tx, token, username)
    return _impose(tx, who, kind, reason, who.now + ends if isinstance(ends, timedelta) else ends)


def impose(tx: Transaction, username: str, kind: Sanction, reason: str, lasts: timedelta | None = None) -> Standing:
    """Sanction a user by the command line of the house. Raises UnknownUser, LastOwner or Contradiction."""
    who = _locked(tx, None, username)
    return _impose(tx, who, kind, reason, None if lasts is None else who.now + lasts)


def lift(tx: Transaction, token: str, username: str, reason: str) -> Standing:
    """Lift a user's suspension or ban before its end. Raises as `sanction` does, or NotBarred."""
    return _lift(tx, _locked(tx, token, username), reason)


def pardon(tx: Transaction, username: str, reason: str) -> Standing:
    """Lift a suspension or ban by the command line of the house. Raises UnknownUser or NotBarred."""
    return _lift(tx, _locked(tx, None, username), reason)


def strike(tx: Transaction, user_id: int, subject: str, reason: str, most: int, by: Account | None) -> bool:
    """Give a user a strike, and ban them if they have `most` now (0 for never); return whether that was so.

    `subject` is what they did not pay. The caller checks the right first. Staff are not banned by it, nor anyone
    who is barred already.
    """
    accounts.lock_user(tx, user_id)
    user, now = accounts.find(tx, user_id), tx.now()
    by_id = None if by is None else by.id
    rows.strike(tx, user_id, reason, subject, by_id, now)
    note(tx, by, Act.USER_STRUCK, user_id, {}, {"subject": subject}, reason)
    count = len(rows.struck(tx, user_id))
    if not most or count < most or user.bar is not None or user.role is not Role.MEMBER:
        return False
    ban = Bar(Sanction.BAN, reason)
    rows.bar(tx, user_id, ban, by_id, now, STRIKES)
    note(tx, by, Act.USER_BANNED, user_id, _facts(None), _facts(ban), reason)
    account_mails.tell(tx, user_id, "sanction", {"sanction": Sanction.BAN.value, "reason": reason, "until": None})
    return True


def forgive(tx: Transaction, by: Account, user_id: int, subject: str, reason: str) -> bool:
    """Forgive a strike. Return whether there was one. The caller checks the right first."""
    accounts.lock_user(tx, user_id)
    if not rows.forgive(tx, user_id, subject, by.id, tx.now(), reason):
        return False
    note(tx, by, Act.STRIKE_FORGIVEN, user_id, {"subject": subject}, {}, reason)
    return True


def lift_for_strikes(tx: Transaction, user_id: int, by: Account | None, reason: str) -> bool:
    """Lift the ban of a user for strikes, as nothing is owed any more; False if they are not banned for that."""
    accounts.lock_user(tx, user_id)
    if not rows.is_barred_for(tx, user_id, STRIKES):
        return False
    rows.lift(tx, user_id, None if by is None else by.id, tx.now(), reason)
    note(tx, by, Act.BAR_LIFTED, user_id, _facts(Bar(Sanction.BAN, reason)), _facts(None), reason)
    account_mails.tell(tx, user_id, "bar_lifted", {"sanction": Sanction.BAN.value, "reason": reason})
    return True


def take_over_strikes(tx: Transaction, source: int, target: int, by: Account) -> None:
    """Make the strikes of a guest those of the user they are, with the ban that followed; the caller checks the right first."""
    for user_id in sorted((source, target)):
        accounts.lock_user(tx, user_id)
    if not rows.give_strikes(tx, source, target):
        return
    was, user = accounts.find(tx, source).bar, accounts.find(tx, target)
    if (
        was is None
        or user.bar is not None
        or user.role is not Role.MEMBER
        or not rows.is_barred_for(tx, source, STRIKES)
    ):
        return
    rows.bar(tx, target, was, by.id, tx.now(), STRIKES)
    note(tx, by, Act.USER_BANNED, target, _facts(None), _facts(was), was.reason)
    account_mails.tell(tx, target, "sanction", {"sanction": was.kind.value, "reason": was.reason, "until": None})


def end_sessions(tx: Transaction, token: str, username: str, reason: str = "") -> None:
    """Log a user out everywhere. Raises Unauthenticated, MissingRight, Barred, UnknownUser, NotOneself or NotAboveThem."""
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    on = people.find(tx, username, lock=True)
    if on is None:
        raise UnknownUser
    rules.refuse_to_sanction(Person(by.id, by.role), Person(on.id, on.role), other_owners=True)
    accounts.delete_sessions(tx, on.id)
    note(tx, by, Act.SESSIONS_ENDED, on.id, {}, {}, reason)


def end_sessions_by_house(tx: Transaction, username: str, reason: str) -> int:
    """Log a user out everywhere by the command line of the house; return how many tokens ended. Raises UnknownUser."""
    on = people.find(tx, username, lock=True)
    if on is None:
        raise UnknownUser
    note(tx, None, Act.SESSIONS_ENDED, on.id, {}, {}, reason)
    return accounts.delete_sessions(tx, on.id)


def end_everybodys_sessions(tx: Transaction, reason: str) -> int:
    """Log all users out everywhere by the command line of the house, and return how many tokens ended."""
    note(tx, None, Act.SESSIONS_ENDED, "everybody", {}, {}, reason)
    return accounts.delete_all_sessions(tx)


def standing(tx: Transaction, token: str | None, username: str) -> Standing:
    """Return a user with all their sanctions, for staff. Raises Unauthenticated, MissingRight, Barred or UnknownUser."""
    authenticate(tx, token, Right.READ_PEOPLE)
    user = people.find(tx, username)
    if user is None:
        raise UnknownUser
    return _standing(tx, user)


def own(tx: Transaction, token: str | None) -> Standing:
    """Return the token's user with all their sanctions. Raises Unauthenticated or MissingRight."""
    return _standing(tx, authenticate(tx, token, Right.READ))


def read_warnings(tx: Transaction, token: str) -> None:
    """Note that the token's user has read all warnings. Raises Unauthenticated or MissingRight."""
    account = authenticate(tx, token, Right.ACCOUNT)
    if account.warning is not None:
        rows.read_warnings(tx, account.id, tx.now())


def _locked(tx: Transaction, token: str | None, username: str) -> _Parties:
    """Return who may act on whom, both locked until the transaction ends."""
    by = None if token is None else authenticate(tx, token, Right.SANCTION_PEOPLE)
    locked = people.lock(tx, username, None if by is None else by.id)
    # Somebody else may have sanctioned this user until the rows were locked.
    by = None if token is None else authenticate(tx, token, Right.SANCTION_PEOPLE)
    on = next((one for one in locked if one.username == username), None)
    if on is None:
        raise UnknownUser
    others = any(one.role is Role.OWNER and one.bar is None and one.id != on.id for one in locked)
    actor = None if by is None else Person(by.id, by.role)
    rules.refuse_to_sanction(actor, Person(on.id, on.role), other_owners=others)
    return _Parties(by, on, tx.now())


def _impose(tx: Transaction, who: _Parties, kind: Sanction, reason: str, until: datetime | None) -> Standing:
    rules.refuse_end(kind, until, who.now)
    by_id = None if who.by is None else who.by.id
    if kind is Sanction.WARNING:
        rows.warn(tx, who.on.id, reason, by_id, who.now)
        user = structs.replace(who.on, warning=reason)
    else:
        new = Bar(kind, reason, until)
        rows.bar(tx, who.on.id, new, by_id, who.now)
        user = structs.replace(who.on, bar=new)
    note(tx, who.by, _ACTS[kind], user.id, _facts(who.on.bar), _facts(user.bar), reason)
    end = None if until is None else instant(until)
    account_mails.tell(tx, user.id, "sanction", {"sanction": kind.value, "reason": reason, "until": end})
    return _standing(tx, user)


def _lift(tx: Transaction, who: _Parties, reason: str) -> Standing:
    was = rules.refuse_to_lift(who.on.bar)
    rows.lift(tx, who.on.id, None if who.by is None else who.by.id, who.now, reason)
    note(tx, who.by, Act.BAR_LIFTED, who.on.id, _facts(was), _facts(None), reason)
    account_mails.tell(tx, who.on.id, "bar_lifted", {"sanction": was.kind.value, "reason": reason})
    return _standing(tx, structs.replace(who.on, bar=None))


def _facts(bar: Bar | None) -> dict[str, str | int | bool | None]:
    """Return what bars a user, as the audit log has it."""
    if bar is None:
        return {"barred": None}
    return {"barred": bar.kind.value, "until": None if bar.until is None else instant(bar.until)}


def _standing(tx: Transaction, user: Account) -> Standing:
    return Standing(user, rows.history(tx, user.id, HISTORY_MAX))
