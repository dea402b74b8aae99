"""The audit log: reasons of acts, and words for each act."""

import pytest

from saleroom.accounts.domain.audit import ACTS, REASON_CHARACTERS_MAX, Act, parse_reason
from saleroom.kernel.errors import Fault


def test_every_act_has_words() -> None:
    """No act is without words, and they are in the order of the acts."""
    assert list(Act) == list(ACTS)


@pytest.mark.parametrize(("text", "reason"), [("  at the desk \n", "at the desk"), ("", ""), (" ", "")])
def test_a_reason_is_trimmed(text: str, reason: str) -> None:
    """The white space around a reason goes, and it may be empty."""
    assert reason == parse_reason(text)


def test_a_reason_has_a_length() -> None:
    """A reason of 500 characters is taken, a longer one refused with the length that it may have."""
    assert REASON_CHARACTERS_MAX == len(str(parse_reason("x" * REASON_CHARACTERS_MAX)))
    fault = parse_reason("x" * (REASON_CHARACTERS_MAX + 1))
    assert isinstance(fault, Fault)
    assert Fault("text_length", "must have at most 500 characters") == fault
    assert {"most": 500} == fault.facts


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "a\u202eb", "\u200b"])
def test_a_reason_is_one_line_that_hides_nothing(text: str) -> None:
    """Line breaks, controls, directions and invisible text are refused."""
    fault = parse_reason(text)
    assert isinstance(fault, Fault)
    assert "text_characters" == fault.code
