"""A browser at the pages, over HTTP."""

from __future__ import annotations

import httpx

from tests.fixtures_house import NO_TLS, House, User
from tests.site.markup import Page

OPEN: list[httpx.Client] = []


class Browser:
    """A browser, with the session of a user or without one."""

    def __init__(self, house: House, user: User | None = None, **headers: str) -> None:
        cookies = {} if user is None else {"saleroom_session": user.token}
        self.http = httpx.Client(base_url=house.base, cookies=cookies, headers=headers, verify=NO_TLS)
        OPEN.append(self.http)

    def open(self, path: str) -> Page:
        """Return the page at a path."""
        return Page(self.http.get(path))

    def send(self, shown: Page, path: str, **values: str) -> httpx.Response:
        """Send the page's form to `path`, with its hidden fields and `values`."""
        hidden = {e["name"]: e["value"] for e in shown.all("input", type="hidden")}
        return self.http.post(path, data=hidden | values)
