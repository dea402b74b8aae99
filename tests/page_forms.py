"""What the forms of the pages send, for the tests that try every page."""

import json

from saleroom.notices.api.pushes import SUBSCRIPTION

BID = {"confirmed": "1", "version": "1", "exactAmount": "20.000", "key": "k" * 24}
PASSWORDS = {"currentPassword": "not the password", "newPassword": "battery staple"}
LOT = {"name": "Clock", "startingPrice": "10", "version": "", "do": "preview"}
FORMS: dict[str, dict[str, str]] = {
    "POST /lots/{gid}/ask": {"amount": "20.000", "key": "k" * 24},
    "POST /lots/{gid}/bid": BID,
    "POST /lots/{gid}/buy": BID | {"price": "500.000"},
    "POST /lots/{gid}/cancel": {"reason": "The seller has withdrawn it."},
    "POST /lots/{gid}/hide": {"reason": "It may be stolen."},
    "POST /lots/{gid}/void": {"bid": "2", "reason": "A slip of the hand."},
    "POST /lots/{gid}/questions": {"text": "Does it run?"},
    "POST /lots/{gid}/answers": {"question": "1", "text": "It runs."},
    "POST /admin/rates": {"name": "Evening sales"},
    "POST /admin/rates/choice": {"sale": "nowhere"},
    "POST /admin/sales": {"title": "An evening", "kind": "timed"},
    "POST /admin/sales/{gid}": {"title": "An evening"},
    "POST /admin/sales/{gid}/lots": {"name": "Clock", "startingPrice": "10"},
    "POST /admin/sales/{gid}/cancel": {"reason": "The hall is flooded."},
    "POST /admin/sales/{gid}/lots/{label}": {"name": "Clock"},
    "POST /admin/sales/{gid}/lots/{label}/withdraw": {"reason": "It is broken."},
    "POST /admin/sales/{gid}/order": {"label": "1", "to": "up"},
    "POST /sales/{gid}/console": {"act": "call", "seen": "0"},
    "POST /sell": LOT,
    "POST /sell/drafts/{draft}": LOT,
    "POST /sell/{gid}": LOT | {"version": "1"},
    "POST /sell/{gid}/cancel": {"version": "1"},
    "POST /sell/{gid}/close": {"version": "1", "do": "now"},
    "POST /sell/{gid}/remark": {"text": "The key is missing."},
    "POST /address/confirm": {"code": "none"},
    "POST /mine/data/erasure": {"password": "not the password"},
    "POST /mine/data/export": {"password": "not the password"},
    "POST /mine/mail-address": {"address": "ada@example.org", "password": "not the password"},
    "POST /owner": {"code": "none"},
    "POST /admin/outbox/again": {"id": "all"},
    "POST /join": {"code": "none"},
    "POST /admin/invitations": {"role": "member"},
    "POST /admin/invitations/revoke": {"id": "999999"},
    "POST /admin/people/{username}/erasure": {"name": "nobody.of.this.name"},
    "POST /admin/people/{username}/lift": {"reason": "She has paid."},
    "POST /admin/people/{username}/role": {"role": "member"},
    "POST /admin/people/{username}/sanctions": {"kind": "warning", "reason": "Be polite."},
    "POST /admin/sales/{gid}/book": {"line": "12 1 500"},
    "POST /admin/sales/{gid}/people": {"personName": "Ada Lovelace"},
    "POST /admin/sales/{gid}/people/{participant}/decision": {"admission": "approved"},
    "POST /admin/sales/{gid}/people/{participant}/merger": {"into": "12"},
    "POST /mine/notices/browsers": {"subscription": json.dumps(SUBSCRIPTION.example)},
    "POST /mine/notices/browsers/end": {"id": "1"},
    "POST /mine/password": PASSWORDS,
    "POST /password/forgotten": {"account": "ada"},
    "POST /password/new": {"code": "none", "newPassword": "battery staple"},
    "POST /mine/sessions/end": {"id": "1"},
    "POST /mine/access-tokens": {"name": "bot", "days": "30", "scope-read": "1", "password": "not the password"},
    "POST /mine/access-tokens/revoke": {"id": "1"},
    "POST /mine/contact": {"contact": "ada@example.org"},
    "POST /mine/webhooks": {"url": "https://example.org/", "*": "on"},
    "POST /mine/webhooks/{id}": {"do": "test"},
    "POST /mine/security/codes": {"password": "not the password"},
    "POST /mine/security/codes/confirmation": {"code": "000000"},
    "POST /mine/security/passkeys": {"name": "Phone", "password": "not the password"},
    "POST /mine/security/passkeys/new": {"ticket": "none", "credential": "none"},
    "POST /mine/security/passkeys/remove": {"id": "1"},
    "POST /mine/security/codes/recovery": {"password": "not the password", "code": "000000"},
    "POST /mine/security/codes/end": {"password": "not the password", "code": "000000"},
}
"""The fields of each form, by the row of its page; without one, a form has none."""
WITH_FILES = (
    "POST /admin/sales/{gid}/import",
    "POST /sell",
    "POST /sell/photos",
    "POST /sell/drafts/{draft}",
    "POST /sell/{gid}",
)
"""The forms that are sent with files."""
