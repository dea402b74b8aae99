"""Web push: messages that only one browser can read (RFC 8291), and the signature of the house on them (RFC 8292)."""

from __future__ import annotations

import base64
import os
from datetime import datetime
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PAYLOAD_BYTES_MAX = 3500
"""Push services take messages of 4096 bytes, with what encryption adds."""
PAD_BYTES = 512
"""A message is filled up to a multiple of it, so that its length tells a push service little."""
RECORD_BYTES = 4096
GOOD_FOR_SECONDS = 12 * 3600
"""A signature is good for so long; push services take none that is good for more than a day."""
POINT_BYTES, AUTH_BYTES, SALT_BYTES = 65, 16, 16
_CURVE = ec.SECP256R1()
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the group of the curve P-256 (FIPS 186-5)."""


class HouseKey:
    """The key by which push services know the house. It follows from the secret of the house, and is kept nowhere else."""

    def __init__(self, key: bytes) -> None:
        """`key` are 32 bytes that nobody else knows."""
        self._private = ec.derive_private_key(1 + int.from_bytes(key) % (_ORDER - 1), _CURVE)
        self.public = text(_point(self._private.public_key()))

    def authorization(self, endpoint: str, contact: str, now: datetime) -> str:
        """Return the header for a message to `endpoint`. `contact` is the address of whom a push service may write to."""
        parts = urlsplit(endpoint)
        claims = {
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": int(now.timestamp()) + GOOD_FOR_SECONDS,
            "sub": contact,
        }
        signed = text(b'{"typ":"JWT","alg":"ES256"}') + "." + text(msgspec.json.encode(claims))
        halves = decode_dss_signature(self._private.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = b"".join(half.to_bytes(32) for half in halves)
        return f"vapid t={signed}.{text(signature)}, k={self.public}"


def encrypt(payload: bytes, point: bytes, auth: bytes) -> bytes:
    """Return a message for the browser that has given this point of the curve and this secret, by `aes128gcm`.

    Raises ValueError if the point is none of the curve.
    """
    return encrypt_with(payload, point, auth, ec.generate_private_key(_CURVE), os.urandom(SALT_BYTES))


def encrypt_with(payload: bytes, point: bytes, auth: bytes, own: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """Do the same with a key and a salt that are used for no other message. `payload` is filled up (RFC 8188, section 2)."""
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    sender = _point(own.public_key())
    shared = _derived(own.exchange(ec.ECDH(), theirs), auth, b"WebPush: info\0" + point + sender, 32)
    key = _derived(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(shared, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, payload + b"\2" + bytes(-(len(payload) + 1) % PAD_BYTES), None)
    return salt + RECORD_BYTES.to_bytes(4) + bytes([len(sender)]) + sender + sealed


def is_point(point: bytes) -> bool:
    """Return whether these bytes are a point of the curve, as browsers write it."""
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        return False
    return len(point) == POINT_BYTES


def text(raw: bytes) -> str:
    """Return bytes in base64url, as browsers and push services write them."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def raw(written: str) -> bytes:
    """Return the bytes of base64url. Raises ValueError."""
    if not written.isascii() or not written.rstrip("=").replace("-", "").replace("_", "").isalnum():
        raise ValueError("this is no base64url")
    return base64.urlsafe_b64decode(written.rstrip("=") + "=" * (-len(written.rstrip("=")) % 4))


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def _point(public: ec.EllipticCurvePublicKey) -> bytes:
    return public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
