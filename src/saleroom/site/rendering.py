"""Templates in the reader's language."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import brotli
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from saleroom.http.forgery import forgery_token
from saleroom.http.requests import header
from saleroom.kernel.instants import instant
from saleroom.site.assets import choose_coding
from saleroom.site.language import Language

QUALITY = 4
"""The level of compression of a page, in both codings: a millisecond for a tenth of the size."""
_OWN_PAGES = ("/mine", "/admin")
"""How the addresses of pages begin that only their reader may see: no browser keeps them."""


class Renderer:
    """Makes pages from templates. Every value is escaped, and a missing one is an error.

    `folders` hold the templates, all in one space of names; every template has `names` and `filters`.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        names: Mapping[str, Any],
        filters: Mapping[str, Callable[[Language, Any], Any]],
    ) -> None:
        self._environment = _environment(folders, names, filters)

    def page(
        self,
        request: Request,
        language: Language,
        template: str,
        context: Mapping[str, Any],
        *,
        status: int = 200,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Response:
        """Return `template` as an answer."""
        values = {
            "path": request.scope["path"],
            # Called by forms only, so that a page without one sets no cookie.
            "forgery_token": lambda: forgery_token(request),
            **context,
        }
        html = self.fragment(language, template, values)
        head = {
            "Cache-Control": "no-store" if request.scope["path"].startswith(_OWN_PAGES) else "private, no-cache",
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
    """Return a page in the content coding that the browser prefers, and the header that names it."""
    coding = choose_coding(accepted, ("br", "gzip", "identity"))
    if coding == "identity":
        return html, {}
    packed = brotli.compress(html, quality=QUALITY) if coding == "br" else gzip.compress(html, QUALITY, mtime=0)
    return packed, {"Content-Encoding": coding}


_reader: ContextVar[Language] = ContextVar("reader's language")
"""Set while a template is rendered: one environment, compiled once, serves all languages and regions."""


def _environment(
    folders: Sequence[Path], names: Mapping[str, Any], filters: Mapping[str, Callable[[Language, Any], Any]]
) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # otherwise the files of all templates are looked at for each page
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # the extension's
        _gettext, _ngettext, newstyle=True
    )
    environment.globals |= names
    own: dict[str, Callable[[Language, Any], Any]] = {
        "amount": Language.amount,
        "day": Language.day,
        "duration": Language.duration,
        "instant": lambda _, at: instant(at),
        "money": Language.money,
        "money_in": lambda language, pair: language.money_in(*pair),
        "number": Language.number,
        "percent": Language.percent,
        "planned": Language.planned,
        "when": Language.when,
    }
    environment.filters |= {name: _filter(write) for name, write in (own | dict(filters)).items()}
    return environment


def _gettext(words: str) -> str:
    return str(_reader.get().translations.ugettext(words))


def _ngettext(one: str, many: str, count: int) -> str:
    return str(_reader.get().translations.ungettext(one, many, count))


def _filter(write: Callable[[Language, Any], Any]) -> Callable[[Context, Any], Any]:
    """Return a filter that writes a value in the reader's language.

    It takes the context so that Jinja does not compute it once, when the template is compiled.
    """

    @pass_context
    def in_language(_: Context, value: Any) -> Any:
        return write(_reader.get(), value)

    return in_language
