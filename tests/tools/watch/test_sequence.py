"""What is new, what comes again, and what never came."""

from saleroom.tools.watch.sequence import GRACE_SECONDS, Gap, Sequences

LATER = GRACE_SECONDS + 1


def test_a_repeat_is_no_event() -> None:
    """What came before comes again after a failure, from an earlier one onwards; it counts once."""
    sequences = Sequences()
    assert [True, True, False, False, True] == [sequences.event("a", number) for number in (1, 2, 1, 2, 3)]
    assert sequences.event("b", 1)


def test_the_first_state_is_where_one_comes_in() -> None:
    """Events that the first state tells of are old; the next one is new, and nothing is missing before it."""
    sequences = Sequences()
    sequences.state("a", 7, at=0)
    assert not sequences.event("a", 7)
    assert sequences.gap("a", 8) is None
    assert sequences.event("a", 8)


def test_a_gap_is_said_once() -> None:
    """An event that leaves numbers out tells which; neither it nor a state says so again."""
    sequences = Sequences()
    sequences.event("a", 2)
    assert Gap("a", 3, 5) == sequences.gap("a", 6)
    assert sequences.event("a", 6)
    sequences.state("a", 6, at=0)
    assert [] == list(sequences.overdue(LATER))
    assert sequences.gap("a", 7) is None


def test_a_state_ahead_of_its_events_is_waited_for() -> None:
    """Events may come a little after the state that tells of them: then nothing was missing."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    assert not sequences.settled("a")
    assert sequences.gap("a", 2) is None and sequences.event("a", 2)
    assert sequences.gap("a", 3) is None and sequences.event("a", 3)
    assert sequences.settled("a")
    assert [] == list(sequences.overdue(LATER))


def test_what_a_state_tells_of_and_does_not_come_is_missing() -> None:
    """After a while the events up to the state's version are said to be missing, but still taken if they come after all."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    assert [] == list(sequences.overdue(GRACE_SECONDS - 0.1))
    assert [Gap("a", 2, 3)] == list(sequences.overdue(LATER))
    assert sequences.settled("a")
    assert [] == list(sequences.overdue(LATER))
    assert sequences.gap("a", 2) is None and sequences.event("a", 2)
    assert Gap("a", 4, 4) == sequences.gap("a", 5)


def test_nobody_is_waited_for_without_a_connection() -> None:
    """What was late may come with the next connection, whose states tell anew how far things are."""
    sequences = Sequences()
    sequences.event("a", 1)
    sequences.state("a", 3, at=0)
    sequences.lost()
    assert [] == list(sequences.overdue(LATER))
    sequences.state("a", 3, at=LATER)
    assert [Gap("a", 2, 3)] == list(sequences.overdue(2 * LATER))
