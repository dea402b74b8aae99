"""The JSON of the cashier's desk: what a buyer owes, what a consignor gets, and the accounts of a sale."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.kernel.instants import instant
from saleroom.settlement.domain.documents.document_views import DocumentRowView
from saleroom.settlement.domain.member_views import MembershipView
from saleroom.settlement.domain.online.online_views import OnlinePaymentView
from saleroom.settlement.domain.rates.bills import Bill
from saleroom.settlement.domain.rates.cards import BillView, bill_view


class SettledLotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot with what it costs and brings, line by line."""

    label: str
    lot_name: str
    bill: BillView


class MoneyView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Money that moved: positive to the house, negative from it."""

    paid_at: str
    method: str
    moved: str


class OwnLotsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lots that a buyer brought to the sale: as which consignor, and what the house owes them for these."""

    consignor: str
    to_pay_out: str


class LotToCreditView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot on a document that states something else than what the lot has come to since: credit its lines there first."""

    label: str
    document: str
    document_number: str


class DeskView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A buyer at the desk. `owed` is what is left to pay; negative if the house owes it to them.

    `lots_to_credit` are lots that they bought, and lots on invoices of theirs. `payment_receipt` is that of the payment that
    was just taken or paid back, `issued_invoice` the invoice that was issued with it. `to_invoice` is whether lots or pledges
    are on no invoice yet. `to_pay_back` is what the house owes without what is on its way back to cards. `online_payments`
    are those that were paid.
    """

    sale: str
    paddle: int | None
    username: str
    person_name: str
    settled_lots: list[SettledLotView]
    money: list[MoneyView]
    owed: str
    owed_in_cash: str
    change: str
    own_lots: OwnLotsView | None
    too_large_lots: list[str]
    lots_to_credit: list[LotToCreditView]
    payment_receipt: str | None
    issued_invoice: str | None = None
    to_invoice: bool
    documents: list[DocumentRowView]
    to_pay_back: str
    online_payments: list[OnlinePaymentView]
    membership: MembershipView


class StatementView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A consignor's lots in a sale. `to_pay_out` is what the house owes them; negative if they owe it.

    `payment_receipt` is that of the payout that was just made. `is_in_doubt` is whether a person has to look first into what
    the bank has said of a payout to them.
    """

    sale: str
    consignor: str
    person_name: str
    settled_lots: list[SettledLotView]
    money: list[MoneyView]
    to_pay_out: str
    too_large_lots: list[str]
    lots_to_credit: list[LotToCreditView]
    payment_receipt: str | None
    documents: list[DocumentRowView]
    is_in_doubt: bool


class BalanceView(Struct, frozen=True, rename="camel"):
    """An account of the house in a sale: a positive balance is there or owed to the house."""

    ledger_account: str
    balance: str


class BuyerBalanceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A buyer of a sale, and what is left to pay."""

    paddle: int | None
    username: str
    person_name: str
    lots_bought: int
    owed: str


class ConsignorBalanceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A consignor of a sale, and what the house owes them."""

    consignor: str
    person_name: str
    lots_sold: int
    to_pay_out: str


class AccountsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The accounts of a sale, all from its journal. `hammer_total` is the sum of the hammer prices."""

    sale: str
    sold_lots: int
    unsold_lots: int
    hammer_total: str
    too_large_lots: list[str]
    balances: list[BalanceView]
    buyers: list[BuyerBalanceView]
    consignor_balances: list[ConsignorBalanceView]


def settled_lot(label: str, name: str, bill: Bill) -> SettledLotView:
    """Return a lot with its bill as JSON has it."""
    return SettledLotView(label=label, lot_name=name, bill=bill_view(bill))


def lot_to_credit(label: str, gid: str, number: str) -> LotToCreditView:
    """Return a lot and the document on which it is to be credited, as JSON has it."""
    return LotToCreditView(label=label, document=gid, document_number=number)


def money_view(at: datetime, method: str, amount: Decimal) -> MoneyView:
    """Return money that moved as JSON has it."""
    return MoneyView(paid_at=instant(at), method=method, moved=f"{amount:.3f}")
