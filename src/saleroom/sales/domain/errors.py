"""The refusals of sales; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Conflict, Unknown


class UnknownSale(Unknown):
    """There is no sale with this gid."""

    code = "unknown_sale"


class UnknownLot(Unknown):
    """There is no lot with this number in the sale."""

    code = "unknown_lot"


class UnknownConsignor(Unknown):
    """There is no consignor with this code."""

    code = "unknown_consignor"


class UnknownParticipant(Unknown):
    """There is no such participant in the sale."""

    code = "unknown_participant"


class NotInBook(Conflict):
    """The book has no absentee bid of this paddle on this lot that could be taken back; what its bidder has bid stays."""

    code = "not_in_book"


class NoRegistration(Conflict):
    """Everybody may bid in this sale, so nobody registers for it."""

    code = "no_registration"


class PaddleTaken(Conflict):
    """Another participant has this paddle; `free` is one that nobody has."""

    code = "paddle_taken"


class PaddleFixed(Conflict):
    """They have bid under their paddle, which others have seen; it stays theirs."""

    code = "paddle_fixed"


class ParticipantAlready(Conflict):
    """This user is a participant of the sale already."""

    code = "participant_already"


class MergedAlready(Conflict):
    """This user is one with another bidder of the sale already; take the other one."""

    code = "merged_already"


class BidsStay(Conflict):
    """Bids stay where they are if both have bid in the sale or an account has placed them; decline the one that is too many."""

    code = "bids_stay"


class TooManyParticipants(Conflict):
    """The sale has as many participants as a sale can have."""

    code = "too_many_participants"


class PublishedAlready(Conflict):
    """The sale is published already; this can be changed only in a draft."""

    code = "sale_published"


class SaleOver(Conflict):
    """The sale is over or cancelled."""

    code = "sale_over"


class BegunAlready(Conflict):
    """The sale has begun, so this can no longer be done; single lots can still be withdrawn."""

    code = "sale_running"


class StandsStill(Conflict):
    """The sale is paused; resume it first."""

    code = "sale_paused"


class SaleNotRunning(Conflict):
    """The sale does not run now, so it can be neither paused nor ended."""

    code = "sale_not_running"


class SaleNotPaused(Conflict):
    """The sale does not stand still."""

    code = "sale_not_paused"


class NoLots(Conflict):
    """The sale has no lot to publish; add one first."""

    code = "no_lots"


class TooManyLots(Conflict):
    """The sale has as many lots as a sale can have; begin another sale."""

    code = "too_many_lots"


class LabelTaken(Conflict):
    """Another lot of the sale has this number; choose another, or renumber the sale."""

    code = "label_taken"


class WithdrawnAlready(Conflict):
    """The lot has been withdrawn."""

    code = "lot_withdrawn"


class BidOnLots(Conflict):
    """Somebody has bid on lots whose end this would move; leave those where they are."""

    code = "bid_on_lots"


class NotLive(Conflict):
    """This is a timed sale: clocks close its lots, and nobody calls them."""

    code = "not_live"


class NotPublished(Conflict):
    """The sale is a draft; publish it first."""

    code = "not_published"


class BlockChanged(Conflict):
    """The block has changed since you saw it; nothing was done; look at it again, then decide. `tag` is the present one."""

    code = "block_changed"


class NoLotLeft(Conflict):
    """Every lot has been called, and none was skipped; end the sale, or reopen a lot."""

    code = "no_lot_left"


class LotOnBlock(Conflict):
    """A lot is on the block; sell, pass or skip it first."""

    code = "lot_on_block"


class NoLotOnBlock(Conflict):
    """No lot is on the block; call one first."""

    code = "no_lot_on_block"


class BidsUncalled(Conflict):
    """Lots with bids have not been called yet; call them, or withdraw them."""

    code = "bids_uncalled"


class UnknownPaddle(Conflict):
    """Nobody has this paddle in the sale; admit somebody with it first."""

    code = "unknown_paddle"


class NeedClosed(Conflict):
    """The fund-a-need is closed; undo the hammer or reopen the lot first."""

    code = "need_closed"


class OfAuctions(Conflict):
    """This is a fund-a-need: nobody bids on it and nobody wins it. Note pledges, set the level, close or skip it."""

    code = "of_auctions"


class OfNeeds(Conflict):
    """The lot is an auction; only a fund-a-need takes levels and pledges."""

    code = "of_needs"


class LevelChanged(Conflict):
    """The auctioneer calls another level now, and nothing was noted; `level` is the present one."""

    code = "level_changed"


class NoLevelLeft(Conflict):
    """This is the lowest level; set another amount, or close the lot."""

    code = "no_level_left"


class PledgedAlready(Conflict):
    """This bidder has given this amount already; send it with `again` if they give it once more."""

    code = "pledged_already"


class UnknownPledge(Unknown):
    """The lot has no pledge with this number."""

    code = "unknown_pledge"


class PledgeUndoneAlready(Conflict):
    """This pledge was undone already."""

    code = "pledge_undone"


class PledgesStand(Conflict):
    """Pledges stand on this lot; undo them first."""

    code = "pledges_stand"


class TooManyPledges(Conflict):
    """The lot has as many pledges as a lot can have."""

    code = "too_many_pledges"


class AlreadyDecided(Conflict):
    """The lot has a result already; send its `tag` as `seen`, with a reason, to replace it. Replacing needs `reopen_lots`."""

    code = "already_decided"


class ResultChanged(Conflict):
    """The lot no longer has the result that you saw; nothing was done; look at it again, then decide."""

    code = "result_changed"


class UnusualPrice(Conflict):
    """The price is ten times the estimate or starting price, or more; check it, then send it again with `isSure`."""

    code = "unusual_price"


class PriceBelowReserve(Conflict):
    """The price is below the reserve; send the result again and say in `below` what happens to the lot."""

    code = "price_below_reserve"


class AbsenteeBidStands(Conflict):
    """A bid from outside the hall stands against this result; send it again with its `maximum` in `against`, if it holds."""

    code = "absentee_bid_stands"


class ConsignorBids(Conflict):
    """The account of the consignor has bid on the lot, and nobody bids on a lot that they have consigned; choose another."""

    code = "consignor_bids"


class CodeTaken(Conflict):
    """Another consignor has this code; choose another."""

    code = "code_taken"


class LotGone(Conflict):
    """The lot is in another sale by now, or went back to its consignor: withdraw it there, or undo that, first."""

    code = "lot_gone"
