"""A house whose database has lost its standbys: what people and programs see while no event can be shown."""

from collections.abc import Iterator

import asyncpg
import httpx
import pytest

from saleroom.storage import postgresql
from tests.fixtures_house import House, settings_for
from tests.patience import SECONDS_MAX
from tests.storage.standbys import operator, own_server, server, wait_for

__all__ = ["operator", "own_server", "server"]


@pytest.fixture
def lot(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[House, str]]:
    """A house on a server of its own, and a lot."""
    monkeypatch.setattr(postgresql, "COMMIT_SECONDS_MAX", 0.5)
    monkeypatch.setattr(postgresql, "STANDBYS_SECONDS", 0.0)
    house = House(settings_for(server))
    house.start()
    yield house, house.user("ada").auction()
    house.stop()


async def test_new_streams_are_refused_in_words_and_pages_go_on(
    lot: tuple[House, str], operator: asyncpg.Connection
) -> None:
    """Pages show what the database shows. Streams are refused with a time to come back, to programs by a code and to people in
    their language; so are lots.
    """
    house, gid = lot
    await wait_for(operator, "nobody")
    try:
        async with httpx.AsyncClient(base_url=house.base, headers=house.headers, timeout=SECONDS_MAX) as reader:
            assert 200 == (await reader.get(f"/lots/{gid}")).status_code
            assert 200 == (await reader.get(f"/auctions/{gid}")).status_code
            ada = {"Authorization": f"Bearer {house.user('ada').token}"}
            for refused in (
                await reader.get(f"/auctions/{gid}/events"),
                await reader.get(f"/auctions/{gid}/events?after={gid}/1"),
                await reader.get("/events"),
                await reader.post("/auctions", json={"name": "x", "startingPrice": "1"}, headers=ada),
            ):
                assert (503, "unavailable") == (refused.status_code, refused.json()["code"])
                assert int(refused.headers["Retry-After"]) > 0
            for language, words in (("en", "The house cannot reach its database"), ("de", "Datenbank")):
                page = await reader.get(f"/lots/{gid}/live?after=1", headers={"Accept-Language": language})
                assert 503 == page.status_code
                assert words in page.text
    finally:
        await wait_for(operator, "")
    async with (
        httpx.AsyncClient(base_url=house.base, timeout=SECONDS_MAX) as reader,
        reader.stream("GET", f"/lots/{gid}/live?after=1") as stream,
    ):
        assert 200 == stream.status_code
