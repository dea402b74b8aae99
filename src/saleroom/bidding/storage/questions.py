"""Questions on lots, as rows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, func, insert, or_, select, update

from saleroom.bidding.domain.questions import Question
from saleroom.bidding.storage.tables import auctions, questions
from saleroom.storage.database import Transaction


def of_auction(tx: Transaction, auction_id: int, user_id: int | None) -> list[Question]:
    """Return an auction's questions, the oldest first, without those of others than `user_id` that were declined."""
    counts = or_(
        questions.c.settled_at.is_(None), questions.c.answer.is_not(None), questions.c.asker_id == (user_id or 0)
    )
    found = select(questions).where(questions.c.auction_id == auction_id, counts).order_by(questions.c.id)
    return [_question(row) for row in tx.execute(found)]


def lock(tx: Transaction, auction_id: int, number: int) -> Question | None:
    """Return a question, locked until the transaction ends; None if the auction has none with this number."""
    one = select(questions).where(questions.c.id == number, questions.c.auction_id == auction_id)
    row = tx.execute(one.with_for_update()).first()
    return None if row is None else _question(row)


def count_since(tx: Transaction, user_id: int, since: datetime) -> int:
    """Return how many questions a user has asked since then, on all auctions."""
    mine = select(func.count()).where(questions.c.asker_id == user_id, questions.c.asked_at > since)
    return int(tx.execute(mine).scalar_one())


def add(tx: Transaction, auction_id: int, asker_id: int, text: str, now: datetime) -> Question:
    """Store a new question. Its number is that of its row: numbers of an auction's own would need its lock."""
    row = {"auction_id": auction_id, "asker_id": asker_id, "text": text, "asked_at": now}
    number = tx.execute(insert(questions).returning(questions.c.id), row).scalar_one()
    return Question(number, asker_id, text, now)


def settle(tx: Transaction, question: Question) -> None:
    """Store the answer of a question, or that it was declined."""
    changed = update(questions).where(questions.c.id == question.number)
    tx.execute(changed.values(answer=question.answer, settled_at=question.settled_at))


def counts_for(tx: Transaction, user_id: int, auction_ids: Collection[int]) -> dict[int, int]:
    """Return by auction how many questions concern a user: open ones on the user's own, answered ones that the user asked."""
    concern = or_(
        and_(auctions.c.author_id == user_id, questions.c.settled_at.is_(None)),
        and_(questions.c.asker_id == user_id, questions.c.answer.is_not(None)),
    )
    found = (
        select(questions.c.auction_id, func.count().label("found"))
        .join(auctions, auctions.c.id == questions.c.auction_id)
        .where(questions.c.auction_id.in_(auction_ids), concern)
        .group_by(questions.c.auction_id)
    )
    return {row.auction_id: row.found for row in tx.execute(found)}


def _question(row: Row[Any]) -> Question:
    return Question(row.id, row.asker_id, row.text, row.asked_at, row.answer, row.settled_at)
