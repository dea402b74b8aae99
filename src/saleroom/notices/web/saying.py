"""What letters say about lots, in the language of their receivers; mails and messages to browsers say the same."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from babel.dates import format_date, format_time

from saleroom.bidding.domain.events import Outcome
from saleroom.notices.service.letters import Item, Letter
from saleroom.notices.web.words import ENDS, NEXT_BID, NO_BID, NO_SALE, PHRASES, TAKEN_DOWN
from saleroom.site.language import Language

NAME_MAX = 80
"""Characters of a lot's name in a subject."""
FIRST_STRONG, POP = "\u2068", "\u2069"
"""They set a name apart from the direction of the text around it."""


def is_named(item: Item, receiver: int | None) -> bool:
    """Return whether the receiver may see the lot's name: while it is hidden only its seller and its winner, and staff."""
    lot = item.lot
    bought = lot.outcome is Outcome.SOLD and lot.leader is not None and lot.leader.id == receiver
    return not lot.is_hidden or lot.author.id == receiver or bought


def path_of(item: Item) -> str:
    """Return the page that a word about a lot leads to."""
    return PHRASES[item.kind].path.format(gid=item.lot.gid)


def subject_of(letter: Letter, lots: int, language: Language) -> str | None:
    """Return the subject of a mail about one lot, from its last word; None for several, which the template counts."""
    if lots > 1:
        return None
    last = letter.items[-1]
    if not is_named(last, letter.receiver):
        return language.gettext(TAKEN_DOWN)
    return language.gettext(PHRASES[last.kind].subject, lot=_short(last.lot.name))


def sentences_of(item: Item, language: Language, zone: str) -> list[str]:
    """Return what is said about a lot, with times by the clock of `zone`."""
    lot, facts = item.lot, item.facts
    price = facts.get("price") if "price" in facts else lot.current_bid
    values = {
        "price": None if price is None else language.money(Decimal(price)),
        "amount": None if facts.get("amount") is None else language.money(Decimal(facts["amount"])),
        "reason": facts.get("reason"),
        "winner": facts.get("winner"),
        "ends": None if lot.ends_at is None else _when(lot.ends_at, language, zone),
        "minimum": None if lot.minimum_bid is None else language.money(lot.minimum_bid),
    }
    phrase = PHRASES[item.kind]
    unsold = "winner" in facts and facts["winner"] is None
    sentence = phrase.reasoned if phrase.reasoned is not None and facts.get("reason") else phrase.sentence
    found = [language.gettext(NO_SALE if unsold else sentence, **values)]
    if item.lot.over or item.lot.is_hidden:
        return found
    if phrase.shows_price:
        found.append(language.gettext(NO_BID if price is None else NEXT_BID, **values))
    if phrase.shows_end and lot.ends_at is not None:
        found.append(language.gettext(ENDS, **values))
    return found


def _when(at: datetime, language: Language, zone: str) -> str:
    """Return an instant by the clock of a time zone, which is named."""
    here = at.astimezone(ZoneInfo(zone))
    time = format_time(here, "HH:mm:ss z", tzinfo=here.tzinfo, locale=language.locale)
    return f"{format_date(here, 'long', locale=language.locale)}, {time}"


def instant_said(text: str, language: Language, zone: str) -> str:
    """Return an instant on the wire by the clock of a time zone; other words, as earlier versions have posted them, stay."""
    try:
        return _when(datetime.fromisoformat(text), language, zone)
    except ValueError:
        return text


def _short(name: str) -> str:
    """Return a lot's name for a subject: cut, and apart from the direction of the text around it."""
    name = name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…"
    turns = any(unicodedata.bidirectional(mark) in {"R", "AL", "AN", "RLM"} for mark in name)
    return f"{FIRST_STRONG}{name}{POP}" if turns else name
