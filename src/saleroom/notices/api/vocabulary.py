"""The words of the API's document that are about notices."""

from __future__ import annotations

from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, Vocabulary
from saleroom.notices.domain.choices import CHANNELS
from saleroom.outbox.message import WEBHOOK

_TIME = {"pattern": "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$"}

VOCABULARY = Vocabulary(
    members={
        "about": ({"pattern": GID_PATTERN}, "The lot that it is about; null without one."),
        "applicationServerKey": (
            {},
            "The key of the house, for `PushManager.subscribe()`; null if it sends no messages.",
        ),
        "browsers": ({}, "The browsers that get messages, the newest first."),
        "again": (COUNT, "How many words are tried again."),
        "begins": (_TIME, "When they begin, by the clock of the zone."),
        "channel": ({"enum": [*CHANNELS, WEBHOOK]}, "How it is sent."),
        "counts": ({}, "How many words there are in each state."),
        "deliveries": ({}, "What was posted, the latest first."),
        "dueAt": (INSTANT, "When it is tried next, if it waits."),
        "endpoint": ({}, "Where events are posted to."),
        "ends": (_TIME, "When they end, by the clock of the zone."),
        "kind": ({}, "What kind of word it is."),
        "kinds": ({"minItems": 1}, "The kinds of events, or `*` for all."),
        "language": ({}, "The language of mails; null for that of the house."),
        "lastError": ({}, "Why it was not sent, or why the last try failed; null if there is nothing to say."),
        "mail": ({}, "For each kind of word, whether it is sent by mail."),
        "mailAddress": ({}, "The address that mails go to; null without one."),
        "offFor": (
            {},
            "Why it is switched off: its owner did so, its server answered 410, all tries failed, or too much waited.",
        ),
        "offSince": (INSTANT, "Since when it is switched off; null while it is on."),
        "oldSecretUntil": (INSTANT, "Until when the secret before the last one signs too; null if there was none."),
        "on": ({}, "Whether anything is posted."),
        "postedAt": (INSTANT, "When it was posted."),
        "push": ({}, "For each kind of word, whether it is shown on the browsers that get messages."),
        "quietHours": ({}, "The hours in which nothing is sent; null for none."),
        "receiver": ({}, "The name of the user that it is for; null if it goes to an address without an account."),
        "scope": ({}, "Whose lots: `own`, or those of the whole `house`."),
        "signingSecret": ({"pattern": "^whsec_[A-Za-z0-9+/]{43}=$"}, "The secret of the signatures, shown only once."),
        "settledAt": (INSTANT, "When it was sent, given up or dropped; null while it waits."),
        "state": ({}, "What has become of it."),
        "tries": (COUNT, "How often it was tried."),
        "verifiedAt": (INSTANT, "When the user has shown to read mails there; null before, and nothing is sent."),
        "webhooks": ({}, "The webhooks, the oldest first."),
        "words": ({}, "The words, the latest posted first."),
        "zone": ({}, "The name of a time zone, such as Europe/Berlin."),
    },
)
