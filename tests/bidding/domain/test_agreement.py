"""The rules and the oracle are two models of one text, and must never disagree."""

from typing import Any

from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.ledger import replay
from tests.bidding.domain.contradictions import contradictions
from tests.bidding.domain.examples import refusal
from tests.bidding.domain.oracle import Oracle, SoftCloseRule, Terms
from tests.bidding.domain.playing import T0, Game, draft, party, refusal_code, seen
from tests.histories import History, Step, bids, ends, histories, interludes, ladders, lots


def told(game: Game) -> dict[str, Any]:
    """A game as the oracle sees it."""
    return seen(game.auction, game.rows(), [happened.TYPE for happened in game.log])


@given(histories(steps_max=20))
def test_the_rules_and_the_oracle_agree(history: History) -> None:
    """After every step both have the same refusal, price, leader, limit, end, recorded bids, events and minimum bid."""
    game, oracle = Game(history.lot), Oracle(history.lot)
    assert oracle.seen() == told(game)
    for now, act in history.acts(oracle):
        refused = oracle.do(act, now)
        event(f"{type(act).__name__} {(refused or 'accepted').split()[0]}")
        assert refused == game.do(act, now)
        assert oracle.seen() == told(game)


_some = st.none() | st.integers(0, 5)


@given(
    st.builds(
        Terms,
        starting=st.integers(0, 5),
        reserve=_some,
        buy_now=_some,
        soft_close=st.none() | st.builds(SoftCloseRule, st.just(1), st.just(1), _some),
        starts=st.none() | st.integers(-2, 5),
        ends=st.none() | st.integers(-2, 5),
    )
)
def test_terms_contradict_each_other_alike(lot: Terms) -> None:
    """Both find all the same contradictions in the same terms."""
    refused = refusal(selling.create, "gid", party(0), draft(lot), T0)
    assert contradictions(lot, 0) == (None if refused is None else refusal_code(refused))


class AuctionMachine(RuleBasedStateMachine):
    """One auction, and any acts that hypothesis finds."""

    @initialize(lot=lots(), tiers=ladders())
    def begin(self, lot: Terms, tiers: tuple[tuple[int, int], ...]) -> None:
        self.game, self.oracle, self.now = Game(lot), Oracle(lot), 0

    @rule(step=bids())
    def bid(self, step: Step) -> None:
        self._take(step)

    @rule(step=interludes())
    def go_on(self, step: Step) -> None:
        self._take(step)

    @precondition(lambda self: len(self.game.taken) > 10)
    @rule(step=ends())
    def end(self, step: Step) -> None:
        self._take(step)

    def _take(self, step: Step) -> None:
        self.now, act = step.resolve(self.oracle, self.now)
        assert self.oracle.do(act, self.now) == self.game.do(act, self.now)

    @invariant()
    def agrees(self) -> None:
        """The rules say what the oracle says."""
        assert self.oracle.seen() == told(self.game)

    @invariant()
    def replays(self) -> None:
        """The log gives back the auction."""
        assert self.game.auction == replay(self.game.auction.id, self.game.log)

    @invariant()
    def nobody_pays_more_than_they_said(self) -> None:
        """P <= M, and nobody leads their own auction."""
        auction = self.game.auction
        if auction.leader is not None:
            assert auction.current_bid is not None and auction.maximum is not None
            assert auction.current_bid <= auction.maximum
            assert auction.leader != auction.author


TestAuction = AuctionMachine.TestCase
# Shrinking a machine takes minutes. If it fails, the test of histories above fails too, and shrinks in seconds.
TestAuction.settings = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
