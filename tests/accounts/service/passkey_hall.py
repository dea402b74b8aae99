"""A house for passkeys, whose users have devices in software."""

from __future__ import annotations

from typing import Any

from saleroom.accounts.domain.passkeys import Party
from saleroom.accounts.service.accounts import Accounts, IssuedToken
from saleroom.accounts.service.passkeys import CeremonyQuestion, Passkeys
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import FailedLogins, Registrations
from saleroom.accounts.service.tickets import LoginKeys
from saleroom.storage.database import Database
from tests.accounts.authenticator import Device
from tests.fixtures_database import FakeClock

PASSWORD, HERE, BROWSER = "correct horse", "192.0.2.1", "what this browser alone has"
HOUSE = Party("bids.example", "https://bids.example")
ELSEWHERE = Party("bids.example.evil.example", "https://bids.example.evil.example")


class Hall:
    """A house with users, who have devices."""

    def __init__(self, database: Database, clock: FakeClock, passwords: Passwords) -> None:
        self.database = database
        self.clock = clock
        self.keys = LoginKeys(Sealing(lambda: b"k" * 32), Sealing(lambda: b"t" * 32))
        self.failed_logins = FailedLogins(database, 10_000)
        self.accounts = Accounts(database, passwords, Registrations(database, 10), self.failed_logins, self.keys)
        self.passkeys = self.process()

    def process(self) -> Passkeys:
        """Another process of the house."""
        return Passkeys(self.database, self.accounts, self.failed_logins, self.keys.tickets, "Saleroom")

    async def enter(self, name: str = "ada") -> str:
        """Add a user, and return the token of their session."""
        await self.accounts.add(name, PASSWORD)
        return (await self.accounts.log_in(name, PASSWORD, HERE)).value

    async def begin(self, token: str, name: str = "Phone") -> CeremonyQuestion:
        """Give the password, and return what the browser is asked."""
        return await self.passkeys.begin(token, PASSWORD, name, HOUSE, HERE)

    async def add(self, token: str, device: Device | None = None, name: str = "Phone") -> Device:
        """Add a passkey on a device, and return the device."""
        device = device or Device(HOUSE.origin)
        asked = await self.begin(token, name)
        await self.passkeys.add(token, asked.ticket, device.create(asked.options), HOUSE, HERE)
        return device

    async def log_in(self, device: Device, **wrong: Any) -> IssuedToken:
        """Log in by the passkey of a device."""
        asked = await self.passkeys.ask(BROWSER, HOUSE)
        return await self.passkeys.log_in(asked.ticket, BROWSER, device.get(asked.options, **wrong), HOUSE, HERE)
