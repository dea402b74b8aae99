"""The sections of accounts in the back office, and the addresses of their pages."""

from __future__ import annotations

from starlette.routing import Route

from saleroom.accounts.services import AccountServices
from saleroom.accounts.web.audit import AUDIT, AuditPages
from saleroom.accounts.web.invitations import INVITATIONS, InvitationPages
from saleroom.accounts.web.people import PEOPLE, PeoplePages
from saleroom.accounts.web.person import PersonPages
from saleroom.site.site import Address, Site

SECTIONS = (PEOPLE, INVITATIONS, AUDIT)


def routes(site: Site, services: AccountServices) -> list[Route]:
    """Return the routes of the pages over one house."""
    people, person, audit = PeoplePages(site, services), PersonPages(site, services), AuditPages(site, services)
    invitations = InvitationPages(site, services)
    one = f"{PEOPLE.path}/{{username}}"
    return [
        Route(PEOPLE.path, Address(GET=people.show)),
        Route(one, Address(GET=person.show)),
        Route(f"{one}/sanctions", Address(POST=person.sanction)),
        Route(f"{one}/lift", Address(POST=person.lift)),
        Route(f"{one}/role", Address(POST=person.give_role)),
        Route(f"{one}/seller", Address(POST=person.approve)),
        Route(f"{one}/sessions", Address(POST=person.end_sessions)),
        Route(f"{one}/erasure", Address(POST=person.erase)),
        Route(INVITATIONS.path, Address(GET=invitations.show, POST=invitations.invite)),
        Route(f"{INVITATIONS.path}/revoke", Address(POST=invitations.revoke)),
        Route(AUDIT.path, Address(GET=audit.show)),
        Route(f"{AUDIT.path}.ndjson", Address(GET=audit.file)),
    ]
