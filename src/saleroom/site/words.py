"""What people read of refusals, faults and terms: a whole sentence for each, in their language, with its facts.

The tables go by the stable codes of `kernel/errors.py`, `http/problems.py` and the faults. Where there are several
sentences for a code, the first one whose facts are all there is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from markupsafe import Markup, escape

from saleroom.bidding.domain.errors import AuctionChanged
from saleroom.bidding.domain.events import SoftClose
from saleroom.kernel.errors import Fact, Fault, Invalid, Refused
from saleroom.kernel.instants import instant
from saleroom.site.language import MONEY_FAULTS, N_, Language, Said

_PLACE = re.compile(r"%\((\w+)\)s")
_NOT_OURS = N_("This was not sent as this page sends it. Reload the page and try again.")
_WRONG_PASSWORD = N_("This is not your current password. Nothing was changed.")
_NO_PICTURE = N_("This is no picture. Choose a JPEG, PNG, WebP, GIF or AVIF file.")

REFUSALS: Mapping[str, tuple[str, ...]] = {
    "refused": (N_("That did not work."),),
    "validation": (N_("Something is not right yet. Please check what is marked."),),
    "unauthenticated": (N_("You are not logged in any more. Log in and try again."),),
    "invalid_authentication": (N_("This username and password do not belong together. Check both and try again."),),
    "wrong_password": (_WRONG_PASSWORD,),
    "username_taken": (N_("This username is taken. Choose another."),),
    "registration_closed": (N_("Registration is closed here. Ask those who run this house for an account."),),
    "unknown_auction": (N_("The address may be mistyped. A lot's address never changes."),),
    "unknown_event": (N_("This page is out of date. Reload it."),),
    "unknown_user": (N_("There is nobody with this name."),),
    "unknown_photo": (N_("This photo is not kept any more. Add it once more."),),
    "unknown_session": (N_("This device is logged out already."),),
    "own_auction": (N_("This is your own lot, so you cannot bid on it."),),
    "not_author": (N_("Only the seller of a lot may do this."),),
    "bid_too_low": (
        N_("Your bid is too low. Bid %(minimum_bid)s or more."),
        N_("Nobody can bid more here: the price is as high as an amount can be."),
    ),
    "already_leading": (N_("You lead already. To raise your limit, give one that is above your present limit."),),
    "auction_closed": (N_("The auction is over, so this came too late."),),
    "auction_not_started": (
        N_("Bidding has not begun yet. It opens on %(starts_at)s."),
        N_("Bidding has not begun yet."),
    ),
    "auction_started": (N_("Bidding has begun, so its start cannot be moved any more."),),
    "has_bids": (N_("There are bids on this lot, so it can be neither changed nor cancelled any more."),),
    "buy_now_unavailable": (
        N_("This lot cannot be bought at a fixed price any more. You may bid %(minimum_bid)s or more."),
        N_("This lot cannot be bought at a fixed price any more."),
    ),
    "terms_changed": (
        N_("This lot was changed after you saw it, so nothing was done. Look at it again, then decide."),
    ),
    "precondition_failed": (
        N_("Something has happened on this lot after you saw it, so nothing was done. Look at it again, then decide."),
    ),
    "ends_by_itself": (N_("This lot has an end and closes by itself: %(ends_at)s."), N_("This lot closes by itself.")),
    "idempotency_mismatch": (
        N_("This form has been sent before, with something else in it. Reload the page and fill it in again."),
    ),
    "too_many_requests": (
        N_("There were too many tries. Try again in %(retry_after)s."),
        N_("There were too many tries. Wait a moment, then try again."),
    ),
    "too_many_photos": (
        N_("You have too many photos that are on no lot. Put them on a lot, or wait a day until they are gone."),
    ),
    "too_many_auctions": (
        N_("You have as many lots on sale, or listed in the last day, as one user may have. Wait until some are over."),
    ),
    "too_many_watched": (N_("You watch as many lots as one user may. Take some off your list."),),
    "busy": (N_("The house is very busy just now. Nothing was changed; try again in a moment."),),
    "not_found": (N_("The address may be mistyped, or the page has moved."),),
    "method_not_allowed": (N_("Open the page by its link, and send forms from their own page."),),
    "csrf": (N_("Go back, reload the page and send the form again."),),
    "body_too_large": (
        N_("That was too large. At most %(limit)s can be sent at once."),
        N_("That was too large to be sent at once."),
    ),
    "headers_too_large": (N_("Your browser sent too much along. Delete the cookies of this site and try again."),),
    "unsupported_media_type": (_NOT_OURS,),
    "image_expected": (_NO_PICTURE,),
    "request_timeout": (N_("It did not arrive in time. Check your connection and send it again."),),
    "unavailable": (N_("The house cannot reach its records just now. Try again shortly."),),
    "internal_error": (N_("It has been logged. Try again; if it stays, tell those who run the house."),),
}
"""What is said of a refusal, and what to do."""

HEADINGS: Mapping[str, str] = {
    "csrf": N_("This form is out of date"),
    "not_found": N_("There is nothing here"),
    "unknown_auction": N_("There is no such lot"),
    "method_not_allowed": N_("This is not the way in"),
    "unavailable": N_("One moment, please"),
    "busy": N_("One moment, please"),
    "internal_error": N_("Something went wrong"),
}
"""What stands over a page that is nothing but a refusal; over the others stands that it did not work."""
_HEADING = N_("That did not work")

FAULTS: Mapping[str, tuple[str, ...]] = {
    **{code: (words,) for code, words in MONEY_FAULTS.items()},
    "money_type": (MONEY_FAULTS["money_format"],),
    "required": (N_("Please fill this in."),),
    "text_length": (
        N_("Write %(least)s to %(most)s characters."),
        N_("Write %(most)s characters at most."),
    ),
    "text_characters": (
        N_("There are hidden control characters in this text, or too many marks on one character. Enter it again."),
    ),
    "not_text": (N_("This text is damaged. Type it anew."),),
    "out_of_range": (N_("Write a whole number from %(least)s to %(most)s."), N_("Write %(most)s at most.")),
    "not_a_choice": (N_("Choose one of those that are offered."),),
    "instant_format": (N_("Write a date and a time."),),
    "instant_range": (N_("This is before 1970. Check the year."),),
    "above_maximum": (N_("This is above your limit."),),
    "not_positive": (N_("This must be above zero."),),
    "step_not_positive": (N_("Every step must be above zero."),),
    "ladder_empty": (N_("Give one step at least."),),
    "ladder_too_long": (N_("Give %(most)s steps at most."),),
    "ladder_start": (N_("The first step must be for prices from zero."),),
    "ladder_order": (N_("Each step must begin at a higher price than the one before."),),
    "username_format": (N_("A username is made of 3 to 32 letters a to z, digits, dots, underscores and hyphens."),),
    "password_length": (N_("A password has %(least)s to %(most)s characters."),),
    "same_password": (N_("This is your current password already. Choose another one."),),
    "wrong_password": (_WRONG_PASSWORD,),
    "below_starting_price": (N_("This must be the starting price at least."),),
    "below_reserve_price": (N_("This must be the reserve price at least."),),
    "not_in_future": (N_("This time has passed. Choose a later one."),),
    "not_after_start": (N_("The end must be after the start."),),
    "cap_before_end": (N_("The latest end cannot be before the end."),),
    "cursor": (N_("There is no such page of this list. Start at its beginning."),),
    "not_an_image": (_NO_PICTURE,),
    "image_truncated": (N_("This picture is broken off or damaged. Send it once more, or save it anew."),),
    "image_too_costly": (N_("This picture takes too long to open. Save it as a plain JPEG (baseline) and add that."),),
    "image_too_large": (N_("This picture has too many pixels: %(most)s million are the most."),),
    "image_too_small": (N_("This picture is too small: it must be %(least)s pixels wide and high at least."),),
    "image_too_narrow": (N_("This picture is too long and narrow: one side may be %(most)s times the other at most."),),
    "file_too_large": (
        N_("This file is too large: %(limit)s are the most."),
        N_("This file is too large."),
    ),
    "too_many_photos": (N_("A lot has %(most)s photos at most."),),
    "unknown_photo": (N_("One of these photos is not kept any more. Add it once more."),),
    "photo_in_use": (N_("One of these photos is on another lot. Add the picture once more."),),
    "malformed_form": (N_("The form did not arrive as it was sent. Reload the page and try again."),),
} | dict.fromkeys(
    # What no form of a page can have wrong, unless somebody writes its request by hand.
    (
        *(
            "command_id",
            "entity_tag",
            "event_id",
            "key_length",
            "lots",
            "malformed",
            "malformed_http",
            "malformed_json",
            "more_faults",
        ),
        *(
            "not_a_list",
            "not_a_string",
            "not_an_object",
            "photo_id",
            "repeated",
            "response_topic",
            "too_deep",
            "unknown",
        ),
    ),
    (_NOT_OURS,),
)
"""What is said of a fault in a field."""


CHANGES: Mapping[str, tuple[str, ...]] = {
    "name": (N_("The lot was called “%(was)s” and is now called “%(now)s”."),),
    "description": (N_("The description is another one."),),
    "photos": (N_("The photos are others, or in another order."),),
    "starting_price": (N_("The starting price was %(was)s and is now %(now)s."),),
    "reserve_price": (N_("The reserve is another one."),),
    "buy_now_price": (
        N_("The price to buy now was %(was)s and is now %(now)s."),
        N_("The lot could be bought at once for %(was)s, and cannot any more."),
        N_("The lot can now be bought at once for %(now)s."),
    ),
    "soft_close": (N_("What a late bid does to the end is another rule."),),
    "starts_at": (
        N_("The sale was to start on %(was)s and now starts on %(now)s."),
        N_("The sale was to start on %(was)s, and has no start of its own any more."),
        N_("The sale now starts on %(now)s."),
    ),
    "ends_at": (
        N_("The sale was to end on %(was)s and now ends on %(now)s."),
        N_("The sale was to end on %(was)s, and is now open until the seller closes it."),
        N_("The sale now ends on %(now)s."),
    ),
}
"""What is said of a change of what is offered, by the member that has changed."""


def changes(language: Language, refused: Refused | None) -> list[str]:
    """Return what has changed of a lot since somebody saw it, a sentence for each change, as markup."""
    found = refused.facts.get("changes") if isinstance(refused, AuctionChanged) else ()
    assert isinstance(found, tuple), "the fact is a tuple wherever it is"
    return [_say(language, CHANGES[one.member], {"was": one.was, "now": one.now}) for one in found]


def refusal(language: Language, refused: Refused) -> str:
    """Return what to tell of `refused`, as markup: an instant in it is a `time`, which shows in the reader's zone."""
    return _say(language, REFUSALS.get(refused.code, (refused.message,)), refused.facts)


