"""The outbox in the back office: what waits, what failed and why; and sending it again."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.http.requests import session_token
from saleroom.notices.domain.errors import UnknownWord
from saleroom.notices.service import record
from saleroom.notices.service.record import Page
from saleroom.notices.services import NoticeServices
from saleroom.notices.web.words import REASONS, STATES, TITLES, UNCHOSEN_TITLES
from saleroom.outbox.message import State
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, fields, for_users, go_to
from saleroom.storage.database import Transaction

OUTBOX = Section("/admin/outbox", N_("Outbox"), Right.READ_OUTBOX)
AGAIN = f"{OUTBOX.path}/again"
ROWS = 50
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


class OutboxPages:
    """The page of the outbox, and its buttons."""

    def __init__(self, site: Site, services: NoticeServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/outbox?state=&before=: the words, the latest posted first."""
        asked = request.query_params
        state = State(asked["state"]) if asked.get("state") in [*State] else None
        before = int(asked["before"]) if _NUMBER.fullmatch(asked.get("before", "")) else None
        viewer, found = await self._site.read(request, _page, state, before)
        language = self._site.language(request)
        kept = {} if state is None else {"state": state.value}
        following = found.following
        context = {
            "counts": found.counts,
            "names": found.names,
            "next": f"{OUTBOX.path}?{urlencode({**kept, 'before': following})}" if following else None,
            "state": state,
            "states": {one: language.gettext(STATES[one]) for one in State},
            "again": frozenset({State.WAITING, State.GIVEN_UP}),
            "titles": {kind: language.gettext(title) for kind, title in {**TITLES, **UNCHOSEN_TITLES}.items()},
            "words": found.words,
            "reasons": {one: language.gettext(one) for one in REASONS},
        }
        return self._site.page(request, "outbox.html", viewer, context)

    @for_users
    async def send_again(self, request: Request) -> Response:
        """POST /admin/outbox/again: try one word at once, or all that wait or were given up. Raises UnknownWord."""
        number = (await fields(request)).get("id", "")
        token = session_token(request) or ""
        if number == "all":
            await self._services.tokens.write(record.send_all_again, token)
        elif _NUMBER.fullmatch(number):
            await self._services.tokens.write(record.send_again, token, int(number))
        else:
            raise UnknownWord
        return go_to(OUTBOX.path)


def _page(tx: Transaction, token: str | None, state: State | None, before: int | None) -> Page:
    return record.page(tx, token or "", [*State] if state is None else [state], ROWS, before)
