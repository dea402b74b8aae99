"""Against a false house, `watch`, `verify` and `load` end in bounded memory and print nothing that steers a terminal."""

import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, environment

MEMORY_BYTES_MAX = 300 * 2**20
"""The memory that a client may use; it starts with half of it."""
MEMORY_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
BOMB_BYTES = 800 * 2**20
PIECE = b"x" * 65_536
JSON, STREAM, LINES = "application/json", "text/event-stream", "application/x-ndjson"
ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"

Answer = Callable[[str, int], Iterator[bytes]]
"""From a path and the number of requests before to the bytes of the answer."""


def bomb() -> bytes:
    """Return a gzip that unpacks to far more than a client may take."""
    packer = zlib.compressobj(6, wbits=31)
    piece = b" " * 2**20
    return b"".join(packer.compress(piece) for _ in range(BOMB_BYTES // 2**20)) + packer.flush()


def head(kind: str, *more: str, status: str = "200 OK") -> bytes:
    """Return the head of an answer that goes on until the connection ends."""
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *more, "", ""]).encode()


def kind_of(path: str) -> str:
    """Return the media type of an honest house's answer at a path."""
    return STREAM if path.endswith("/events") or path == "/events" else LINES if path.endswith("/ledger") else JSON


def packed(body: bytes) -> Answer:
    """Return answers that unpack to far too much, at every path."""

    def answer(path: str, _: int) -> Iterator[bytes]:
        yield head(kind_of(path), "Content-Encoding: gzip", f"Content-Length: {len(body)}") + body

    return answer


def endless(path: str, _: int) -> Iterator[bytes]:
    """Answer without end: a body, or an event of lines."""
    yield head(kind_of(path))
    piece = b"data: aaaaaaaa\n" * 4096 if kind_of(path) == STREAM else PIECE
    while True:
        yield piece


def redirects(path: str, count: int) -> Iterator[bytes]:
    """Redirect without end."""
    yield head(JSON, f"Location: {path}?{count}", status="302 Found")


def steering(path: str, count: int) -> Iterator[bytes]:
    """Put control characters wherever a client may repeat them to a terminal."""
    if kind_of(path) == STREAM and count == 0:
        yield head(STREAM) + f"id: {ESCAPE}\n\n".encode()
    elif path.startswith("/auctions?"):
        yield head(JSON) + b'{"auctions":[],"next":null}'
    else:
        yield head(JSON, status="400 Bad Request") + ESCAPE.encode()


@contextmanager
def pretending(answer: Answer) -> Iterator[str]:
    """Answer at the yielded address, to each request on a separate connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    counts = iter(range(1_000_000))

    def serve(line: socket.socket) -> None:
        with line, suppress(OSError):
            line.settimeout(SECONDS_MAX)
            request = b""
            while b"\r\n\r\n" not in request:
                piece = line.recv(65_536)
                if not piece:
                    return
                request += piece
            for part in answer(request.split(b" ")[1].decode("latin-1"), next(counts)):
                if over.is_set():
                    return
                line.sendall(part)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.close()


def commands(url: str) -> list[list[str]]:
    """Return each client of a house with each of its first requests."""
    return [
        ["watch", url, "--json"],
        ["watch", url, "k3X9mQ2vTa1_"],
        ["verify", f"{url}/auctions/k3X9mQ2vTa1_"],
        ["verify", "ledger.ndjson", "--receipt", f"{'a' * 20}.{'b' * 20}.{'c' * 86}", "--key", url],
        ["load", url, "--seconds", "1", "--lots", "1", "--bidders", "2"],
    ]


def run_all(url: str, folder: Path) -> list[tuple[list[str], int, str, int]]:
    """Run them in parallel; return for each its exit code, its output, and its peak memory."""
    (folder / "ledger.ndjson").write_bytes(b"{}\n")
    running = []
    for number, arguments in enumerate(commands(url)):
        with (folder / f"said-{number}").open("wb") as output:
            command = [str(PROGRAM), *arguments]
            running.append((arguments, Program(command, folder, environment(load_key="key"), output, output)))
    found = []
    for number, (arguments, program) in enumerate(running):
        with suppress(subprocess.TimeoutExpired):
            program.wait(SECONDS_MAX)
        program.kill()  # a client that does not end fails the test
        code = program.wait()
        text = (folder / f"said-{number}").read_text(errors="surrogateescape")
        found.append((arguments, code, text, program.memory * MEMORY_UNIT_BYTES))
    return found


@pytest.mark.parametrize("kind", ["packed", "endless", "redirects", "steering"])
def test_clients_end_cleanly_after_any_answer(kind: str, tmp_path: Path) -> None:
    """Every client ends by itself with 1 and one line in plain characters, without a traceback, in bounded memory."""
    answer = (
        packed(bomb()) if kind == "packed" else {"endless": endless, "redirects": redirects, "steering": steering}[kind]
    )
    with pretending(answer) as url:
        for arguments, code, said, memory in run_all(url, tmp_path):
            assert 1 == code, (arguments, said)
            assert "Traceback" not in said, said
            for line in said.splitlines():
                assert line.replace("\t", "").isprintable(), (arguments, line)
            assert memory < MEMORY_BYTES_MAX, (arguments, memory)
