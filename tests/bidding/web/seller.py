"""Common helpers for tests of the seller's forms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fixtures_house import User
from tests.site.markup import Page
from tests.site.visitor import Visitor

HOSTILE = """"></textarea></title><script>alert(1)</script><img src=x onerror="alert(1)">'{{ 1234*1234 }}&amp;"""

Come = Callable[..., Visitor]


def preview(visitor: Visitor, **written: Any) -> Page:
    """Fill in the form with a name, a price and the fields `written`, and return its preview."""
    form = visitor.page("/sell")
    return visitor.sent(form, "/sell", "preview", **{"name": "Clock", "startingPrice": "100"} | written)


def publish(visitor: Visitor, shown: Page) -> str:
    """Publish the lot of a preview, and return its gid."""
    answer = visitor.send(shown, "/sell", "publish")
    assert 303 == answer.status_code, answer.text
    return answer.headers["location"].removeprefix("/lots/").removesuffix("?listed")


def sold(visitor: Visitor, seller: User, **written: Any) -> dict[str, Any]:
    """Publish a lot, and return it as the API shows it to its seller."""
    gid = publish(visitor, preview(visitor, **written))
    return dict(seller.json("GET", f"/auctions/{gid}"))


def faults(page: Page) -> dict[str, str]:
    """Return the faults shown at the fields of a form, by field."""
    found = {e["id"].removesuffix("-fault"): e.text for e in page.all("small", class_="fault")}
    for field in found:
        named = [e for e in page.elements if f"{field}-fault" in e.attributes.get("aria-describedby", "").split()]
        assert named, f"nothing is described by the fault of {field}"
        assert all("true" == e.attributes.get("aria-invalid") for e in named)
    return found


def later(**by: float) -> datetime:
    """Return the instant that is so much later than now, to the second."""
    return (datetime.now(UTC) + timedelta(**by)).replace(microsecond=0)
