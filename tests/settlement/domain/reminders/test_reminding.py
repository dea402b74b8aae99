"""The calendar of reminders: which step about an unpaid invoice is the next, and from which day on it is due."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from saleroom.settlement.domain.reminders.reminding import (
    Automatic,
    Calendar,
    Step,
    StepKind,
    days_fault,
    days_overdue,
    due_on,
    is_by_house,
    next_step,
)

DUE = date(2026, 11, 25)
CALENDAR = Calendar(due_days=14, reminder_days=(3, 14), strike_day=28)


def test_the_steps_come_one_after_the_other() -> None:
    """Two reminders, 3 and 14 days after the day, then a strike on the 28th; then nothing."""
    steps, done, is_struck = [], list[date](), False
    while (step := next_step(DUE, done, CALENDAR, is_struck=is_struck)) is not None:
        steps.append(step)
        done.append(step.on)
        is_struck = step.kind is StepKind.STRIKE
    assert [
        Step(kind=StepKind.REMINDER, level=1, on=date(2026, 11, 28)),
        Step(kind=StepKind.REMINDER, level=2, on=date(2026, 12, 9)),
        Step(kind=StepKind.STRIKE, level=3, on=date(2026, 12, 23)),
    ] == steps


def test_a_late_step_puts_off_the_next() -> None:
    """A first reminder a month late leaves eleven days to the second."""
    step = next_step(DUE, [date(2026, 12, 25)], CALENDAR, is_struck=False)
    assert step == Step(kind=StepKind.REMINDER, level=2, on=date(2027, 1, 5))


def test_a_calendar_that_changes_gives_one_strike() -> None:
    """With a reminder more than before there is none after the strike; with one fewer the strike still comes, in its time."""
    done = [date(2026, 11, 28), date(2026, 12, 9), date(2026, 12, 23)]
    longer = Calendar(reminder_days=(3, 14, 21), strike_day=28)
    assert next_step(DUE, done, longer, is_struck=True) is None
    shorter = Calendar(reminder_days=(7,), strike_day=28)
    for days, on in ((done[:2], date(2026, 12, 30)), (done[:1], date(2026, 12, 23))):
        strike = Step(kind=StepKind.STRIKE, level=len(days) + 1, on=on)
        assert strike == next_step(DUE, days, shorter, is_struck=False)


def test_a_calendar_may_have_no_strike_or_no_reminder() -> None:
    """What the house does not want has no step."""
    never = Calendar(reminder_days=(), strike_day=None)
    assert next_step(DUE, [], never, is_struck=False) is None
    only = Calendar(reminder_days=(), strike_day=5)
    strike = next_step(DUE, [], only, is_struck=False)
    assert strike == Step(kind=StepKind.STRIKE, level=1, on=date(2026, 11, 30))


def test_an_invoice_is_overdue_from_the_day_after() -> None:
    """On its day it is not; without a day of its own it has that of the house."""
    assert [0, 0, 1] == [days_overdue(DUE, DUE + timedelta(days=more)) for more in (-1, 0, 1)]
    assert DUE == due_on(DUE, date(2026, 1, 1), CALENDAR)
    assert date(2026, 1, 15) == due_on(None, date(2026, 1, 1), CALENDAR)


@pytest.mark.parametrize(
    ("days", "strike", "wrong"),
    [
        ((3, 14), 28, False),
        ((), None, False),
        ((3, 3), 28, True),
        ((14, 3), 28, True),
        ((3, 14), 14, True),
        ((0,), None, True),
        ((3,), 366, True),
        (tuple(range(1, 12)), None, True),
    ],
)
def test_days_of_a_calendar_rise(days: tuple[int, ...], strike: int | None, wrong: bool) -> None:
    """Each step is later than the one before, and within a year."""
    assert wrong is (days_fault(days, strike) is not None)


@given(
    some.lists(some.integers(1, 300), min_size=1, max_size=5, unique=True).map(sorted),
    some.lists(some.integers(0, 60), min_size=5, max_size=5),
)
def test_there_is_always_as_much_time_between_two_steps(days: list[int], late: list[int]) -> None:
    """However late each step is done, the next one never comes sooner after it than the calendar says."""
    calendar = Calendar(reminder_days=tuple(days), strike_day=None)
    done: list[date] = []
    for place in range(len(days)):
        step = next_step(DUE, done, calendar, is_struck=False)
        assert step is not None and step.on >= DUE + timedelta(days=days[place])
        if done:
            assert (step.on - done[-1]).days >= days[place] - days[place - 1]
        done.append(step.on + timedelta(days=late[place]))
    assert next_step(DUE, done, calendar, is_struck=False) is None


@pytest.mark.parametrize(
    ("automatic", "reminds", "strikes"),
    [(Automatic.OFF, False, False), (Automatic.REMINDERS, True, False), (Automatic.STRIKES, True, True)],
)
def test_the_house_does_by_itself_what_its_setting_says(automatic: Automatic, reminds: bool, strikes: bool) -> None:
    """Not before the day of the step, and strikes only if it says so."""
    calendar = Calendar(automatic=automatic)
    for kind, does in ((StepKind.REMINDER, reminds), (StepKind.STRIKE, strikes)):
        step = Step(kind=kind, level=1, on=DUE)
        assert [False, does, does] == [is_by_house(step, DUE + timedelta(days=more), calendar) for more in (-1, 0, 1)]


def test_days_are_those_of_the_house() -> None:
    """Just before midnight in UTC it is tomorrow in Berlin; a day there ends an hour or two before it does in UTC."""
    berlin = Calendar(zone=ZoneInfo("Europe/Berlin"))
    late = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    assert (date(2026, 11, 21), date(2026, 11, 22)) == (Calendar().day(late), berlin.day(late))
    assert datetime(2026, 11, 21, 23, tzinfo=UTC) == berlin.end_of(date(2026, 11, 21))
    assert datetime(2026, 6, 21, 22, tzinfo=UTC) == berlin.end_of(date(2026, 6, 21))
    assert datetime(2026, 11, 22, tzinfo=UTC) == Calendar().end_of(date(2026, 11, 21))
