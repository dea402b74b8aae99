"""Calendars of many dates, written in pieces."""

from datetime import UTC, datetime

from icalendar import Calendar

from saleroom.site.calendars import AT_ONCE, Date, calendar
from tests.loop_turns import loop_turns

NOON = datetime(2126, 1, 1, 12, tzinfo=UTC)


def date(number: int) -> Date:
    """The date of a lot with this number."""
    address = f"http://house/lots/{number}"
    return Date(
        uid=str(number), at=NOON, summary=f"Ü, {number}", address=address, version=1, updated=NOON, cancelled=False
    )


async def test_others_have_their_turn_while_a_long_calendar_is_written() -> None:
    """A calendar of many dates is written a few at a time, and is one calendar with each of them in their order."""
    async with loop_turns() as turns:
        seen = turns.noting(date)
        written = await calendar("House", (seen(number) for number in range(20 * AT_ONCE)))
    assert max(turns.met.values()) <= AT_ONCE
    found = Calendar.from_ical(written)
    assert "House" == found["x-wr-calname"]
    assert [str(number) for number in range(20 * AT_ONCE)] == [str(one["uid"]) for one in found.walk("VEVENT")]
    whole = Calendar()
    for name, value in found.property_items(recursive=False)[1:-1]:
        whole.add(name, value)
    for one in found.subcomponents:
        whole.add_component(one)
    assert whole.to_ical() == written
