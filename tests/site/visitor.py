"""A visitor without scripts: fills in forms as they are on their page, and sends them as browsers do."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import httpx
from PIL import Image

from tests.fixtures_house import NO_TLS, House, User
from tests.site.markup import Element, Page

PRESENT: list[httpx.Client] = []
"""The clients of all visitors, for the fixture that closes them after each test."""


class Visitor:
    """A visitor who is logged in as `user`, or a stranger. Only `page` and `sent` follow redirects."""

    def __init__(self, house: House, user: User | None = None, **headers: str) -> None:
        cookies = {} if user is None else {"saleroom_session": user.token}
        self.http = httpx.Client(base_url=house.base, verify=NO_TLS, cookies=cookies, headers=headers)
        PRESENT.append(self.http)

    def page(self, path: str) -> Page:
        """Open a page."""
        answer = self.http.get(path)
        return self.page(answer.headers["location"]) if answer.status_code == 303 else Page(answer)

    def sent(self, page: Page, action: str, do: str = "", files: Any = (), **changes: Any) -> Page:
        """Send a form as `send` does, and return the page that the answer shows or leads to."""
        answer = self.send(page, action, do, files, **changes)
        return self.page(answer.headers["location"]) if answer.status_code == 303 else Page(answer)

    def send(self, page: Page, action: str, do: str = "", files: Any = (), **changes: Any) -> httpx.Response:
        """Send the form of `page` to `action`, by its button `do`, with `changes` to the values of its fields.

        A change of None leaves the field out, a list gives it several values. `files` are (name, bytes).
        """
        form, fields = _form(page, action, do)
        kept = [(name, value) for name, value in fields if name not in changes]
        for name, value in changes.items():
            several = value if isinstance(value, list) else [] if value is None else [value]
            kept += [(name, one) for one in several]
        if do:
            kept.append(("do", do))
        if form.attributes.get("enctype") != "multipart/form-data":
            return self.http.post(action, data=dict(kept))
        parts: list[Any] = [(name, (None, value.encode())) for name, value in kept]
        parts += [("files", (name, data, "image/jpeg")) for name, data in files]
        return self.http.post(action, files=parts)


def picture(color: str = "green", size: tuple[int, int] = (900, 600), kind: str = "JPEG") -> bytes:
    """Return a picture of one color, as the bytes of a file."""
    file = BytesIO()
    Image.new("RGB", size, color).save(file, kind)
    return file.getvalue()


def _form(page: Page, action: str, do: str) -> tuple[Element, list[tuple[str, str]]]:
    """Return the first form to `action` that has the button `do`, and those of its fields that are sent, in order."""
    starts = [number for number, e in enumerate(page.elements) if e.tag == "form"]
    for start, end in zip(starts, [*starts[1:], len(page.elements)], strict=True):
        form, inside = page.elements[start], page.elements[start + 1 : end]
        buttons = [e.attributes.get("value", "") for e in inside if e.tag == "button"]
        if form.attributes["action"] == action and (not do or do in buttons):
            return form, [sent for e in inside if (sent := _sent(e)) is not None]
    raise AssertionError(f"no form to {action} with a button {do!r}")


def _sent(element: Element) -> tuple[str, str] | None:
    kind = element.attributes.get("type", "")
    if element.tag == "textarea":
        return element["name"], element.raw.removeprefix("\n")
    if element.tag != "input" or "name" not in element.attributes or kind == "file":
        return None
    if kind in ("radio", "checkbox") and "checked" not in element.attributes:
        return None
    return element["name"], element.attributes.get("value", "")
