"""The sections of accounts in the back office, and the addresses of their pages."""

from __future__ import annotations

from starlette.routing import Route

from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.audit import AUDIT, AuditPages
from saleroom.accounts.web.people import PEOPLE, PeoplePages
from saleroom.site.site import Address, Site

SECTIONS = (PEOPLE, AUDIT)


def routes(site: Site, services: AccountServices) -> list[Route]:
    """Return the routes of the pages over one house."""
    people, audit = PeoplePages(site, services), AuditPages(site, services)
    return [
        Route(PEOPLE.path, Address(GET=people.show)),
        Route(AUDIT.path, Address(GET=audit.show)),
        Route(f"{AUDIT.path}.ndjson", Address(GET=audit.file)),
    ]
