"""Rights: the roles of a house, the kinds of acts, and the one table of which role may do what.

Each use case names the right that it needs. A role's rights are a row of `RIGHTS`; a token may have fewer, those of its scopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, OnlyStaffSells, RoleAboveOwn, SellerNotApproved
from saleroom.kernel.errors import MissingRight


class Role(StrEnum):
    """What a user is in the house."""

    OWNER = "owner"
    MANAGER = "manager"
    AUCTIONEER = "auctioneer"
    CLERK = "clerk"
    CASHIER = "cashier"
    CATALOGUER = "cataloguer"
    MEMBER = "member"


class Right(StrEnum):
    """A kind of act. `MEANINGS` says each in words."""

    READ = "read"
    ACCOUNT = "account"
    WATCH = "watch"
    ASK = "ask"
    BID = "bid"
    SELL = "sell"
    MODERATE_LOTS = "moderate_lots"
    VOID_BIDS = "void_bids"
    APPROVE_SELLERS = "approve_sellers"
    READ_PEOPLE = "read_people"
    SANCTION_PEOPLE = "sanction_people"
    MANAGE_PEOPLE = "manage_people"
    READ_OUTBOX = "read_outbox"
    POST_EVENTS = "post_events"
    READ_HEALTH = "read_health"
    READ_AUDIT = "read_audit"
    MANAGE_SALES = "manage_sales"
    CATALOGUE = "catalogue"
    ADMIT_BIDDERS = "admit_bidders"
    RUN_SALE = "run_sale"
    REOPEN_LOTS = "reopen_lots"
    SET_RATES = "set_rates"
    SETTLE = "settle"


class Scope(StrEnum):
    """What a token for a program was made for; a token without scopes is good for all that its user may do."""

    READ = "read"
    BID = "bid"
    SELL = "sell"
    STAFF = "staff"


class Sellers(StrEnum):
    """Who may offer lots, of those who have the right to sell."""

    EVERYONE = "everyone"
    APPROVED = "approved"
    STAFF = "staff"


MEANINGS: Mapping[Right, str] = {
    Right.READ: "read your own account, lots, bids and receipts",
    Right.ACCOUNT: "change your own password, contact and sessions",
    Right.WATCH: "watch lots",
    Right.ASK: "ask sellers questions",
    Right.BID: "bid and buy",
    Right.SELL: "offer lots and look after your own",
    Right.MODERATE_LOTS: "hide lots and cancel sales",
    Right.VOID_BIDS: "void bids",
    Right.APPROVE_SELLERS: "approve sellers",
    Right.READ_PEOPLE: "list and search users",
    Right.SANCTION_PEOPLE: "warn, suspend and ban users",
    Right.MANAGE_PEOPLE: "invite staff, give and take roles",
    Right.READ_OUTBOX: "see what the house has sent, and send it again",
    Right.POST_EVENTS: "have the events of all lots posted to a webhook",
    Right.READ_HEALTH: "see how the house fares",
    Right.READ_AUDIT: "read the audit log",
    Right.MANAGE_SALES: "make, publish and cancel sales of many lots",
    Right.CATALOGUE: "edit the catalogues of sales",
    Right.ADMIT_BIDDERS: "admit bidders to sales and give them paddles",
    Right.RUN_SALE: "run sales as their clerk",
    Right.REOPEN_LOTS: "reopen lots that the hammer has closed, and decide for their sellers",
    Right.SET_RATES: "make rate cards and choose which of them holds",
    Right.SETTLE: "take payments, pay out, issue documents, and read the accounts of sales",
}
"""Each right in words that go after "you may"."""

_MEMBER = frozenset({Right.READ, Right.ACCOUNT, Right.WATCH, Right.ASK, Right.BID, Right.SELL})
_AT_SALES = frozenset({Right.ADMIT_BIDDERS, Right.RUN_SALE})
"""What those do who are there on the day of a sale."""

RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.MANAGER: frozenset(Right) - {Right.READ_AUDIT},
    Role.AUCTIONEER: _MEMBER
    | _AT_SALES
    | {Right.MODERATE_LOTS, Right.VOID_BIDS, Right.READ_PEOPLE, Right.READ_HEALTH}
    | {Right.MANAGE_SALES, Right.CATALOGUE, Right.REOPEN_LOTS},
    Role.CLERK: _MEMBER | _AT_SALES | {Right.APPROVE_SELLERS, Right.READ_PEOPLE, Right.READ_OUTBOX},
    Role.CASHIER: _MEMBER | {Right.READ_PEOPLE, Right.SETTLE},
    Role.CATALOGUER: _MEMBER | {Right.MODERATE_LOTS, Right.CATALOGUE},
    Role.MEMBER: _MEMBER,
}
"""The rights of each role. The manager's acts stand in the audit log, so the owner alone reads it."""

