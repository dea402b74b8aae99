"""Mails: a letter as text and HTML from one template, in its receiver's language, with the headers that mail programs need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from saleroom.kernel.mail import in_header
from saleroom.kernel.mail_headers import AS_GIVEN
from saleroom.kernel.terminal import printable
from saleroom.notices.domain.choices import CHANNELS
from saleroom.notices.service.letters import Letter
from saleroom.notices.service.unsubscribing import stop_token
from saleroom.notices.web.plain_text import brief, plain_text
from saleroom.notices.web.saying import FIRST_STRONG, POP, instant_said, is_named, path_of, sentences_of, subject_of
from saleroom.notices.web.words import TAKEN_DOWN
from saleroom.outbox.kinds import Sign
from saleroom.site import site
from saleroom.site.language import SOURCE, Language, Languages
from saleroom.site.rendering import Renderer

CHOICES = "/mine/notices"
STOP = "/notices/unsubscribe"


class Letterhead(Struct, frozen=True):
    """How a house signs its mails. `origin` is the address by which people reach it, `sender` that from which mails come."""

    house: str
    origin: str
    sender: str
    signature: str | None
    zone: str


class Mails:
    """Writes the mails of one house."""

    def __init__(self, folders: Sequence[Path], languages: Languages, sign: Sign, letterhead: Letterhead) -> None:
        """`folders` are those of the areas with templates."""
        self._renderer = Renderer([folder / "templates" for folder in (site.FOLDER, *folders)], {}, {})
        self._languages = languages
        self._sign = sign
        self._letterhead = letterhead

    def write(self, letter: Letter) -> EmailMessage:
        """Return the mail of a letter. It has the same `Message-ID` on each try."""
        language = self._languages.negotiate(letter.language or SOURCE, letter.language)
        names = self._names(letter, language)
        more: dict[str, str] = {}
        if letter.template is not None:
            html = self._renderer.fragment(language, letter.template, names | dict(letter.context))
        else:
            token = stop_token(self._sign, letter.receiver or 0, CHANNELS[0])
            stop = f"{self._letterhead.origin}{STOP}?token={token}"
            more = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
            places = {"choices_url": self._letterhead.origin + CHOICES, "stop_url": stop}
            html = self._renderer.fragment(language, "mail/notices.html", names | places | self._lots(letter, language))
        mail_id = self._sign(f"letter {letter.number} {letter.address}")
        return self._message(letter, language, html, mail_id, more)

    def brief(self, letter: Letter) -> tuple[str, str]:
        """Return the subject of a letter of its own, and what it says before its first link, for a message to a browser."""
        language = self._languages.negotiate(letter.language or SOURCE, letter.language)
        names = self._names(letter, language) | dict(letter.context)
        subject, said = brief(self._renderer.fragment(language, letter.template or "", names))
        return _header(subject), printable(said)

    def _names(self, letter: Letter, language: Language) -> dict[str, Any]:
        """Return the names that all templates have."""
        return {
            "house": self._letterhead.house,
            "origin": self._letterhead.origin,
            "signature": self._letterhead.signature,
            "when_here": partial(instant_said, language=language, zone=letter.zone or self._letterhead.zone),
        }

    def _message(
        self, letter: Letter, language: Language, html: str, mail_id: str, more: Mapping[str, str]
    ) -> EmailMessage:
        subject, text = plain_text(html)
        mail = EmailMessage(policy=AS_GIVEN)
        mail["From"] = in_header(self._letterhead.sender, _header(self._letterhead.house))
        mail["To"] = in_header(letter.address)
        mail["Subject"] = _header(subject)
        mail["Date"] = format_datetime(letter.written_at)
        mail["Message-ID"] = f"<{mail_id}@{self._letterhead.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        for name, value in more.items():
            mail[name] = value
        mail.set_content(text, cte="quoted-printable")
        mail.add_alternative(html, subtype="html", cte="quoted-printable")
        mail["Content-Language"] = language.tag  # after the parts, which take such headers away
        return mail

    def _lots(self, letter: Letter, language: Language) -> dict[str, Any]:
        """Return the names of the template that are about the lots of a letter."""
        zone = letter.zone or self._letterhead.zone
        lots: dict[str, dict[str, Any]] = {}
        for item in letter.items:
            lot = item.lot
            name = lot.name if is_named(item, letter.receiver) else language.gettext(TAKEN_DOWN)
            found = lots.setdefault(lot.gid, {"name": name, "sentences": []})
            found["url"] = f"{self._letterhead.origin}{path_of(item)}"
            found["sentences"] += sentences_of(item, language, zone)
        return {"lots": list(lots.values()), "subject": subject_of(letter, len(lots), language)}


def _header(text: str) -> str:
    """Return a text as one line, without characters that steer a mail program."""
    isolated = FIRST_STRONG in text
    return text if isolated and POP in text and text.isprintable() else printable(text) or "?"
