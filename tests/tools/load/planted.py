"""Faults planted in the record of a correct house, each with the kind of violation that must be found."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import assume
from msgspec import structs

from saleroom.tools.load.record import Attempt, BidRecord, BidReply, LotRecord, Observation, Record
from saleroom.tools.load.violations import Kind
from tests.tools.load.simulated import START, STEP

T = TypeVar("T")
Plant = Callable[[Record, LotRecord], None]
PLANTS: list[tuple[Kind, Plant]] = []


def planted(kind: Kind) -> Callable[[Plant], Plant]:
    """Register a fault with the kind of violation that must be found."""

    def note(plant: Plant) -> Plant:
        PLANTS.append((kind, plant))
        return plant

    return note


def accepted(record: Record) -> list[Attempt]:
    """Return the accepted bids that have a row in the history. Skip the example if there are none."""
    return some([attempt for attempt in record.attempts if any(reply.bid for reply in attempt.accepted)])


def some(candidates: list[T]) -> list[T]:
    """Return the candidates, or skip this example if there are none."""
    assume(candidates)
    return candidates


def own_rows(lot: LotRecord) -> list[int]:
    """Return the places of the bids in the history that are not automatic."""
    return some([place for place, bid in enumerate(lot.history) if not bid.automatic])


def change_reply(attempt: Attempt, place: int, **changes: object) -> None:
    """Alter one answer."""
    attempt.replies[place] = structs.replace(attempt.replies[place], **changes)


def refused(record: Record, code: str) -> tuple[Attempt, int]:
    """Return a bid refused with this code, and the place of that answer."""
    attempt = some([a for a in record.attempts if any(reply.code == code for reply in a.replies)])[0]
    return attempt, next(place for place, reply in enumerate(attempt.replies) if reply.code == code)


def change_final(lot: LotRecord, **changes: object) -> None:
    """Alter the closed lot."""
    assert lot.final is not None
    lot.final = structs.replace(lot.final, **changes)


def look_again(record: Record, lot: LotRecord, after: float = 1.0, **changes: object) -> None:
    """Add an observation after all others, in the final state except for `changes`."""
    assert lot.final is not None
    last = max(read.received for read in record.observations) + after
    record.observations.append(Observation("gid", last, last + 0.1, structs.replace(lot.final, **changes)))


@planted(Kind.LOST_BID)
def a_row_is_missing(record: Record, lot: LotRecord) -> None:
    """An acknowledged bid is taken out of the history."""
    assert accepted(record)
    answered = {(reply.bid.bidder, reply.bid.amount) for a in record.attempts for reply in a.accepted if reply.bid}
    places = [place for place in own_rows(lot) if (lot.history[place].bidder, lot.history[place].amount) in answered]
    del lot.history[some(places)[0]]


@planted(Kind.DOUBLED_BID)
def a_row_stands_twice(record: Record, lot: LotRecord) -> None:
    """An acknowledged bid is recorded twice."""
    bid = accepted(record)[0].accepted[0].bid
    assert bid is not None
    lot.history.append(bid)


@planted(Kind.INVENTED_BID)
def nobody_placed_it(record: Record, lot: LotRecord) -> None:
    """The history has a bid by one of our bidders that was never placed."""
    lot.history.append(BidRecord(10**9, "test.0", 0))


@planted(Kind.NOT_RISING)
def two_rows_change_places(record: Record, lot: LotRecord) -> None:
    """The history falls once."""
    places = [n for n in range(1, len(lot.history)) if lot.history[n].amount > lot.history[n - 1].amount]
    place = some(places)[-1]
    lot.history[place - 1], lot.history[place] = lot.history[place], lot.history[place - 1]


@planted(Kind.EQUAL_PRICES)
def two_rows_are_alike(record: Record, lot: LotRecord) -> None:
    """A bid has the price of the one before, although both are not automatic."""
    some(lot.history)
    lot.history.append(structs.replace(lot.history[-1], bidder="test.4", automatic=False))
    lot.history[-2] = structs.replace(lot.history[-2], automatic=False)


@planted(Kind.WRONG_PRICE)
def an_automatic_bid_goes_too_far(record: Record, lot: LotRecord) -> None:
    """The house bids above a maximum."""
    lot.history.append(BidRecord(10**9, "test.0", 0, automatic=True))


@planted(Kind.WRONG_PRICE)
def it_is_recorded_dearer(record: Record, lot: LotRecord) -> None:
    """The recorded price is higher than the bid."""
    attempt = some([attempt for attempt in accepted(record) if attempt.maximum is None])[0]
    attempt.amount = attempt.price - 1


@planted(Kind.UNKNOWN_STATE)
def a_state_that_never_was(record: Record, lot: LotRecord) -> None:
    """An observation shows a price that the history does not have."""
    read = some([read for read in record.observations if read.view.price])[0]
    view = structs.replace(read.view, price=(read.view.price or 0) - 1, minimum=None)
    record.observations[record.observations.index(read)] = structs.replace(read, view=view)


@planted(Kind.UNKNOWN_STATE)
def a_leader_who_never_led(record: Record, lot: LotRecord) -> None:
    """An observation names another leader."""
    look_again(record, lot, bidder="somebody")


@planted(Kind.PRICE_FELL)
def an_old_state_is_shown(record: Record, lot: LotRecord) -> None:
    """A late observation shows the state after the first bid, as from a copy that lags."""
    places = some([n for n in range(1, len(lot.history)) if lot.history[n].amount > lot.history[0].amount])
    assert places
    first = lot.history[0]
    look_again(record, lot, price=first.amount, bidder=first.bidder, count=1)


@planted(Kind.PRICE_FELL)
def a_bid_is_forgotten(record: Record, lot: LotRecord) -> None:
    """A late observation shows one bid too few, at the same price."""
    look_again(record, lot, count=len(some(lot.history)) - 1)


@planted(Kind.WRONG_WINNER)
def the_lot_goes_to_another(record: Record, lot: LotRecord) -> None:
    """The closed lot names a winner who does not lead."""
    change_final(lot, bidder="test.9")


@planted(Kind.WRONG_WINNER)
def it_is_sold_for_less(record: Record, lot: LotRecord) -> None:
    """The closed lot has a price other than the last one."""
    some(lot.history)
    change_final(lot, price=lot.history[-1].amount - 1)


@planted(Kind.WRONG_WINNER)
def the_winner_is_not_told(record: Record, lot: LotRecord) -> None:
    """Nobody is told that they won."""
    some(lot.winners).clear()


@planted(Kind.WRONG_WINNER)
def a_higher_maximum_loses(record: Record, lot: LotRecord) -> None:
    """An accepted maximum was above all bids of the winner."""
    winner = some(lot.winners)[0]
    loser = some([attempt for attempt in accepted(record) if attempt.bidder != winner])[0]
    loser.maximum = 10**9


@planted(Kind.SEVERAL_WINNERS)
def two_are_told(record: Record, lot: LotRecord) -> None:
    """Two bidders are told that they won."""
    lot.winners.append("test.9")


@planted(Kind.SEVERAL_WINNERS)
def the_result_changes(record: Record, lot: LotRecord) -> None:
    """A closed lot shows another winner later."""
    look_again(record, lot, bidder="test.9")


@planted(Kind.LATE_BID)
def the_last_bid_is_late(record: Record, lot: LotRecord) -> None:
    """A bid is dated at the end itself."""
    some(lot.history)
    change_final(lot, ends=lot.history[-1].placed)


@planted(Kind.LATE_BID)
def a_bid_is_taken_after_the_close(record: Record, lot: LotRecord) -> None:
    """A bid is accepted although it was sent after an observation had shown the lot closed."""
    attempt = accepted(record)[-1]
    sent = 100.0 + max(read.received for read in record.observations)
    attempt.replies = [structs.replace(attempt.accepted[0], sent=sent, received=sent + 1)]


@planted(Kind.NOT_CLOSED)
def it_never_closes(record: Record, lot: LotRecord) -> None:
    """The lot stays open."""
    change_final(lot, status="open")


@planted(Kind.NOT_CLOSED)
def it_closes_late(record: Record, lot: LotRecord) -> None:
    """An observation more than five seconds after the end finds it open."""
    look_again(record, lot, after=6.0, status="open")


@planted(Kind.END_MOVED_BACK)
def the_end_comes_nearer(record: Record, lot: LotRecord) -> None:
    """A later observation shows an earlier end."""
    assert lot.final is not None and lot.final.ends is not None
    look_again(record, lot, ends=lot.final.ends - 1)


@planted(Kind.TAKEN_TOO_LOW)
def too_little_is_enough(record: Record, lot: LotRecord) -> None:
    """A bid at the lot's current price is accepted."""
    attempt = accepted(record)[-1]
    attempt.amount = START - STEP
    attempt.maximum = None


