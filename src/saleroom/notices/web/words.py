"""The words of notices: those of the pages, and what mails say about a lot."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from saleroom.notices.domain.webhooks import TEST, Off
from saleroom.outbox.message import State
from saleroom.site.language import N_
from saleroom.site.words import Words

REASONS = (
    N_("It is no longer so."),
    N_("It waited for too long."),
    N_("The browser gets no messages any more."),
    N_("The house cannot read what it is about."),
    N_("The house ended in the last try."),
    N_("The lot is hidden, or the event is gone."),
    N_("The user does not want it."),
    N_("The user has no verified mail address."),
    N_("The webhook is switched off."),
    N_("The webhook was deleted."),
    N_("The webhook was switched off."),
    N_("This version of the house does not know what to say."),
)
"""Why a message was not sent, in the house's own words as the outbox keeps them (`last_error`), for `gettext`. What a server
has said is none of them, and stands as it is."""
WORDS = Words(
    refusals={
        "unknown_subscription": (N_("This device gets no messages any more."),),
        "unknown_word": (N_("This message was sent meanwhile, or is too old."),),
        "unknown_webhook": (N_("There is no such webhook; you may have deleted it."),),
        "too_many_webhooks": (N_("You have as many webhooks as one user can have. Delete one first."),),
        "webhook_off": (N_("This webhook is switched off. Switch it on first."),),
    },
    faults={
        "must_be_mailed": (N_("Mails about an overdue invoice cannot be switched off."),),
        "no_hours": (N_("The quiet hours end when they begin. Enter another end, or leave both fields empty."),),
        "time_format": (N_("Enter a time such as 22:30."),),
        "webhook_private": (
            N_("Enter an address of the public internet: the house posts to none of its own or of a private network."),
        ),
        "webhook_url": (N_("Enter an address that begins with https:// and has neither a user nor a password."),),
        "time_zone": (N_("Choose a time zone, such as Europe/Berlin."),),
        "push_endpoint": (N_("The house cannot send to the push service of this browser."),),
        "push_off": (N_("This house sends no messages to devices."),),
        "push_keys": (N_("The keys of this browser cannot be used. Try another browser."),),
        "push_private": (
            N_("The push service of this browser is in a private network, where this house sends nothing."),
        ),
    },
)


class Phrase(Struct, frozen=True, kw_only=True):
    """What is said of a kind of word: its `title` where people choose, the `subject` and the `sentence` of its mail.

    `reasoned` is the sentence if a reason is told. `path` is the page where its receiver acts, for the gid of the lot.
    """

    title: str
    subject: str
    sentence: str
    reasoned: str | None = None
    shows_price: bool = False
    shows_end: bool = False
    path: str = "/lots/{gid}"


PHRASES: Mapping[str, Phrase] = {
    "outbid": Phrase(
        title=N_("Somebody outbids me"),
        subject=N_("You were outbid: %(lot)s"),
        sentence=N_("Somebody has bid more than you."),
        shows_price=True,
        shows_end=True,
    ),
    "leading": Phrase(
        title=N_("I lead again"),
        subject=N_("You lead again: %(lot)s"),
        sentence=N_("You lead again, at %(price)s."),
        shows_end=True,
    ),
    "voided": Phrase(
        title=N_("A bid on a lot that I bid on is voided"),
        subject=N_("A bid is voided: %(lot)s"),
        sentence=N_(
            "The house has voided a bid of %(amount)s, and what stood before it stands again. It says: %(reason)s"
        ),
        shows_price=True,
        shows_end=True,
    ),
    "hidden": Phrase(
        title=N_("A lot of mine, or one that I watch or bid on, is taken down"),
        subject=N_("Taken down: %(lot)s"),
        sentence=N_(
            "The house has taken down a lot that you watch or bid on. Nobody can bid on it until it is shown again."
        ),
        reasoned=N_(
            "The house has taken your lot down. Nobody can bid on it until it is shown again. It says: %(reason)s"
        ),
    ),
    "shown": Phrase(
        title=N_("A lot that was taken down is shown again"),
        subject=N_("Shown again: %(lot)s"),
        sentence=N_("The house had taken this lot down, and shows it again."),
        shows_price=True,
        shows_end=True,
    ),
    "cancelled": Phrase(
        title=N_("The sale of a lot of mine, or of one that I watch or bid on, is cancelled"),
        subject=N_("Cancelled: %(lot)s"),
        sentence=N_("The sale of this lot is cancelled. Nobody has bought it."),
        reasoned=N_("The house has cancelled the sale of this lot. Nobody has bought it. It says: %(reason)s"),
    ),
    "ending": Phrase(
        title=N_("A lot that I watch ends in ten minutes"),
        subject=N_("Ends soon: %(lot)s"),
        sentence=N_("This lot, which you watch, ends soon."),
        shows_price=True,
        shows_end=True,
    ),
    "near": Phrase(
        title=N_("A lot of mine, or one that I watch or bid on, is called soon"),
        subject=N_("Called soon: %(lot)s"),
        sentence=N_("The auctioneer calls this lot soon: three lots at most come before it."),
        shows_price=True,
    ),
    "called": Phrase(
        title=N_("The auctioneer sells a lot of mine, or one that I watch or bid on"),
        subject=N_("On the block: %(lot)s"),
        sentence=N_("The auctioneer is selling this lot now."),
        shows_price=True,
    ),
    "decision_asked": Phrase(
        title=N_("My lot has a bid below the reserve price, and I am to decide"),
        subject=N_("Do you accept the bid? %(lot)s"),
        sentence=N_(
            "The highest bid on your lot is %(price)s, which is below its reserve price. Tell the house whether you accept it."
        ),
        path="/mine/decisions#{gid}",
    ),
    "won": Phrase(
        title=N_("I have won a lot"),
        subject=N_("You have won: %(lot)s"),
        sentence=N_("You have won this lot for %(price)s."),
    ),
    "not_won": Phrase(
        title=N_("A lot that I bid on has ended, and I have not won it"),
        subject=N_("Not won: %(lot)s"),
        sentence=N_("This lot has ended. Somebody else has won it for %(price)s."),
    ),
    "sold": Phrase(
        title=N_("My lot is sold"),
        subject=N_("Sold: %(lot)s"),
        sentence=N_("Your lot is sold to %(winner)s for %(price)s."),
    ),
    "not_sold": Phrase(
        title=N_("My lot has ended without a sale"),
        subject=N_("Not sold: %(lot)s"),
        sentence=N_("Your lot has ended without a sale."),
    ),
    "reopened": Phrase(
        title=N_("The hammer on a lot of mine, or one that I bid on, is taken back"),
        subject=N_("Open again: %(lot)s"),
        sentence=N_("The hammer on this lot was taken back. The lot is open again, and nobody has bought it yet."),
        reasoned=N_(
            "The hammer on this lot was taken back. The lot is open again, and nobody has bought it yet. "
            "The house says: %(reason)s"
        ),
        shows_price=True,
    ),
    "question_asked": Phrase(
        title=N_("Somebody asks about my lot"),
        subject=N_("A question about your lot: %(lot)s"),
        sentence=N_("Somebody has asked a question about your lot. Read and answer it on the page of the lot."),
    ),
    "question_answered": Phrase(
        title=N_("My question is answered"),
        subject=N_("Your question is answered: %(lot)s"),
        sentence=N_("The seller has answered your question. Read the answer on the page of the lot."),
    ),
}
"""What is said of each kind of word about a lot; mails show no text of other users but names, which are short."""

NEWS = ("News of %(num)s lot", "News of %(num)s lots")
"""In place of the title of a message about several lots; translated with the template of mails, which says the same."""

STATES: Mapping[State, str] = {
    State.WAITING: N_("waits"),
    State.SENT: N_("sent"),
    State.GIVEN_UP: N_("given up"),
    State.DROPPED: N_("dropped"),
}
"""What has become of a word."""

TITLES: Mapping[str, str] = {
    **{kind: phrase.title for kind, phrase in PHRASES.items()},
    "invoice": N_("There is an invoice for me"),
    "credit_note": N_("Lines of an invoice or a statement of mine are taken back"),
    "overdue": N_("An invoice of mine is overdue"),
    "paid": N_("The house has my payment"),
    "statement": N_("There is a statement of what my lots have come to"),
    "paid_out": N_("The house has paid me out"),
    "payout_failed": N_("A payout to me has failed"),
    "offer": N_("The house offers me a lot that was not sold"),
}
"""Each kind of word where people choose: also those about money, which are mails of their own."""

UNCHOSEN_TITLES: Mapping[str, str] = {
    "verification": N_("A link to verify an address"),
    "reset": N_("A link to set a new password"),
    "invitation": N_("An invitation"),
    "password_changed": N_("The password was changed"),
    "new_login": N_("A new login"),
    "address_changed": N_("The mail address was changed"),
    "codes_off": N_("One-time codes were switched off"),
    "passkey_added": N_("A passkey was added"),
    "passkey_removed": N_("A passkey was removed"),
    "sanction": N_("A warning, a suspension or a ban"),
    "bar_lifted": N_("The end of a suspension or a ban"),
    "seller_approved": N_("The right to sell"),
    "erased": N_("The account was erased"),
    "registration_decided": N_("The decision on a registration for a sale"),
    "payout_account": N_("The bank account for payouts was changed"),
    "webhook_off": N_("A webhook was switched off"),
}
"""Each kind of mail that is sent whatever people chose, by the name that the outbox shows."""

NEXT_BID = N_("The price is %(price)s now; the next bid is %(minimum)s or more.")
NO_BID = N_("Nobody has bid yet; the first bid is %(minimum)s or more.")
ENDS = N_("It ends on %(ends)s.")
TAKEN_DOWN = N_("A lot that the house has taken down")
"""In place of the name of a hidden lot, which only its seller and staff may see."""
NO_SALE = N_("This lot has ended without a sale.")

EVENTS: Mapping[str, str] = {
    "auction.created": N_("a lot is offered"),
    "auction.amended": N_("the terms of a lot are changed"),
    "photos.arranged": N_("the photos of a lot are changed"),
    "auction.opened": N_("bidding opens"),
    "bid.placed": N_("somebody bids"),
    "reserve.met": N_("the reserve is met"),
    "bid.voided": N_("a bid is voided"),
    "auction.extended": N_("the end is moved"),
    "auction.paused": N_("the clock of a lot stops"),
    "auction.resumed": N_("the clock of a lot goes on"),
    "auction.closed": N_("a lot is over"),
    "auction.hidden": N_("a lot is taken down"),
    "auction.shown": N_("a lot that was taken down is shown again"),
    "auction.cancelled": N_("a sale is cancelled"),
    "auction.called": N_("a lot is called"),
    "ask.set": N_("the auctioneer asks for another price"),
    "auction.warned": N_("the hammer is about to fall"),
    "bidder.named": N_("the bidder of a floor bid is named"),
    "bid.retracted": N_("a bidder takes a bid back"),
    "auction.skipped": N_("a lot is skipped"),
    "act.undone": N_("an act of the clerk is undone"),
    "auction.reopened": N_("a lot is opened again"),
    "auction.decided": N_("a seller decides on a bid below the reserve"),
    TEST: N_("a test"),
}
"""Each public event in words, where people choose among them."""

OFF_WORDS: Mapping[Off, str] = {
    Off.OWNER: N_("You have switched it off."),
    Off.GONE: N_("It is switched off: its server has answered that it wants nothing more (410 Gone)."),
    Off.FAILING: N_("It is switched off: its server has not taken an event for three days."),
    Off.FULL: N_("It is switched off: too much was waiting for its server."),
}
"""Why a webhook is switched off."""
