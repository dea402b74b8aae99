"""What banks say about payment files: what they accept or reject, and what follows (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.bank.payouts import UNDER_WAY, PayoutState, fits

REJECTED = "RJCT"
BOOKED = "BOOK"
"""Not a status of a report: what is kept of a statement that has booked a payout."""
ACCEPTED = frozenset(
    {"RCVD", "PDNG", "PART", "PATC", "ACTC", "ACCP", "ACFC", "ACSP", "ACPD", "ACWC", "ACWP", "ACSC", "ACCC"}
)
"""The statuses of a file that the bank has and does not reject (ISO 20022, external code sets, payment status)."""
VERIFIED = frozenset({"RCVC", "RVCM", "RVNC", "RVNM", "RVMC", "RVNA"})
"""What banks say of names and accounts before anybody has released the file (verification of payee)."""
TEXT_MAX = 500
"""The most characters that are kept of what a bank writes."""


class Doubt(StrEnum):
    """Why a person should look at what a bank has said of a payout."""

    OTHER_AMOUNT = "other_amount"
    CONTRADICTORY = "contradictory"
    UNKNOWN_STATUS = "unknown_status"
    UNKNOWN_TRANSFER = "unknown_transfer"
    REJECTED_AFTER_BOOKED = "rejected_after_booked"
    ACCEPTED_AFTER_FAILED = "accepted_after_failed"
    BOOKED_AFTER_FAILED = "booked_after_failed"
    BOOKED_TWICE = "booked_twice"


class BankAnswer(Struct, frozen=True):
    """What a bank says: a status, the code of the reason, and its own words. All of it may be empty."""

    status: str = ""
    code: str = ""
    text: str = ""


class Part(Struct, frozen=True, kw_only=True):
    """A transfer as a report has it. `amount` is None if the report does not say it."""

    known_by: str
    said: BankAnswer
    amount: Decimal | None = None
    currency: str = ""


class Whole(Struct, frozen=True, kw_only=True):
    """A file, or a block of it. `count` and `total` are None if the report does not say them."""

    known_by: str
    said: BankAnswer
    count: int | None = None
    total: Decimal | None = None


class Block(Struct, frozen=True):
    """A block of a file with its transfers, as far as the report names them."""

    whole: Whole
    parts: tuple[Part, ...]


class StatusReport(Struct, frozen=True, kw_only=True):
    """What a bank says about one file. `said_at` is the moment as the bank writes it."""

    message: str
    said_at: str
    file: Whole
    blocks: tuple[Block, ...]


class Verdict(Struct, frozen=True):
    """What a report says of one transfer."""

    said: BankAnswer
    doubt: Doubt | None = None


class _Above(Struct, frozen=True):
    """What a report says of all transfers of a file: of its blocks, otherwise of the file itself.

    `statuses` are those of the nearer of the two, and `reasons` the first reason of both for each status.
    """

    statuses: tuple[str, ...]
    reasons: Mapping[str, BankAnswer]
    rejects: bool
    has_other_sum: bool


def verdicts(report: StatusReport, transfers: Mapping[str, Decimal]) -> dict[str, Verdict]:
    """Return what a report says of the transfers of a file, which are given with their amounts by what banks know them by.

    What is said of the transfer itself goes before what is said of its block, and that before what is said of the file. A
    transfer of which nothing is said is left out.
    """
    named: dict[str, list[Part]] = {}
    for block in report.blocks:
        for one in block.parts:
            named.setdefault(one.known_by, []).append(one)
    above = _above(report, len(transfers), sum(transfers.values(), ZERO))
    found = {known_by: _verdict(named.get(known_by, []), amount, above) for known_by, amount in transfers.items()}
    return {known_by: one for known_by, one in found.items() if one is not None}


def _above(report: StatusReport, count: int, total: Decimal) -> _Above:
    blocks = [block.whole for block in report.blocks if block.whole.known_by == report.file.known_by]
    said = [one.said for one in (*blocks, report.file) if one.said.status]
    of_blocks = tuple(dict.fromkeys(one.said.status for one in blocks if one.said.status))
    return _Above(
        statuses=of_blocks or tuple(one.status for one in said),
        reasons={one.status: one for one in reversed(said) if one.code or one.text},
        rejects=any(one.status == REJECTED for one in said),
        has_other_sum=any(_other_sum(one, count, total) for one in (*blocks, report.file)),
    )


def _verdict(named: Sequence[Part], amount: Decimal, above: _Above) -> Verdict | None:
    own = [one.said for one in named if one.said.status]
    statuses = tuple(dict.fromkeys(one.status for one in own)) or above.statuses
    if not statuses:
        return None
    status = statuses[0]
    reasons = (one for one in own if one.status == status and (one.code or one.text))
    reason = next(reasons, above.reasons.get(status, BankAnswer()))
    found = BankAnswer(status, reason.code, reason.text)
    if len(statuses) > 1 or (above.rejects and status != REJECTED):
        return Verdict(found, Doubt.CONTRADICTORY)
    differs = any(one.amount is not None and not fits(one.amount, one.currency, amount) for one in named)
    if differs or (not own and above.has_other_sum):
        return Verdict(found, Doubt.OTHER_AMOUNT)
    is_known = status == REJECTED or status in ACCEPTED or status in VERIFIED
    return Verdict(found, None if is_known else Doubt.UNKNOWN_STATUS)


def _other_sum(one: Whole, count: int, total: Decimal) -> bool:
    return (one.count is not None and one.count != count) or (one.total is not None and one.total != total)


def follows(state: PayoutState, *, came_back: bool, overtaken: bool, found: Verdict) -> PayoutState | Doubt | None:
    """Return what follows from what a bank says of a payout: its next state, a doubt, or nothing.

    `came_back` is whether it failed after it was booked; `overtaken` whether the bank has said something else since.
    """
    if found.doubt is not None:
        return found.doubt
    if found.said.status == REJECTED:
        if state in UNDER_WAY:
            return PayoutState.FAILED
        return Doubt.REJECTED_AFTER_BOOKED if state is PayoutState.BOOKED else None
    if found.said.status in VERIFIED:
        return None
    if state is PayoutState.FAILED and not came_back and not overtaken:
        return Doubt.ACCEPTED_AFTER_FAILED
    return PayoutState.SENT if state is PayoutState.MADE else None


def follows_booking(
    state: PayoutState, *, came_back: bool, amount_fits: bool, booked_before: bool
) -> PayoutState | Doubt | None:
    """Return what follows from a booking of a payout that is on no statement before: its next state, a doubt, or nothing.

    `booked_before` is whether a statement had another booking of it. A person's note that it is booked is on none.
    """
    if state is PayoutState.FAILED and not came_back:
        return Doubt.BOOKED_AFTER_FAILED
    if not amount_fits:
        return Doubt.OTHER_AMOUNT
    if state in UNDER_WAY:
        return PayoutState.BOOKED
    return Doubt.BOOKED_TWICE if booked_before else None


def strangers(report: StatusReport, known: Collection[str]) -> list[tuple[str, BankAnswer]]:
    """Return what a report says of transfers, or of blocks without any, that the file does not have."""
    parts = [(one.known_by, one.said) for block in report.blocks for one in block.parts if one.known_by not in known]
    blocks = [
        block.whole for block in report.blocks if block.whole.known_by != report.file.known_by and not block.parts
    ]
    return [*parts, *((one.known_by, one.said) for one in blocks)]


def says_nothing(report: StatusReport) -> bool:
    """Return whether a report has no status at all."""
    every = [report.file.said, *(said for block in report.blocks for said in _of_block(block))]
    return not any(one.status for one in every)


def _of_block(block: Block) -> list[BankAnswer]:
    return [block.whole.said, *(one.said for one in block.parts)]


def is_before(said_at: str, other: str) -> bool:
    """Return whether a bank has said something before something else; no if the two moments cannot be compared."""
    one, two = datetime.fromisoformat(said_at), datetime.fromisoformat(other)
    return (one.tzinfo is None) == (two.tzinfo is None) and one < two


def digest_of_said(known_by: str, message: str, said_at: str, said: BankAnswer) -> str:
    """Return what one thing that a bank says is known by, in whatever file it comes."""
    facts = (known_by, message, said_at, said.status, said.code, said.text)
    return sha256("\x1f".join(facts).encode()).hexdigest()


def seal_of(digest: str, facts: Sequence[str]) -> str:
    """Return the digest of a row: of what was said, and of the facts that the house has added."""
    return sha256("\x1f".join((digest, *facts)).encode()).hexdigest()
