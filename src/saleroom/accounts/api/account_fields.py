"""The fields and forms of the API's requests about accounts."""

from __future__ import annotations

from saleroom.accounts.domain.accounts import (
    PASSWORD_MAX,
    PASSWORD_MIN,
    USERNAME_PATTERN,
    parse_password,
    parse_username,
)
from saleroom.http.forms import Field, Form, checked, json_whole, string


def _new_password(name: str, to: str) -> Field:
    schema = {"type": "string", "minLength": PASSWORD_MIN, "maxLength": PASSWORD_MAX}
    return Field(
        name=name, to=to, parse=checked(parse_password), schema=schema, required=True, about="Used unmodified."
    )


def _any_string(name: str, to: str) -> Field:
    return Field(name=name, to=to, parse=string, schema={"type": "string"}, required=True)


REGISTER = Form(
    name="Registration",
    fields=(
        Field(
            name="username",
            to="username",
            parse=checked(parse_username),
            schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
            required=True,
            about="Case does not tell two names apart; it is kept in lower case.",
        ),
        _new_password("password", "password"),
    ),
)
LOGIN = Form(
    name="Login", strict=False, fields=(_any_string("username", "username"), _any_string("password", "password"))
)
PASSWORD_CHANGE = Form(
    name="PasswordChange", fields=(_any_string("currentPassword", "current"), _new_password("newPassword", "new"))
)
TEST_USERS_MAX = 1000
TEST_USERS = Form(
    name="TestUsers",
    fields=(
        Field(
            name="count",
            to="count",
            parse=json_whole(1, TEST_USERS_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": TEST_USERS_MAX},
            required=True,
            about="How many to make.",
        ),
    ),
)
