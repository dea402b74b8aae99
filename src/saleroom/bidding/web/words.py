"""The words of the pages for refusals, changes and terms of an auction."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from markupsafe import Markup

from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.errors import AuctionChanged
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import read_ladder
from saleroom.bidding.domain.views import AuctionView
from saleroom.kernel.errors import Refusal
from saleroom.site.language import N_, Language
from saleroom.site.words import NOT_FROM_A_PAGE, Words, sentence

STEPS = (1, 5)
"""The buttons beside a bid: so many steps above the next possible bid."""
_LATE = {
    1: N_("in the last second"),
    60: N_("in the last minute"),
    3600: N_("in the last hour"),
}
_LATE_BY = N_("in the last %(window)s")
_NO_PICTURE = (N_("This is not a picture. Choose a JPEG, PNG, WebP, GIF or AVIF file."),)

WORDS = Words(
    refusals={
        "unknown_auction": (N_("The address may be mistyped. A lot's address never changes."),),
        "unknown_calendar": (N_("The link has ended, or is mistyped. Make a new one at your watch list."),),
        "unknown_photo": (N_("This photo is no longer stored. Add it again."),),
        "photos_unavailable": (
            N_("The house cannot reach its photos just now. Nothing was changed; try again shortly."),
        ),
        "own_auction": (N_("This is your own lot, so you cannot bid on it."),),
        "not_registered": (N_("Only those who have registered for the sale can bid on this lot."),),
        "registration_pending": (N_("The house has not approved your registration for the sale yet."),),
        "registration_declined": (
            N_("The house has declined your registration for the sale. The reason is: “%(reason)s”."),
            N_("The house has declined your registration for the sale."),
        ),
        "beyond_limit": (
            N_(
                "This goes beyond your limit of %(limit)s in the sale. You lead by or have bought for %(exposure)s, "
                "so you can bid up to %(left)s on this lot."
            ),
            N_("This goes beyond your limit in the sale."),
        ),
        "lot_of_a_sale": (N_("This lot belongs to a sale. Those who manage the sale change it there."),),
        "not_author": (N_("Only the seller of a lot may do this."),),
        "bid_too_low": (
            N_("Your bid is too low. Bid %(minimum_bid)s or more."),
            N_("Nobody can bid more here: the price is as high as an amount can be."),
        ),
        "already_leading": (N_("You are leading already. To raise your limit, enter a higher one."),),
        "ask_changed": (
            N_("Too late: the ask is %(minimum_bid)s now. Your bid was not taken."),
            N_("The ask has changed. Your bid was not taken."),
        ),
        "not_on_the_block": (N_("This lot is not on the block now, so no bid was taken."),),
        "auction_closed": (N_("The auction is over, so this came too late."),),
        "auction_not_started": (
            N_("Bidding has not begun yet. It opens on %(starts_at)s."),
            N_("Bidding has not begun yet."),
        ),
        "auction_started": (N_("Bidding has begun, so the start can no longer be moved."),),
        "has_bids": (N_("There are bids on this lot, so it can no longer be changed or cancelled."),),
        "unknown_bid": (N_("There is no such bid to be voided."),),
        "taken_down": (N_("The house has taken this lot down. It is not shown, and nobody can bid on it."),),
        "auction_paused": (
            N_("The clock of this lot stands still, so it takes no bids. Wait until the sale goes on."),
        ),
        "already_hidden": (N_("This lot is taken down already."),),
        "not_hidden": (N_("This lot is not taken down."),),
        "bids_there": (
            N_("You bid on this lot yourself. Somebody of the staff who does not bid here can void a bid."),
        ),
        "already_voided": (N_("This bid has been voided already."),),
        "buy_now_unavailable": (
            N_("This lot can no longer be bought at a fixed price. You can bid %(minimum_bid)s or more."),
            N_("This lot can no longer be bought at a fixed price."),
        ),
        "terms_changed": (
            N_("This lot was changed after you saw it, so nothing was done. Look at it again, then decide."),
        ),
        "precondition_failed": (
            N_(
                "Something has happened on this lot after you saw it, so nothing was done. Look at it again, then decide."
            ),
        ),
        "ends_by_itself": (
            N_("This lot has an end and closes by itself: %(ends_at)s."),
            N_("This lot closes by itself."),
        ),
        "too_many_photos": (
            N_(
                "You have too many photos without a lot. Put a draft on sale or delete one, or wait a day: then photos "
                "that are in no draft are deleted."
            ),
        ),
        "too_many_remarks": (N_("This lot has as many remarks as a lot can have."),),
        "too_many_questions": (
            N_("You have as many open questions as one user may have. Wait for answers, or ask again tomorrow."),
        ),
        "questions_full": (N_("This lot has as many questions as a lot can have."),),
        "question_settled": (N_("This question has been answered or declined already."),),
        "unknown_question": (N_("There is no such question on this lot."),),
        "too_many_auctions": (
            N_("You have reached the limit of lots on sale, or of lots listed within a day. Wait until some are over."),
        ),
        "too_many_changes": (
            N_("You have changed your lots too often. Try again in %(retry_after)s."),
            N_("You have changed your lots too often. Try again later."),
        ),
        "too_many_watched": (N_("You have reached the limit of watched lots. Take some off your list."),),
        "image_expected": _NO_PICTURE,
    },
    headings={
        "unknown_auction": N_("There is no such lot"),
        "taken_down": N_("This lot was taken down"),
        "unknown_calendar": N_("This calendar is no longer here"),
    },
    faults={
        "above_maximum": (N_("This is above your limit."),),
        "step_not_positive": (N_("Every step must be above zero."),),
        "ladder_empty": (N_("Enter at least one step."),),
        "ladder_too_long": (N_("Enter at most %(most)s steps."),),
        "ladder_start": (N_("The first step must be for prices from zero."),),
        "ladder_order": (N_("Each step must begin at a higher price than the one before."),),
        "below_starting_price": (N_("This must be at least the starting price."),),
        "below_reserve_price": (N_("This must be at least the reserve price."),),
        "not_in_future": (N_("This time has passed. Choose a later one."),),
        "not_after_start": (N_("The end must be after the start."),),
        "cap_before_end": (N_("The latest end cannot be before the end."),),
        "not_an_image": _NO_PICTURE,
        "image_truncated": (N_("This picture is incomplete or damaged. Send it again, or save it again first."),),
        "image_too_costly": (
            N_("This picture takes too long to open. Save it as a plain JPEG (baseline) and add that."),
        ),
        "image_too_large": (N_("This picture has too many pixels: at most %(most)s million are allowed."),),
        "image_too_small": (N_("This picture is too small: it must be %(least)s pixels wide and high at least."),),
        "image_too_narrow": (
            N_("This picture is too long and narrow: one side may be %(most)s times the other at most."),
        ),
        "file_too_large": (
            N_("This file is too large: at most %(limit)s are allowed."),
            N_("This file is too large."),
        ),
        "too_many_photos": (N_("A lot can have at most %(most)s photos."),),
        "unknown_photo": (N_("One of these photos is no longer stored. Add it again."),),
        "unknown_category": (N_("The house does not have this category. Choose another one."),),
        "photo_in_use": (N_("One of these photos is on another lot. Add the picture again."),),
        **dict.fromkeys(
            ("command_id", "entity_tag", "event_id", "lots", "photo_id", "response_topic"), NOT_FROM_A_PAGE
        ),
    },
)

CHANGES: Mapping[str, tuple[str, ...]] = {
    "name": (N_("The lot was called “%(was)s” and is now called “%(now)s”."),),
    "description": (N_("The description has changed."),),
    "category": (
        N_("The lot was in the category “%(was)s” and is now in “%(now)s”."),
        N_("The lot was in the category “%(was)s” and is now in none."),
        N_("The lot is now in the category “%(now)s”."),
    ),
    "photos": (N_("The photos or their order have changed."),),
    "starting_price": (N_("The starting price was %(was)s and is now %(now)s."),),
    "reserve_price": (N_("The reserve has changed."),),
    "buy_now_price": (
        N_("The buy-now price was %(was)s and is now %(now)s."),
        N_("The lot can no longer be bought at once. The price was %(was)s."),
        N_("The lot can now be bought at once for %(now)s."),
    ),
    "soft_close": (N_("The rule for late bids has changed."),),
    "starts_at": (
        N_("The sale was to start on %(was)s and now starts on %(now)s."),
        N_("The sale was to start on %(was)s, and now has no set start."),
        N_("The sale now starts on %(now)s."),
    ),
    "ends_at": (
        N_("The sale was to end on %(was)s and now ends on %(now)s."),
        N_("The sale was to end on %(was)s, and is now open until the seller closes it."),
        N_("The sale now ends on %(now)s."),
    ),
}
"""The sentences about a change of the terms or photos, by the member that has changed."""


def changes(language: Language, refused: Refusal | None) -> list[str]:
    """Return a sentence, as markup, for each change to a lot since the reader saw it."""
    found = refused.facts.get("changes") if isinstance(refused, AuctionChanged) else ()
    assert isinstance(found, tuple), "this fact is always a tuple"
    return [sentence(language, CHANGES[one.member], {"was": one.was, "now": one.now}) for one in found]


def steps(_: Language, a: AuctionView) -> list[tuple[int, Decimal]]:
    """Return some bids above the next possible one, each with the number of steps up to it."""
    found: list[tuple[int, Decimal]] = []
    amount = None if a.minimum_bid is None else Decimal(a.minimum_bid)
    ladder = read_ladder(a.increment)
    for count in range(1, max(STEPS) + 1):
        amount = None if amount is None else ladder.next_above(amount)
        if amount is not None and count in STEPS:
            found.append((count, amount))
    return found


def soft_close(language: Language, rule: SoftClose) -> Markup:
    """Return a sentence on the soft close (docs/rules.md, rule 6), as markup."""
    sentences = (
        N_("A bid %(late)s moves the end to %(extension)s after that bid, but never past %(cap)s."),
        N_("A bid %(late)s moves the end to %(extension)s after that bid."),
    )
    late = language.gettext(_LATE.get(rule.window, _LATE_BY), window=language.duration(rule.window))
    return sentence(
        language, sentences, {"late": late, "extension": language.duration(rule.extension), "cap": rule.cap}
    )


CODES: Mapping[str, Mapping[str, str]] = {
    "status": {
        Status.SCHEDULED: N_("not open yet"),
        Status.OPEN: N_("open"),
        Status.CLOSED: N_("closed"),
        Status.CANCELLED: N_("cancelled"),
    },
}
"""The words for values of the audit log."""
