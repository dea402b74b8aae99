"""Consignors: those who bring lots to sales, by the code that the house knows them by."""

from __future__ import annotations

import re

from saleroom.kernel.errors import Fault

CODE_PATTERN = r"[A-Z0-9._-]{1,20}"
CODE = re.compile(CODE_PATTERN)
NAME_MAX, CONTACT_MAX = 200, 1_000
SUBJECT = "consignor "
"""How the audit log names a consignor, before the code."""


def subject_of(code: str) -> str:
    """Return the name of a consignor in the audit log."""
    return SUBJECT + code


def parse_code(text: str) -> str | Fault:
    """Return the code that somebody typed, in capitals, or its fault."""
    code = text.strip().upper()
    if CODE.fullmatch(code) is None:
        return Fault("consignor_code", "must be 1 to 20 of A-Z, 0-9, '.', '_' and '-'")
    return code
