"""Fixtures of notices."""

from collections.abc import Iterator

import pytest

from saleroom.storage.database import Database
from tests.notices.equipment import Postman
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
