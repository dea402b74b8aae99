"""Messages for refusals and faults: every code has one, with its facts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from saleroom.accounts.web.words import WORDS as ACCOUNTS
from saleroom.bidding.domain.auction import TERMS
from saleroom.bidding.domain.errors import AuctionNotStarted, BidTooLow, TermsChanged
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.web.words import CHANGES, changes, soft_close
from saleroom.bidding.web.words import WORDS as BIDDING
from saleroom.http import problems
from saleroom.kernel.errors import Change, Fault, Invalid, Refusal, TooManyRequests
from saleroom.notices.web.words import WORDS as NOTICES
from saleroom.sales.web.words import WORDS as SALES
from saleroom.settlement.web.words import WORDS as SETTLEMENT
from saleroom.site.language import Languages, TranslatedFault
from saleroom.site.words import PLATFORM

WORDS = PLATFORM | ACCOUNTS | BIDDING | SALES | SETTLEMENT | NOTICES
SOURCE = Path(problems.__file__).parents[1]
PARTS = ("kernel", "accounts", "bidding", "sales", "settlement", "notices", "http", "site", "feed")
"""The folders whose faults reach users. Those of `storage` are for the owner's imports."""
ENGLISH, GERMAN = (Languages("EUR").negotiate(tag) for tag in ("en-GB", "de"))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MAKERS = {"Fault": 0, "Invalid.one": 1, "Contradiction.one": 1, "fault": 1}
"""The calls that make faults, and which of their arguments is the code."""


def refusals(kind: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """Yield every kind of refusal."""
    for one in kind.__subclasses__():
        yield one
        yield from refusals(one)


def fault_codes() -> set[str]:
    """Return the codes of all faults in the code, without those for which the page that finds them has a message."""
    found = set()
    files = (file for part in PARTS for file in (SOURCE / part).rglob("*.py") if "storage" not in file.parts)
    for file in files:
        for call in (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)):
            place = MAKERS.get(ast.unparse(call.func))
            if place is not None and len(call.args) > place + 1:
                code, message = call.args[place : place + 2]
                has_words = {"web", "site"} & {*file.parts} and not isinstance(message, (ast.Constant, ast.JoinedStr))
                if isinstance(code, ast.Constant) and not has_words:
                    found.add(str(code.value))
    return found


def test_there_are_words_for_every_refusal() -> None:
    """Each refusal of the house has messages for users."""
    known = {one.code for one in refusals() if one.__module__.startswith("saleroom.")} - {"problem", "changed"}
    assert {"bid_too_low", "busy", "csrf", "internal_error"} < known
    assert set() == known - WORDS.refusals.keys()
    assert set() == WORDS.headings.keys() - known


def test_there_are_words_for_every_fault() -> None:
    """Each fault that rules, fields and pages can find has a message for users."""
    known = fault_codes()
    assert {"money_decimals", "below_reserve_price", "text_length", "not_an_image", "malformed_form"} < known
    assert set() == known - WORDS.faults.keys()


@pytest.mark.parametrize("language", [ENGLISH, GERMAN], ids=["en", "de"])
def test_every_sentence_can_be_said(language: object) -> None:
    """Each message ends with a full stop, and the last variant of each needs no fact that may be missing."""
    reader = ENGLISH if language is ENGLISH else GERMAN
    for code, sentences in WORDS.refusals.items():
        assert all(words.endswith(".") for words in sentences), code
        made = type("Made", (Refusal,), {"code": code})("not said")
        assert "%(" not in WORDS.refusal(reader, made)
    numbers = {"least": 1, "most": 9, "limit": 2**20}
    for code in WORDS.faults:
        assert WORDS.fault(reader, Fault(code, "", **numbers)).endswith(".")


def test_a_refusal_has_its_facts() -> None:
    """Money is in the reader's language, an instant can be shown in the reader's time zone, and a wait is a duration."""
    assert "Your bid is too low. Bid €1,234.50 or more." == WORDS.refusal(
        ENGLISH, BidTooLow(minimum_bid=Decimal("1234.500"))
    )
    assert "1.234,50\u00a0€" in WORDS.refusal(GERMAN, BidTooLow(minimum_bid=Decimal("1234.500")))
    assert "as high as an amount can be" in WORDS.refusal(ENGLISH, BidTooLow(minimum_bid=None))
    shown = '<time datetime="2026-11-21T12:00:00.000000Z">21 Nov 2026, 12:00:00 UTC</time>'
    assert f"It opens on {shown}." in WORDS.refusal(ENGLISH, AuctionNotStarted(starts_at=NOON))
    assert "Try again in 2 minutes." in WORDS.refusal(ENGLISH, TooManyRequests(retry_after=120))
    assert "At most 64 kB can be sent" in WORDS.refusal(ENGLISH, problems.BodyTooLarge(limit=64 * 1024))