@planted(Kind.WRONG_REFUSAL)
def enough_is_refused(record: Record, lot: LotRecord) -> None:
    """A bid is refused with a minimum that it reaches."""
    attempt, place = refused(record, "bid_too_low")
    change_reply(attempt, place, minimum=attempt.price)


@planted(Kind.WRONG_REFUSAL)
def the_least_follows_no_price(record: Record, lot: LotRecord) -> None:
    """A refusal has a minimum that belongs to no price."""
    attempt, place = refused(record, "bid_too_low")
    change_reply(attempt, place, minimum=10**9)


@planted(Kind.WRONG_REFUSAL)
def the_least_is_out_of_date(record: Record, lot: LotRecord) -> None:
    """A late refusal has an outdated minimum."""
    some(lot.history)
    last = max(read.received for read in record.observations)
    reply = BidReply(sent=last + 1, received=last + 2, status=409, code="bid_too_low", minimum=START)
    record.attempts.append(Attempt("gid", "test.0", START - 1, None, "key", [reply]))


@planted(Kind.WRONG_REFUSAL)
def one_who_never_bid_leads(record: Record, lot: LotRecord) -> None:
    """A bidder without a bid is told that they lead."""
    record.attempts.append(
        Attempt("gid", "test.9", 10**9, None, "key", [BidReply(sent=0, received=1, status=409, code="already_leading")])
    )


