"""Events that are new, repeated or missing."""

from saleroom.tools.watch.sequence import GRACE_SECONDS, Gap, Sequences

LATER = GRACE_SECONDS + 1


def test_a_repeated_event_counts_once() -> None:
    """After a failure, events come again from an earlier one on; each counts once."""
    sequences = Sequences()
    assert [True, True, False, False, True] == [sequences.event("a", number) for number in (1, 2, 1, 2, 3)]
    assert sequences.event("b", 1)


def test_the_first_state_sets_the_starting_point() -> None:
    """Events up to the version of the first state are old; the next one is new, and nothing is missing before it."""
    sequences = Sequences()
    sequences.state("a", 7, at=0)
    assert not sequences.event("a", 7)
    assert sequences.gap("a", 8) is None
    assert sequences.event("a", 8)


def test_a_gap_is_reported_once() -> None:
    """An event after a gap reports the missing numbers; neither it nor a state reports them again."""
    sequences = Sequences()
    sequences.event("a", 2)
    assert Gap("a", 3, 5) == sequences.gap("a", 6)
    assert sequences.event("a", 6)
    sequences.state("a", 6, at=0)
    assert [] == list(sequences.overdue(LATER))
    assert sequences.gap("a", 7) is None


def test_a_state_ahead_of_its_events_is_waited_for() -> None:
    """Events may come a little after a later state: then nothing is missing."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    assert not sequences.settled("a")
    assert sequences.gap("a", 2) is None and sequences.event("a", 2)
    assert sequences.gap("a", 3) is None and sequences.event("a", 3)
    assert sequences.settled("a")
    assert [] == list(sequences.overdue(LATER))


def test_events_before_a_state_are_missing_after_a_while() -> None:
    """After GRACE_SECONDS the events up to the state's version are missing, but are still taken if they come."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    assert [] == list(sequences.overdue(GRACE_SECONDS - 0.1))
    assert [Gap("a", 2, 3)] == list(sequences.overdue(LATER))
    assert sequences.settled("a")
    assert [] == list(sequences.overdue(LATER))
    assert sequences.gap("a", 2) is None and sequences.event("a", 2)
    assert Gap("a", 4, 4) == sequences.gap("a", 5)


def test_a_lost_connection_ends_the_wait() -> None:
    """Late events may come with the next connection, whose states start the wait again."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    sequences.lost()
    assert [] == list(sequences.overdue(LATER))
    sequences.state("a", 3, at=LATER)
    assert [Gap("a", 2, 3)] == list(sequences.overdue(2 * LATER))
