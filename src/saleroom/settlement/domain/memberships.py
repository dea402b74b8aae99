"""Memberships: who pays and bears the rates of members, and when (docs/rules.md, "After the hammer").

A member of a club or a society is a person with a mark, not a user with the role `member`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from saleroom.kernel.errors import Contradiction


class Mark(Struct, frozen=True, kw_only=True):
    """That somebody is a member, or is none, from the instant `since` on.

    A membership ends at the instant `until`, which it does not include; None for one without an end.
    """

    since: datetime
    is_member: bool
    until: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Return whether it makes somebody a member at an instant after it was set."""
        return self.is_member and (self.until is None or at < self.until)


def is_member(marks: Sequence[Mark], at: datetime) -> bool:
    """Return whether somebody is a member at an instant: the last mark that was set by then says it.

    `marks` are in the order in which they were set.
    """
    set_by_then = [one for one in marks if one.since <= at]
    return bool(set_by_then) and set_by_then[-1].holds(at)


class Members(Struct, frozen=True):
    """The marks of the buyers of a sale by the number of the user, and of its consignors by theirs.

    `merged` is who those who were merged in the sale are now. Two who are one person are a member if one of them is.
    """

    buyers: Mapping[int, Sequence[Mark]]
    consignors: Mapping[int, Sequence[Mark]]
    merged: Mapping[int, int]

    def has_bought(self, user_id: int | None, at: datetime) -> bool:
        """Return whether the buyer of a lot is a member when it is sold; `user_id` is who they are after all mergers."""
        same: Iterable[int] = (one for one in self.buyers if self.merged.get(one, one) == user_id)
        return any(is_member(self.buyers[one], at) for one in same)

    def has_sold(self, consignor_id: int | None, at: datetime) -> bool:
        """Return whether the consignor of a lot is a member when it is sold."""
        return consignor_id is not None and is_member(self.consignors.get(consignor_id, ()), at)


def people_of(users: Collection[int], merged: Mapping[int, int]) -> set[int]:
    """Return these users with all who were merged into them."""
    return {*users, *(source for source, target in merged.items() if target in users)}


def refuse_end(until: datetime | None, now: datetime, *, is_member: bool) -> None:
    """Raise Contradiction unless a membership may end then; only a member has an end."""
    if until is None:
        return
    if not is_member:
        raise Contradiction.one("until", "no_membership", "must not be given for somebody who is no member")
    if until <= now:
        raise Contradiction.one("until", "end_in_past", "must be in the future")
