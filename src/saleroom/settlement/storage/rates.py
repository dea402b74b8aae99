"""Rate cards as rows, in versions, and the choices of them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Column, Row, Select, func, select

from saleroom.kernel.texts import look
from saleroom.settlement.domain.rates.bills import RateCard
from saleroom.settlement.domain.rates.cards import Version
from saleroom.settlement.domain.rates.choices import Choice
from saleroom.settlement.storage import series
from saleroom.settlement.storage.tables import rate_card_versions, rate_cards, rate_choices
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder(order="sorted").encode
decode_card = msgspec.json.Decoder(RateCard).decode
"""Return the terms of a rate card from their JSON. Raises msgspec.MsgspecError."""

_ROWS = select(rate_card_versions, rate_cards.c.gid, rate_cards.c.name).join_from(
    rate_card_versions, rate_cards, rate_cards.c.id == rate_card_versions.c.card_id
)


def add(tx: Transaction, gid: str, name: str) -> int:
    """Store a new card, and return its number. Raises IntegrityError if the name is taken."""
    return series.add(tx, rate_cards, {"gid": gid, "name": name})


def add_version(tx: Transaction, card_id: int, number: int, card: RateCard, by_id: int) -> None:
    """Store another version of a card. Raises IntegrityError if it is there already."""
    row = {"card_id": card_id, "number": number, "terms": _encode(card).decode(), "since": tx.now(), "by_id": by_id}
    series.add(tx, rate_card_versions, row)


def lock(tx: Transaction, gid: str) -> int | None:
    """Return the number of a card, which is locked until the transaction ends."""
    return tx.execute(select(rate_cards.c.id).where(rate_cards.c.gid == gid).with_for_update()).scalar_one_or_none()


def named(tx: Transaction, name: str) -> bool:
    """Return whether a card has this name, or one that looks the same."""
    wanted = look(name)
    return any(look(one) == wanted for one in tx.execute(select(rate_cards.c.name)).scalars())


def count(tx: Transaction) -> int:
    """Return how many cards there are."""
    return int(tx.execute(select(func.count()).select_from(rate_cards)).scalar_one())


def latest(tx: Transaction, gid: str) -> Version | None:
    """Return the latest version of a card."""
    return next(iter(_versions(tx, _ROWS.where(rate_cards.c.gid == gid, _IS_LATEST))), None)


def all_latest(tx: Transaction) -> list[Version]:
    """Return all cards in their latest versions, by name."""
    return _versions(tx, _ROWS.where(_IS_LATEST).order_by(rate_cards.c.name))


def choose(tx: Transaction, card_id: int | None, of: Column[Any], number: int, by_id: int) -> None:
    """Store which card holds from now on for a sale, a consignor or a lot: `of` is the column of the one."""
    row = {"card_id": card_id, of.name: number, "since": tx.now(), "by_id": by_id}
    series.add(tx, rate_choices, row)


def chosen(tx: Transaction, of: Column[Any], number: int) -> str | None:
    """Return the gid of the card that holds by the latest choice for a sale, a consignor or a lot; None without one."""
    return chosen_all(tx, of, [number]).get(number)


def chosen_all(tx: Transaction, of: Column[Any], numbers: Collection[int]) -> dict[int, str | None]:
    """Return as `chosen` for many sales, consignors or lots, by number; those without a choice are left out."""
    latest = select(func.max(rate_choices.c.id)).where(among(tx, of, numbers)).group_by(of)
    found = (
        select(of.label("number"), rate_cards.c.gid)
        .outerjoin_from(rate_choices, rate_cards, rate_cards.c.id == rate_choices.c.card_id)
        .where(rate_choices.c.id.in_(latest))
    )
    return {row.number: row.gid for row in tx.execute(found)}


def choices_of(tx: Transaction, of: Column[Any], numbers: Collection[int]) -> dict[int, list[Choice]]:
    """Return the choices for many sales, consignors or lots, the oldest first, by the number of each."""
    found: dict[int, list[Choice]] = {}
    which = select(of.label("number"), rate_choices.c.card_id, rate_choices.c.since).where(among(tx, of, numbers))
    for row in tx.execute(which.order_by(rate_choices.c.id)):
        found.setdefault(row.number, []).append(Choice(row.card_id, row.since))
    return found


def versions_of(tx: Transaction, card_ids: Collection[int]) -> dict[int, list[Version]]:
    """Return all versions of cards, the oldest first, by the number of the card."""
    found: dict[int, list[Version]] = {}
    which = _ROWS.where(among(tx, rate_card_versions.c.card_id, card_ids)).order_by(rate_card_versions.c.number)
    for row in tx.execute(which):
        found.setdefault(row.card_id, []).append(_version(row))
    return found


def numbered(tx: Transaction, numbers: Collection[int]) -> list[Version]:
    """Return versions by their own numbers."""
    return _versions(tx, _ROWS.where(among(tx, rate_card_versions.c.id, numbers))) if numbers else []


_newer = rate_card_versions.alias()
_IS_LATEST = rate_card_versions.c.number == (
    select(func.max(_newer.c.number)).where(_newer.c.card_id == rate_card_versions.c.card_id).scalar_subquery()
)


def _versions(tx: Transaction, statement: Select[Any]) -> list[Version]:
    return [_version(row) for row in tx.execute(statement)]


def _version(row: Row[Any]) -> Version:
    since: datetime = row.since
    return Version(id=row.id, gid=row.gid, name=row.name, number=row.number, since=since, card=decode_card(row.terms))
