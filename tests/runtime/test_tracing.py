"""Traces as a collector receives them: OpenTelemetry's protocol over HTTP, from a real house."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from saleroom import compose, runtime
from saleroom.kernel.errors import Refusal
from saleroom.runtime import tracing
from tests.fixtures_house import ServeHouse, settings_for
from tests.fixtures_process import Start, Visit
from tests.patience import SECONDS_MAX

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Collector:
    """A collector that keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Take no more."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def spans(self) -> list[Any]:
        """All spans, in the order in which they ended."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        found = [
            span for sent in requests for one in sent.resource_spans for part in one.scope_spans for span in part.spans
        ]
        return sorted(found, key=lambda span: span.end_time_unix_nano)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector of the test's own."""
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture(autouse=True)
def no_sender_is_left() -> Iterator[None]:
    """Wait for the threads that send spans: their retries draw from the global generator of random numbers.

    If that happens while hypothesis draws an example of a later test, that test fails.
    """
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("Otel"):
            thread.join(SECONDS_MAX)


def attributes(span: Any) -> dict[str, Any]:
    """Return a span's attributes as plain values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def test_a_request_is_a_span_above_its_transaction(start: Start, visit: Visit, collector: Collector) -> None:
    """The span of a request has its route and status, and the transaction that it began stands below it.

    A proxy that is trusted hands its trace on, also with the address of its client; what clients wrote, tokens and addresses
    are in no span.
    """
    house = start(traces_url=collector.url, trusted_proxies="127.0.0.1", test_spawns="yes")
    anyone = visit(house)
    token = anyone.enter("anastasia")
    sent = {"token": token, "traceparent": PARENT}
    created = anyone.ask("POST", "/auctions", body={"name": "A secret clock", "startingPrice": "10"}, **sent)
    gid = created.json()["gid"]
    own = anyone.ask("POST", f"/auctions/{gid}/bids", body={"amount": "20"}, **sent)
    nothing = anyone.ask("GET", "/auctions/nothing", **sent, **{"X-Forwarded-For": "203.0.113.7"})
    assert [201, 403, 404] == [created.status_code, own.status_code, nothing.status_code]
    assert 0 == house.terminate()
    span = next(span for span in collector.spans if span.name == "POST /auctions")
    expected = {"http.request.method": "POST", "http.route": "/auctions", "http.response.status_code": 201}
    assert (TRACE, expected) == (span.trace_id.hex(), attributes(span))
    below = [one for one in collector.spans if one.parent_span_id == span.span_id]
    assert {"db.system.name": "sqlite", "saleroom.writes": True} in [attributes(one) for one in below]
    traced = {one.name for one in collector.spans if one.trace_id.hex() == TRACE}
    assert {"POST /auctions/{gid}/bids", "GET /auctions/{gid}"} <= traced
    told = b"".join(collector.bodies)
    assert not any(text in told for text in (token.encode(), gid.encode(), b"secret clock", b"anastasia"))


def test_strangers_do_not_choose_what_is_traced(serve_house: ServeHouse, collector: Collector) -> None:
    """Without a trusted proxy the trace that a client names is not gone on with; with a share of 0 nothing is sent."""
    house = serve_house(traces_url=collector.url)
    house.user("ada").get("/me", headers={"traceparent": PARENT})
    house.stop()
    assert {span.trace_id.hex() for span in collector.spans}.isdisjoint({TRACE})
    assert collector.spans
    collector.bodies.clear()
    house = serve_house(traces_url=collector.url, traces_share=0, trusted_proxies=("127.0.0.1",))
    house.user("ada").get("/me", headers={"traceparent": PARENT})
    house.stop()
    assert [] == collector.spans


def test_a_collector_that_is_away_holds_nothing(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nobody at the address requests are answered as ever, and the house stops in its time."""
    monkeypatch.setattr(tracing, "STOP_SECONDS", 0.2)
    house = serve_house(traces_url="http://127.0.0.1:9/v1/traces")
    assert 200 == house.user("ada").get("/me").status_code
    began = time.monotonic()
    house.stop()
    assert time.monotonic() - began < 5


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A house that cannot send traces does not start, and says what to do."""
    monkeypatch.delattr(runtime, "tracing")
    monkeypatch.setitem(sys.modules, "saleroom.runtime.tracing", None)
    with pytest.raises(Refusal, match="make traces"):
        compose.application(settings_for("sqlite:///none.db", traces_url="http://127.0.0.1:4318/v1/traces"))
