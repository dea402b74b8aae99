"""Reminders: when an invoice is overdue, and what the house does about it (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.errors import Contradiction

DUE_DAYS_MAX = 365
STEPS_MAX = 10


class Automatic(StrEnum):
    """What of its calendar the house does by itself: nothing, reminders, or strikes too."""

    OFF = "off"
    REMINDERS = "reminders"
    STRIKES = "strikes"


class Calendar(Struct, frozen=True, kw_only=True):
    """What the house does about invoices that are not paid.

    An invoice without a day of its own is due `due_days` after it was issued. A reminder goes out on each of the days after
    that, `reminder_days`, and a strike is given on the last, `strike_day`; None for no strikes. A user with
    `strikes_max` strikes is banned; 0 bans nobody. `automatic` is what the house does of it without a person. Its days
    are those of the time zone of the house.
    """

    due_days: int = 14
    reminder_days: tuple[int, ...] = (3, 14)
    strike_day: int | None = 28
    strikes_max: int = 3
    automatic: Automatic = Automatic.OFF
    zone: tzinfo = UTC

    def day(self, at: datetime) -> date:
        """Return the day of the house at an instant."""
        return at.astimezone(self.zone).date()

    def end_of(self, day: date) -> datetime:
        """Return the instant (in UTC) at which a day of the house is over."""
        return datetime.combine(day + timedelta(days=1), time(), self.zone).astimezone(UTC)


class StepKind(StrEnum):
    """What a step of the calendar is."""

    REMINDER = "reminder"
    STRIKE = "strike"


class Step(Struct, frozen=True, kw_only=True):
    """A step about an invoice: the first reminder is of level 1. It is due from the day `on`."""

    kind: StepKind
    level: int
    on: date


def due_on(stated: date | None, issued_on: date, calendar: Calendar) -> date:
    """Return the day by which an invoice is to be paid: that which it states, otherwise one by the setting of the house."""
    return stated or issued_on + timedelta(days=calendar.due_days)


def refuse_due(stated: date | None, today: date) -> None:
    """Raise Contradiction unless a document that is issued today may state this day to be paid by; None is any day."""
    if stated is None:
        return
    if stated < today:
        raise Contradiction.one(
            "due_on",
            "day_passed",
            f"must not be before {today}, which is today; without it the setting of the house counts",
        )
    if (stated - today).days > DUE_DAYS_MAX:
        raise Contradiction.one(
            "due_on", "day_too_far", f"must be at most {DUE_DAYS_MAX} days after {today}, which is today"
        )


def days_overdue(due: date, today: date) -> int:
    """Return for how many days an invoice is overdue; 0 until its day has passed."""
    return max((today - due).days, 0)


def next_step(due: date, done: Sequence[date], calendar: Calendar, *, is_struck: bool) -> Step | None:
    """Return the step after those that were done, by their days; None after the last one, the strike.

    A step that was late puts off those after it, so that there is always as much time between two as the calendar says. They
    may have been done by another calendar, with more reminders or fewer: `is_struck` says whether one of them was the strike.
    """
    reminders, level = calendar.reminder_days, len(done)
    kind = StepKind.REMINDER if level < len(reminders) else StepKind.STRIKE
    day = reminders[level] if kind is StepKind.REMINDER else calendar.strike_day
    if is_struck or day is None:
        return None
    on = due + timedelta(days=day)
    if done:
        before = reminders[min(level, len(reminders)) - 1] if reminders else 0
        on = max(on, done[-1] + timedelta(days=day - before))
    return Step(kind=kind, level=level + 1, on=on)


def is_by_house(step: Step, today: date, calendar: Calendar) -> bool:
    """Return whether the house does a step by itself today."""
    kinds = {
        Automatic.OFF: (),
        Automatic.REMINDERS: (StepKind.REMINDER,),
        Automatic.STRIKES: (StepKind.REMINDER, StepKind.STRIKE),
    }
    return step.on <= today and step.kind in kinds[calendar.automatic]


def days_fault(reminder_days: Sequence[int], strike_day: int | None) -> str | None:
    """Return what is wrong with the days of a calendar; None if nothing is."""
    days = [*reminder_days, *([] if strike_day is None else [strike_day])]
    if len(reminder_days) > STEPS_MAX:
        return f"there are at most {STEPS_MAX} reminders"
    if any(not 0 < day <= DUE_DAYS_MAX for day in days):
        return f"each must be from 1 to {DUE_DAYS_MAX} days"
    return None if days == sorted(set(days)) else "each must be later than the one before, and the strike the last"
