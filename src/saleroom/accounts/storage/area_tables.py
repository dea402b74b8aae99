"""The tables of accounts for exports and imports."""

from __future__ import annotations

import re

from saleroom.accounts.domain.access_tokens import parse_name, parse_scopes
from saleroom.accounts.domain.accounts import is_of_house, parse_username
from saleroom.accounts.domain.audit import parse_reason
from saleroom.accounts.domain.contacts import parse_contact
from saleroom.accounts.domain.mails import mailbox
from saleroom.accounts.domain.passkeys import is_party
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.storage.audit import is_facts
from saleroom.accounts.storage.tables import (
    audit,
    auth_tokens,
    contacts,
    idempotency,
    invitations,
    mail_addresses,
    mail_links,
    one_time_codes,
    passkeys,
    password_requests,
    rate_limits,
    recovery_codes,
    sanctions,
    used_challenges,
    users,
)
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.mail import FORMAT, folded_address, parse_mail_address
from saleroom.storage.areas import AreaTables

_DIGEST = re.compile("[0-9a-f]{64}")
_KEY = re.compile("[0-9a-f]{32}")
_INVITED = (invitations.c.by_id, invitations.c.used_by_id)


def _username_fault(value: str) -> Fault | None:
    if is_of_house(value):
        return None
    found = parse_username(value)
    if isinstance(found, Fault):
        return found
    return None if found == value else Fault("username_format", "must be in lower case")


def _role_fault(value: str) -> Fault | None:
    return None if value in [*Role] else Fault("role", f"must be one of {', '.join(Role)}")


def _facts_fault(value: str) -> Fault | None:
    return None if is_facts(value) else Fault("facts", "must be a JSON object of short values")


def _name_fault(value: str) -> Fault | None:
    found = parse_name(value)
    return found if isinstance(found, Fault) else None


def _scopes_fault(value: str) -> Fault | None:
    found = parse_scopes(value)
    return found if isinstance(found, Fault) else None


def _contact_fault(value: str) -> Fault | None:
    found = parse_contact(value)
    return found if isinstance(found, Fault) else None


def _mail_address_fault(value: str) -> Fault | None:
    return None if parse_mail_address(value) == value else FORMAT


def _subject_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("subject", "must be the gid of an invoice, or strikes")


def _sanction_fault(value: str) -> Fault | None:
    return None if value in [*Sanction] else Fault("sanction", f"must be one of {', '.join(Sanction)}")


def _reason_fault(value: str) -> Fault | None:
    found = parse_reason(value)
    return found if isinstance(found, Fault) else None


TABLES = AreaTables(
    tables=(
        users,
        auth_tokens,
        contacts,
        mail_addresses,
        audit,
        mail_links,
        invitations,
        password_requests,
        sanctions,
        one_time_codes,
        recovery_codes,
        passkeys,
        idempotency,
        rate_limits,
        used_challenges,
    ),
    not_exported=(rate_limits, used_challenges),
    stays=(audit.c.by_id, audit.c.user_id, sanctions.c.by_id, sanctions.c.ended_by_id, *_INVITED),
    text_rules={
        users.c.former_name: lambda value: None if _DIGEST.fullmatch(value) else Fault("digest", "must be a SHA-256"),
        users.c.username: _username_fault,
        users.c.role: _role_fault,
        users.c.barred: _sanction_fault,
        users.c.barred_reason: _reason_fault,
        users.c.warning: _reason_fault,
        sanctions.c.kind: _sanction_fault,
        sanctions.c.reason: _reason_fault,
        sanctions.c.subject: _subject_fault,
        sanctions.c.ended_reason: _reason_fault,
        audit.c.before: _facts_fault,
        audit.c.after: _facts_fault,
        auth_tokens.c.label: _name_fault,
        auth_tokens.c.scopes: _scopes_fault,
        passkeys.c.name: _name_fault,
        passkeys.c.party: lambda value: None if is_party(value) else Fault("party", "must be the name of a host"),
        contacts.c.contact: _contact_fault,
        mail_addresses.c.address: _mail_address_fault,
        mail_addresses.c.folded: lambda value: None if folded_address(value) == value else FORMAT,
        mail_links.c.address: _mail_address_fault,
        mail_links.c.mailbox: lambda value: None if mailbox(value) == value else FORMAT,
        invitations.c.role: _role_fault,
        invitations.c.address: _mail_address_fault,
        mail_links.c.network: lambda value: None if _KEY.fullmatch(value) else Fault("digest", "must be a digest"),
        password_requests.c.typed: lambda _: None,  # what a stranger typed; it is shown to nobody
        password_requests.c.network: lambda _: None,  # only compared; it is shown to nobody
        idempotency.c.key: lambda _: None,  # any header that a client sent; it is shown to nobody
    },
)
