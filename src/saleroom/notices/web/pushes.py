"""Messages to browsers: what a letter says, short, as the service worker shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from saleroom.kernel.terminal import printable
from saleroom.notices.service.letters import Letter
from saleroom.notices.web.saying import is_named, path_of, sentences_of, subject_of
from saleroom.notices.web.words import NEWS, TAKEN_DOWN
from saleroom.outbox.web_push import PAYLOAD_BYTES_MAX
from saleroom.site.language import SOURCE, Language, Languages

TITLE_MAX, BODY_MAX = 120, 400
"""Characters that are shown; devices show fewer."""
LOTS = "/mine"
"""Where a message about several lots leads."""


class Pushes:
    """Writes the messages of one house."""

    def __init__(self, languages: Languages, *, zone: str, brief: Callable[[Letter], tuple[str, str]]) -> None:
        """`brief` returns the title and the text of a letter of its own."""
        self._languages = languages
        self._zone = zone
        self._brief = brief

    def write(self, letter: Letter) -> bytes:
        """Return a message as JSON: the words, where a click leads, and which earlier message it takes the place of."""
        language = self._languages.negotiate(letter.language or SOURCE, letter.language)
        if letter.template is not None:
            title, body = self._brief(letter)
            return _message(letter, language, title, body, str(letter.context["path"]), f"letter {letter.number}")
        return self._of_lots(letter, language)

    def _of_lots(self, letter: Letter, language: Language) -> bytes:
        lots = {item.lot.gid: item for item in letter.items}
        last = letter.items[-1]
        title = subject_of(letter, len(lots), language)
        if title is None:
            title = language.ngettext(*NEWS, len(lots))
            body = "\n".join(
                _name(item.lot.name, language, shown=is_named(item, letter.receiver)) for item in lots.values()
            )
        else:
            body = " ".join(
                said for item in letter.items for said in sentences_of(item, language, self._zone_of(letter))
            )
        if len(lots) == 1:
            return _message(letter, language, title, body, path_of(last), last.lot.gid)
        return _message(letter, language, title, body, LOTS, f"letter {letter.number}")

    def _zone_of(self, letter: Letter) -> str:
        return letter.zone or self._zone


def _message(letter: Letter, language: Language, title: str, body: str, url: str, tag: str) -> bytes:
    message: dict[str, Any] = {
        "title": _cut(title, TITLE_MAX),
        "body": _cut(body, BODY_MAX),
        "lang": language.tag,
        "dir": "rtl" if language.right_to_left else "ltr",
        "url": url,
        "tag": tag,
        "at": int(letter.written_at.timestamp() * 1000),
    }
    written = msgspec.json.encode(message)
    if len(written) > PAYLOAD_BYTES_MAX:
        written = msgspec.json.encode(message | {"body": ""})
    return written


def _name(name: str, language: Language, *, shown: bool) -> str:
    return printable(name) if shown else language.gettext(TAKEN_DOWN)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
