"""Members: staff mark who pays and bears the rates of members, from now on and perhaps until an instant.

The mark of a user counts for what they buy, that of a consignor for what is sold for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Column

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import audit as audit_log
from saleroom.accounts.storage import people
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.kernel.page import Page, page_of
from saleroom.sales.domain.consignors import subject_of
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one
from saleroom.sales.storage import consignors, mergers, sales
from saleroom.settlement.domain.errors import OwnMembership
from saleroom.settlement.domain.member_views import MembershipView, MemberView, membership_view
from saleroom.settlement.domain.memberships import Mark, is_member, people_of, refuse_end
from saleroom.settlement.service.buyers import find_buyer
from saleroom.settlement.storage import memberships
from saleroom.settlement.storage.member_tables import memberships as rows
from saleroom.storage.database import Transaction

SALES_SHOWN = 50


class Whom(Struct, frozen=True, kw_only=True):
    """Whose membership it is: a user by name, a buyer of a sale by paddle or username, or a consignor by code."""

    username: str = ""
    sale: str | None = None
    consignor: str | None = None


class _Subject(Struct, frozen=True):
    """Somebody as the marks name them."""

    of: Column[Any]
    number: int
    subject: str | int


def mark(tx: Transaction, token: str, whom: Whom, until: datetime | None = None, *, member: bool) -> MembershipView:
    """Have somebody be a member from now on, or none any more; the same again changes nothing.

    Users are marked with the right to admit bidders, consignors with that to set rates. Raises Unauthenticated, MissingRight,
    UnknownUser, UnknownConsignor, OwnMembership for oneself without the right to set rates, or Contradiction for an end in the
    past or of no membership; for a buyer of a sale as `find_buyer` does, and UnknownSale.
    """
    staff = authenticate(tx, token, _right(whom))
    found = _known(tx, whom)
    if found.subject == staff.id and Right.SET_RATES not in staff.rights:
        raise OwnMembership
    refuse_end(until, tx.now(), is_member=member)
    last, now = _last(tx, found), _membership(tx, found)
    if member != now.is_member or (member and last is not None and last.until != until):
        new = Mark(since=tx.now(), is_member=member, until=until)
        number = memberships.add(tx, found.of, found.number, new, staff.id)
        _note(tx, staff, found, number, now, new)
    return _membership(tx, found)


def holding(tx: Transaction, token: str | None, whom: Whom) -> MembershipView:
    """Return whether somebody is a member now. Raises as `mark` does, but for the last two."""
    authenticate(tx, token, Right.READ).refuse_without(_right(whom))
    return _membership(tx, _known(tx, whom))


def listed(tx: Transaction, token: str | None, limit: int, before: int | None) -> Page[MemberView, int]:
    """Return a page of the members, the latest first. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.ADMIT_BIDDERS)
    page = page_of(memberships.members(tx, limit + 1, before), limit, lambda one: one.id)
    views = [
        MemberView(
            username=one.username,
            consignor=one.code,
            person_name=one.name,
            member_since=instant(one.since),
            member_until=maybe_instant(one.until),
        )
        for one in page.rows
    ]
    return page.with_rows(views)


def overview(
    tx: Transaction, token: str | None, limit: int, before: int | None
) -> tuple[Page[MemberView, int], list[Sale]]:
    """Return such a page with the latest sales, whose paddles can be marked. Raises as `listed`."""
    return listed(tx, token, limit, before), sales.newest(tx, public_only=True, limit=SALES_SHOWN)


def of_buyer(tx: Transaction, sale: Sale, user_id: int) -> MembershipView:
    """Return whether a buyer of a sale is a member now, also by the mark of somebody who was merged into them."""
    same = people_of([user_id], mergers.of_sale(tx, sale.id))
    views = [_membership(tx, _Subject(rows.c.user_id, one, one)) for one in sorted(same)]
    return next((one for one in views if one.is_member), views[0])


def faults(tx: Transaction) -> Iterator[str]:
    """Yield the marks that are not those of the audit log: one that was added, changed or deleted would change what is owed."""
    noted = {}
    for act in (Act.MEMBER_MARKED, Act.MEMBER_UNMARKED):
        for user_id, _, after in audit_log.of_act(tx, act):
            said = (user_id, act is Act.MEMBER_MARKED, after.get("since"), after.get("until"))
            noted[after.get("mark")] = said
    for row in memberships.all_rows(tx):
        said = (row.user_id, bool(row.is_member), instant(row.since), maybe_instant(row.until))
        if noted.pop(row.id, None) != said:
            yield f"membership {row.id}: it is not that of the audit log"
    yield from (f"membership {number}: it is in the audit log, and not there" for number in noted)


def _right(whom: Whom) -> Right:
    return Right.ADMIT_BIDDERS if whom.consignor is None else Right.SET_RATES


def _known(tx: Transaction, whom: Whom) -> _Subject:
    if whom.consignor is not None:
        consignor = consignors.find(tx, whom.consignor)
        if consignor is None:
            raise UnknownConsignor
        return _Subject(rows.c.consignor_id, consignor.id, subject_of(consignor.code))
    if whom.sale is not None:
        buyer = find_buyer(tx, get_one(tx, whom.sale, staff=True), whom.username)
        return _Subject(rows.c.user_id, buyer.id, buyer.id)
    user = people.find(tx, whom.username)
    if user is None:
        raise UnknownUser
    return _Subject(rows.c.user_id, user.id, user.id)


def _last(tx: Transaction, known: _Subject) -> Mark | None:
    marks = memberships.marks_of(tx, known.of, [known.number]).get(known.number, [])
    return marks[-1] if marks else None


def _membership(tx: Transaction, known: _Subject) -> MembershipView:
    last = _last(tx, known)
    return membership_view(last, is_member=last is not None and is_member([last], tx.now()))


def _note(tx: Transaction, staff: Staff, known: _Subject, number: int, was: MembershipView, new: Mark) -> None:
    """Note a mark with its number, so that a check can compare both."""
    act = Act.MEMBER_MARKED if new.is_member else Act.MEMBER_UNMARKED
    before = {"member": was.is_member, "until": was.member_until}
    after: Facts = {"mark": number, "since": instant(new.since), "until": maybe_instant(new.until)}
    audit.note(tx, staff, act, known.subject, before, after)
