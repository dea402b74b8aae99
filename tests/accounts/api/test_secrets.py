"""The log of a whole session never contains a password, a token, or a digest of either."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.storage.database import Database, Transaction
from tests.process import ServeProcess

PASSWORD = f"correct horse {secrets.token_hex(8)}"
WRONG = f"wrong horse {secrets.token_hex(8)}"
NEW = f"new horse {secrets.token_hex(8)}"


@pytest.fixture(params=["console", "json"])
def served(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[ServeProcess]:
    """A house as in production, with every line logged, in either format."""
    logs = {"log_level": "debug", "log_format": str(request.param)}
    served = ServeProcess(tmp_path, "--database", database_url, "--mqtt", "off", **logs)
    yield served
    served.kill()


def session(url: str) -> list[str]:
    """Use passwords and tokens in every way, right and wrong, and return all the secrets."""
    with httpx.Client(base_url=url, headers={"X-Requested-With": "x"}) as client:
        tokens = []
        for name in ("ada", "bob"):
            account = {"username": name, "password": PASSWORD}
            assert 201 == client.post("/users", json=account).status_code
            assert 422 == client.post("/login", json=account | {"password": WRONG}).status_code
            tokens.append(client.post("/login", json=account).json()["token"])
        ada, bob = ({"Authorization": f"Bearer {token}"} for token in tokens)
        gid = client.post("/auctions", json={"name": "Clock", "startingPrice": "1"}, headers=ada).json()["gid"]
        bids = f"/auctions/{gid}/bids"
        assert [201, 409, 403] == [
            client.post(bids, json={"amount": "1"}, headers=bob).status_code,
            client.post(bids, json={"amount": "1"}, headers=bob).status_code,
            client.post(bids, json={"amount": "9"}, headers=ada).status_code,
        ]
        client.post("/users", json={"username": "ada", "password": PASSWORD})
        client.post("/users", json={"username": PASSWORD, "password": "short"})
        client.post("/login", content=f'{{"password": "{PASSWORD}"'.encode(), headers={"Content-Type": "text/json"})
        client.post("/login", content=PASSWORD, headers={"Content-Type": "text/plain"})
        client.get(f"/me?token={tokens[0]}", headers=ada)
        client.get(f"/{tokens[0]}/{PASSWORD}")
        client.cookies.set("saleroom_session", tokens[0])
        assert "ada" in client.get("/").text
        client.cookies.clear()
        for current, new, status in ((WRONG, NEW, 403), (PASSWORD, NEW, 204), (NEW, NEW, 400)):
            change = {"currentPassword": current, "newPassword": new}
            assert status == client.put("/me/password", json=change, headers=ada).status_code
        assert 204 == client.delete("/logout", headers=bob).status_code
        assert 401 == client.get("/me", headers=bob).status_code
    return [PASSWORD, WRONG, NEW, *tokens, *(hashlib.sha256(token.encode()).hexdigest() for token in tokens)]


def digests(tx: Transaction) -> list[str]:
    """Return the stored digests of passwords and tokens."""
    return [
        str(d)
        for column in (users.c.password_digest, auth_tokens.c.token)
        for d in tx.execute(select(column)).scalars()
    ]


async def test_no_secret_is_logged(served: ServeProcess, database_url: str) -> None:
    """No line has a secret or its digest, for a registration, login, logout, change of a password, bid or refusal."""
    hidden = session(served.url)
    assert 0 == served.terminate()
    database = Database(database_url)
    stored = await database.read(digests)
    await database.close()
    assert 3 <= len(stored)
    log = served.told()
    assert "saleroom serves on" in log
    assert [] == [secret for secret in (*hidden, *stored) if secret in log]
