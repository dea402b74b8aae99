"""Templates in the reader's language, and how instants and durations read to people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.domain.accounts import Account
from saleroom.domain.events import SoftClose
from saleroom.doors.guard import forgery_token
from saleroom.doors.web.assets import Assets
from saleroom.doors.web.language import Language, Languages

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS = ((3600, "hour"), (60, "minute"), (1, "second"))


class Renderer:
    """Makes pages from templates. Every value is escaped, and a missing one is an error."""

    def __init__(self, assets: Assets, languages: Languages, *, registration_open: bool) -> None:
        self.languages = languages
        self._environments = {
            language.tag: _environment(language, {"asset": assets.url, "registration_open": registration_open})
            for language in languages
        }

    def language(self, request: Request) -> Language:
        """Return the language of the reader."""
        return self.languages.of(request)

    def page(
        self,
        request: Request,
        template: str,
        viewer: Account | None,
        context: Mapping[str, Any] = MappingProxyType({}),
        *,
        status: int = 200,
        headers: Mapping[str, str] = MappingProxyType({}),
        viewer_known: bool = True,
    ) -> Response:
        """Return `template` as an answer. Its header shows `viewer`, who is logged in, or nothing of it where unknown."""
        language = self.language(request)
        values = {
            "viewer": viewer,
            "viewer_known": viewer_known,
            "path": request.scope["path"],
            # Called by forms only, so that a page without one sets no cookie.
            "forgery_token": lambda: forgery_token(request),
        }
        html = self.fragment(language, template, values | dict(context))
        head = {
            "Cache-Control": "private, no-cache",
            "Vary": "Cookie, Accept-Language",
            "Content-Language": language.tag,
        }
        return HTMLResponse(html, status, head | dict(headers))

    def fragment(self, language: Language, template: str, context: Mapping[str, Any]) -> str:
        """Return a template as HTML."""
        return self._environments[language.tag].get_template(template).render(dict(context))


def _environment(language: Language, names: Mapping[str, Any]) -> Environment:
    made = Environment(
        loader=PackageLoader("saleroom.doors.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(language.translations, newstyle=True)  # type: ignore[attr-defined]  # the extension's
    made.globals |= {**names, "language": language}
    made.filters |= {"money": language.money, "when": when, "soft_close": soft_close_words}
    return made


def when(instant: str) -> tuple[str, str]:
    """Return a wire instant's date and time as people read them, to the second, in UTC and saying so."""
    at = datetime.fromisoformat(instant)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year},", f"{at:%H:%M:%S} UTC"


def soft_close_words(rule: SoftClose) -> str:
    """Return what a late bid does to the end (rules.md, "Soft close")."""
    words = f"A bid in the last {duration(rule.window)} moves the end to {duration(rule.extension)} after that bid"
    return f"{words}, but never past {' '.join(when(rule.cap.isoformat()))}." if rule.cap is not None else f"{words}."


def duration(seconds: int) -> str:
    """Return whole seconds in the largest unit that says them exactly, such as `2 minutes`."""
    size, unit = next(row for row in _UNITS if seconds % row[0] == 0)
    count = seconds // size
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
