"""The words of the pages for refusals on the block of a live sale."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.site.language import N_

REFUSALS: Mapping[str, tuple[str, ...]] = {
    "ask_too_low": (
        N_("The next price must be above %(current_bid)s."),
        N_("The next price must be above the present one."),
    ),
    "on_the_block": (N_("The lot is on the block already."),),
    "not_in_book": (
        N_("The book has no absentee bid of this paddle on this lot, or its bidder has raised it themselves since."),
    ),
    "no_bid_stands": (N_("No bid stands, so the lot cannot be sold. Pass it."),),
    "needs_paddle": (N_("The hall leads, and nobody knows by which paddle. Name the paddle first."),),
    "below_reserve": (N_("The price is below the reserve. Sell conditionally, so that the seller decides, or pass."),),
    "bid_stands": (N_("A bid stands that the lot can be sold to. Sell it, or have the bid taken back first."),),
    "not_of_the_floor": (N_("No bid of the hall leads without a paddle, so there is nobody to name."),),
    "not_leading": (N_("This bidder does not lead, so they have no bid to take back."),),
    "nothing_to_undo": (N_("There is nothing to undo: no act since the call, or bids have come since."),),
    "not_conditional": (N_("This lot waits for no decision of its seller."),),
    "not_closed": (N_("This lot is not closed, so it cannot be opened again."),),
    "not_live": (N_("This is a timed sale: clocks close its lots."),),
    "not_published": (N_("The sale is a draft. Publish it first."),),
    "block_changed": (N_("Something has happened on the block since you looked. Nothing was done; look again."),),
    "no_lot_left": (N_("Every lot has been called. End the sale, or open a lot again."),),
    "lot_on_block": (N_("A lot is on the block. Sell, pass or skip it first."),),
    "no_lot_on_block": (N_("No lot is on the block. Call one first."),),
    "bids_uncalled": (
        N_(
            "These lots have bids and were not called: %(lots)s. Call or withdraw them. One that was taken down is called "
            "once it is shown again."
        ),
        N_("Some lots have bids and were not called. Call or withdraw them."),
    ),
    "need_closed": (N_("The fund-a-need is closed. Undo the hammer, or reopen the lot first."),),
    "of_auctions": (N_("This is a fund-a-need: nobody bids on it. Note paddles, set the level, close it or skip it."),),
    "of_needs": (N_("This lot is an auction. Only a fund-a-need takes levels and pledges."),),
    "level_changed": (
        N_("The level is %(level)s now. Nothing was noted."),
        N_("The level has changed. Nothing was noted."),
    ),
    "no_level_left": (N_("This is the lowest level. Set another amount, or close the lot."),),
    "pledged_already": (
        N_("This bidder has given %(amount)s already."),
        N_("This bidder has given this amount already."),
    ),
    "unknown_pledge": (N_("There is no pledge with this number on the lot."),),
    "pledge_undone": (N_("This pledge was undone already."),),
    "pledges_stand": (N_("Pledges stand on this lot. Undo them first."),),
    "too_many_pledges": (N_("The lot has as many pledges as a lot can have."),),
    "unknown_paddle": (
        N_("Nobody has the paddle %(paddle)s in this sale. Admit somebody with it first."),
        N_("Nobody has this paddle in the sale. Admit somebody with it first."),
    ),
    "already_decided": (
        N_("Lot %(label)s has a result already. Replace it, or drop yours."),
        N_("The lot has a result already. Replace it, or drop yours."),
    ),
    "result_changed": (
        N_("Lot %(label)s has another result by now, or none. Nothing was done; look at it again."),
        N_("The lot has another result by now, or none. Nothing was done; look at it again."),
    ),
    "unusual_price": (
        N_("The price is ten times the estimate or starting price, or more. Check it, and confirm it if it is right."),
    ),
    "price_below_reserve": (
        N_("The price is below the reserve of lot %(label)s. Say whether it is sold conditionally or passed."),
        N_("The price is below the reserve. Say whether the lot is sold conditionally or passed."),
    ),
    "absentee_bid_stands": (
        N_("A bid from outside the hall stands against the result of lot %(label)s."),
        N_("A bid from outside the hall stands against this result."),
    ),
}
OF_A_PADDLE: Mapping[str, tuple[str, ...]] = {
    "taken_down": (
        N_(
            "This lot was taken down, so nothing more is done with it until it is shown again. If it is on the block, "
            "skip it (S), then call the next lot. It keeps its bids and its place."
        ),
    ),
    "already_leading": (N_("This paddle leads already."),),
    "beyond_limit": (
        N_(
            "This goes beyond the limit of %(limit)s of this bidder. They lead by or have bought for %(exposure)s, "
            "so they can bid up to %(left)s on this lot."
        ),
        N_("This goes beyond the limit of this bidder."),
    ),
    "bid_too_low": (
        N_("The bid is too low: it must be %(minimum_bid)s or more."),
        N_("Nobody can bid more here: the price is as high as an amount can be."),
    ),
    "own_auction": (N_("The lot is this bidder's own, so they cannot bid on it."),),
    "registration_declined": (
        N_("The house has declined this bidder. The reason is: “%(reason)s”."),
        N_("The house has declined this bidder."),
    ),
    "registration_pending": (N_("The house has not approved this bidder yet."),),
}
"""The sentences for a clerk who has bid for somebody. The other sentences on these refusals speak to the bidder."""
FAULTS: Mapping[str, tuple[str, ...]] = {
    "lots_or_name": (N_("Name the lots, or give a new lot a name."),),
    "lot_twice": (N_("Each lot must be named once."),),
    "too_many_of_line": (N_("A line can have %(most)s lots."),),
    "price_and_paddle": (N_("Enter both the price and the paddle, or neither for a lot that was passed."),),
    "price_of_new": (N_("A lot that is made on the spot needs a price and a paddle."),),
    "one_tag_each": (N_("The lots have changed since you looked. Look again."),),
    "too_many_tags": (N_("The lots have changed since you looked. Look again."),),
    "not_a_list_of_tags": (N_("The lots have changed since you looked. Look again."),),
    "required_to_reopen": (N_("Say why the result is taken back."),),
}
