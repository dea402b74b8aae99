"""Signed receipts: read, and checked with the public keys of a house (docs/ledger.md).

The signature is a JSON Web Signature in compact form (RFC 7515) with Ed25519 (RFC 8037): of the root of a Merkle tree of
receipts (RFC 9162), or of one receipt in those that older houses gave.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec import Struct

from saleroom.bidding.domain.receipts import (
    ALGORITHM,
    TREE_TYPE,
    TYPE,
    Header,
    Receipt,
    SaltedReceipt,
    TreeHead,
)
from saleroom.kernel.merkle import root_of

_T = TypeVar("_T", bound=Struct)

FORM = re.compile(
    r"(?P<jws>[A-Za-z0-9_-]{1,4096}\.[A-Za-z0-9_-]{1,16384}\.[A-Za-z0-9_-]{86})"
    r"(?:~(?P<leaf>[A-Za-z0-9_-]{1,16384})~(?P<index>0|[1-9][0-9]{0,18})(?P<path>(?:\.[A-Za-z0-9_-]{43}){0,64}))?"
)
"""The signature; then the receipt, salted, and its place in the tree. Older receipts are in what is signed."""


class InvalidReceipt(Exception):
    """The receipt proves nothing; the message says why."""


class Key(Struct, frozen=True):
    """A public key as a JSON Web Key (RFC 8037, 2)."""

    kty: str
    crv: str
    x: str
    kid: str


class Keys(Struct, frozen=True):
    """The keys of a house, as in `/.well-known/saleroom.json`."""

    keys: list[Key]


def check(text: str, keys: Keys) -> Receipt:
    """Return the receipt in `text`, after checking that one of `keys` has signed it. Raises InvalidReceipt."""
    form = FORM.fullmatch(text)
    if form is None:
        raise InvalidReceipt(
            "this is no receipt: a receipt is three parts of base64url with dots between them, then the bid and its place "
            "in the batch, each after a ~ (older ones are only the three parts)"
        )
    leaf, jws = form["leaf"], form["jws"]
    header, payload, signature = (_bytes(part) for part in jws.split("."))
    head = _read(header, Header)
    if (head.alg, head.typ, leaf) == (ALGORITHM, TREE_TYPE, None):
        raise InvalidReceipt("it was cut off: the bid and its place in the batch are missing after the signature")
    kind = TYPE if leaf is None else TREE_TYPE
    if (head.alg, head.typ) != (ALGORITHM, kind):
        raise InvalidReceipt(f"this is no receipt: its header does not say alg {ALGORITHM} and typ {kind}")
    key = next((key for key in keys.keys if (key.kid, key.kty, key.crv) == (head.kid, "OKP", "Ed25519")), None)
    if key is None:
        raise InvalidReceipt(
            f"it is signed with the key {head.kid!r}, which the house does not have: is this its house?"
        )
    if not _signed(_bytes(key.x), signature, jws.rpartition(".")[0].encode()):
        raise InvalidReceipt("its signature is not that of the house: it was changed or forged")
    if leaf is None:
        return _read(payload, Receipt)
    salted, path = _bytes(leaf), [_bytes(part) for part in form["path"].split(".")[1:]]
    if not _in_tree(_read(payload, TreeHead), salted, int(form["index"]), path):
        raise InvalidReceipt("its place in the batch does not lead to the signed root: it was changed or forged")
    return _read(salted, SaltedReceipt).receipt


def _in_tree(head: TreeHead, leaf: bytes, index: int, path: Sequence[bytes]) -> bool:
    try:
        return root_of(leaf, index, head.size, path) == _bytes(head.root)
    except ValueError:
        return False


def _signed(public: bytes, signature: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, signed)
    except ValueError:
        raise InvalidReceipt("the key is no Ed25519 key") from None
    except InvalidSignature:
        return False
    return True


def _read(raw: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidReceipt(f"this is no receipt: {error}") from None


def _bytes(text: str) -> bytes:
    """Return the bytes of base64url without padding. Unused bits must be 0, so that one text stands for one value."""
    with suppress(ValueError):
        raw = base64.urlsafe_b64decode(text + "==")  # the most that any length needs
        if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text:
            return raw
    raise InvalidReceipt("a part of it is not base64url (RFC 7515)")
