"""Identifiers of events: written and read."""

from __future__ import annotations

import pytest

from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import BEGINNING, VERSION_MAX, EventId, parse_event_id


@pytest.mark.parametrize("text", ["k3X9mQ2vTa1_/7", "a/1", f"{'x' * 64}/{VERSION_MAX}", "0"])
def test_an_id_comes_back_as_it_went(text: str) -> None:
    """The id of an event is a gid and a version from 1; 0 is the beginning."""
    found = parse_event_id(text)
    assert isinstance(found, EventId)
    assert text == str(found)


def test_the_parts_of_an_id() -> None:
    """A gid and a version are read, and the beginning is version 0 of no auction."""
    assert EventId("abc", 7) == parse_event_id("abc/7")
    assert BEGINNING == parse_event_id("0") == EventId("", 0)
    assert "0" == str(EventId("abc", 0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "abc/",
        "/1",
        "abc/0",
        "abc/01",
        "abc/-1",
        "abc/1 ",
        "abc/1\n",
        f"abc/{VERSION_MAX + 1}",
        f"{'x' * 65}/1",
    ],
)
def test_other_text_is_no_id(text: str) -> None:
    """Other text is refused, with an example of what would be right."""
    message = "must be the id of an event, such as k3X9mQ2vTa1_/7, or 0 for the beginning"
    assert Fault("event_id", message) == parse_event_id(text)