def problem(language: Language, refused: Refused) -> tuple[str, str]:
    """Return the heading and the text of a page that is nothing but a refusal."""
    heading = language.gettext(HEADINGS.get(refused.code, _HEADING))
    if isinstance(refused, Invalid):
        return heading, " ".join(dict.fromkeys(faults(language, refused).values()))
    return heading, refusal(language, refused)


def faults(language: Language, invalid: Invalid) -> dict[str, str]:
    """Return what is wrong with each field, in whole sentences."""
    return {
        field: " ".join(dict.fromkeys(fault(language, one) for one in found)) for field, found in invalid.faults.items()
    }


def fault(language: Language, found: Fault) -> str:
    """Return what is wrong with a field; a page's own faults may have said it already."""
    if isinstance(found, Said) or found.code not in FAULTS:
        return language.gettext(found.message)
    return str(_say(language, FAULTS[found.code], {"example": language.example, **found.facts}))


def soft_close(language: Language, rule: SoftClose) -> str:
    """Return what a late bid does to the end (docs/rules.md, rule 6), as markup."""
    words = (
        N_("A bid in the last %(window)s moves the end to %(extension)s after that bid, but never past %(cap)s."),
        N_("A bid in the last %(window)s moves the end to %(extension)s after that bid."),
    )
    window, extension = language.duration(rule.window), language.duration(rule.extension)
    return _say(language, words, {"window": window, "extension": extension, "cap": rule.cap})


def moment(language: Language, at: datetime) -> Markup:
    """Return an instant in the reader's language, in UTC; scripts show it in the reader's zone."""
    return Markup('<time datetime="{}">{}</time>').format(instant(at), " ".join(language.when(at)))


def _say(language: Language, sentences: tuple[str, ...], facts: Mapping[str, Fact]) -> Markup:
    # A number that is nought says nothing, such as no seconds to wait; an amount of nought is one.
    told = {name: fact for name, fact in facts.items() if fact is not None and (fact != 0 or isinstance(fact, Decimal))}
    values = {name: _written(language, name, fact) for name, fact in told.items()}
    sentence = next((words for words in sentences if set(_PLACE.findall(words)) <= values.keys()), sentences[-1])
    return escape(language.gettext(sentence)) % values


def _written(language: Language, name: str, fact: Fact) -> str:
    """Return a fact as people read it. Seconds and bytes are told by their names, as whole numbers have no unit."""
    if isinstance(fact, datetime):
        return moment(language, fact)
    if isinstance(fact, Decimal):
        return language.money(fact)
    if isinstance(fact, int) and not isinstance(fact, bool):
        return {"retry_after": language.duration, "limit": language.size}.get(name, language.number)(fact)
    return str(fact)
