"""A proxy before a real house that alters or loses some answers."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

START_SECONDS_MAX = 240.0
HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "X-Requested-With")

Lie = Callable[[str, str, Any], Any]
"""Takes method, path and the JSON of an answer (None if it is empty), and returns the JSON to send instead.

DROPPED closes the connection without an answer, BUSY answers 503, BROKEN 500.
"""
DROPPED, BUSY, BROKEN = object(), object(), object()


class LyingHouse:
    """A proxy for the house at `target`, in a separate thread. `url` is its address."""

    def __init__(self, target: str, lie: Lie) -> None:
        self._target = target
        self._lie = lie
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(START_SECONDS_MAX), "the proxy does not start"

    def stop(self) -> None:
        """Stop serving."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_SECONDS_MAX)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        async with aiohttp.ClientSession(auto_decompress=False) as self._http:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            self._started.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        async with self._http.request(
            request.method, f"{self._target}{request.path_qs}", headers=headers, data=await request.read()
        ) as answer:
            body = await answer.read()
            changed = self._lie(request.method, request.path, msgspec.json.decode(body) if body else None)
            if changed is DROPPED:
                assert request.transport is not None, "the request has a connection"
                request.transport.abort()
                return web.Response()
            if changed is BUSY:
                return web.json_response({"message": "", "code": "busy"}, status=503, headers={"Retry-After": "0"})
            if changed is BROKEN:
                return web.json_response({"message": "", "code": "internal_error"}, status=500)
            body = msgspec.json.encode(changed) if body else b""
            return web.Response(body=body, status=answer.status, content_type="application/json" if body else None)
