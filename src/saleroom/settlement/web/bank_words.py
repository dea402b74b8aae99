"""The words of the pages for what banks say of payouts: statuses, reasons, and doubts.

The codes are those of ISO 20022 (external code sets), their German words those of the German banks (DFÜ-Abkommen, Anlage 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saleroom.settlement.domain.bank.payout_views import BankAnswerView
from saleroom.settlement.domain.bank.status_reports import Doubt
from saleroom.site.language import N_, Language

STATUSES: Mapping[str, str] = {
    "RJCT": N_("rejected"),
    "RCVD": N_("received"),
    "PDNG": N_("still being checked"),
    "PART": N_("accepted in part"),
    "PATC": N_("accepted in part, others have to release it"),
    "ACTC": N_("accepted, the form is right"),
    "ACCP": N_("accepted, the data are right"),
    "ACFC": N_("accepted, there is enough money"),
    "ACSP": N_("accepted, it is being carried out"),
    "ACPD": N_("accepted, it is being carried out"),
    "ACWC": N_("accepted with a change"),
    "ACWP": N_("accepted, not on their account yet"),
    "ACSC": N_("carried out"),
    "ACCC": N_("arrived on their account"),
    "RCVC": N_("the names fit the accounts"),
    "RVCM": N_("some names do not fit their accounts"),
    "RVNC": N_("names could not be compared with all accounts"),
    "RVNM": N_("the name does not fit the account"),
    "RVMC": N_("the name fits the account nearly"),
    "RVNA": N_("the name could not be compared with the account"),
    "BOOK": N_("booked by the statement"),
}
REASONS: Mapping[str, str] = {
    "AC01": N_("The account number is wrong."),
    "AC03": N_("The account number of the receiver is wrong."),
    "AC04": N_("The account is closed."),
    "AC06": N_("The account is blocked."),
    "AC13": N_("The account is of a kind that this cannot go to."),
    "AG01": N_("This account takes no such transfer."),
    "AG02": N_("The kind of transfer is wrong."),
    "AM01": N_("The amount is zero."),
    "AM02": N_("The amount is not allowed."),
    "AM03": N_("The currency is not allowed."),
    "AM04": N_("There is not enough money on the account of the house."),
    "AM05": N_("The bank has this transfer already."),
    "AM09": N_("The amount is wrong."),
    "AM10": N_("The sum of the file is wrong."),
    "BE01": N_("The name does not fit the account."),
    "BE04": N_("The address is missing or wrong."),
    "BE05": N_("The bank does not know who sends it."),
    "BE06": N_("The bank does not know the receiver."),
    "CNOR": N_("The bank of the receiver takes no such transfer."),
    "CURR": N_("The currency is wrong."),
    "CUST": N_("The house has asked for it."),
    "DNOR": N_("The bank of the house sends no such transfer."),
    "DT01": N_("The day is wrong."),
    "DU01": N_("The bank has a file with this number already."),
    "DUPL": N_("The bank has it already."),
    "ED05": N_("The banks could not settle it."),
    "FF01": N_("The form of the file is wrong."),
    "FOCR": N_("It was recalled."),
    "MD07": N_("The holder of the account has died."),
    "MS02": N_("The customer gives no reason."),
    "MS03": N_("The bank gives no reason."),
    "NOAS": N_("The customer did not answer."),
    "RC01": N_("The bank (BIC) is wrong."),
    "RC04": N_("The bank of the receiver is wrong."),
    "RF01": N_("Its number is not unique."),
    "RR01": N_("Regulatory reasons: the account of the sender is missing."),
    "RR02": N_("Regulatory reasons: name or address of the sender is missing."),
    "RR03": N_("Regulatory reasons: name or address of the receiver is missing."),
    "RR04": N_("Regulatory reasons."),
    "SL01": N_("A service of the bank does not allow it."),
    "TM01": N_("It came after the cut-off time of the bank."),
}
DOUBTS: Mapping[Doubt, str] = {
    Doubt.OTHER_AMOUNT: N_("This is another amount than that of the payout."),
    Doubt.CONTRADICTORY: N_("The report contradicts itself about this payout."),
    Doubt.UNKNOWN_STATUS: N_("The house does not know this status."),
    Doubt.UNKNOWN_TRANSFER: N_("The payment file has no such transfer."),
    Doubt.REJECTED_AFTER_BOOKED: N_(
        "The bank rejects what it has booked. It will give it back, or has made a mistake."
    ),
    Doubt.ACCEPTED_AFTER_FAILED: N_("The bank accepts what had failed. If it pays, the consignor has the money."),
    Doubt.BOOKED_AFTER_FAILED: N_("The bank has booked what had failed. The consignor may have the money."),
    Doubt.BOOKED_TWICE: N_("The bank has booked this payout twice. Ask it to give one of the two back."),
}


def said_of(language: Language, one: BankAnswerView) -> str:
    """Return in words what a bank has said of a payout: the status, and the reason with its code."""
    said = language.gettext(STATUSES[one.bank_status]) if one.bank_status in STATUSES else one.bank_status
    if one.bank_reason is None:
        return said
    reason = REASONS.get(one.bank_reason)
    return f"{said}: {one.bank_reason}" if reason is None else f"{said}: {language.gettext(reason)} ({one.bank_reason})"


def booked_as(language: Language, one: BankAnswerView) -> str:
    """Return what a booking of a statement says: its amount, and what the bank knows it by. The words go after some years."""
    amount, currency, *known_by = (one.bank_text or "").split(" ")[:3] if one.bank_text else ("", "")
    return " ".join([language.money_in(amount, currency), *known_by]) if amount else ""


def bank_time(language: Language, one: BankAnswerView) -> str:
    """Return when a bank has said something: the day as the reader writes it, and the time as the bank has it."""
    day, _, time = one.said_at.partition("T")
    return " ".join(part for part in (language.day(day), time) if part)


def doubts_in(language: Language) -> dict[str, Any]:
    """Return the words of all doubts, by their codes."""
    return {doubt.value: language.gettext(said) for doubt, said in DOUBTS.items()}
