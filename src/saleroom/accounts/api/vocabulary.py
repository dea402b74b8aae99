"""The words of the API's document that are about accounts."""

from __future__ import annotations

from saleroom.accounts.domain.accounts import USERNAME_PATTERN
from saleroom.accounts.domain.rights import Right
from saleroom.http.schemas import INSTANT, Schema, Vocabulary
from saleroom.kernel.errors import MissingRight

USERNAME: Schema = {"pattern": f"^{USERNAME_PATTERN}$"}

VOCABULARY = Vocabulary(
    members={
        "appAddress": ({"pattern": "^otpauth://totp/"}, "For a QR code, which authenticator apps read."),
        "agent": ({}, "The name of the device; empty if it is unknown."),
        "createdAt": (INSTANT, "When it was made."),
        "current": ({}, "Whether it is the session of this request."),
        "expiresAt": (INSTANT, "The instant from which the token is refused: 30 days after `createdAt`."),
        "id": ({}, "Its public identifier."),
        "oneTimeCodes": ({}, "Whether a login needs a one-time code."),
        "oneTimeCodesSince": (INSTANT, "Since when; null if it needs none."),
        "recoveryCodes": ({}, "Each stands in for one code of a lost app."),
        "recoveryCodesLeft": ({}, "How many recovery codes are not used yet."),
        "secret": ({"pattern": "^[A-Z2-7]{32}$"}, "In Base32, to type into an app."),
        "sessions": ({}, "The sessions."),
        "token": (
            {"pattern": "^[A-Za-z0-9+/]{14}==$", "minLength": 16, "maxLength": 16},
            "10 random bytes in standard Base64; send it as `Authorization: Bearer TOKEN`.",
        ),
        "username": (USERNAME, "In lower case."),
        "users": ({}, "The new users."),
    },
    facts={MissingRight: {"right": {"enum": list(Right), "description": "The right that is missing."}}},
    tags={"accounts": "Users, tokens, and lists of one's own."},
)