STAFF_RIGHTS = frozenset(Right) - _MEMBER
"""The rights that no member has."""

SCOPE_RIGHTS: Mapping[Scope, frozenset[Right]] = {
    Scope.READ: frozenset({Right.READ}),
    Scope.BID: frozenset({Right.READ, Right.WATCH, Right.ASK, Right.BID}),
    Scope.SELL: frozenset({Right.READ, Right.SELL}),
    Scope.STAFF: STAFF_RIGHTS | {Right.READ},
}
"""The rights that each scope leaves to a token. None leaves the account: a token that leaks must not take it over."""

_RANKS: Mapping[Role, int] = {Role.OWNER: 3, Role.MANAGER: 2, Role.MEMBER: 0}
_STAFF_RANK = 1


def rank(role: Role) -> int:
    """Return how high a role stands. Nobody gives or takes a role above their own."""
    return _RANKS.get(role, _STAFF_RANK)


def is_staff(role: Role) -> bool:
    """Return whether a role is one of those who run the house."""
    return role is not Role.MEMBER


def rights_of(role: Role, scopes: frozenset[Scope] | None = None) -> frozenset[Right]:
    """Return the rights of a token: those of its user's role, and of these only what its scopes leave, if it has any."""
    if scopes is None:
        return RIGHTS[role]
    return RIGHTS[role] & frozenset().union(*(SCOPE_RIGHTS[scope] for scope in scopes))


def refuse_without(right: Right, role: Role, scopes: frozenset[Scope] | None = None) -> None:
    """Raise MissingRight unless the token of a user with this role has the right."""
    if right not in rights_of(role, scopes):
        raise missing(right)


def refuse_to_offer(sellers: Sellers, role: Role, *, approved: bool) -> None:
    """Raise SellerNotApproved or OnlyStaffSells unless such a user may offer a lot. Staff always may."""
    if sellers is Sellers.EVERYONE or is_staff(role):
        return
    if sellers is Sellers.STAFF:
        raise OnlyStaffSells
    if not approved:
        raise SellerNotApproved


def refuse_to_change_role(
    by: Role | None, was: Role, now: Role, *, other_owners: bool, own: bool = False, barred: bool = False
) -> None:
    """Raise RoleAboveOwn, NotAboveThem or LastOwner unless a user with the role `by` may change a role from `was` to `now`.

    `by` is None for the command line, which stands above all. `own` says whether it is the user's own role. `other_owners` says
    whether somebody else is an owner and not barred. Staff change the roles of those below them; owners, whom nobody stands
    above, also those of other owners. The role of a `barred` user is changed from above alone: otherwise those beside them
    could lift what those above imposed.
    """
    if by is not None and max(rank(was), rank(now)) > rank(by):
        raise RoleAboveOwn
    beside = by is not None and rank(by) <= rank(was)
    if beside and (barred or not (own or by is Role.OWNER)):
        raise NotAboveThem
    if was is Role.OWNER and now is not Role.OWNER and not other_owners:
        raise LastOwner


def missing(right: Right) -> MissingRight:
    """Return the refusal that names the right in words."""
    return MissingRight(
        f"You may not {MEANINGS[right]} here; ask those who run the house.", right=right.value, needs=None
    )


def missing_for_want_of_codes(right: Right) -> MissingRight:
    """Return the refusal of staff without a second factor. `needs` has the word that clients know, though passkeys do too."""
    message = "This house asks its staff for one-time codes, or a login by a passkey: either gives you the rights of your role."
    return MissingRight(message, right=right.value, needs="one_time_codes")
