"""The audit log in the back office: read page by page, found by user and by act, and saved as a file."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.api.audit import as_file
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit_log
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.accounts.web.acts import ACTS_SAID, act, changes
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Unauthenticated
from saleroom.site.language import N_
from saleroom.site.site import Section, Site, for_users

AUDIT = Section("/admin/audit", N_("Audit log"), Right.READ_AUDIT)
PAGE = 50
USER_MAX, NUMBER_DIGITS_MAX = 32, 18


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
        viewer, found = await self._site.read(request, audit_log.entries, which, PAGE, before)
        language = self._site.language(request)
        kept = {"user": user, "act": which.act or ""}
        context = {
            "entries": [(one, act(language, one.act), changes(language, one)) for one in found.rows],
            "acts": ACTS_SAID,
            **kept,
            "later": before is not None,
            "next": f"{AUDIT.path}?{urlencode({**kept, 'before': found.next})}" if found.next else None,
            "user_max": USER_MAX,
        }
        return self._site.page(request, "audit.html", viewer, context)

    async def file(self, request: Request) -> Response:
        """GET /admin/audit.ndjson: the whole log as a file, as the API gives it."""
        try:
            return await as_file(self._services, session_token(request), head=request.method == "HEAD")
        except Unauthenticated:
            return self._site.to_log_in(request, AUDIT.path)
