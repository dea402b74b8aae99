"""The measurement of the event loop asks every address, so that a new one is not forgotten."""

from types import SimpleNamespace
from typing import cast

from saleroom.compose import ENDPOINTS
from tests import holds
from tests.fixtures_house import User
from tests.page_routes import page_routes

USER = cast("User", SimpleNamespace(token="token"))


def test_every_address_is_measured() -> None:
    """Each address of the API and of the pages is asked, except streams, which go on, and those that end a session."""
    asked = {path.partition("?")[0] for _, _, path, _ in holds.rows(USER, "gid")}
    pages = page_routes()
    wanted = {holds.address(row.path, "gid") for row in ENDPOINTS if not row.stream}
    wanted |= {holds.address(page.path, "gid") for page in pages if not page.path.endswith("/live")}
    assert {"/logout", "/session/end", "/mine/sessions/end", "/mine/sessions/end-all"} == wanted - asked
