"""A real push service for tests, over TLS, and the browsers that get messages from it. They decrypt as RFC 8291 says."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from saleroom.notices.domain.pushes import Subscription

TAKEN = 201


def b64(raw: bytes) -> str:
    """Return bytes in base64url."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unb64(text: str) -> bytes:
    """Return the bytes of base64url."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class PushMessage:
    """A message as its browser reads it, with the headers that the push service got."""

    browser: str
    said: dict[str, Any]
    headers: dict[str, str]
    body: bytes


class Browser:
    """A browser with keys of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.point = self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.auth = name.encode().ljust(16, b"-")[:16]

    def subscription(self, origin: str, language: str = "en") -> Subscription:
        """What the browser gives the house."""
        endpoint = f"{origin}/send/{self.name}"
        return Subscription(endpoint=endpoint, p256dh=b64(self.point), auth=b64(self.auth), language=language)

    def read(self, body: bytes) -> bytes:
        """Decrypt a message: each step as RFC 8291, section 3.4 and RFC 8188, section 2 name it."""
        salt, record, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= record
        ecdh = self.private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        ikm = _mac(_mac(self.auth, ecdh), b"WebPush: info\x00" + self.point + sender + b"\x01")
        prk = _mac(salt, ikm)
        cek = _mac(prk, b"Content-Encoding: aes128gcm\x00\x01")[:16]
        nonce = _mac(prk, b"Content-Encoding: nonce\x00\x01")[:12]
        plain = AESGCM(cek).decrypt(nonce, sealed, None).rstrip(b"\x00")
        assert plain.endswith(b"\x02")
        return plain[:-1]


@dataclass
class PushService:
    """What the push service does: it hands messages to their browsers, unless `answers` say otherwise, one after the other."""

    origin: str = ""
    browsers: dict[str, Browser] = field(default_factory=dict)
    received: list[PushMessage] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    asked: int = 0

    def browser(self, name: str) -> Browser:
        """The browser of this name."""
        return self.browsers.setdefault(name, Browser(name))

    def subscription(self, name: str, language: str = "en") -> Subscription:
        """What the browser of this name gives the house."""
        return self.browser(name).subscription(self.origin, language)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        """Answer a message."""
        self.asked += 1
        if self.answers:
            return self.answers.pop(0)
        browser = self.browsers[path.rpartition("/")[2]]
        self.received.append(PushMessage(browser.name, json.loads(browser.read(body)), headers, body))
        return TAKEN, {}

    def claims(self, number: int = -1) -> dict[str, Any]:
        """What the house says of itself with a message; its signature is checked (RFC 8292, RFC 7518 section 3.4)."""
        scheme, _, rest = self.received[number].headers["Authorization"].partition(" ")
        given = dict(part.strip().split("=", 1) for part in rest.split(","))
        signed, _, signature = given["t"].rpartition(".")
        head, claims = (json.loads(unb64(part)) for part in signed.split("."))
        assert ("vapid", {"typ": "JWT", "alg": "ES256"}) == (scheme, head)
        halves = unb64(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(given["k"]))
        der = encode_dss_signature(int.from_bytes(halves[:32]), int.from_bytes(halves[32:]))
        key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
        return {**claims, "k": given["k"]}


@contextmanager
def push_service(service: PushService, certificate: tuple[Path, Path]) -> Iterator[PushService]:
    """Serve on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers = service.take(self.path, dict(self.headers), body)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    service.origin = f"https://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def _mac(key: bytes, data: bytes) -> bytes:
    made = hmac.HMAC(key, hashes.SHA256())
    made.update(data)
    return made.finalize()
