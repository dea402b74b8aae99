"""Every auction has a ledger, every bid says when the house had it, and the house has a key to sign receipts with.

Revision: 0005.
"""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.storage.schema import Instant

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ZERO = "0" * 64
_SEALED = {
    "auction.created": ("reservePrice",),
    "auction.amended": ("reservePrice",),
    "bid.placed": ("asked", "maximum"),
    "maximum.raised": ("maximum", "receivedAt"),
}
_auctions = sa.table(
    "auctions", sa.column("id"), sa.column("gid"), sa.column("seed"), sa.column("head"), sa.column("hidden")
)
_events = sa.table(
    "events",
    *(sa.column(name) for name in ("id", "auction_id", "position", "version", "type")),
    sa.column("at", Instant()),
    sa.column("payload", sa.LargeBinary()),
    sa.column("private", sa.LargeBinary()),
)


def upgrade() -> None:
    """Go up: the events so far are chained as if they happened now."""
    for name in ("seed", "head", "hidden"):
        default = sa.text(f"'{'' if name == 'seed' else _ZERO}'")
        op.add_column("auctions", sa.Column(name, sa.String(), nullable=False, server_default=default))
    op.add_column("bids", sa.Column("received_at", Instant(timezone=True), nullable=True))
    op.create_table(
        "signing_keys",
        sa.Column("kid", sa.String(), nullable=False),
        sa.Column("public", sa.String(), nullable=False),
        sa.Column("private", sa.String(), nullable=True),
        sa.Column("created_at", Instant(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kid", name="pk_signing_keys"),
    )
    _make_a_key()
    _chain_everything()


def downgrade() -> None:
    """Go down: ledgers, receipts' keys and instants of arrival are gone; events keep their hashes, which say nothing."""
    op.drop_table("signing_keys")
    op.drop_column("bids", "received_at")
    for name in ("hidden", "head", "seed"):
        op.drop_column("auctions", name)


def _make_a_key() -> None:
    key = Ed25519PrivateKey.generate()
    public = _text(key.public_key().public_bytes_raw())
    thumbprint = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": public}, separators=(",", ":"))
    columns: tuple[Any, ...] = (
        sa.column("kid"),
        sa.column("public"),
        sa.column("private"),
        sa.column("created_at", Instant()),
    )
    row = {
        "kid": _text(hashlib.sha256(thumbprint.encode()).digest()),
        "public": public,
        "private": _text(key.private_bytes_raw()),
    }
    op.get_bind().execute(sa.insert(sa.table("signing_keys", *columns)).values(created_at=sa.func.now()), row)


def _chain_everything() -> None:
    bind = op.get_bind()
    order = sa.select(_events).order_by(_events.c.auction_id, _events.c.position)
    for auction_id, log in groupby(bind.execute(order).all(), key=lambda row: row.auction_id):
        seed, rows, head, hidden = secrets.token_hex(32), [], _ZERO, _ZERO
        for row in log:
            payload, private = row.payload, json.loads(row.private)
            event = None if payload is None else json.loads(payload)
            _complete(row.type, event, private, seed)
            seed = private.get("seed", seed)
            sealed = {name: private[name] for name in _SEALED.get(row.type, ())}
            if event is None:
                hidden = _link(hidden, {"data": sealed, "time": _instant(row.at), "type": row.type})
            else:
                event["commitment"] = _link(_salt(seed, row.version), {"data": sealed, "hidden": hidden})
                event["hash"] = head = _link(head, _as_hashed(event))
                hidden, payload = _ZERO, _canonical(event)
            rows.append({"key": row.id, "payload": payload, "private": _compact(private)})
        changed = sa.update(_events).where(_events.c.id == sa.bindparam("key"))
        bind.execute(changed.values(payload=sa.bindparam("payload"), private=sa.bindparam("private")), rows)
        chain = {"seed": seed, "head": head, "hidden": hidden}
        bind.execute(sa.update(_auctions).where(_auctions.c.id == auction_id).values(**chain))


def _complete(kind: str, event: dict[str, Any] | None, private: dict[str, Any], seed: str) -> None:
    """Add the members that events have from this revision on. Values that an earlier upgrade has left must not be hashed."""
    if event is not None:
        event.pop("hash", None)
        event.pop("commitment", None)
    if kind == "auction.created":
        private.setdefault("seed", seed)
    elif kind == "maximum.raised":
        private.setdefault("receivedAt", None)
    elif kind == "bid.placed":
        private.setdefault("asked", None)
    if event is not None and kind in ("bid.placed", "auction.extended"):
        event["data"].setdefault("receivedAt" if kind == "bid.placed" else "downSince", None)


def _salt(seed: str, version: int) -> str:
    """Return the salt of an event. Seeds with a `p` are of a later version, from which the house came down."""
    if seed.startswith("p"):
        return hashlib.blake2b(str(version).encode(), key=seed[1:].encode(), digest_size=32).hexdigest()
    return hmac.new(seed.encode(), str(version).encode(), "sha256").hexdigest()


def _as_hashed(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event with pseudonyms in place of the names that a later version has given salts."""
    data = dict(event["data"])
    for name, salt in data.pop("salts", {}).items():
        digest = hashlib.sha256(f"{salt}\n{name}".encode()).digest()
        for member in ("author", "bidder", "currentBidder", "winner"):
            if data.get(member) == name:
                data[member] = "erased." + base64.urlsafe_b64encode(digest[:18]).decode()
    return {**event, "data": data}


def _link(previous: str, value: Any) -> str:
    return hashlib.sha256(previous.encode() + b"\n" + _canonical(value)).hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _instant(at: datetime) -> str:
    return f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
