"""The services behind the API and the pages of accounts, made in `area.py`."""

from __future__ import annotations

from dataclasses import dataclass, field

from saleroom.accounts.domain.errors import MailOff
from saleroom.accounts.domain.mails import Sign
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import addresses
from saleroom.accounts.service.accounts import Accounts, authenticate
from saleroom.accounts.service.addresses import MailState
from saleroom.accounts.service.erasures import Erasures
from saleroom.accounts.service.invitations import Invitations
from saleroom.accounts.service.one_time_codes import OneTimeCodes
from saleroom.accounts.service.passkeys import Passkeys
from saleroom.accounts.service.person_archives import PersonArchives
from saleroom.accounts.service.recovery import Recovery
from saleroom.accounts.service.throttle import AccountMails
from saleroom.http.cursors import Cursors
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class AccountServices:
    """The services behind the API and the pages of accounts."""

    database: Database
    accounts: Accounts
    codes: OneTimeCodes
    passkeys: Passkeys
    recovery: Recovery
    invitations: Invitations
    archives: PersonArchives
    erasures: Erasures
    tokens: Tokens
    cursors: Cursors
    sign: Sign
    """Computes the secrets of the links in mails."""
    origin: str
    """The address of the house in links."""
    mails: AccountMails | None
    """Counts the mails that each network causes; None if the house sends none."""
    load_key: str | None = field(default=None, repr=False)
    """The key with which test users can be made; None if nobody can."""

    @property
    def sends_mail(self) -> bool:
        """Whether the house sends mails."""
        return self.mails is not None

    async def change_address(
        self, token: str, password: str, given: str | None, language: str | None, address: str
    ) -> MailState:
        """Send a link to the mail address `given`, or take the user's away. `address` is that of the request.

        Raises Unauthenticated, MailOff, and as `Accounts.with_password` and `addresses.give` do.
        """
        await self.database.read(authenticate, token, Right.ACCOUNT)
        if given is not None:
            if self.mails is None:
                raise MailOff
            await self.mails.take(address)
        return await self.accounts.with_password(token, password, address, addresses.give, given, language)
