"""Signing receipts, and the keys for it (docs/ledger.md).

The root of a Merkle tree of receipts (RFC 9162) is signed, as a JSON Web Signature in compact form (RFC 7515) with Ed25519
(RFC 8037).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.bidding.domain.receipts import ALGORITHM, TREE_TYPE, Header, Receipt, TreeHead
from saleroom.bidding.storage import signing_keys
from saleroom.bidding.storage.signing_keys import KeyRow
from saleroom.kernel.chain import canonical
from saleroom.kernel.errors import Refusal
from saleroom.kernel.hmac_key import HmacKey
from saleroom.kernel.merkle import MerkleTree
from saleroom.kernel.small_files import read_small
from saleroom.storage.database import Transaction

SALT_BYTES = 16
_KEY_BYTES_MAX = 65_536


class Signer:
    """Signs with one key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = _text(private.public_key().public_bytes_raw())
        self.kid = thumbprint(self.public)
        self._header = _base64(canonical(Header(ALGORITHM, self.kid, TREE_TYPE))) + b"."
        self._salts = HmacKey(HmacKey(private.private_bytes_raw()).digest(b"salts of saleroom receipts"))

    def sign(self, statements: Sequence[Receipt | Mapping[str, Any]]) -> list[str]:
        """Return each of `statements` as a receipt, all under one signature. The same statements give the same receipts."""
        if not statements:
            return []
        leaves = [self._salted(canonical(statement)) for statement in statements]
        tree = MerkleTree(leaves)
        signed = self._header + _base64(canonical(TreeHead(_text(tree.root), len(leaves))))
        head = (signed + b"." + _base64(self._private.sign(signed))).decode()
        paths = tree.paths(_text)
        return [
            f"{head}~{_text(leaf)}~{index}{path}" for index, (leaf, path) in enumerate(zip(leaves, paths, strict=True))
        ]

    def sign_batch(self, receipts: Sequence[Receipt]) -> list[str]:
        """Return the receipts of one transaction: those of recorded bids under one signature, each hidden raise by itself.

        Each receipt shows the size of its tree, so a tree holds public bids only.
        """
        together = iter(self.sign([one.stated() for one in receipts if one.amount is not None]))
        return [next(together) if one.amount is not None else self.sign([one.stated()])[0] for one in receipts]

    def _salted(self, statement: bytes) -> bytes:
        """Return the JSON of a `SaltedReceipt`. Nobody without the key can guess the salt of a statement."""
        salt = self._salts.digest(statement)[:SALT_BYTES]
        return b'["%b",%b]' % (_base64(salt), statement)


class SigningKey:
    """The key that one process signs receipts with: that of its file, otherwise the newest in the database."""

    def __init__(self) -> None:
        self._signer: Signer | None = None

    def use(self, signer: Signer) -> None:
        """Sign with the key of a file from now on."""
        self._signer = signer

    def signer(self, tx: Transaction) -> Signer:
        """Return the signer; the database is asked once. Raises Refusal if there is no key."""
        if self._signer is None:
            row = next((row for row in signing_keys.all_keys(tx) if row.private is not None), None)
            if row is None or row.private is None:
                raise Refusal("no key to sign receipts with: give the file that has it as the setting signing_key_file")
            self._signer = Signer(Ed25519PrivateKey.from_private_bytes(_raw(row.private)))
        return self._signer


def from_file(file: Path) -> Signer:
    """Return the signer with the key in `file`; without a file it makes a key.

    Raises Refusal if the file cannot be read or written, or holds no such key.
    """
    return Signer(_read(file) if file.exists() else _made(file))


def is_alone(tx: Transaction, own: Signer) -> bool:
    """Return whether `own` is known as a key of the house, and no private half is in the database."""
    rows = signing_keys.all_keys(tx)
    return any(row.kid == own.kid for row in rows) and all(row.private is None for row in rows)


def make_alone(tx: Transaction, own: Signer) -> None:
    """Store `own` as a key of the house, and delete all private halves from the database."""
    signing_keys.forget_private(tx)
    if all(row.kid != own.kid for row in signing_keys.all_keys(tx)):
        signing_keys.add(tx, KeyRow(own.kid, own.public, None, tx.now()))


def renew(tx: Transaction) -> Signer:
    """Make a new key in the database to sign with, and delete the private halves of those before.

    A process that serves signs with the key that it has until it ends. All that was ever signed can still be checked.
    """
    made = Ed25519PrivateKey.generate()
    own = Signer(made)
    signing_keys.forget_private(tx)
    signing_keys.add(tx, KeyRow(own.kid, own.public, _text(made.private_bytes_raw()), tx.now()))
    return own


def public_keys(tx: Transaction) -> list[dict[str, str]]:
    """Return all public keys for receipts, as JSON Web Keys, the newest first."""
    common = {"kty": "OKP", "crv": "Ed25519", "alg": ALGORITHM, "use": "sig"}
    return [common | {"kid": row.kid, "x": row.public} for row in signing_keys.all_keys(tx)]


def thumbprint(public: str) -> str:
    """Return the thumbprint of a key (RFC 7638)."""
    return _text(hashlib.sha256(canonical({"crv": "Ed25519", "kty": "OKP", "x": public})).digest())


def _read(file: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(read_small(file, _KEY_BYTES_MAX), password=None)
    except OSError as error:
        raise Refusal(f"cannot read signing_key_file {file}: {error.strerror}") from error
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Refusal(
            f"signing_key_file {file} has no Ed25519 key in PEM without a password; remove it to have one made"
        )
    return key


def _made(file: Path) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(pem)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise Refusal(f"cannot write signing_key_file {file}: {error.strerror}") from error
    return key


def _base64(raw: bytes) -> bytes:
    # To search for two characters that most texts lack takes a fourth of the time of a translation.
    return binascii.b2a_base64(raw, newline=False).rstrip(b"=").replace(b"+", b"-").replace(b"/", b"_")


def _text(raw: bytes) -> str:
    return _base64(raw).decode()


def _raw(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise Refusal("the key to sign receipts with is damaged") from error
