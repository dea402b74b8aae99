"""Drafts: saved, found, listed, deleted, each for their owner only."""

from __future__ import annotations

from saleroom.accounts.domain.rights import Right, Sellers
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.drafts import DRAFT_LIFETIME, DRAFTS_MAX, DraftForm, SavedDraft
from saleroom.bidding.domain.photos import PER_LOT_MAX
from saleroom.bidding.storage import drafts, photos
from saleroom.storage.database import Transaction

SWEPT_AT_ONCE = 100


def save(tx: Transaction, token: str, gid: str, form: DraftForm, sellers: Sellers = Sellers.EVERYONE) -> bool:
    """Save a draft with those photos of the form that are the user's. Return False if the user has too many drafts.

    Raises Unauthenticated, MissingRight, or for a new lot SellerNotApproved or OnlyStaffSells.
    """
    account = authenticate(tx, token, Right.SELL)
    if not form.changes_a_lot:
        account.refuse_to_offer(sellers)
    # Two requests of one user wait for each other here, so that only one of them takes the last place.
    accounts.lock_user(tx, account.id)
    if not drafts.exists(tx, account.id, gid) and drafts.count(tx, account.id) >= DRAFTS_MAX:
        return False
    found = photos.of_owner(tx, account.id, form.photos, lock=True)
    kept = [found[one].id for one in dict.fromkeys(form.photos) if one in found]
    drafts.save(tx, account.id, gid, form, kept[:PER_LOT_MAX], tx.now())
    return True


def find(tx: Transaction, token: str | None, gid: str) -> SavedDraft | None:
    """Return a draft of the user, if there is one. Raises Unauthenticated."""
    return drafts.find(tx, authenticate(tx, token, Right.READ).id, gid)


def newest(tx: Transaction, token: str | None) -> list[SavedDraft]:
    """Return the user's drafts without their photos, the last one written first. Raises Unauthenticated."""
    return drafts.newest(tx, authenticate(tx, token, Right.READ).id, DRAFTS_MAX)


def remove(tx: Transaction, token: str, gid: str) -> None:
    """Delete a draft, if it exists. Its photos are kept for as long as others that are on no lot. Raises Unauthenticated."""
    drafts.remove(tx, authenticate(tx, token, Right.SELL).id, gid)


def sweep(tx: Transaction) -> int:
    """Delete some of the drafts that nobody has written for a month, and return how many."""
    return drafts.sweep(tx, tx.now() - DRAFT_LIFETIME, SWEPT_AT_ONCE)
