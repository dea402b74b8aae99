"""A server that speaks the documented protocol of Stripe, for tests: Checkout Sessions, Refunds, Disputes and signed events.

By docs.stripe.com/api (errors, idempotent requests, checkout/sessions, refunds, disputes) and docs.stripe.com/webhooks, in the
version of the library. It refuses what these refuse: unknown parameters, a page open for less than 30 minutes, another
request under the same idempotency key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

KEY, SECRET = "sk_test_0123456789abcdef", "whsec_0123456789abcdef"
HALF_AN_HOUR, A_DAY = 1800, 24 * 3600
_SESSION = {
    "mode", "allowed_payment_method_types", "adaptive_pricing", "line_items", "client_reference_id", "metadata",
    "payment_intent_data", "success_url", "cancel_url", "expires_at",
}  # fmt: skip
_REFUND = {"payment_intent", "amount", "metadata"}
Thing = dict[str, Any]


class StripeError(Exception):
    """An answer that is an error: its status and its code."""

    def __init__(self, status: int, code: str) -> None:
        self.status, self.code = status, code
        super().__init__(code)


@dataclass
class Stripe:
    """The provider. `moods` are the statuses of the next answers instead of good ones; `slow` is how long each answer takes.

    `lost` lets an answer be done and never sent: the connection ends. `clock` is when it is here, in seconds.
    """

    live: bool = False
    clock: Callable[[], float] = time.time
    slow: float = 0.0
    lost: int = 0
    refund_state: str = "succeeded"
    moods: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, Thing] = field(default_factory=dict)
    refunds: dict[str, Thing] = field(default_factory=dict)
    disputes: list[Thing] = field(default_factory=list)
    asked: list[tuple[str, str, Thing]] = field(default_factory=list)
    """The requests: method, path and parameters."""
    _known: dict[str, tuple[Thing, Thing]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Serve on a free port."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer("GET")

            def do_POST(self) -> None:
                self._answer("POST")

            def _answer(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
                url = urlsplit(self.path)
                sent = _nested(parse_qsl(url.query if method == "GET" else body, keep_blank_values=True))
                status, found = provider.answer(method, url.path, sent, dict(self.headers))
                if provider.lost:
                    provider.lost -= 1
                    self.close_connection = True
                    return
                data = json.dumps(found).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **provider.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, sent: Thing, headers: Thing) -> tuple[int, Thing]:
        """Return the status and the JSON of an answer."""
        time.sleep(self.slow)
        with self._lock:
            try:
                return 200, self._done(method, path, sent, {name.lower(): value for name, value in headers.items()})
            except StripeError as refused:
                return refused.status, {
                    "error": {"type": "invalid_request_error", "code": refused.code, "message": "No."}
                }

    def _done(self, method: str, path: str, sent: Thing, headers: Thing) -> Thing:
        if self.moods:
            raise StripeError(self.moods.pop(0), "mood")
        if headers.get("authorization") != f"Bearer {KEY}":
            raise StripeError(401, "api_key")
        self.asked.append((method, path, sent))
        once = headers.get("idempotency-key") if method == "POST" else None
        if once is not None and once in self._known:
            before, found = self._known[once]
            if before != sent:
                raise StripeError(400, "idempotency_error")
            return found
        found = self._act(method, path, sent)
        if once is not None:
            self._known[once] = (sent, json.loads(json.dumps(found)))
        return found

    def _act(self, method: str, path: str, sent: Thing) -> Thing:
        match (method, path.strip("/").split("/")[1:]):
            case ("POST", ["checkout", "sessions"]):
                return self._create(sent)
            case ("GET", ["checkout", "sessions"]):
                return _page([*self.sessions.values()])
            case ("GET", ["checkout", "sessions", name]):
                return self._expired(self._session(name))
            case ("POST", ["checkout", "sessions", name, "expire"]):
                session = self._session(name)
                if session["status"] != "open":
                    raise StripeError(400, "resource_missing")
                session |= {"status": "expired", "url": None}
                return session
            case ("POST", ["refunds"]):
                return self._refund(sent)
            case ("GET", ["refunds"]):
                return _page([one for one in self.refunds.values() if one["payment_intent"] == sent["payment_intent"]])
            case ("GET", ["disputes"]):
                return _page([one for one in self.disputes if one["payment_intent"] == sent["payment_intent"]])
        raise StripeError(404, "unknown_path")

    def _create(self, sent: Thing) -> Thing:
        if set(sent) - _SESSION:
            raise StripeError(400, "parameter_unknown")
        price = sent["line_items"]["0"]["price_data"]
        lasts = int(sent["expires_at"]) - self.clock()
        if not HALF_AN_HOUR <= lasts <= A_DAY or price["currency"] != price["currency"].lower():
            raise StripeError(400, "parameter_invalid")
        name = f"cs_test_{next(self._numbers)}"
        self.sessions[name] = {
            "id": name, "object": "checkout.session", "livemode": self.live, "status": "open", "payment_status": "unpaid",
            "amount_total": int(price["unit_amount"]) * int(sent["line_items"]["0"]["quantity"]),
            "currency": price["currency"], "payment_intent": None, "url": f"{self.url}/c/pay/{name}#secret",
            "metadata": sent["metadata"], "client_reference_id": sent["client_reference_id"],
            "expires_at": int(sent["expires_at"]), "success_url": sent["success_url"], "cancel_url": sent["cancel_url"],
        }  # fmt: skip
        return self.sessions[name]

    def _expired(self, session: Thing) -> Thing:
        if session["status"] == "open" and session["expires_at"] <= self.clock():
            session |= {"status": "expired", "url": None}
        return session

    def _session(self, name: str) -> Thing:
        if name not in self.sessions:
            raise StripeError(404, "resource_missing")
        return self.sessions[name]

    def _refund(self, sent: Thing) -> Thing:
        if set(sent) - _REFUND:
            raise StripeError(400, "parameter_unknown")
        return self.refund(sent["payment_intent"], int(sent["amount"]), sent["metadata"])

    def refund(self, intent: str, amount: int, metadata: Thing | None = None) -> Thing:
        """Pay money back, also as somebody does at the provider's own site."""
        [paid] = [one for one in self.sessions.values() if one["payment_intent"] == intent]
        back = sum(one["amount"] for one in self.refunds.values() if one["payment_intent"] == intent)
        if back + amount > paid["amount_total"]:
            raise StripeError(400, "charge_already_refunded")
        name = f"re_{next(self._numbers)}"
        self.refunds[name] = {
            "id": name, "object": "refund", "amount": amount, "currency": paid["currency"], "payment_intent": intent,
            "status": self.refund_state, "metadata": metadata or {}, "failure_reason": None,
        }  # fmt: skip
        return self.refunds[name]

    def pay(self, name: str, amount: int | None = None, currency: str | None = None) -> Thing:
        """Pay a page, as its buyer does with a card; perhaps another amount or currency than was asked."""
        with self._lock:
            session = self._expired(self._session(name))
            assert session["status"] == "open", "only an open page can be paid"
            session |= {"status": "complete", "payment_status": "paid", "url": None, "payment_intent": f"pi_{name}"}
            session["amount_total"] = amount or session["amount_total"]
            session["currency"] = currency or session["currency"]
            return session

    def dispute(self, intent: str, amount: int, status: str) -> Thing:
        """Have the holder of the card dispute a payment."""
        self.disputes[:] = [one for one in self.disputes if one["payment_intent"] != intent]
        found = {
            "id": f"du_{intent}",
            "object": "dispute",
            "amount": amount,
            "payment_intent": intent,
            "status": status,
        }
        self.disputes.append({**found, "metadata": {}, "currency": "eur"})
        return self.disputes[-1]

    def latest(self) -> str:
        """Return the page that was made last."""
        return [*self.sessions][-1]

    def event(self, kind: str, about: Thing, **more: Any) -> bytes:
        """Return the body of a callback."""
        event = {
            "id": f"evt_{next(self._numbers)}", "object": "event", "type": kind, "livemode": self.live,
            "created": int(time.time()), "data": {"object": about}, **more,
        }  # fmt: skip
        return json.dumps(event, indent=2).encode()


def signed(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """Return the headers of a callback, signed as docs.stripe.com/webhooks says (HMAC-SHA256 of time and body)."""
    seconds = int(time.time() if at is None else at)
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={seconds},v1={digest},v0=00", "Content-Type": "application/json"}


def _page(found: list[Thing]) -> Thing:
    return {"object": "list", "url": "/", "has_more": False, "data": found}


def _nested(pairs: list[tuple[str, str]]) -> Thing:
    """Return the parameters of a form, whose names are such as `line_items[0][quantity]`."""
    found: Thing = {}
    for name, value in pairs:
        first, *rest = name.replace("]", "").split("[")
        place = found
        for one, after in zip([first, *rest], rest, strict=False):
            place = place.setdefault(one, {})
            assert after is not None
        place[[first, *rest][-1]] = value
    return found
