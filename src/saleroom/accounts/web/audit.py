"""The audit log in the back office: read page by page, found by user and by act, and saved as a file."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.api.audit import as_file
from saleroom.accounts.domain.audit import Act, Entry
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit_log
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.accounts.web import facts
from saleroom.accounts.web.acts import ACTS_SAID, act
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.page import Page
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, Thing, for_users
from saleroom.storage.database import Transaction

AUDIT = Section("/admin/audit", N_("Audit log"), Right.READ_AUDIT)
PAGE = 50
USER_MAX, NUMBER_DIGITS_MAX = 32, 18


def acts_of(name: str) -> str:
    """Return the address of the acts by or on a user."""
    return f"{AUDIT.path}?{urlencode({'user': name})}"


class AuditPages:
    """The pages of the audit log."""

    def __init__(self, site: Site, services: AccountServices) -> None:
        self._site = site
        self._services = services

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/audit?user=&act=&before=: the latest acts of staff first."""
        asked = request.query_params
        # No user has a longer name, and PostgreSQL takes no NUL.
        user = asked.get("user", "").strip().lower().replace("\0", "")[: USER_MAX + 1]
        chosen = asked.get("act", "")
        which = EntryFilter(user or None, chosen if chosen in [*Act] else None)
        number = asked.get("before", "")
        before = int(number) if number.isascii() and number.isdigit() and len(number) <= NUMBER_DIGITS_MAX else None
        viewer, (found, things) = await self._site.read(request, self._entries, which, before)
        language = self._site.language(request)
        kept = {"user": user, "act": which.act or ""}
        context = {
            "entries": [
                (
                    one,
                    act(language, one.act),
                    facts.subject(language, one, things),
                    facts.changes(language, one, self._site.codes, things),
                )
                for one in found.rows
            ],
            "acts": ACTS_SAID,
            **kept,
            "later": before is not None,
            "next": f"{AUDIT.path}?{urlencode({**kept, 'before': found.next})}" if found.next else None,
            "user_max": USER_MAX,
        }
        return self._site.page(request, "audit.html", viewer, context)

    def _entries(
        self, tx: Transaction, token: str | None, which: EntryFilter, before: int | None
    ) -> tuple[Page[Entry, int], Mapping[str, Thing]]:
        """Return a page of the log, and the things that its entries name by a key. Raises as `audit_log.entries`."""
        found = audit_log.entries(tx, token, which, PAGE, before)
        return found, self._site.things(tx, {key for one in found.rows for key in facts.keys(one)})

    async def file(self, request: Request) -> Response:
        """GET /admin/audit.ndjson: the whole log as a file, as the API gives it."""
        try:
            return await as_file(self._services, session_token(request), head=request.method == "HEAD")
        except Unauthenticated:
            return self._site.to_log_in(request, AUDIT.path)
