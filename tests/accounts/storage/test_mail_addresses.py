"""The mail addresses of users, on both databases."""

from saleroom.accounts.storage import mail_addresses
from saleroom.storage.database import Database
from tests.bidding.service.people import person
from tests.fixtures_database import T0


async def test_only_a_verified_address_gets_word(database: Database) -> None:
    """A new address counts once its user has verified it; another one in its place is verified again."""
    user = (await person(database, "ada")).account.id

    async def verified() -> list[str]:
        return [one.address for one in (await database.read(mail_addresses.verified, [user, 99])).values()]

    await database.write(mail_addresses.give, user, "ada@example.org", "de", T0)
    assert [] == await verified()
    assert not await database.write(mail_addresses.verify, user, "other@example.org", T0)
    assert await database.write(mail_addresses.verify, user, "ada@example.org", T0)
    assert ["ada@example.org"] == await verified()
    await database.write(mail_addresses.speak, user, "en")
    found = await database.read(mail_addresses.find, user)
    assert found is not None
    assert ("en", T0, T0) == (found.language, found.given_at, found.verified_at)
    await database.write(mail_addresses.give, user, "new@example.org", None, T0)
    assert [] == await verified()
    await database.write(mail_addresses.take_away, user)
    assert await database.read(mail_addresses.find, user) is None
    assert {} == await database.read(mail_addresses.verified, [])
