"""The refusals of auctions, bids and photos; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import (
    Busy,
    Change,
    ConditionFailed,
    Conflict,
    Declined,
    Fact,
    Forbidden,
    Gone,
    TooManyRequests,
    Unknown,
)


class UnknownAuction(Unknown):
    """There is no auction with this gid."""

    code = "unknown_auction"


class UnknownPhoto(Unknown):
    """There is no such photo, or not in this width."""

    code = "unknown_photo"


class PhotosUnavailable(Busy):
    """The store of photos does not answer just now; nothing was changed; try again in a moment."""

    code = "photos_unavailable"


class UnknownCalendar(Unknown):
    """No calendar is at this address, or no longer."""

    code = "unknown_calendar"


class UnknownQuestion(Unknown):
    """There is no question with this number on the auction."""

    code = "unknown_question"


class UnknownBid(Unknown):
    """No bid was placed at this version; name the version of a bidder's own bid, as automatic bids go with it."""

    code = "unknown_bid"


class OwnAuction(Forbidden):
    """Nobody may bid in their own auction."""

    code = "own_auction"


class NotAuthor(Forbidden):
    """Only the author of an auction may do this."""

    code = "not_author"


class NotRegistered(Forbidden):
    """Only those who have registered for the sale bid on its lots; register first."""

    code = "not_registered"


class RegistrationPending(Forbidden):
    """The house has not approved your registration for the sale yet; ask its staff."""

    code = "registration_pending"


class RegistrationDeclined(Forbidden):
    """The house has declined your registration for the sale; `reason` says why. Bids that stand go on to stand."""

    code = "registration_declined"


class BeyondLimit(Conflict):
    """The bid goes beyond your limit in the sale; you can bid up to what is `left` on this lot, or ask the house for more."""

    code = "beyond_limit"


class LotOfSale(Conflict):
    """This auction is a lot of a sale; those who manage the sale change it there."""

    code = "lot_of_a_sale"


class BidTooLow(Conflict):
    """The bid is too low; bid at least the minimum bid."""

    code = "bid_too_low"


class AskChanged(Conflict):
    """The auctioneer asks for another price now, and nothing was done. Bid this price, or not at all."""

    code = "ask_changed"


class AskTooLow(Conflict):
    """The next price must be above the present one."""

    code = "ask_too_low"


class OnBlock(Conflict):
    """The lot is on the block already."""

    code = "on_the_block"


class NotOnBlock(Conflict):
    """The lot is not on the block; call it first."""

    code = "not_on_the_block"


class NoBidStands(Conflict):
    """No bid stands on the lot, so it cannot be sold; pass it."""

    code = "no_bid_stands"


class NeedsPaddle(Conflict):
    """The floor leads, and nobody knows by which paddle; name the paddle first."""

    code = "needs_paddle"


class BelowReserve(Conflict):
    """The price is below the reserve; sell conditionally, so that the seller decides, or pass the lot."""

    code = "below_reserve"


class BidStands(Conflict):
    """A bid stands that the lot can be sold to; sell it, or have the bid retracted or undone first."""

    code = "bid_stands"


class NotOfFloor(Conflict):
    """No bid of the floor leads without a paddle, so there is nobody to name."""

    code = "not_of_the_floor"


class NotLeading(Conflict):
    """This bidder does not lead, so they have no bid to take back."""

    code = "not_leading"


class NothingToUndo(Conflict):
    """There is no act to undo: none since the lot was called, or bids have come since."""

    code = "nothing_to_undo"


class NotConditional(Conflict):
    """The lot waits for no decision of its seller."""

    code = "not_conditional"


class NotClosed(Conflict):
    """The lot is not closed, so it cannot be opened again."""

    code = "not_closed"


class AlreadyLeading(Conflict):
    """You lead already; to raise your limit, give a higher maximum and no amount."""

    code = "already_leading"


class AuctionOver(Conflict):
    """The auction is over."""

    code = "auction_closed"


class AuctionNotStarted(Conflict):
    """The auction has not started yet; try again from its start."""

    code = "auction_not_started"


class AuctionStarted(Conflict):
    """The auction has started, so its start cannot be moved any more."""

    code = "auction_started"


class HasBids(Conflict):
    """The auction has bids, so it can be neither changed nor cancelled any more."""

    code = "has_bids"


class TakenDown(Gone):
    """The house has taken this auction down: it is not shown, and takes no bids."""

    code = "taken_down"


class Paused(Conflict):
    """The clock of this auction stands still, so it takes no bids and no changes; wait until it goes on."""

    code = "auction_paused"


class AlreadyHidden(Conflict):
    """The auction is taken down already."""

    code = "already_hidden"


class NotHidden(Conflict):
    """The auction is not taken down."""

    code = "not_hidden"


class BidsThere(Forbidden):
    """You bid on this lot yourself, so you void no bid on it; somebody of the staff who does not bid there can."""

    code = "bids_there"


class AlreadyVoided(Conflict):
    """The bid has been voided already."""

    code = "already_voided"


class BuyNowUnavailable(Conflict):
    """The auction cannot be bought now: it has no buy-now price, or a bid has been placed; bid instead."""

    code = "buy_now_unavailable"


class EndsByItself(Conflict):
    """The auction has an end and closes by itself then."""

    code = "ends_by_itself"


class AuctionChanged(Declined):
    """The auction has changed since you saw it."""

    def __init__(
        self, message: str | None = None, *, seen: int | None = None, changes: tuple[Change, ...] = (), **facts: Fact
    ) -> None:
        """`seen` is the version that the request names, if any; `changes` are all that are known."""
        super().__init__(message, changes=changes, **facts)
        self.seen = seen


class TermsChanged(AuctionChanged, Conflict):
    """What is offered has changed since you saw it; nothing was done; look at it again, then decide."""

    code = "terms_changed"


class PreconditionFailed(AuctionChanged, ConditionFailed):
    """The auction is not at the version that you have seen; nothing was done; read it again, then decide."""

    code = "precondition_failed"


class TooManyPhotos(Conflict):
    """Too many of your photos are on no lot; put some on a lot, delete drafts, or wait a day: then those left over are gone."""

    code = "too_many_photos"


class TooManyRemarks(Conflict):
    """The auction has as many remarks as it may have."""

    code = "too_many_remarks"


class TooManyQuestions(Conflict):
    """You have asked as many questions as one user may; wait for answers, or ask tomorrow."""

    code = "too_many_questions"


class QuestionsFull(Conflict):
    """The auction has as many questions as it may have; ask when the seller has declined some."""

    code = "questions_full"


class QuestionSettled(Conflict):
    """The question has been answered or declined already."""

    code = "question_settled"


class TooManyAuctions(Conflict):
    """You have as many auctions as one user may run at a time, or create in a day; wait until some are over."""

    code = "too_many_auctions"


class TooManyChanges(TooManyRequests):
    """You have changed your lots too often; wait a while, then try again."""

    code = "too_many_changes"


class TooManyWatched(Conflict):
    """You watch as many auctions as one user may; take some off your list."""

    code = "too_many_watched"
