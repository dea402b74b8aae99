"""An authenticator in software: a device that makes passkeys and answers with them, rightly unless a test wants otherwise."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
"""Flags of authenticator data (section 6.1)."""


@dataclass
class Device:
    """A device with one passkey. It tells the origin of the page that asks it, as browsers do."""

    origin: str
    flags: int = PRESENT | VERIFIED
    counts: bool = True
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    handle: bytes = b""
    count: int = 0

    def create(self, options: str, **wrong: Any) -> str:
        """Make a passkey as the page asks, and return the answer. `wrong` are changes to it."""
        asked = json.loads(options)
        self.handle = decode(asked["user"]["id"])
        public = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: public.x.to_bytes(32, "big"), -3: public.y.to_bytes(32, "big")}
        length = len(self.credential_id).to_bytes(2, "big")
        attested = b"\1" * 16 + length + self.credential_id + cbor2.dumps(cose)
        data = self._data(wrong.get("party", asked["rp"]["id"]), ATTESTED) + attested
        attestation = {"fmt": wrong.get("form", "none"), "attStmt": {}, "authData": data}
        client = self._client("webauthn.create", asked["challenge"], wrong)
        return self._answer({"clientDataJSON": encode(client), "attestationObject": encode(cbor2.dumps(attestation))})

    def get(self, options: str, **wrong: Any) -> str:
        """Sign what the page asks, and return the answer. `wrong` are changes to it."""
        asked = json.loads(options)
        data = self._data(wrong.get("party", asked["rpId"]))
        client = self._client("webauthn.get", asked["challenge"], wrong)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        response = {"clientDataJSON": client, "authenticatorData": data, "signature": signature}
        handle = wrong.get("handle", self.handle)
        if handle is not None:
            response["userHandle"] = handle
        return self._answer({name: encode(value) for name, value in response.items()})

    def _data(self, party: str, flags: int = 0) -> bytes:
        self.count += self.counts
        flags |= self.flags
        return hashlib.sha256(party.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str, wrong: dict[str, Any]) -> bytes:
        said = {
            "type": kind,
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": False,
            **wrong.get("says", {}),
        }
        return json.dumps(said).encode()

    def _answer(self, response: dict[str, str]) -> str:
        number = encode(self.credential_id)
        return json.dumps({"id": number, "rawId": number, "type": "public-key", "response": response})


def encode(value: bytes) -> str:
    """Return bytes as WebAuthn writes them in JSON."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Return the bytes of such a text."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
