"""The measure of what holds the event loop asks every address, so that a new one is not forgotten."""

from types import SimpleNamespace
from typing import cast

from saleroom.bidding.api.endpoints import ENDPOINTS
from saleroom.compose import PUBLIC_FOLDER
from saleroom.http.services import House
from saleroom.site.assets import Assets
from saleroom.site.pages import Pages
from tests import holds
from tests.fixtures_house import User

USER = cast("User", SimpleNamespace(token="token"))


def test_every_address_is_measured() -> None:
    """Each address of the API and of the pages is asked, but for streams, which go on, and those that end a session."""
    asked = {path.partition("?")[0] for _, _, path, _ in holds.rows(USER, "gid")}
    pages = Pages(cast("House", None), Assets(PUBLIC_FOLDER)).routes()
    wanted = {holds.address(row.path, "gid") for row in ENDPOINTS if not row.stream}
    wanted |= {holds.address(page.path, "gid") for page in pages if not page.path.endswith("/live")}
    assert {"/logout", "/session/end", "/mine/sessions/end", "/mine/sessions/end-all"} == wanted - asked
