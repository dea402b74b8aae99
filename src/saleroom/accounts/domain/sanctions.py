"""Sanctions: a warning, a suspension or a ban of a user, by staff above them, with a reason and perhaps an end."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, NotBarred, NotOneself
from saleroom.accounts.domain.rights import STAFF_RIGHTS, Right, Role, rank
from saleroom.kernel.errors import Barred, Contradiction
from saleroom.kernel.instants import instant


class Sanction(StrEnum):
    """What staff does about a user who breaks the rules of the house. A suspension has an end; a ban may have none.

    A strike is for an invoice that the user did not pay, and bars them from nothing by itself.
    """

    WARNING = "warning"
    SUSPENSION = "suspension"
    BAN = "ban"
    STRIKE = "strike"


IMPOSED = (Sanction.WARNING, Sanction.SUSPENSION, Sanction.BAN)
"""What staff imposes on anybody, with a reason of their own."""
BARS = (Sanction.SUSPENSION, Sanction.BAN)


BARRED_RIGHTS = frozenset({Right.ASK, Right.BID, Right.SELL}) | STAFF_RIGHTS
"""What a suspension or a ban takes. Users always read their own, change their account and watch lots."""


class Bar(Struct, frozen=True):
    """A suspension or a ban that is in force. `until` is its end; None if it has none."""

    kind: Sanction
    reason: str
    until: datetime | None = None

    def refuse(self, right: Right) -> None:
        """Raise Barred if it takes this right."""
        if right in BARRED_RIGHTS:
            state = "banned" if self.kind is Sanction.BAN else "suspended"
            end = "" if self.until is None else f" until {instant(self.until)}"
            message = f"You are {state} here{end}: {self.reason}"
            raise Barred(message, sanction=self.kind.value, reason=self.reason, until=self.until)


def in_force(bar: Bar | None, now: datetime) -> Bar | None:
    """Return the bar if it has not ended."""
    return bar if bar is not None and (bar.until is None or now < bar.until) else None


class Person(Struct, frozen=True):
    """A user as far as sanctions go: by number and role."""

    id: int
    role: Role


def refuse_to_sanction(by: Person | None, on: Person, *, other_owners: bool) -> None:
    """Raise NotOneself, NotAboveThem or LastOwner unless `by` may sanction the user `on`, or lift a sanction of theirs.

    `by` is None for the command line of the house. `other_owners` says whether somebody else is an owner and not barred.
    """
    if by is not None and by.id == on.id:
        raise NotOneself
    if by is not None and rank(by.role) <= rank(on.role):
        raise NotAboveThem
    if on.role is Role.OWNER and not other_owners:
        raise LastOwner


def refuse_end(kind: Sanction, until: datetime | None, now: datetime) -> None:
    """Raise Contradiction unless a sanction of this kind may have this end."""
    if kind is Sanction.SUSPENSION and until is None:
        raise Contradiction.one("until", "end_required", "is required: a suspension has an end, a ban may have none")
    if kind is Sanction.WARNING and until is not None:
        raise Contradiction.one("until", "end_of_warning", "must be left out: a warning has no end")
    if until is not None and until <= now:
        raise Contradiction.one("until", "end_in_past", "must be in the future")


def refuse_to_lift(bar: Bar | None) -> Bar:
    """Return the bar that is lifted. Raises NotBarred if there is none."""
    if bar is None:
        raise NotBarred
    return bar
