"""Templates in the reader's language."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import brotli
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.accounts.domain.accounts import Account
from saleroom.http.forgery import forgery_token
from saleroom.http.requests import header
from saleroom.site import words
from saleroom.site.assets import Assets, choose_coding
from saleroom.site.language import Language, Languages

QUALITY = 4
"""How hard a page is compressed, in both codings: a millisecond, for a tenth of its size."""
_REFERER = re.compile(r"https?://[^/?#]+(/[^#]*)")


class Renderer:
    """Makes pages from templates. Every value is escaped, and a missing one is an error."""

    def __init__(self, assets: Assets, languages: Languages, *, registration_open: bool) -> None:
        self.languages = languages
        self._environment = _environment(
            {"asset": assets.url, "registration_open": registration_open, "languages": tuple(languages)}
        )

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
            "here": _here(request),
            # Called by forms only, so that a page without one sets no cookie.
            "forgery_token": lambda: forgery_token(request),
        }
        html = self.fragment(language, template, values | dict(context))
        head = {
            "Cache-Control": "private, no-cache",
            "Vary": "Cookie, Accept-Language, Accept-Encoding",
            "Content-Language": language.tag,
        }
        body, coding = _compressed(html.encode(), header(request.scope, b"accept-encoding") or "")
        return HTMLResponse(body, status, head | coding | dict(headers))

    def fragment(self, language: Language, template: str, context: Mapping[str, Any]) -> str:
        """Return a template as HTML, in `language`."""
        before = _reader.set(language)
        try:
            return self._environment.get_template(template).render({"language": language, **context})
        finally:
            _reader.reset(before)


def _compressed(html: bytes, accepted: str) -> tuple[bytes, dict[str, str]]:
    """Return a page in the content coding that the browser likes best, and the header that says so."""
    coding = choose_coding(accepted, ("br", "gzip", "identity"))
    if coding == "identity":
        return html, {}
    packed = brotli.compress(html, quality=QUALITY) if coding == "br" else gzip.compress(html, QUALITY, mtime=0)
    return packed, {"Content-Encoding": coding}


def _here(request: Request) -> str:
    """Return the address that shows this page again: of an answer to a form, what the browser says it was on."""
    if request.method not in ("GET", "HEAD"):
        came_from = _REFERER.fullmatch(header(request.scope, b"referer") or "")
        return "/" if came_from is None else came_from[1]
    path, query = quote(request.scope["path"]), request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


_reader: ContextVar[Language] = ContextVar("reader's language")
"""While a template is made: one environment, compiled once, serves all languages and regions."""


def _environment(names: Mapping[str, Any]) -> Environment:
    made = Environment(
        loader=PackageLoader("saleroom.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # it looks at the files of all templates for each page
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_callables(  # type: ignore[attr-defined]  # the extension's
        _gettext, _ngettext, newstyle=True
    )
    made.globals |= names
    made.filters |= {
        "amount": _filter(lambda language, amount: language.amount(amount)),
        "duration": _filter(lambda language, seconds: language.duration(seconds)),
        "money": _filter(lambda language, amount: language.money(amount)),
        "number": _filter(lambda language, number: language.number(number)),
        "soft_close": _filter(words.soft_close),
        "when": _filter(lambda language, at: language.when(at)),
    }
    return made


def _gettext(said: str) -> str:
    return str(_reader.get().translations.ugettext(said))


def _ngettext(one: str, many: str, count: int) -> str:
    return str(_reader.get().translations.ungettext(one, many, count))


def _filter(write: Callable[[Language, Any], Any]) -> Callable[[Context, Any], Any]:
    """Return a filter that writes a value in the reader's language; taking the context keeps it from being folded."""

    @pass_context
    def written(_: Context, value: Any) -> Any:
        return write(_reader.get(), value)

    return written
