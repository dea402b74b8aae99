"""What cashiers do at the desk of a sale: they take payments, pay buyers back, and pay consignors out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from saleroom.settlement.domain.journal import HandPayment


class BuyerPayments(Struct, frozen=True):
    """What a buyer pays, in several ways at once. `who` is the paddle or the username."""

    who: str
    payments: Sequence[HandPayment]


class BuyerRefund(Struct, frozen=True):
    """What a buyer gets back. `who` is the paddle or the username."""

    who: str
    back: HandPayment


class ConsignorPayout(Struct, frozen=True):
    """What the consignor with a code gets. If a payout to them is in doubt, somebody has to be sure of it."""

    code: str
    out: HandPayment
    is_sure: bool = False
