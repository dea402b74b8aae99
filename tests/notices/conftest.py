"""Fixtures of notices."""

from collections.abc import AsyncIterator, Iterator

import pytest

from saleroom.storage.database import Database
from tests.notices.equipment import Postman
from tests.notices.hooks import Hooks
from tests.notices.receiver import Receiver, receiving
from tests.outbox.mail_server import Post, mail_server


@pytest.fixture
def post() -> Post:
    """What the mail server does."""
    return Post()


@pytest.fixture
def port(post: Post) -> Iterator[int]:
    """The port of a mail server."""
    with mail_server(post) as found:
        yield found


@pytest.fixture
async def postman(clocked_database: Database, port: int, post: Post) -> Postman:
    """A poster and a sender, which have read the log so far."""
    found = Postman(clocked_database, port, post)
    await found.rounds()
    return found


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A server of webhooks."""
    async with receiving(Receiver()) as found:
        yield found


@pytest.fixture
async def hooks(clocked_database: Database, receiver: Receiver) -> AsyncIterator[Hooks]:
    """A house that posts to webhooks."""
    found = Hooks(clocked_database, receiver)
    yield found
    await found.deliverer.posts.close()
