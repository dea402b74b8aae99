"""Questions to the sellers of lots: asked, answered or declined, and read by those who may see them."""

from __future__ import annotations

from datetime import timedelta

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain import questions as rules
from saleroom.bidding.domain.auction import Auction, refuse_if_taken_down
from saleroom.bidding.domain.questions import LATELY, QuestionView
from saleroom.bidding.service.lookup import get_one, get_own, refuse_unless_seen
from saleroom.bidding.storage import questions
from saleroom.kernel.parties import Party
from saleroom.outbox import store as outbox
from saleroom.outbox.message import MAIL, WEBHOOK, Message
from saleroom.storage.database import Transaction

GATHERED = timedelta(minutes=1)
"""How long word of a question waits for more of them, to be one mail."""

# Nothing here locks the auction: strangers who ask never hold up a bid. So users who ask at the very same moment may
# pass the limit of a lot by a few.


def ask(tx: Transaction, token: str, gid: str, text: str) -> QuestionView:
    """Ask the seller of a lot. Raises as `domain.questions.refuse_to_ask`, Unauthenticated or UnknownAuction."""
    asker = authenticate(tx, token, Right.ASK).party
    auction = get_one(tx, gid)
    refuse_if_taken_down(auction)
    accounts.lock_user(tx, asker.id)
    earlier, now = questions.of_auction(tx, auction.id, asker.id), tx.now()
    found = rules.asked_before(asker, text, earlier)
    if found is None:
        lately = questions.count_since(tx, asker.id, now - LATELY)
        rules.refuse_to_ask(auction, asker, earlier, lately, now)
        found = questions.add(tx, auction.id, asker.id, text, now)
        outbox.post_all(tx, _words(tx, "question_asked", found.number, auction, auction.author.id))
    return QuestionView.of(found, asker)


def answer(tx: Transaction, token: str, gid: str, number: int, text: str | None) -> QuestionView:
    """Answer a question on the user's own lot, or decline it for None.

    Raises as `domain.questions.settle`, Unauthenticated or UnknownAuction.
    """
    author = authenticate(tx, token, Right.SELL).party
    auction = get_own(tx, gid, author)
    question = questions.lock(tx, auction.id, number)
    settled = rules.settle(auction, author, question, text, tx.now())
    if settled is not question:
        questions.settle(tx, settled)
        if text is not None:
            outbox.post_all(tx, _words(tx, "question_answered", number, auction, settled.asker_id))
    return QuestionView.of(settled, author)


def _words(tx: Transaction, kind: str, number: int, auction: Auction, receiver: int) -> list[Message]:
    """Return the words to the seller of a lot, or to the asker. They do not repeat what a stranger wrote."""
    return [
        Message(
            kind=kind,
            key=f"{kind}:{number}",
            receiver=receiver,
            about=auction.gid,
            channel=channel,
            alone=channel == WEBHOOK,
            after=GATHERED if channel == MAIL else timedelta(),
        )
        for channel, sent in outbox.SENT_BY.items()
        if tx.is_on(sent)
    ]


def of_lot(tx: Transaction, token: str | None, gid: str) -> list[QuestionView]:
    """Return the questions on a lot that the holder of `token` sees, the oldest first.

    Raises UnknownAuction, or Unauthenticated for a dead token.
    """
    viewer, auction = None if token is None else authenticate(tx, token, Right.READ), get_one(tx, gid)
    refuse_unless_seen(auction, viewer)
    return shown(tx, auction, None if viewer is None else viewer.party)


def shown(tx: Transaction, auction: Auction, viewer: Party | None) -> list[QuestionView]:
    """Return the questions on `auction` that this reader sees, the oldest first."""
    found = questions.of_auction(tx, auction.id, None if viewer is None else viewer.id)
    return [QuestionView.of(one, viewer) for one in found if rules.is_shown(one, auction, viewer)]
