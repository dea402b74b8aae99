"""Contacts: how a user wants to be reached by those with whom a sale joins them."""

from __future__ import annotations

from saleroom.kernel.errors import Fault
from saleroom.kernel.texts import hidden_fault, shown_fault

CONTACT_MAX = 300


def parse_contact(text: str) -> str | Fault:
    """Return a contact of several lines, without the white space around it, or its fault; empty takes it away."""
    contact = "\n".join(text.strip().splitlines())
    if len(contact) > CONTACT_MAX:
        return Fault("contact_length", f"must have {CONTACT_MAX} characters at most", most=CONTACT_MAX)
    return hidden_fault(contact, lines=True) or shown_fault(contact) or contact
