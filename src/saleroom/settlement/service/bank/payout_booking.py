"""Payouts on statements of the bank: booked, booked twice, or given back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.settlement.domain.bank import payouts as rules
from saleroom.settlement.domain.bank.payout_views import PayoutDebitView
from saleroom.settlement.domain.bank.payouts import Debit, PayoutState
from saleroom.settlement.domain.bank.status_reports import BOOKED, BankAnswer, Doubt, digest_of_said, follows_booking
from saleroom.settlement.service.bank.payouts import follow
from saleroom.settlement.storage import payout_reports, payouts
from saleroom.settlement.storage.payout_reports import BankReport
from saleroom.settlement.storage.payouts import Payout
from saleroom.storage.database import Transaction

RETURNED = "The bank has returned it."


def numbers_of(tx: Transaction, ids: Sequence[str]) -> dict[str, Payout]:
    """Return the payouts among what banks say, by what banks know them by."""
    return payouts.of_end_to_end(tx, {one for one in ids if rules.is_end_to_end(one)})


def book(tx: Transaction, staff: Staff, debits: Sequence[Debit]) -> int:
    """Note that a bank has booked payouts, whose sales are locked; return how many are booked by that.

    Each booking is kept with its payout, so that files which overlap do nothing twice, and a second one is seen. If one is in
    doubt, the consignor is not paid again in that sale before a person has looked at it.
    """
    done, seen = 0, Counter[Debit]()
    for one in debits:
        payout = numbers_of(tx, [one.end_to_end]).get(one.end_to_end)
        if payout is None:
            continue  # another payment of the house
        seen[one] += 1
        said, on = _said(one, seen[one]), one.on.isoformat()
        if payout_reports.known(tx, [digest_of_said(one.end_to_end, "", on, each) for each in said]):
            continue
        before = payout_reports.of_payouts(tx, [payout.id])[payout.id]
        next_ = follows_booking(
            payout.state,
            came_back=payout.back_entry_id is not None,
            amount_fits=rules.fits(one.amount, one.currency, payout.amount),
            booked_before=any(each.said.status == BOOKED and each.doubt is None for each in before),
        )
        if isinstance(next_, PayoutState):
            follow(tx, staff, payout, next_, None)
            done += 1
        doubt = next_ if isinstance(next_, Doubt) else None
        made = BankReport(payout_id=payout.id, message="", said_at=on, said=said[0], doubt=doubt, imported_at=tx.now())
        payout_reports.add(tx, made, one.end_to_end, staff.id)
    return done


def listed_in_doubt(tx: Transaction, token: str | None) -> list[PayoutDebitView]:
    """Return the bookings that a person has to look at. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    return in_doubt(tx)


def in_doubt(tx: Transaction) -> list[PayoutDebitView]:
    """Return the bookings of all statements that a person has to look at."""
    found = []
    for file, known_by, one in payout_reports.bookings_in_doubt(tx):
        amount, currency, *_ = one.said.text.split(" ") if one.said.text else ("0", "")
        found.append(
            PayoutDebitView(
                payment_file=file,
                end_to_end_id=known_by,
                booked_on=one.said_at,
                transferred=f"{Decimal(amount):.3f}",
                currency=currency,
                doubt="" if one.doubt is None else one.doubt.value,
            )
        )
    return found


def _said(one: Debit, place: int) -> list[BankAnswer]:
    """Return what is kept of a booking, and what versions of before kept; `place` is which of the same ones of a file it is."""
    amount = f"{one.amount:f} {one.currency}"
    if place > 1:
        return [BankAnswer(BOOKED, "", " ".join(part for part in (amount, one.reference, f"({place})") if part))]
    return [BankAnswer(BOOKED, "", f"{amount} {one.reference}".rstrip()), BankAnswer(BOOKED, "", amount)]


def take_back(tx: Transaction, staff: Staff, ids: Sequence[str], amount: Decimal, currency: str) -> int | None:
    """Note that a payout has come back by the bank, which names it; return the entry, None if it is none of the booked ones.

    Of one that was booked twice a person has to say which booking came back.
    """
    found = [one for one in numbers_of(tx, ids).values() if one.state is PayoutState.BOOKED]
    said = payout_reports.of_payouts(tx, [one.id for one in found])
    found = [one for one in found if not any(each.doubt is Doubt.BOOKED_TWICE for each in said[one.id])]
    if len(found) != 1 or not rules.fits(amount, currency, found[0].amount):
        return None
    return follow(tx, staff, found[0], PayoutState.FAILED, RETURNED)
