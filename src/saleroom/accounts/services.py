"""The services behind the API and the pages of accounts, made in `area.py`."""

from __future__ import annotations

from dataclasses import dataclass, field

from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.one_time_codes import OneTimeCodes
from saleroom.http.cursors import Cursors
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class AccountServices:
    """The services behind the API and the pages of accounts."""

    database: Database
    accounts: Accounts
    codes: OneTimeCodes
    tokens: Tokens
    cursors: Cursors
    load_key: str | None = field(default=None, repr=False)
    """The key with which test users can be made; None if nobody can."""
