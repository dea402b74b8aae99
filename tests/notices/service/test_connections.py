"""Connections to a mail server that ends them: mails go out by the next ones, each once."""

import pytest

from saleroom.outbox import store
from saleroom.outbox.message import State
from tests.bidding.service.people import bid, person, sells
from tests.fixtures_database import FakeClock
from tests.notices.equipment import Postman

pytestmark = pytest.mark.databases("sqlite")


async def outbid(postman: Postman, clock: FakeClock, *names: str) -> None:
    """Let a rival outbid people on a lot each, and send the words about it."""
    ada, rival = await postman.known("ada"), await person(postman.database, "rival")
    for name in names:
        one, gid = await postman.known(name), await sells(postman.database, ada)
        await bid(postman.database, one.bids(gid, "100"), rival.bids(gid, "200"))
    await postman.rounds()
    clock.advance(seconds=61)
    await postman.rounds()


async def test_a_server_that_ends_its_connections_gets_all_mails(postman: Postman, clock: FakeClock) -> None:
    """It takes two mails by a connection: the others go out by new ones in the same round, each once."""
    postman.post.by_connection = 2
    names = [f"ben{number}" for number in range(12)]
    await outbid(postman, clock, *names)
    assert sorted(f"{name}@example.org" for name in names) == sorted(postman.post.receivers)


async def test_a_refusal_that_ends_the_connection_is_about_one_mail(postman: Postman, clock: FakeClock) -> None:
    """The server ends the connection after an unknown receiver: that mail is given up, and the others go out at once."""
    unknown = ("ben", "cyd", "dan", "eve", "fay")
    postman.post.to = {f"{name}@example.org": "550 no" for name in unknown}
    postman.post.ends_after_refusal = True
    await outbid(postman, clock, *unknown, "gil")
    assert ["gil@example.org"] == postman.post.receivers
    given_up = await postman.database.read(store.listed, [State.GIVEN_UP], 100)
    assert ["the mail server refuses the mail: 550 no"] * 5 == [word.last_error for word in given_up]
