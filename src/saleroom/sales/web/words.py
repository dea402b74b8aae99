"""The words of the pages for refusals and states of sales."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.sale import Kind, Names, Registration, SaleStatus
from saleroom.sales.web.block_words import FAULTS as BLOCK_FAULTS
from saleroom.sales.web.block_words import REFUSALS
from saleroom.sales.web.import_words import FAULTS
from saleroom.site.language import N_
from saleroom.site.words import Words

WORDS = Words(
    refusals={
        "lot_gone": (
            N_(
                "This lot is in another sale by now, or went back to its consignor. Withdraw it there, or undo that, first."
            ),
        ),
        **REFUSALS,
        "unknown_sale": (N_("The address may be mistyped, or the sale is not published yet."),),
        "unknown_lot": (N_("There is no lot with this number in the sale. Somebody may have renumbered it."),),
        "unknown_consignor": (N_("There is no consignor with this code."),),
        "sale_published": (N_("The sale is published, so this can no longer be changed."),),
        "sale_over": (N_("The sale is over or cancelled."),),
        "sale_running": (N_("The sale has begun, so this is no longer possible. Single lots can be withdrawn."),),
        "sale_paused": (N_("The sale stands still. Resume it first."),),
        "sale_not_running": (N_("The sale does not run now, so it can be neither paused nor ended."),),
        "sale_not_paused": (N_("The sale does not stand still."),),
        "no_lots": (N_("The sale has no lots yet. Add at least one, then publish it."),),
        "too_many_lots": (
            N_("A sale can have %(limit)s lots. Put further ones into another sale."),
            N_("The sale has as many lots as a sale can have."),
        ),
        "label_taken": (
            N_("Another lot of the sale has the number %(label)s. Choose another number."),
            N_("Another lot of the sale has this number. Choose another one."),
        ),
        "lot_withdrawn": (N_("This lot has been withdrawn."),),
        "bid_on_lots": (
            N_("Somebody has bid on lots whose end would move: %(lots)s. Leave these lots in their places."),
            N_("Somebody has bid on lots whose end would move. Leave these lots in their places."),
        ),
        "unknown_participant": (
            N_("There is no such bidder in the sale. Somebody may have merged them with another."),
        ),
        "no_registration": (N_("Everybody may bid in this sale, so you need not register."),),
        "paddle_taken": (
            N_("Somebody else has the paddle %(paddle)s. The paddle %(free)s is free."),
            N_("Somebody else has this paddle."),
        ),
        "paddle_fixed": (
            N_("They have bid under the paddle %(paddle)s, which others have seen. It stays theirs."),
            N_("They have bid under their paddle, which others have seen. It stays theirs."),
        ),
        "participant_already": (N_("This user takes part in the sale already."),),
        "merged_already": (N_("They are one with another bidder of the sale already. Take the other one."),),
        "bids_stay": (
            N_(
                "Both have bid in the sale, or an account has placed these bids, so they cannot be merged. "
                "Decline one of them instead."
            ),
        ),
        "too_many_participants": (
            N_("A sale can have %(limit)s bidders."),
            N_("The sale has as many bidders as a sale can have."),
        ),
        "consignor_bids": (
            N_("This consignor's account has bid on lot %(lots)s, and nobody bids on a lot that they have consigned."),
            N_("This consignor's account has bid on the lot, and nobody bids on a lot that they have consigned."),
        ),
        "code_taken": (N_("Another consignor has this code. Choose another one."),),
    },
    faults={
        **FAULTS,
        **BLOCK_FAULTS,
        "another_participant": (N_("Choose another bidder to merge this one with."),),
        "participant": (N_("Choose another bidder to merge this one with."),),
        "cap_in_sale": (N_("The lots of a sale end one after the other, so their soft close has no cap."),),
        "not_a_list_of_labels": (N_("Name the lots by their numbers."),),
        "too_many_labels": (N_("A sale can have %(most)s lots."),),
        "consignor_code": (N_("Enter 1 to 20 of the characters A to Z, 0 to 9, full stop, underscore and hyphen."),),
        "lots_format": (N_("Name lots by their numbers and ranges, such as 1-3,5,12A."),),
        "paddles_format": (N_("Name paddles by their numbers and ranges, such as 1-3,5."),),
        "backwards": (N_("A range goes from the lower number to the higher one."),),
        "nothing_chosen": (N_("There is nothing of these numbers to print in this sale."),),
        "zone": (N_("The house does not know this time zone."),),
        "skip": (N_("Enter 0 to 23."),),
        "digests": (N_("The digests of labels are not those that the house gave."),),
        "digests_length": (N_("A sale can have %(limit)s lots."),),
        "book_line": (
            N_("Enter paddle, lot and amount, such as 12 45 500, or a hyphen for the amount to take the bid back."),
        ),
        "label_format": (N_("Enter up to six digits and up to two letters, such as 12 or 12A."),),
        "steps_format": (N_("Enter one step, such as 5, or steps by price, such as 0: 5 / 100: 10."),),
        "levels_count": (N_("Enter 1 to %(most)s levels."),),
        "levels_positive": (N_("Enter amounts above 0."),),
        "levels_descending": (N_("Enter the levels from high to low, each once."),),
        "goal_positive": (N_("Enter an amount above 0."),),
        "needs_live": (N_("A fund-a-need belongs in a live sale, as an auctioneer calls its levels."),),
        "of_auctions": (N_("A fund-a-need has levels instead."),),
        "of_needs": (N_("Only a fund-a-need has a goal."),),
        "not_a_list_of_amounts": (N_("Enter amounts, such as 5000 / 1000 / 500."),),
        "required_by_act": (N_("This is needed for what you want to do."),),
        "required_with_to": (N_("Enter the lower end of the estimate too."),),
        "below_from": (N_("The upper end of the estimate must not be below the lower one."),),
        "not_before_start": (N_("Bidding must open before the first lot ends or the sale begins."),),
        "too_far": (N_("This is too far away. Check the year."),),
        "no_soft_close": (N_("This needs a timed sale with a soft close."),),
        "repeated_lots": (N_("Each lot must be named once."),),
        "unknown_lots": (N_("Only lots of the sale can be put in order."),),
        "missing_lots": (N_("All lots of the sale must be named. Somebody may have added one meanwhile."),),
    },
    headings={"unknown_sale": N_("There is no such sale")},
)

ADMISSIONS: Mapping[Standing, str] = {
    Standing.PENDING: N_("waits for approval"),
    Standing.APPROVED: N_("approved"),
    Standing.LIMITED: N_("approved up to a limit"),
    Standing.DECLINED: N_("declined"),
}
CHANNELS: Mapping[Channel, str] = {
    Channel.FLOOR: N_("in the hall"),
    Channel.PHONE: N_("by telephone"),
    Channel.ONLINE: N_("online"),
    Channel.ABSENTEE: N_("by absentee bids"),
}
CODES: Mapping[str, Mapping[str, str]] = {
    "act": {
        Act.CALL: N_("call"),
        Act.BID: N_("bid"),
        Act.ASK: N_("ask for another price"),
        Act.WARN: N_("fair warning or final call"),
        Act.NAME: N_("name the bidder"),
        Act.SELL: N_("sell"),
        Act.SELL_CONDITIONALLY: N_("sell conditionally"),
        Act.PASS: N_("pass"),
        Act.SKIP: N_("skip"),
        Act.RETRACT: N_("take a bid back"),
        Act.UNDO: N_("undo"),
        Act.REOPEN: N_("open again"),
        Act.DECIDE: N_("decide for the seller"),
        Act.PAUSE: N_("pause"),
        Act.RESUME: N_("resume"),
        Act.END: N_("end"),
        Act.LEVEL: N_("set the level"),
        Act.PLEDGE: N_("note a pledge"),
        Act.UNDO_PLEDGE: N_("undo a pledge"),
    },
    "admission": {one.value: said for one, said in ADMISSIONS.items()},
    "kind": {Kind.TIMED: N_("timed"), Kind.LIVE: N_("live")},
    "names": {Names.USERNAMES: N_("usernames"), Names.PADDLES: N_("paddles")},
    "registration": {
        Registration.NONE: N_("nobody needs to register"),
        Registration.OPEN: N_("open to everybody"),
        Registration.APPROVAL: N_("staff approves"),
    },
    "status": {
        SaleStatus.DRAFT: N_("draft"),
        SaleStatus.PUBLISHED: N_("published"),
        SaleStatus.RUNNING: N_("running"),
        SaleStatus.PAUSED: N_("paused"),
        SaleStatus.CLOSED: N_("closed"),
        SaleStatus.CANCELLED: N_("cancelled"),
    },
}
"""The words for values of the audit log."""
