"""The house as browsers know it for passkeys, by the address of its pages; and sealed values in forms."""

from __future__ import annotations

import base64

from starlette.requests import Request

from saleroom.accounts.domain import passkeys
from saleroom.accounts.domain.errors import PasskeysOff
from saleroom.accounts.domain.passkeys import Lacks, Party
from saleroom.site.site import Site, is_local


def party_at(site: Site, request: Request) -> Party | Lacks:
    """Return the house, or what its address lacks. Only the setting of its address can say that it has https."""
    address = site.origin(request)
    return passkeys.party_at(address) if site.https or is_local(address) else Lacks.HTTPS


def party_of(site: Site, request: Request) -> Party:
    """Return the house. Raises PasskeysOff."""
    party = party_at(site, request)
    if isinstance(party, Lacks):
        raise PasskeysOff
    return party


def decoded(field: str) -> bytes:
    """Return the bytes in a field of a form; none if it has not even the form of them."""
    try:
        return base64.b64decode(field, altchars=b"-_", validate=True)
    except ValueError:
        return b""
