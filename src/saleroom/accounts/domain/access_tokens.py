"""Access tokens: tokens for programs, with a name, scopes and an end that their user chooses."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from saleroom.accounts.domain.rights import Scope
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import PROGRAM_TOKEN
from saleroom.kernel.texts import hidden_fault, shown_fault

PREFIX = PROGRAM_TOKEN
"""Each access token begins so: programs which look for secrets find one in a text, and pages take none for a session."""
SECRET_BYTES = 20
DAYS_MAX = 366
ACCESS_TOKENS_MAX = 50
"""Of one user."""
NAME_MAX = 60
PATTERN = rf"{PREFIX}[0-9a-f]{{{2 * SECRET_BYTES + 8}}}"


def access_token(random: bytes) -> str:
    """Return the token of these `SECRET_BYTES` random bytes; its last eight characters are the CRC-32 of those before them.

    So a program that looks for secrets tells a token from a text that resembles one.
    """
    body = PREFIX + random.hex()
    return f"{body}{zlib.crc32(body.encode()):08x}"


def parse_name(text: str) -> str | Fault:
    """Return the name of a token, without the white space around it, or its fault."""
    name = text.strip()
    if not 1 <= len(name) <= NAME_MAX:
        return Fault("text_length", f"must have 1 to {NAME_MAX} characters", least=1, most=NAME_MAX)
    return hidden_fault(name, lines=False) or shown_fault(name) or name


def scopes_text(scopes: Iterable[Scope]) -> str:
    """Return scopes as their column holds them."""
    return " ".join(sorted(scope.value for scope in scopes))


def parse_scopes(text: str) -> frozenset[Scope] | Fault:
    """Return the scopes of such a text, or its fault."""
    try:
        scopes = frozenset(map(Scope, text.split(" ")))
    except ValueError:
        scopes = frozenset()
    return scopes if scopes and scopes_text(scopes) == text else Fault("not_a_choice", "must be scopes in their order")
