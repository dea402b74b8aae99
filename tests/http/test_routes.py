"""Which patterns of addresses are tried for a request: each one costs every photo and every page."""

from typing import Any

import pytest
from starlette.routing import Match, Route

from tests.fixtures_house import House


@pytest.mark.parametrize(
    "path", ["/photos/none/100.webp", "/lots/none", "/sales/none/lots/1/none", "/none/at/all", "/"]
)
def test_only_patterns_that_begin_as_an_address_are_tried(
    sqlite_house: House, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The others would be tried one after the other, some hundred before a photo's."""
    tried: list[str] = []
    matches = Route.matches

    def noted(route: Route, scope: Any) -> tuple[Match, Any]:
        tried.append(route.path)
        return matches(route, scope)

    monkeypatch.setattr(Route, "matches", noted)
    sqlite_house.anyone.get(path)
    first = path.split("/")[1]
    assert [] == [pattern for pattern in tried if pattern.split("/")[1] != first]
    assert path != "/photos/none/100.webp" or tried
