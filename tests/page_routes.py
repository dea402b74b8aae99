"""The routes of the pages; nothing is asked of a house to list its addresses."""

from types import SimpleNamespace
from typing import Any

from starlette.routing import Route

from saleroom.compose import PUBLIC_FOLDER
from saleroom.site.assets import Assets
from saleroom.site.pages import Pages


def page_routes() -> list[Route]:
    """Return the routes of all pages."""
    nothing: Any = SimpleNamespace(database=None)
    return Pages(nothing, nothing, Assets(PUBLIC_FOLDER)).routes()
