"""The mails of a house to look at, which are shown on a page instead of sent."""

from __future__ import annotations

import re
from email.message import EmailMessage

from starlette.requests import Request
from starlette.responses import Response

from saleroom.http.problems import NotFound
from saleroom.notices.services import NoticeServices
from saleroom.site.site import Site

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


class ShownPages:
    """The list of mails, and one mail. Where mails are sent, there are no such pages."""

    def __init__(self, site: Site, services: NoticeServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /mails: the latest mails, the newest first. Raises NotFound."""
        shown = self._services.shown
        if shown is None:
            raise NotFound
        context = {"mails": [(number, mail["To"], mail["Subject"]) for number, mail in shown.latest()]}
        return self._site.page(request, "mails.html", await self._site.viewer(request), context)

    async def one(self, request: Request) -> Response:
        """GET /mails/{number}: what one mail says, as text. Raises NotFound."""
        shown, number = self._services.shown, request.path_params["number"]
        mail = shown.find(int(number)) if shown is not None and _NUMBER.fullmatch(number) else None
        if mail is None:
            raise NotFound
        context = {"mail": mail, "text": _text(mail)}
        return self._site.page(request, "mail.html", await self._site.viewer(request), context)


def _text(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    return "" if part is None else str(part.get_content())
