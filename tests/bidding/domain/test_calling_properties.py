"""Properties of any evening on the block: its ledger decides it again, and an undo restores what stood."""

from collections.abc import Callable

from hypothesis import event, given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain import calling, pausing
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.block_events import ActUndone
from saleroom.bidding.domain.retrace import retrace
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.errors import Refusal
from tests.bidding.domain.examples import BOB, CY, DEE, eur
from tests.bidding.domain.nights import HALL, Night, standing

ACTS = st.sampled_from(
    [
        *("call", "take", "take bob", "take cy", "online cy", "online dee", "raise", "jump", "cut", "warn", "name bob"),
        *("name cy", "sell", "conditionally", "pass", "skip", "retract", "undo", "undo", "void", "reopen", "decide"),
        *("absent bob", "absent dee", "pause", "resume"),
    ]
)
PEOPLE = {"bob": BOB, "cy": CY, "dee": DEE}


def play(night: Night, act: str) -> None:
    """Do an act, if the rules allow it."""
    word, _, who = act.partition(" ")
    auction, ask = night.auction, night.auction.ask or eur("100")
    acts: dict[str, Callable[[], Auction]] = {
        "call": night.call,
        "take": lambda: night.take(PEOPLE.get(who, HALL)),
        "online": lambda: night.bid(PEOPLE[who]),
        "absent": lambda: night.bid(PEOPLE[who], maximum=str((auction.maximum or eur("90")) + 30)),
        "raise": lambda: night.bid(auction.leader or BOB, maximum=str((auction.maximum or eur("90")) + 50)),
        "jump": lambda: night.do(calling.ask, ask + 70),
        "cut": lambda: night.do(calling.ask, ask - 4),
        "warn": lambda: night.do(calling.warn),
        "name": lambda: night.name(PEOPLE[who]),
        "sell": lambda: night.do(calling.sell),
        "conditionally": lambda: night.do(calling.sell_conditionally),
        "pass": lambda: night.do(calling.pass_),
        "skip": lambda: night.do(calling.skip),
        "retract": lambda: night.retract(auction.leader or BOB),
        "undo": night.undo,
        "void": lambda: night.void(next((v for v, _ in BidBook(night.log).open_bids()), 0)),
        "reopen": lambda: night.do(calling.reopen, "Why."),
        "decide": lambda: night.do(calling.decide, accepted=len(night.log) % 2 == 0),
        "pause": lambda: night.do(pausing.pause),
        "resume": lambda: night.do(pausing.resume),
    }
    if word in ("online", "take") and auction.block is None:
        return
    try:
        acts[word]()
    except Refusal as refusal:
        event(f"{word}: {refusal.code}")
    else:
        event(word)


@given(st.lists(ACTS, min_size=8, max_size=25), st.sampled_from([None, "180"]))
def test_any_night_is_decided_again_by_its_ledger(acts: list[str], reserve: str | None) -> None:
    """Whatever clerks and bidders do, the rules decide the whole log again, and what stands keeps its order."""
    night = Night(reserve_price=reserve) if reserve else Night()
    play(night, "call")
    for act in acts:
        play(night, act)
        lot = night.auction
        assert (lot.leader is None) == (lot.current_bid is None) == (lot.maximum is None)
        assert lot.maximum is None or lot.current_bid is None or lot.maximum >= lot.current_bid
        assert lot.ask is None or lot.current_bid is None or lot.ask > lot.current_bid
        assert lot.block is None or lot.status is Status.OPEN
    assert (
        night.auction == retrace(night.log).auction
        or structs.replace(night.auction, id=0) == retrace(night.log).auction
    )


@given(st.lists(ACTS, min_size=4, max_size=20))
def test_an_undo_right_after_an_act_restores_what_stood(acts: list[str]) -> None:
    """Nothing came between: leader, price, maximum, stage and ask are as before the act."""
    night = Night()
    play(night, "call")
    for act in acts:
        before, length = standing(night.auction), len(night.log)
        play(night, act)
        made = night.log[length:]
        word = act.partition(" ")[0]
        if not made or word in ("undo", "online", "absent", "raise", "void", "reopen", "decide", "pause", "resume"):
            continue
        assert before == standing(night.undo())
        assert isinstance(night.log[-1], ActUndone)
        play(night, act)
