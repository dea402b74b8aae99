"""Users for load tests, made many at a time with a token each (docs/decisions/0015)."""

from __future__ import annotations

import hmac

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE
from saleroom.accounts.service import test_users
from saleroom.accounts.services import AccountServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, positive_whole
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.instants import instant

COUNT_MAX = 1000


class UserTokenView(Struct, frozen=True, rename="camel"):
    """A test user with a token. Its value is shown only once."""

    username: str
    token: str
    expires_at: str


class UserTokensView(Struct, frozen=True):
    """The new test users."""

    users: list[UserTokenView]


_FORM = Form(
    name="TestUsers",
    example={"count": 50},
    fields=(
        Field(
            name="count",
            to="count",
            parse=positive_whole(COUNT_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": COUNT_MAX},
            required=True,
            about="How many to make.",
        ),
    ),
)


async def make_test_users(call: Call[AccountServices]) -> Response:
    """POST /test-users."""
    key = call.services.load_key
    # A header is latin-1 on the wire. The comparison takes the same time wherever the first difference is.
    if key is None or not hmac.compare_digest(call.token.encode("latin-1"), key.encode()):
        raise Unauthenticated
    made = await call.services.database.write(test_users.make_test_users, call.values["count"])
    views = [UserTokenView(user.username, user.token.value, instant(user.token.expires_at)) for user in made]
    return json_response(UserTokensView(views), 201, PRIVATE)


ENDPOINTS: tuple[Endpoint[AccountServices], ...] = (
    Endpoint(
        method="POST",
        path="/test-users",
        name="makeTestUsers",
        summary="Make users for a load test, with a token each",
        handler=make_test_users,
        tag="accounts",
        access=Access.TOKEN,
        form=_FORM,
        status=201,
        answer=UserTokensView,
        about="The token of this request is the setting `load_key`. A house without that setting does not have this address. "
        "Nobody can log in as a test user.",
    ),
)
