"""What follows from what a bank says: for each status and each state of a payout, at each level of the report."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.settlement.domain.bank.payouts import PayoutState
from saleroom.settlement.domain.bank.status_reports import (
    ACCEPTED,
    REJECTED,
    VERIFIED,
    BankAnswer,
    Block,
    Doubt,
    Part,
    StatusReport,
    Verdict,
    Whole,
    follows,
    is_before,
    strangers,
    verdicts,
)

FILE, KNOWN_BY = "PAY-2026-00001-9F3A2C", "PAY-2026-00001-9F3A2C-0001"
AMOUNT, OTHER = Decimal("86.910"), Decimal("13.090")
MADE, SENT, BOOKED, FAILED = PayoutState


def said(
    file: str = "",
    block: str = "",
    own: str = "",
    *,
    amount: Decimal | None = None,
    count: int | None = None,
    total: Decimal | None = None,
) -> StatusReport:
    """Return a report with a status at each level, and the reason `R` of the same level."""
    part = Part(known_by=KNOWN_BY, said=BankAnswer(own, own and "R3"), amount=amount, currency="EUR")
    blocks = (Block(Whole(known_by=FILE, said=BankAnswer(block, block and "R2")), (part,) if own or amount else ()),)
    whole = Whole(known_by=FILE, said=BankAnswer(file, file and "R1"), count=count, total=total)
    return StatusReport(message="B", said_at="2026-11-26T10:00:00", file=whole, blocks=blocks)


def verdict(report: StatusReport, *others: Decimal) -> Verdict | None:
    """Return what a report says of the transfer, in a file that has others of these amounts as well."""
    transfers = {KNOWN_BY: AMOUNT, **{f"other {place}": amount for place, amount in enumerate(others)}}
    return verdicts(report, transfers).get(KNOWN_BY)


class Blocks(tuple[Block, ...]):
    """Blocks that count how often somebody goes through them."""

    __slots__ = ()
    times = 0

    def __iter__(self) -> Iterator[Block]:
        """Count, and go through them."""
        Blocks.times += 1
        return super().__iter__()


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (("RJCT", "", ""), Verdict(BankAnswer("RJCT", "R1"))),
        (("", "RJCT", ""), Verdict(BankAnswer("RJCT", "R2"))),
        (("PART", "PART", "RJCT"), Verdict(BankAnswer("RJCT", "R3"))),
        (("ACCP", "", "RJCT"), Verdict(BankAnswer("RJCT", "R3"))),
        (("PART", "ACCP", ""), Verdict(BankAnswer("ACCP", "R2"))),
        (("PART", "", ""), Verdict(BankAnswer("PART", "R1"))),
        (("RJCT", "", "ACCP"), Verdict(BankAnswer("ACCP", "R3"), Doubt.CONTRADICTORY)),
        (("ACCP", "RJCT", "ACSC"), Verdict(BankAnswer("ACSC", "R3"), Doubt.CONTRADICTORY)),
        (("RJCT", "ACCP", ""), Verdict(BankAnswer("ACCP", "R2"), Doubt.CONTRADICTORY)),
        (("", "", "CANC"), Verdict(BankAnswer("CANC", "R3"), Doubt.UNKNOWN_STATUS)),
        (("", "", "RVNM"), Verdict(BankAnswer("RVNM", "R3"))),
        (("", "", ""), None),
    ],
)
def test_what_is_nearest_to_the_transfer_counts(levels: tuple[str, str, str], expected: Verdict | None) -> None:
    """The transfer goes before its block, that before the file; nothing is accepted within what is rejected."""
    assert expected == verdict(said(*levels), OTHER)


def test_another_amount_is_in_doubt() -> None:
    """Of the transfer itself, or of the file if nothing is said of the transfer; each that is not said is not compared."""
    other = Verdict(BankAnswer("RJCT", "R3"), Doubt.OTHER_AMOUNT)
    assert other == verdict(said(own="RJCT", amount=Decimal("86.900")), OTHER)
    assert Verdict(BankAnswer("RJCT", "R3")) == verdict(said(own="RJCT", amount=AMOUNT, count=9), OTHER)
    assert Verdict(BankAnswer("RJCT", "R1"), Doubt.OTHER_AMOUNT) == verdict(said("RJCT", count=3), OTHER)
    assert Verdict(BankAnswer("RJCT", "R1"), Doubt.OTHER_AMOUNT) == verdict(said("RJCT", total=AMOUNT), OTHER)
    assert Verdict(BankAnswer("RJCT", "R1")) == verdict(said("RJCT", count=2, total=AMOUNT + OTHER), OTHER)


def test_many_transfers_are_found_without_going_through_the_report_for_each() -> None:
    """A bank's report on thousands of payouts holds their sales for as long as it takes."""
    report, heard = (
        structs.replace(said("PART", "PART", "RJCT"), blocks=Blocks(said("PART", "PART", "RJCT").blocks)),
        [],
    )
    for count in (0, 100):
        before = Blocks.times
        assert Verdict(BankAnswer("RJCT", "R3")) == verdict(report, *[OTHER] * count)
        heard.append(Blocks.times - before)
    assert heard[0] == heard[1]


