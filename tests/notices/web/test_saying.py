"""What letters say: instants by the clock of the house, in the words of the reader."""

import pytest

from saleroom.notices.web.saying import instant_said
from saleroom.site.language import Languages


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        ("de", "2026-11-21T12:30:00.000000Z", "21. November 2026, 13:30:00 MEZ"),
        ("en", "2026-07-01T22:30:00.000000Z", "2 July 2026, 00:30:00 CEST"),
        ("en", "2026-11-21 12:30 UTC", "2026-11-21 12:30 UTC"),
    ],
)
def test_an_instant_is_said_by_the_clock_of_the_house(language: str, text: str, said: str) -> None:
    """Summer time and the day count; what an earlier version has put into words stays as it is."""
    assert said == instant_said(text, Languages("EUR").negotiate(language, language), "Europe/Berlin")
