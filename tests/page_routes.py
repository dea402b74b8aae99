"""The routes of the pages; listing them sends no request to a house."""

from typing import Any

from starlette.routing import Route

from saleroom.compose import page_areas
from saleroom.site.pages import Pages
from saleroom.site.site import Site


def page_routes() -> list[Route]:
    """Return the routes of all pages."""
    nothing: Any = None
    return Pages(Site(page_areas(nothing, nothing), nothing, nothing), ()).routes()
