"""Accounts over the HTTP API. `ENDPOINTS` are those of every house."""

from __future__ import annotations

from saleroom.accounts.api import (
    access_tokens,
    accounts,
    audit,
    invitations,
    mail_addresses,
    passkeys,
    people,
    person_data,
    recovery,
    sanctions,
    security,
    sessions,
)

ENDPOINTS = (
    *accounts.ENDPOINTS,
    *sessions.ENDPOINTS,
    *security.ENDPOINTS,
    *passkeys.ENDPOINTS,
    *access_tokens.ENDPOINTS,
    *mail_addresses.ENDPOINTS,
    *recovery.ENDPOINTS,
    *person_data.ENDPOINTS,
    *people.ENDPOINTS,
    *sanctions.ENDPOINTS,
    *invitations.ENDPOINTS,
    *audit.ENDPOINTS,
)
