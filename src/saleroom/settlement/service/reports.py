"""The accounts of a sale, all from its journal: results, what the house took, who still owes, and whom it owes."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from saleroom.accounts.storage import accounts as users
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import consignors, participants
from saleroom.settlement.domain.desk_views import AccountsView, BalanceView, BuyerBalanceView, ConsignorBalanceView
from saleroom.settlement.domain.journal import Account, Book, balances
from saleroom.settlement.domain.rates.bills import Charge, Item
from saleroom.settlement.domain.reports.reporting import figures_of
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.journal import SaleBook
from saleroom.settlement.storage import journal
from saleroom.storage.database import Transaction

HEADINGS = {
    "en": (
        "Lot", "Paddle", "Consignor", "Hammer price", "Premium", "Tax", "Buyer pays", "Deductions", "Consignor gets",
        "Artist's resale right paid by the buyer",
    ),
    "de": (
        "Los", "Bieternummer", "Einlieferer", "Zuschlag", "Aufgeld", "Steuer", "Käufer zahlt", "Abzüge", "Einlieferer erhält",
        "Folgerecht, das der Käufer zahlt",
    ),
}  # fmt: skip
"""Hammer price, premium, tax and the last column are what the buyer pays. New columns stand behind those of before."""


def accounts(tx: Transaction, token: str, gid: str, places: int) -> AccountsView:
    """Return the accounts of a sale. Raises Unauthenticated, MissingRight or UnknownSale."""
    _, sale, book = begin(tx, token, gid, places)
    found = balances(one.posting for one in journal.moved(tx, sale.id))
    results = [one.settled.result for one in book.posted.values()]
    prices = [one.price for one in results if one.price is not None]
    return AccountsView(
        sale=gid,
        sold_lots=len(prices),
        unsold_lots=len(results) - len(prices),
        hammer_total=f"{sum(prices, ZERO):.3f}",
        too_large_lots=[*book.too_large],
        balances=[BalanceView(one.value, _text(_total(found, one))) for one in Book],
        buyers=_buyers(tx, sale, found, Counter(one.buyer for one in results if one.buyer is not None)),
        consignor_balances=_consignors(tx, found, Counter(one.consignor for one in results if one.price is not None)),
    )


def lot_rows(tx: Transaction, token: str, gid: str, places: int, language: str) -> list[list[Cell]]:
    """Return each lot that is over with what it costs and brings, for a sheet. Raises as `accounts`."""
    _, sale, book = begin(tx, token, gid, places)
    paddles = {one.user.id: one.paddle for one in participants.with_paddles(tx, sale.id)}
    return [list(HEADINGS[language]), *_rows(tx, book, paddles)]


def _rows(tx: Transaction, book: SaleBook, paddles: dict[int, int | None]) -> list[list[Cell]]:
    brought = {one.settled.result.consignor for one in book.posted.values()}
    codes = consignors.codes(tx, [number for number in brought if number is not None])
    rows: list[list[Cell]] = []
    for one in book.offered:
        posted = book.posted.get(one.lot.id)
        if posted is None:
            continue
        result, found = posted.settled.result, figures_of(posted.settled)
        rows.append(
            [
                one.lot.label,
                None if result.buyer is None else paddles.get(result.buyer),
                None if result.consignor is None else codes.get(result.consignor),
                found.hammer,
                _sum(posted.settled.bill.buyer, {Item.PREMIUM, Item.SURCHARGE}),
                found.tax,
                found.due,
                found.deductions,
                found.proceeds,
                _sum(posted.settled.bill.buyer, {Item.RESALE_RIGHT}),
            ]
        )
    return rows


def _buyers(tx: Transaction, sale: Sale, found: dict[Account, Decimal], bought: Counter[int]) -> list[BuyerBalanceView]:
    parties = {account.party for account in found if account.book is Book.BUYERS}
    known = participants.of_pairs(tx, [(sale.id, one) for one in parties if one is not None], locked=False)
    names = users.names_of(tx, [one for one in parties if one is not None])
    rows = []
    for user_id in parties - {None}:
        assert user_id is not None, "a buyer is a user"
        one = known.get((sale.id, user_id))
        username = names.get(user_id, "") if one is None else one.user.name
        rows.append(
            BuyerBalanceView(
                paddle=None if one is None else one.paddle,
                username=username,
                person_name=username if one is None else one.name or username,
                lots_bought=bought[user_id],
                owed=_text(found[Account(Book.BUYERS, user_id)]),
            )
        )
    return sorted(rows, key=lambda row: (row.paddle or 0, row.username))


def _consignors(
    tx: Transaction, found: dict[Account, Decimal], sold: Counter[int | None]
) -> list[ConsignorBalanceView]:
    rows = []
    balances_of = {
        account.party: balance
        for account, balance in found.items()
        if account.book is Book.CONSIGNORS and account.party is not None
    }
    for number, one in consignors.by_ids(tx, list(balances_of)).items():
        view = ConsignorBalanceView(
            consignor=one.code, person_name=one.name, lots_sold=sold[number], to_pay_out=_text(-balances_of[number])
        )
        rows.append(view)
    return sorted(rows, key=lambda row: row.consignor)


def _total(found: dict[Account, Decimal], book: Book) -> Decimal:
    return sum((amount for account, amount in found.items() if account.book is book), ZERO)


def _sum(lines: tuple[Charge, ...], items: set[Item]) -> Decimal:
    return sum((line.amount for line in lines if line.item in items), ZERO)


def _text(amount: Decimal) -> str:
    return f"{amount:.3f}"
