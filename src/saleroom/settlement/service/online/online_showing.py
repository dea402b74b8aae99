"""Payments by card online shown: all to those who settle, and to buyers those of their own invoices."""

from __future__ import annotations

from collections.abc import Sequence

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.kernel.instants import instant
from saleroom.kernel.page import Page, page_of
from saleroom.sales.storage import mergers, sales
from saleroom.settlement.domain.online.online_views import (
    OnlinePaymentView,
    OnlineRefundView,
    OwnPaymentsView,
    OwnPaymentView,
)
from saleroom.settlement.service.buyers import buyers_of
from saleroom.settlement.service.online.online_paying import own_document, payable
from saleroom.settlement.storage import documents, online
from saleroom.settlement.storage.online import OnlinePayment, OnlineRefund
from saleroom.storage.database import Transaction


def refuse(tx: Transaction, token: str, right: Right) -> None:
    """Raise Unauthenticated or MissingRight unless a user has the right."""
    authenticate(tx, token, right)


def listed(tx: Transaction, token: str | None, limit: int, before: int | None) -> Page[OnlinePaymentView, int]:
    """Return a page of payments, the newest first. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    page = page_of(online.newest(tx, limit + 1, before), limit, lambda one: one.id)
    return page.with_rows(views(tx, page.rows))


def views(tx: Transaction, found: Sequence[OnlinePayment]) -> list[OnlinePaymentView]:
    """Return payments as those who settle see them."""
    back = online.refunds(tx, [one.id for one in found])
    of_sales = sales.by_ids(tx, {one.sale_id for one in found})
    invoices = documents.find_all(tx, {one.document for one in found})
    people = mergers.persons(tx, {(one.sale_id, one.user_id) for one in found})
    buyers = buyers_of(tx, {(sale_id, person) for (sale_id, _), person in people.items()})
    shown = []
    for one in found:
        sale, invoice = of_sales[one.sale_id], invoices.get(one.document)
        buyer = buyers[sale.id, people[sale.id, one.user_id]]
        shown.append(
            OnlinePaymentView(
                online_payment=one.gid,
                document=one.document,
                document_number="" if invoice is None else invoice.document.number,
                sale=sale.gid,
                sale_title=sale.terms.title,
                buyer=str(buyer.paddle or buyer.username),
                charged=f"{one.amount:.3f}",
                currency=one.currency,
                payment_state=one.state,
                asked_at=instant(one.asked_at),
                received=None if one.received is None else f"{one.received:.3f}",
                dispute=one.dispute,
                trouble=one.trouble,
                provider_name=one.intent or one.session,
                refunds=[_refund_view(refund) for refund in back[one.id]],
            )
        )
    return shown


def _refund_view(one: OnlineRefund) -> OnlineRefundView:
    return OnlineRefundView(
        online_refund=one.gid,
        refund_amount=f"{one.amount:.3f}",
        refund_state=one.state,
        asked_at=instant(one.asked_at),
        failure=one.reason,
    )


def of_own(tx: Transaction, token: str | None, gid: str, currency: str) -> OwnPaymentsView:
    """Return the payments of one of a user's own documents. Raises Unauthenticated or UnknownDocument."""
    viewer = authenticate(tx, token, Right.READ)
    invoice = own_document(tx, viewer.id, gid)
    amount = payable(tx, invoice, currency)
    return OwnPaymentsView(
        payable=None if amount is None else f"{amount:.3f}",
        own_payments=[
            OwnPaymentView(
                online_payment=one.gid,
                charged=f"{one.amount:.3f}",
                currency=one.currency,
                payment_state=one.state,
                asked_at=instant(one.asked_at),
                received=None if one.received is None else f"{one.received:.3f}",
            )
            for one in online.of_document(tx, invoice.id)
        ],
    )
