"""The JSON of memberships."""

from __future__ import annotations

from msgspec import Struct

from saleroom.kernel.instants import instant, maybe_instant
from saleroom.settlement.domain.memberships import Mark


class MembershipView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether somebody is a member now, since when they have this mark, and until when; null without."""

    is_member: bool
    member_since: str | None
    member_until: str | None


class MemberView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody who is a member now: a user, or a consignor by the code; the other one is null."""

    username: str | None
    consignor: str | None
    person_name: str
    member_since: str
    member_until: str | None


class MembersView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of the members, those who were marked last first."""

    members: list[MemberView]
    next: str | None


def membership_view(mark: Mark | None, *, is_member: bool) -> MembershipView:
    """Return a membership as JSON has it; `mark` is the last one."""
    if mark is None or not is_member:
        return MembershipView(is_member=False, member_since=None, member_until=None)
    return MembershipView(is_member=True, member_since=instant(mark.since), member_until=maybe_instant(mark.until))
