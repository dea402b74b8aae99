"""The words of the API's document that are about accounts."""

from __future__ import annotations

from saleroom.accounts.domain.access_tokens import PATTERN
from saleroom.accounts.domain.accounts import USERNAME_PATTERN
from saleroom.accounts.domain.errors import LotsRunning
from saleroom.accounts.domain.rights import Right, Role, Scope
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.http.schemas import INSTANT, Schema, Vocabulary
from saleroom.kernel.errors import Barred, MissingRight
from saleroom.kernel.mail import ADDRESS_MAX

USERNAME: Schema = {"pattern": f"^{USERNAME_PATTERN}$"}

VOCABULARY = Vocabulary(
    members={
        "appAddress": ({"pattern": "^otpauth://totp/"}, "For a QR code, which authenticator apps read."),
        "act": ({}, "What was done; docs/people.md lists the acts."),
        "after": ({}, "What the act has made of it, by name."),
        "at": (INSTANT, "When it was done."),
        "barred": ({"enum": [Sanction.SUSPENSION, Sanction.BAN, None]}, "What bars the user; null if nothing does."),
        "barredUntil": (INSTANT, "Until when; null if nothing bars the user, or it has no end."),
        "before": ({}, "What it was before the act, by name."),
        "by": ({}, "Who did it; null for the command line of the house."),
        "endedAt": (INSTANT, "When it was lifted or replaced, or the warning read; null if it was not."),
        "endedBy": ({}, "By whom; null for the command line of the house, or if it was not."),
        "endedReason": ({}, "Why it was lifted; null if it was not."),
        "entries": ({}, "The acts."),
        "reason": ({}, "Why, in words; empty if none was given."),
        "rights": ({}, "What the token may do."),
        "role": ({"enum": list(Role)}, "What the user is in the house."),
        "sellerSince": (INSTANT, "When staff approved the user as a seller; null if it did not."),
        "invitation": ({}, "The invitation, as the list shows it."),
        "invitations": ({}, "The invitations."),
        "kind": ({"enum": list(Sanction)}, "What it is."),
        "person": ({}, "The user."),
        "sanctions": ({}, "What staff did about the user, the latest first."),
        "subject": ({}, "On what it was done, such as the gid of an auction; null if on a user."),
        "until": (INSTANT, "Its end; null if it has none."),
        "user": ({}, "On whom it was done; null if on something else."),
        "accessToken": ({"pattern": f"^{PATTERN}$"}, "Send it as `Authorization: Bearer TOKEN`."),
        "accessTokens": ({}, "The access tokens."),
        "agent": ({}, "The name of the device; empty if it is unknown."),
        "createdAt": (INSTANT, "When it was made."),
        "current": ({}, "Whether it is the session of this request."),
        "expiresAt": (INSTANT, "The instant from which the token is refused: 30 days after `createdAt`."),
        "id": ({}, "Its public identifier."),
        "label": ({}, "What it is for, in its user's words."),
        "link": ({}, "Leads to a page that gives the role. Shown only now; null if a mail brings it."),
        "linkExpiresAt": (INSTANT, "Until when the link that was sent there works; null without one."),
        "mailAddress": ({"maxLength": ADDRESS_MAX}, "The verified mail address; null without one."),
        "oneTimeCodes": ({}, "Whether a login needs a one-time code."),
        "oneTimeCodesSince": (INSTANT, "Since when; null if it needs none."),
        "passkeys": ({}, "The passkeys."),
        "recoveryCodes": ({}, "Each stands in for one code of a lost app."),
        "recoveryCodesLeft": ({}, "How many recovery codes are not used yet."),
        "secret": ({"pattern": "^[A-Z2-7]{32}$"}, "In Base32, to type into an app."),
        "revokedAt": (INSTANT, "When it was revoked; null if it was not."),
        "scopes": ({"items": {"enum": [scope.value for scope in Scope]}}, "What it lets a program do."),
        "sentTo": ({"maxLength": ADDRESS_MAX}, "The mail address that got it; null if it was handed on."),
        "sessions": ({}, "The sessions."),
        "takenAt": (INSTANT, "When it was taken; null if it was not."),
        "takenBy": ({}, "Who has taken it; null if nobody has."),
        "token": (
            {"pattern": "^[A-Za-z0-9+/]{14}==$", "minLength": 16, "maxLength": 16},
            "10 random bytes in standard Base64; send it as `Authorization: Bearer TOKEN`.",
        ),
        "unverifiedAddress": ({"maxLength": ADDRESS_MAX}, "The address that waits to be verified; null without one."),
        "usedAt": (INSTANT, "When it was used last, to five minutes; null if it was not."),
        "username": (USERNAME, "In lower case."),
        "validUntil": (INSTANT, "The instant from which it is refused."),
        "users": ({}, "The users."),
        "verifiedAt": (INSTANT, "When the mail address was verified; null without one."),
    },
    facts={
        LotsRunning: {"lot": {"type": "string", "description": "The gid of one of them."}},
        MissingRight: {
            "right": {"enum": list(Right), "description": "The right that is missing."},
            "needs": {
                "enum": ["one_time_codes", None],
                "description": "What to set up first, to have it; null if nothing would do. A login by a passkey "
                "does as well as `one_time_codes`.",
            },
        },
        Barred: {
            "sanction": {"enum": [Sanction.SUSPENSION, Sanction.BAN], "description": "What bars the user."},
            "reason": {"type": "string", "description": "Why, in the words of staff."},
            "until": {**INSTANT, "type": ["string", "null"], "description": "Its end; null if it has none."},
        },
    },
    tags={"accounts": "Users, tokens, and lists of one's own.", "staff": "What those do who run the house."},
)
