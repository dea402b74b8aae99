"""The house underneath: `saleroom serve` as a process of its own, in a folder that is gone afterwards, asked over HTTP."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import aiohttp
import msgspec

from saleroom.tools import http_client

PORT = 9000
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 5.0
REQUEST_SECONDS_MAX = 30.0
TRIES = 6
PAUSE_SECONDS_MAX = 2.0
"""How often a busy house is asked again, and after how long at most."""
SILENCE_SECONDS_MAX = 45.0
"""A house comments every 15 seconds: whoever is silent for three times as long is gone."""
_SERVES = re.compile(r"saleroom serves on (http://\S+:[0-9]+)")
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class CannotGoOn(Exception):
    """There is no house, or it answers as none does; the message says what it said."""


class Refusal(Exception):
    """The house refused a request, for a reason that `code` names."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(f"the house refuses with {status}: {text}")
        self.code = code


@asynccontextmanager
async def served(host: str, port: int | None) -> AsyncIterator[tuple[str, asyncio.Task[str]]]:
    """Serve a new house; yield its address, and a task that ends when the house does, with what it said last.

    `port` None takes 9000, or a free one where that is taken. Raises CannotGoOn.
    """
    folder = Path(tempfile.mkdtemp(prefix="saleroom-demo-"))
    log = folder / "log.txt"
    process = None
    watch: asyncio.Task[str] | None = None
    try:
        with log.open("wb") as lines:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "saleroom", "serve", "--host", host, "--port", str(_free(host) if port is None else port)),
                cwd=folder,
                env=_environment(folder),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=lines,
                start_new_session=True,  # a Ctrl-C in the terminal is for the demo, which then ends the house
                preexec_fn=_dying_with_parent(),
            )
        url = await _address(process)
        if url is None:
            raise CannotGoOn(_last_words(log) or "the house did not start")
        watch = asyncio.create_task(_ended(process, log))
        yield url, watch
    finally:
        if watch is not None:
            watch.cancel()
        if process is not None:
            await _end(process)
        shutil.rmtree(folder, ignore_errors=True)


async def _address(process: asyncio.subprocess.Process) -> str | None:
    """Return where the house says it serves; None where it ends before, or says nothing for too long."""
    assert process.stdout is not None, "it is a pipe"
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS_MAX):
            async for line in process.stdout:
                found = _SERVES.search(line.decode())
                if found is not None:
                    return found[1]
    return None


async def _ended(process: asyncio.subprocess.Process, log: Path) -> str:
    assert process.stdout is not None, "it is a pipe"
    while await process.stdout.read(4096):
        pass
    await process.wait()
    return _last_words(log) or f"the house ended with {process.returncode}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the house: in order, and if that takes too long, at once."""
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS_MAX), (signal.SIGKILL, STOP_SECONDS_MAX)):
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            # Not by its own method, which looks whether it has ended, and so takes the news from asyncio, which complains.
            os.kill(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)
            return


def _environment(folder: Path) -> dict[str, str]:
    """Return this process's environment; of settings it has the demo's alone, whatever a house of one's own has there."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
    settings = {"DATABASE": f"sqlite:///{folder}/demo.db", "MQTT": "embedded", "LOG_LEVEL": "warning"}
    return plain | {f"SALEROOM_{name}": value for name, value in settings.items()}


def _free(host: str) -> int:
    """Return the usual port, or 0 for any where that is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, PORT))
        except OSError:
            # Also where the address itself cannot be used: the house says so, in its own words.
            return 0
    return PORT


def _dying_with_parent() -> Callable[[], None] | None:
    """Return what makes a process end when the demo is killed without a chance to end it; None where nothing does."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _last_words(log: Path) -> str:
    return "\n".join(line.removeprefix("saleroom: ") for line in log.read_text(errors="replace").splitlines()[-5:])


class House:
    """A house over HTTP. `now()` is its clock's time, once it has been heard."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard = asyncio.Event()
        """Set once the house has told its time."""
        self._ahead = timedelta()

    async def __aenter__(self) -> Self:
        """Open nothing yet: connections come with the first requests."""
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS_MAX)
        self._http = http_client.session(timeout, headers={"X-Requested-With": "saleroom demo"})
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self._http.close()

    def now(self) -> datetime:
        """Return the time by the house's clock."""
        return datetime.fromtimestamp(time.monotonic(), UTC) + self._ahead

    async def ask(self, method: str, path: str, token: str | None = None, body: Any = None) -> Any:
        """Return the JSON that the house answers, None where it has none; `body` is JSON, or bytes of an image.

        Tries again while the house is busy. Raises Refusal or CannotGoOn.
        """
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "image/webp" if isinstance(body, bytes) else "application/json"
            body = body if isinstance(body, bytes) else msgspec.json.encode(body)
        status, content, pause = await self._send(method, path, headers, body)
        for _ in range(TRIES):
            if status not in (429, 503):
                break
            await asyncio.sleep(pause)
            status, content, pause = await self._send(method, path, headers, body)
        if status >= 400:
            raise Refusal(status, _code(content), content[:300].decode(errors="replace"))
        return msgspec.json.decode(content) if content else None

    async def _send(self, method: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes, float]:
        """Return the answer's status and body, and after how many seconds to try again where the house is busy."""
        try:
            async with self._http.request(method, self.url + path, headers=headers, data=body) as response:
                pause = min(PAUSE_SECONDS_MAX, http_client.retry_after(response) or 1.0)
                return response.status, await http_client.body(response, http_client.LIST_BYTES_MAX), pause
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise CannotGoOn(f"{method} {path}: no answer ({type(error).__name__})") from None

    async def enter(self, name: str, password: str) -> str:
        """Register somebody, log in, and return the token."""
        account = {"username": name, "password": password}
        await self.ask("POST", "/users", body=account)
        return str((await self.ask("POST", "/login", body=account))["token"])

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each event of the house as it happens, without end: a lost connection is made anew after the last one."""
        last = "0"
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENCE_SECONDS_MAX)
        while True:
            with suppress(aiohttp.ClientError, TimeoutError, OSError):
                address = f"{self.url}/events?after={last}"
                async with self._http.get(address, timeout=timeout) as response:
                    async for line in response.content:
                        name, _, value = line.decode().strip("\n").partition(": ")
                        if name == "data":
                            event = msgspec.json.decode(value)
                            yield event
                            last = event["id"]
                        elif not name and value.startswith("time "):
                            self._hear(value.removeprefix("time "))
            await asyncio.sleep(0.5)

    def _hear(self, text: str) -> None:
        self._ahead = msgspec.convert(text.strip(), datetime) - datetime.fromtimestamp(time.monotonic(), UTC)
        self.heard.set()


def _code(content: bytes) -> str:
    with suppress(msgspec.DecodeError):
        answer = msgspec.json.decode(content)
        if isinstance(answer, dict):
            return str(answer.get("code", ""))
    return ""