@planted(Kind.WRONG_REFUSAL)
def it_closes_too_early(record: Record, lot: LotRecord) -> None:
    """A bid is refused as too late, for an end that had already been extended."""
    attempt, place = refused(record, "auction_closed")
    change_reply(attempt, place, ends=(attempt.replies[place].ends or 0) - 1)


@planted(Kind.REPEAT_DIFFERS)
def a_repeat_gets_other_words(record: Record, lot: LotRecord) -> None:
    """The same key gets another accepted answer."""
    attempt = accepted(record)[0]
    attempt.replies.append(structs.replace(attempt.accepted[0], body=-1))


@planted(Kind.REPEAT_DIFFERS)
def a_repeat_is_refused(record: Record, lot: LotRecord) -> None:
    """The same key is refused after it was accepted."""
    attempt = accepted(record)[0]
    received = attempt.accepted[-1].received
    attempt.replies.append(BidReply(sent=received + 1, received=received + 2, status=409, code="already_leading"))


@planted(Kind.REPEAT_DIFFERS)
def two_at_once_are_told_apart(record: Record, lot: LotRecord) -> None:
    """Of two simultaneous requests with one key one is accepted, and the other refused as too low."""
    attempt = some([attempt for attempt in accepted(record) if attempt.maximum is None])[0]
    reply = attempt.accepted[0]
    attempt.replies.append(structs.replace(reply, status=409, code="bid_too_low", minimum=START, view=None, bid=None))


@planted(Kind.CONTRADICTION)
def leading_without_leading(record: Record, lot: LotRecord) -> None:
    """An answer says that the bidder leads, and names another leader."""
    attempt = accepted(record)[0]
    place = attempt.replies.index(attempt.accepted[0])
    change_reply(attempt, place, leading=not attempt.replies[place].leading)


@planted(Kind.CONTRADICTION)
def the_least_does_not_follow(record: Record, lot: LotRecord) -> None:
    """An open lot shows a minimum that is not its price plus a step."""
    read = some([read for read in record.observations if read.view.status == "open"])[0]
    view = structs.replace(read.view, minimum=(read.view.minimum or 0) + 1)
    record.observations[record.observations.index(read)] = structs.replace(read, view=view)


@planted(Kind.MONEY_FORM)
def a_price_has_two_decimals(record: Record, lot: LotRecord) -> None:
    """A price has another form."""
    record.malformed.append("gid: currentBid is '1.00'")


@planted(Kind.UNEXPECTED_ANSWER)
def an_internal_error(record: Record, lot: LotRecord) -> None:
    """A bid gets a 500."""
    attempt = some(record.attempts)[0]
    attempt.replies.append(BidReply(sent=0, received=1, status=500, code="internal_error"))
