"""Mails: a letter as text and HTML from one template, in its receiver's language, with the headers that mail programs need."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from babel.dates import format_datetime as written

from saleroom.kernel.terminal import printable
from saleroom.notices.domain.choices import CHANNELS
from saleroom.notices.service.letters import Item, Letter
from saleroom.notices.service.unsubscribing import stop_token
from saleroom.notices.web.plain_text import plain_text
from saleroom.notices.web.words import ENDS, NEXT_BID, NO_BID, NO_SALE, PHRASES, TAKEN_DOWN
from saleroom.outbox.kinds import Sign
from saleroom.site import site
from saleroom.site.language import SOURCE, Language, Languages
from saleroom.site.rendering import Renderer

NAME_MAX = 80
"""Characters of a lot's name in a subject."""
CHOICES = "/mine/notices"
STOP = "/notices/unsubscribe"
_FIRST_STRONG, _POP = "\u2068", "\u2069"


class Mails:
    """Writes the mails of one house."""

    def __init__(
        self,
        folders: Sequence[Path],
        languages: Languages,
        sign: Sign,
        *,
        house: str,
        origin: str,
        sender: str,
        signature: str | None,
        zone: str,
    ) -> None:
        """`folders` are those of the areas with templates; `origin` is the address by which people reach the house."""
        self._renderer = Renderer([folder / "templates" for folder in (site.FOLDER, *folders)], {}, {})
        self._languages = languages
        self._sign = sign
        self._house = house
        self._origin = origin
        self._sender = sender
        self._signature = signature
        self._zone = zone

    def write(self, letter: Letter) -> EmailMessage:
        """Return the mail of a letter. It has the same `Message-ID` on each try."""
        language = self._languages.negotiate(letter.language or SOURCE, letter.language)
        names: dict[str, Any] = {"house": self._house, "origin": self._origin, "signature": self._signature}
        more: dict[str, str] = {}
        if letter.template is not None:
            html = self._renderer.fragment(language, letter.template, names | dict(letter.context))
        else:
            stop = f"{self._origin}{STOP}?token={stop_token(self._sign, letter.receiver or 0, CHANNELS[0])}"
            more = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
            places = {"choices_url": self._origin + CHOICES, "stop_url": stop}
            html = self._renderer.fragment(language, "mail/notices.html", names | places | self._lots(letter, language))
        mail_id = self._sign(f"letter {letter.number} {letter.address}")
        return self._message(letter, language, html, mail_id, more)

    def _message(
        self, letter: Letter, language: Language, html: str, mail_id: str, more: Mapping[str, str]
    ) -> EmailMessage:
        subject, text = plain_text(html)
        mail = EmailMessage(policy=SMTP)
        mail["From"] = Address(_header(self._house), addr_spec=self._sender)
        mail["To"] = Address(addr_spec=letter.address)
        mail["Subject"] = _header(subject)
        mail["Date"] = format_datetime(letter.written_at)
        mail["Message-ID"] = f"<{mail_id}@{self._sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        for name, value in more.items():
            mail[name] = value
        mail.set_content(text, cte="quoted-printable")
        mail.add_alternative(html, subtype="html", cte="quoted-printable")
        mail["Content-Language"] = language.tag  # after the parts, which take such headers away
        return mail

    def _lots(self, letter: Letter, language: Language) -> dict[str, Any]:
        """Return the names of the template that are about the lots of a letter."""
        zone = letter.zone or self._zone
        lots: dict[str, dict[str, Any]] = {}
        for item in letter.items:
            lot = item.lot
            name = lot.name if _is_named(item, letter.receiver) else language.gettext(TAKEN_DOWN)
            found = lots.setdefault(lot.gid, {"name": name, "url": f"{self._origin}/lots/{lot.gid}", "sentences": []})
            found["sentences"] += _sentences(item, language, zone)
        return {"lots": list(lots.values()), "subject": _subject(letter, len(lots), language)}


def _is_named(item: Item, receiver: int | None) -> bool:
    """Return whether the receiver may see the lot's name: while it is hidden only its seller may, and staff on the pages."""
    return item.lot.taken_down is None or item.lot.author.id == receiver


def _subject(letter: Letter, lots: int, language: Language) -> str | None:
    """Return the subject of a mail about one lot, from its last word; None for several, which the template counts."""
    if lots > 1:
        return None
    last = letter.items[-1]
    if not _is_named(last, letter.receiver):
        return language.gettext(TAKEN_DOWN)
    return language.gettext(PHRASES[last.kind].subject, lot=_short(last.lot.name))


def _sentences(item: Item, language: Language, zone: str) -> list[str]:
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
    if item.lot.over or item.lot.taken_down is not None:
        return found
    if phrase.shows_price:
        found.append(language.gettext(NO_BID if price is None else NEXT_BID, **values))
    if phrase.shows_end and lot.ends_at is not None:
        found.append(language.gettext(ENDS, **values))
    return found


def _when(at: datetime, language: Language, zone: str) -> str:
    """Return an instant by the clock of a time zone, which is named."""
    return written(at, "d MMMM y, HH:mm:ss z", tzinfo=ZoneInfo(zone), locale=language.locale)


def _short(name: str) -> str:
    """Return a lot's name for a subject: cut, and apart from the direction of the text around it."""
    name = name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1]}…"
    turns = any(unicodedata.bidirectional(mark) in {"R", "AL", "AN", "RLM"} for mark in name)
    return f"{_FIRST_STRONG}{name}{_POP}" if turns else name


def _header(text: str) -> str:
    """Return a text as one line, without characters that steer a mail program."""
    isolated = _FIRST_STRONG in text
    return text if isolated and _POP in text and text.isprintable() else printable(text) or "?"
