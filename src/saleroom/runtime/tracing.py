"""Traces, an extra: a span of each request and of each transaction, sent to a collector by OpenTelemetry (docs/operating.md).

Only a house with the setting `traces_url` imports this. Spans hold routes, statuses and names of use cases, and nothing that
people wrote.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.responses import Response
from starlette.types import Receive, Scope

from saleroom import __version__
from saleroom.http.outcomes import OTHER, ROUTE
from saleroom.http.proxies import connected_address, trusts
from saleroom.http.requests import Respond, header
from saleroom.settings import Settings
from saleroom.storage.database import Database, Transaction, unbound

STOP_SECONDS = 2.0
"""How long the end of a process waits for a collector that takes the last spans."""
_TIMEOUT_SECONDS = 5
_PARENT = b"traceparent"
_FAILED = 500


class Traces:
    """The traces of one process."""

    def __init__(self, settings: Settings) -> None:
        assert settings.traces_url is not None
        self._provider = TracerProvider(
            sampler=TraceIdRatioBased(settings.traces_share),
            resource=Resource.create({"service.name": "saleroom", "service.version": __version__}),
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(endpoint=settings.traces_url, timeout=_TIMEOUT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("saleroom")
        self._trusts = trusts(settings.trusted_proxies)

    def database(self, url: str, **options: Any) -> Database:
        """Return a database whose transactions are traced."""
        return _TracedDatabase(self._tracer, url, **options)

    def layer(self, respond: Respond) -> Respond:
        """Return the layer around `respond` that traces each request."""
        return _TracedRequests(self._tracer, respond, self._trusts)

    async def stop(self) -> None:
        """Send what is left, for at most `STOP_SECONDS`: a collector that does not answer must not hold the house."""
        thread = threading.Thread(target=self._provider.shutdown, daemon=True)
        thread.start()
        await asyncio.to_thread(thread.join, STOP_SECONDS)


class _TracedRequests:
    """A span of each request, up to the head of its answer. It goes on a trace that a trusted proxy has begun."""

    def __init__(self, tracer: Tracer, respond: Respond, trusts: Callable[[str | None], bool]) -> None:
        self._tracer = tracer
        self._respond = respond
        self._trusts = trusts
        self._parents = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive) -> Response:
        method: str = scope["method"]
        with self._tracer.start_as_current_span(
            method, self._parent(scope), SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                response = await self._respond(scope, receive)
            except Exception as error:
                _fail(span, error)
                raise
            route: str = scope.get(ROUTE, OTHER)
            span.update_name(f"{method} {route}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", response.status_code)
            if response.status_code >= _FAILED:
                span.set_status(StatusCode.ERROR)
            return response

    def _parent(self, scope: Scope) -> Context | None:
        """Return the trace of the proxy that passed the request on. Others could choose which requests are traced."""
        sent = header(scope, _PARENT) if self._trusts(connected_address(scope)) else None
        return None if sent is None else self._parents.extract({"traceparent": sent})


class _TracedDatabase(Database):
    """A span of each transaction, from waiting for its turn to the commit. A transaction for many requests is its own trace."""

    def __init__(self, tracer: Tracer, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._tracer = tracer

    async def transact(
        self, use_case: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool
    ) -> tuple[Any, Transaction]:
        name = getattr(unbound(use_case), "__qualname__", "transaction")
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
            span.set_attribute("db.system.name", self.kind)
            span.set_attribute("saleroom.writes", writes)
            try:
                return await super().transact(use_case, args, kwargs, writes=writes)
            except Exception as error:
                _fail(span, error)
                raise


def _fail(span: Span, error: Exception) -> None:
    """Mark a span as failed by the kind of its error alone: the message may hold what somebody wrote."""
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(StatusCode.ERROR)
