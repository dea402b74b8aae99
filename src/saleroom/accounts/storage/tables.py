"""The tables of accounts. `users` and `auth_tokens` have the specification's columns by name, type and constraint."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from saleroom.storage.schema import Instant, Number, metadata

users = Table(
    "users",
    metadata,
    Column("id", Number, primary_key=True),
    Column("username", String, nullable=False, unique=True),
    Column("password_digest", String),
    Column("created_at", Instant, nullable=False),
    Column("role", String, nullable=False, server_default="member", index=True),
    Column("seller_since", Instant),
    Column("barred", String),
    Column("barred_until", Instant),
    Column("barred_reason", Text),
    Column("warning", Text),
    Column("mail_verified", Boolean, nullable=False, server_default=false()),
    Column("erased_at", Instant),
    Column("former_name", String, index=True),
)
"""`role` is one of `domain.rights.Role`; `seller_since` is when staff approved the user as a seller. `barred` is `suspension`
or `ban`, also once `barred_until` has passed. `warning` is the reason of the last warning, until the user has read it.
`mail_verified` is whether `mail_addresses` has a verified one: so the statement that reads tokens knows it. A user who
is erased has a pseudonym; `former_name` is the digest of the name before, which ledgers have and nobody gets again."""


auth_tokens = Table(
    "auth_tokens",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False, index=True),
    Column("token", String, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("agent", String),
    Column("label", String),
    Column("scopes", String),
    Column("used_at", Instant),
    Column("passkey_id", BigInteger),
)
"""`agent` is the name of the device that logged in, if it gave one. Access tokens of programs have a `label` and
`scopes`, and the end that their user chose. `used_at` is coarse, and null where nobody asks for it. `passkey_id` is the
passkey that opened the session, until it is removed; access tokens have that of the session that made them."""


contacts = Table(
    "contacts",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id"), primary_key=True, autoincrement=False),
    Column("contact", Text, nullable=False),
)
"""How a user wants to be reached after a sale: for the other side of a sale alone."""


mail_addresses = Table(
    "mail_addresses",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id"), primary_key=True, autoincrement=False),
    Column("address", String, nullable=False, index=True),
    Column("folded", String, nullable=False, index=True),
    Column("language", String),
    Column("given_at", Instant, nullable=False),
    Column("verified_at", Instant),
)
"""Where a user gets mails of the house; nobody else sees it. `verified_at` is null until the user has shown to read mails
there. `folded` is the address as it is compared, `language` the tag of the language that they read."""


mail_links = Table(
    "mail_links",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False, index=True),
    Column("purpose", String, nullable=False),
    Column("address", String, nullable=False),
    Column("mailbox", String, nullable=False, index=True),
    Column("made_at", Instant, nullable=False, index=True),
    Column("expires_at", Instant, nullable=False),
    Column("used_at", Instant),
    Column("network", String),
    Column("is_known", Boolean, nullable=False, server_default=false()),
)
"""Links that go out by mail, without their secrets (`domain/mails.py`); `used_at` is also set once a newer one replaces it.
`mailbox` and `network` are what limits count by: `network` is a digest of the network that asked for a new password, and of
the user; `is_known` is whether the user had logged in from there. The rows are kept for as long as the limits count them."""


invitations = Table(
    "invitations",
    metadata,
    Column("id", Number, primary_key=True),
    Column("role", String, nullable=False),
    Column("by_id", BigInteger, ForeignKey("users.id")),
    Column("address", String),
    Column("made_at", Instant, nullable=False, index=True),
    Column("expires_at", Instant, nullable=False),
    Column("used_at", Instant),
    Column("used_by_id", BigInteger, ForeignKey("users.id")),
    Column("revoked_at", Instant),
)
"""Invitations to roles, without their secrets (`domain/invitations.py`). `by_id` is null for the command line; `address`
is null if the inviter hands the link on. Rows are kept for some weeks after they were made."""


password_requests = Table(
    "password_requests",
    metadata,
    Column("id", Number, primary_key=True),
    Column("typed", Text, nullable=False),
    Column("language", String),
    Column("asked_at", Instant, nullable=False),
    Column("network", String),
)
"""Names and addresses of those who have forgotten their password, as they were typed, and the network that they asked from,
for the few seconds until a task of the house looks them up."""


one_time_codes = Table(
    "one_time_codes",
    metadata,
    Column("user_id", BigInteger, ForeignKey("users.id"), primary_key=True, autoincrement=False),
    Column("secret", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("confirmed_at", Instant),
    Column("last_step", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("failed_at", Instant),
)
"""The secrets that the house shares with authenticator apps, sealed by a key of the house's secret."""


recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("digest", String, nullable=False),
    UniqueConstraint("user_id", "digest"),
)
"""The digests of recovery codes that are not used yet."""


passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False, index=True),
    Column("credential_id", LargeBinary, nullable=False, unique=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("handle", LargeBinary, nullable=False),
    Column("party", String, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("name", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("used_at", Instant),
)
"""Passkeys of users (WebAuthn). `party` is the name of the house that the device bound the passkey to, `handle` the number
by which devices know the user, `sign_count` the counter that some devices send with each signature."""


used_challenges = Table(
    "used_challenges",
    metadata,
    Column("digest", String, primary_key=True),
    Column("expires_at", Instant, nullable=False, index=True),
)
"""Challenges for passkeys that a device has answered, until they would have expired: each counts once in all processes."""


audit = Table(
    "audit",
    metadata,
    Column("id", Number, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey("users.id"), index=True),
    Column("act", String, nullable=False),
    Column("user_id", BigInteger, ForeignKey("users.id"), index=True),
    Column("subject", String),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("reason", Text, nullable=False),
)
"""Acts of staff (docs/people.md, "The audit log"): by a user, or by the command line for null; on a user, or on a `subject`.
`before` and `after` are JSON. Rows are only added; triggers refuse the rest."""


sanctions = Table(
    "sanctions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by_id", BigInteger, ForeignKey("users.id")),
    Column("at", Instant, nullable=False),
    Column("until", Instant),
    Column("ended_at", Instant),
    Column("ended_by_id", BigInteger, ForeignKey("users.id")),
    Column("ended_reason", Text),
    Column("subject", String),
)
"""The warnings, suspensions, bans and strikes of users; by a user, or by the house itself for null. `ended_at` is when a
warning was read, a strike forgiven, and when a suspension or a ban was lifted or another one took its place. `subject` is what
a strike is for, the gid of an invoice; a ban for strikes has it too."""


idempotency = Table(
    "idempotency",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
    UniqueConstraint("user_id", "key"),
)
"""Accepted requests by user and Idempotency-Key: a digest of the request, and its answer."""


rate_limits = Table(
    "rate_limits",
    metadata,
    Column("key", String, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
    Column("kept_until", Instant, nullable=False, index=True),
)
"""Failed logins and registrations, counted for all processes together. `key` is a digest of what is counted."""