def test_one_transfer_twice_with_two_statuses_contradicts_itself() -> None:
    """Nobody can say which of the two holds; twice the same is once."""
    for two, doubt in (("ACCP", Doubt.CONTRADICTORY), ("RJCT", None)):
        parts = tuple(Part(known_by=KNOWN_BY, said=BankAnswer(status)) for status in ("RJCT", two))
        whole = Whole(known_by=FILE, said=BankAnswer())
        found = StatusReport(message="B", said_at="", file=whole, blocks=(Block(whole, parts),))
        one = verdict(found)
        assert one is not None and doubt == one.doubt


def test_what_the_file_does_not_have_is_named() -> None:
    """A transfer with another number, and a block with another number that says something without transfers."""
    one = Block(Whole(known_by="other", said=BankAnswer("RJCT")), ())
    two = Block(Whole(known_by=FILE, said=BankAnswer()), (Part(known_by="nobody", said=BankAnswer("ACCP")),))
    whole = Whole(known_by=FILE, said=BankAnswer())
    found = StatusReport(message="B", said_at="", file=whole, blocks=(one, two))
    assert [("nobody", BankAnswer("ACCP")), ("other", BankAnswer("RJCT"))] == strangers(found, [KNOWN_BY])
    assert None is verdict(found)


@pytest.mark.parametrize(
    ("state", "came_back", "rejected", "accepted", "verified"),
    [
        (MADE, False, FAILED, SENT, None),
        (SENT, False, FAILED, None, None),
        (BOOKED, False, Doubt.REJECTED_AFTER_BOOKED, None, None),
        (FAILED, False, None, Doubt.ACCEPTED_AFTER_FAILED, None),
        (FAILED, True, None, None, None),
    ],
)
def test_each_state_has_its_outcome(
    state: PayoutState,
    came_back: bool,
    rejected: PayoutState | Doubt | None,
    accepted: PayoutState | Doubt | None,
    verified: PayoutState | Doubt | None,
) -> None:
    """For each status that banks give; what has moved money never moves it again by a report."""
    expected = {REJECTED: rejected, **dict.fromkeys(ACCEPTED, accepted), **dict.fromkeys(VERIFIED, verified)}
    found = {
        status: follows(state, came_back=came_back, overtaken=False, found=Verdict(BankAnswer(status)))
        for status in expected
    }
    assert expected == found


def test_what_was_overtaken_is_no_doubt() -> None:
    """The acceptance of the morning, imported after the rejection of the afternoon, is only noted."""
    accepted = Verdict(BankAnswer("ACTC"))
    assert None is follows(FAILED, came_back=False, overtaken=True, found=accepted)
    assert is_before("2026-11-26T09:00:00", "2026-11-26T15:00:00")
    assert not is_before("2026-11-26T09:00:00", "2026-11-26T15:00:00+01:00"), "nobody knows the zone of the first"


@given(
    st.sampled_from(["", "RJCT", "ACCP", "PART", "PDNG", "CANC"]),
    st.sampled_from(["", "RJCT", "ACCP", "PART"]),
    st.sampled_from(["", "RJCT", "ACSC", "XXXX"]),
    st.sampled_from([None, AMOUNT, OTHER]),
    st.sampled_from([*PayoutState]),
    st.booleans(),
)
def test_a_payout_fails_only_by_a_plain_rejection(
    file: str, block: str, own: str, amount: Decimal | None, state: PayoutState, overtaken: bool
) -> None:
    """Under way before, rejected where it counts, and nothing in the report against it; it is never booked by a report."""
    found = verdict(said(file, block, own, amount=amount), OTHER)
    if found is None:
        assert not own and not block and not file
        return
    next_ = follows(state, came_back=False, overtaken=overtaken, found=found)
    assert next_ is not PayoutState.BOOKED
    if next_ is PayoutState.FAILED:
        assert state in (MADE, SENT)
        assert "RJCT" == (own or block or file)
        assert amount in (None, AMOUNT)