@pytest.mark.parametrize("language", [ENGLISH, GERMAN], ids=["en", "de"])
def test_there_are_words_for_every_change(language: object) -> None:
    """Each term that can change has a sentence, also for a term that had no value before or has none now."""
    reader = ENGLISH if language is ENGLISH else GERMAN
    assert {*TERMS} | {"photos"} == CHANGES.keys()
    for member in CHANGES:
        always = member in ("name", "starting_price")
        for was, now in ((NOON, NOON),) if always else ((NOON, NOON), (None, NOON), (NOON, None)):
            [sentence] = changes(reader, TermsChanged(changes=(Change(member, was, now),)))
            assert sentence.endswith(".") and "%(" not in sentence
    assert [] == changes(reader, None) == changes(reader, AuctionNotStarted())


def test_a_price_that_changed_is_told_with_both() -> None:
    """Both prices are in the reader's format, even 0, and a name stays text."""

    def sentence(*change: Any) -> str:
        return changes(ENGLISH, TermsChanged(changes=(Change(*change),)))[0]

    price = ("buy_now_price", Decimal("50.000"), Decimal("99999.000"))
    assert "The buy-now price was €50.00 and is now €99,999.00." == sentence(*price)
    [german] = changes(GERMAN, TermsChanged(changes=(Change(*price),)))
    assert "50,00\u00a0€" in german and "99.999,00\u00a0€" in german
    assert "The starting price was €0.00 and is now €1.00." == sentence(
        "starting_price", Decimal("0.000"), Decimal("1.000")
    )
    assert "The lot was called “&lt;b&gt;” and is now called “x”." == sentence("name", "<b>", "x")


def test_markup_in_a_fact_stays_text() -> None:
    """Markup in a fact is shown as text."""
    made = type("Made", (Refusal,), {"code": "made"})("<b>%(x)s</b>", x="<i>")
    assert "&lt;b&gt;&lt;i&gt;&lt;/b&gt;" == WORDS.refusal(ENGLISH, made)


def test_faults_go_by_their_fields() -> None:
    """Each field has each of its messages once, with their numbers. A message from the page stays as it is."""
    found = WORDS.field_faults(
        ENGLISH,
        Invalid(
            {
                "name": [Fault("text_length", "", least=1, most=200), Fault("text_characters", "")],
                "description": [Fault("text_length", "", least=0, most=10_000)],
                "increment": [Fault("step_not_positive", "one"), Fault("step_not_positive", "two")],
                "amount": [TranslatedFault("money_format", "Bitte so.")],
                "reserve": [Fault("money_format", "")],
            }
        ),
    )
    assert {
        "name": "Enter 1 to 200 characters. There are hidden control characters in this text, "
        "or too many marks on one character. Enter it again.",
        "description": "Enter at most 10,000 characters.",
        "increment": "Every step must be above zero.",
        "amount": "Bitte so.",
        "reserve": "Enter an amount such as 1,234.50.",
    } == found


def test_a_page_of_a_refusal_has_a_heading() -> None:
    """A refusal on a separate page has a heading and advice. Without its own heading, the page says that it did not work."""
    assert ("There is nothing here", WORDS.refusals["not_found"][0]) == WORDS.problem(ENGLISH, problems.NotFound())
    invalid = Invalid({"a": [Fault("required", "")], "b": [Fault("required", "")]})
    assert ("That did not work", "Please fill this in.") == WORDS.problem(ENGLISH, invalid)


def test_the_soft_close_is_told() -> None:
    """A soft close is one sentence with its durations, and with its cap if it has one."""
    assert "A bid in the last 90 seconds moves the end to 5 minutes after that bid." == soft_close(
        ENGLISH, SoftClose(window=90, extension=300)
    )
    assert "but never past <time" in soft_close(ENGLISH, SoftClose(window=90, extension=300, cap=NOON))
    assert "90 Sekunden" in soft_close(GERMAN, SoftClose(window=90, extension=300))
