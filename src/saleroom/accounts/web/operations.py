"""The pages of accounts in the API's document."""

from __future__ import annotations

from typing import Any

from saleroom.http import openapi
from saleroom.http.openapi import Operations


def _login_form() -> dict[str, Any]:
    """Return GET /login, the one address that people and the API share."""
    page = openapi.page("loginForm", "The form to log in", "HTML for people; programs send `POST /login`.", [])
    page["responses"]["303"] = {"description": "To the home page: somebody is logged in already."}
    return page


OPERATIONS: Operations = {"/login": {"get": _login_form()}}
