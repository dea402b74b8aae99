"""Sessions that end while a page is being read."""

from typing import Any

import pytest
from sqlalchemy import delete

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage.tables import auth_tokens
from saleroom.site.site import Site
from tests.fixtures_house import ServeHouse
from tests.test_matrix import PAGES, Matrix


def test_a_session_that_ends_between_two_reads(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page that is opened meanwhile is shown, or leads to the form to log in, which leads back to it."""
    matrix, read, led = Matrix(serve_house()), Site.read, {}

    async def read_and_end(site: Site, *given: Any, **named: Any) -> Any:
        found = await read(site, *given, **named)
        await site.database.write(lambda tx: tx.execute(delete(auth_tokens)))
        return found

    with matrix.http as http:
        for page in sorted(PAGES):
            method, path = page.split(" ")
            if method != "GET" or path == "/session/passkey":
                continue
            with monkeypatch.context() as patched:
                cookie = {"Cookie": f"saleroom_session={matrix.token(Role.OWNER)}"}
                patched.setattr(Site, "read", read_and_end)
                address = matrix.path(path) + (f"?lots={matrix.gid}" if path == "/live" else "")
                with http.stream("GET", address, headers=cookie) as answer:
                    assert answer.status_code in (200, 303, 403, 404), (page, answer.status_code)
                    led[page] = answer.headers.get("location")
    assert "/login?next=/sell/drafts/AAAAAAAAAAAA" == led["GET /sell/drafts/{draft}"]
    assert f"/login?next=/sell/{matrix.gid}/preview" == led["GET /sell/{gid}/preview"]
