"""The words of the API's document that are about accounts."""

from __future__ import annotations

from saleroom.accounts.domain.accounts import USERNAME_PATTERN
from saleroom.http.schemas import INSTANT, Schema, Vocabulary

USERNAME: Schema = {"pattern": f"^{USERNAME_PATTERN}$"}

VOCABULARY = Vocabulary(
    members={
        "agent": ({}, "What the device is called; empty where it has not said."),
        "createdAt": (INSTANT, "When it was made."),
        "current": ({}, "Whether it is the session of this very request."),
        "expiresAt": (INSTANT, "The instant from which the token is refused: 30 days after `createdAt`."),
        "id": ({}, "Its public identifier."),
        "sessions": ({}, "The sessions."),
        "token": (
            {"pattern": "^[A-Za-z0-9+/]{14}==$", "minLength": 16, "maxLength": 16},
            "10 random bytes in standard Base64; send it as `Authorization: Bearer TOKEN`.",
        ),
        "username": (USERNAME, "In lower case."),
        "users": ({}, "The users that were made."),
    },
    tags={"accounts": "Users, tokens, and what is mine."},
)
