"""The choice of a language in the footer: it is kept in a cookie, which goes before what the browser asks for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.problems import NotFound
from saleroom.site.language import COOKIE, COOKIE_SECONDS
from saleroom.site.site import Site, go_to, local


class LanguageChoice:
    """The choice over one house."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def choose(self, request: Request) -> Response:
        """GET /language/{tag}?next=/path: keep the language for a year, and lead back. Raises NotFound."""
        tag = request.path_params["tag"]
        if tag not in self._site.renderer.languages:
            raise NotFound
        response = go_to(local(request.query_params.get("next")))
        response.headers["Cache-Control"] = "no-store"
        secure = self._site.https
        response.set_cookie(COOKIE, tag, COOKIE_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
        return response
