"""The bank accounts of consignors: given and changed by themselves with their password, or by staff; whole for staff alone."""

from __future__ import annotations

from collections.abc import Sequence

from saleroom.accounts.domain.accounts import Account as User
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.kernel.errors import Refusal
from saleroom.kernel.instants import instant
from saleroom.sales.domain.consignors import subject_of
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.sales.storage import consignors
from saleroom.sales.storage.consignors import Consignor
from saleroom.settlement.domain.bank.payout_views import PayoutAccountsView, PayoutAccountView
from saleroom.settlement.domain.bank.transfers import BankAccount
from saleroom.settlement.service import money_mails
from saleroom.settlement.storage import payout_accounts
from saleroom.settlement.storage.payout_accounts import StoredAccount
from saleroom.storage.database import Transaction


def shown(tx: Transaction, token: str | None, code: str) -> PayoutAccountView:
    """Return the account of a consignor, with the whole number. Raises Unauthenticated, MissingRight or UnknownConsignor."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    return _views(tx, [_known(tx, code)], whole=True)[0]


def change(tx: Transaction, token: str, code: str, account: BankAccount | None) -> PayoutAccountView:
    """Give a consignor an account as staff, or take it away. Raises Unauthenticated, MissingRight or UnknownConsignor."""
    staff = authenticate(tx, token, Right.SETTLE)
    found = _known(tx, code)
    before, after = _given(tx, found, account)
    audit.note(tx, staff, Act.PAYOUT_ACCOUNT_CHANGED, subject_of(code), {"iban": before}, {"iban": after})
    return _views(tx, [found], whole=True)[0]


def mine(tx: Transaction, token: str | None) -> PayoutAccountsView:
    """Return the accounts of the consignors that a user is, masked. Raises Unauthenticated or MissingRight."""
    return _of_user(tx, authenticate(tx, token, Right.ACCOUNT).id)


def change_own(tx: Transaction, user: User, code: str, account: BankAccount | None) -> PayoutAccountsView | Refusal:
    """Give one of the consignors that a user is an account; the user has just given the password."""
    found = next((one for one in consignors.of_user(tx, user.id) if one.code == code), None)
    if found is None:
        return UnknownConsignor()
    _given(tx, found, account)
    return _of_user(tx, user.id)


def _given(tx: Transaction, of: Consignor, account: BankAccount | None) -> tuple[str | None, str | None]:
    """Store an account and tell its consignor; return what is shown of the one before and of this one."""
    kept = payout_accounts.of_consignors(tx, [of.id]).get(of.id)
    before = None if kept is None else kept.account.masked
    payout_accounts.give(tx, of.id, account)
    if of.user_id is not None:
        money_mails.tell_of_account(tx, of.user_id, of.code)
    return before, None if account is None else account.masked


def _known(tx: Transaction, code: str) -> Consignor:
    found = consignors.find(tx, code)
    if found is None:
        raise UnknownConsignor
    return found


def _of_user(tx: Transaction, user_id: int) -> PayoutAccountsView:
    return PayoutAccountsView(_views(tx, consignors.of_user(tx, user_id), whole=False))


def _views(tx: Transaction, some: Sequence[Consignor], *, whole: bool) -> list[PayoutAccountView]:
    kept = payout_accounts.of_consignors(tx, [one.id for one in some])
    return [_view(one, kept.get(one.id), whole=whole) for one in some]


def _view(of: Consignor, kept: StoredAccount | None, *, whole: bool) -> PayoutAccountView:
    if kept is None:
        return PayoutAccountView(consignor=of.code, account_holder=None, iban=None, bic=None, changed_at=None)
    account = kept.account
    return PayoutAccountView(
        consignor=of.code,
        account_holder=account.holder,
        iban=account.iban if whole else account.masked,
        bic=account.bic or None,
        changed_at=instant(kept.changed_at),
    )
