"""Attacks by input: odd addresses, odd texts, files that expand, and too much of everything."""

import http.server
import json
import secrets
import select
import signal
import sqlite3
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psutil
from PIL import Image

from tests import pictures
from tests.attacks.table import Attack
from tests.attacks.target import Target, request
from tests.patience import SECONDS_MAX
from tests.process import environment, saleroom, wait_until

WATCH_BYTES_MAX = 300 * 2**20
WATCH_SECONDS = 12.0
UNPACKED_BYTES = 2 * 2**30
TRICKLES = 16
LOTS_TRIED = 20_000
LOTS_AT_ONCE = 40
FORGERS = 8000
REFUSED_SECONDS_MAX = 5.0
AT_WORK_PROCESSOR_SECONDS, UPLOAD_PROCESSOR_SECONDS_MAX, END_PROCESSOR_SECONDS_MAX = 0.5, 25.0, 12.0
"""The processor's seconds, as those of a clock depend on the machine's other work."""
MARKS = {
    "class 230": "Z" + "\u0301" * 60,
    "class 0": "Z" + "\u20dd" * 60,
    "spacing": "Z" + "\u0903" * 60,
    "variation selectors": "Z" + "\ufe0f" * 60,
    "joiners": "Z" + "\u200d" * 60,
}


def odd_addresses(target: Target) -> str | None:
    """An address that makes no sense is refused, and leaves no traceback."""
    person = target.person()
    gid = target.lot(person)
    requests = {
        "DELETE /me/sessions/{id}": request("DELETE", "/me/sessions/{id}", person.token),
        "Last-Event-ID of 5,000 digits": request("GET", f"/lots/{gid}/live", Last_Event_ID="9" * 5000),
        "the home page's": request("GET", "/live", Last_Event_ID="9" * 5000),
    }
    for name, sent in requests.items():
        with target.raw() as raw:
            raw.send(sent)
            answer = raw.answer()
        if answer is None or not 400 <= answer.status < 500:
            return f"{name}: {'no answer' if answer is None else answer.status}"
    return "a traceback is in the log" if "Traceback" in target.served.log() else None


def unknown_events(target: Target) -> str | None:
    """`HEAD` and `GET` of a missing auction have the same status."""
    with target.client() as client:
        statuses = [client.request(one, "/auctions/nothing-here/events").status_code for one in ("GET", "HEAD")]
    return None if statuses == [404, 404] else f"GET and HEAD: {statuses}"


def piles_of_marks(target: Target) -> str | None:
    """A name is not a pile of marks, of whatever class."""
    person = target.person()
    with target.client(person) as client:
        for name, text in MARKS.items():
            answer = client.post("/auctions", json={"name": text, "startingPrice": "1"})
            if answer.status_code != 400:
                return f"{name}: {answer.status_code}"
        for text in (
            "e\u0301te\u0301",
            "\u0e01\u0e33\u0e25\u0e31\u0e07",
            "\u0915\u094d\u0937\u093f",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        ):
            answer = client.post("/auctions", json={"name": text, "startingPrice": "1"})
            if answer.status_code != 201:
                return f"{text!r} was refused, and is an honest name"
    return None


def many_faults(target: Target) -> str | None:
    """A list of faults is not much longer than its request."""
    body = json.dumps({"x" * 3 + str(number): 1 for number in range(4000)}).encode()
    with target.raw() as raw:
        raw.send(request("POST", "/auctions", target.person().token, body))
        answer = raw.answer()
    if answer is None or answer.status != 400:
        return f"{'no answer' if answer is None else answer.status}"
    size = len(answer.body)
    return None if size <= len(body) else f"a body of {len(body)} bytes was answered by {size}"


def many_lots(target: Target) -> str | None:
    """No user can offer lots without a limit."""
    person = target.person()
    piece = request("POST", "/auctions", person.token, {"name": "x", "startingPrice": "1"}) * LOTS_AT_ONCE
    made = 0
    with target.raw() as raw:
        while made < LOTS_TRIED:
            raw.send(piece)
            for _ in range(LOTS_AT_ONCE):
                answer = raw.answer()
                if answer is None or answer.status != 201:
                    return None if answer is not None and answer.status in (409, 429) else f"after {made}: {answer}"
                made += 1
    return f"{made} lots of one person were taken"


def trickling_uploads(target: Target) -> str | None:
    """Photos that trickle in, all of one person, leave room for the others."""
    slow, other = target.enter(2)
    with ExitStack() as stack:
        trickles = [stack.enter_context(target.raw()) for _ in range(TRICKLES)]
        for raw in trickles:
            head = request("POST", "/photos", slow.token, b"", content_type="image/jpeg", Content_Type="image/jpeg")
            raw.send(head.replace(b"Content-Length: 0", b"Content-Length: 1000000") + b"\xff\xd8\xff")
        select.select([raw.socket for raw in trickles], [], [], REFUSED_SECONDS_MAX)  # a refusal: all places are taken
        answer = _upload(target, other.token, pictures.plain())
    return None if answer.status_code == 201 else f"an honest photo: {answer.status_code} {answer.text[:100]}"


def progressive_scans(target: Target) -> str | None:
    """A picture of many scans does not hold up the next one, nor the end of the house."""
    one, other = target.enter(2)
    with _decoding(target, one.token) as began:
        answer = _upload(target, other.token, pictures.plain())
        seconds = target.processor_seconds() - began
    if answer.status_code != 201 or seconds > UPLOAD_PROCESSOR_SECONDS_MAX:
        return f"behind many scans an honest photo: {answer.status_code} after {seconds:.0f} s of the processor"
    return None


def end_during_scans(target: Target) -> str | None:
    """A house that ends does not wait for a picture. This attack is the last one, as it ends the house."""
    with _decoding(target, target.person().token):
        began = most = target.processor_seconds()
        target.served.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + SECONDS_MAX
        while target.served.process.poll() is None:
            if time.monotonic() > deadline:
                return "the house does not end"
            most = max(most, target.processor_seconds())
            time.sleep(0.05)
    seconds = most - began
    return None if seconds <= END_PROCESSOR_SECONDS_MAX else f"the house took {seconds:.0f} s of the processor to end"


@contextmanager
def _decoding(target: Target, token: str) -> Iterator[float]:
    """Send a picture of many scans, until the house is at work on it; yield the processor's seconds before that."""
    began = target.processor_seconds()
    thread = threading.Thread(target=_upload, args=(target, token, many_scans()))
    thread.start()
    wait_until(lambda: not thread.is_alive() or target.processor_seconds() > began + AT_WORK_PROCESSOR_SECONDS)
    yield began
    thread.join()


def many_scans(side: int = 4000, scans: int = 2500) -> bytes:
    """Return a progressive JPEG that is mostly headers of scans: each makes the decoder go through the whole picture."""
    plain = pictures.written(Image.new("RGB", (side, side), pictures.RED), "JPEG", progressive=True, quality=30)
    starts = [at for at in range(len(plain) - 1) if plain[at : at + 2] == b"\xff\xda"]
    tables, last, end = plain[: starts[0]], plain[starts[-1] : -2], plain[-2:]
    first = plain[starts[0] : starts[-1]]
    room = 640_000 - len(tables) - len(first)
    return tables + first + last * max(1, min(scans, room // len(last))) + end


def _upload(target: Target, token: str, data: bytes) -> httpx.Response:
    headers = {"X-Requested-With": "attack", "Authorization": f"Bearer {token}", "Content-Type": "image/jpeg"}
    try:
        return httpx.post(f"{target.url}/photos", content=data, headers=headers, timeout=SECONDS_MAX)
    except httpx.TransportError as error:
        return httpx.Response(599, text=type(error).__name__)


def bomb_for_watchers(target: Target) -> str | None:
    """A house that answers `saleroom watch` with a few kilobytes that unpack to gigabytes does not fill its memory."""
    with _bombing() as url:
        program = [str(target.served.program), "watch", url]
        process = subprocess.Popen(program, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most, deadline = 0, time.monotonic() + WATCH_SECONDS
        try:
            while process.poll() is None and time.monotonic() < deadline and most <= WATCH_BYTES_MAX:
                with suppress(psutil.NoSuchProcess):
                    most = max(most, psutil.Process(process.pid).memory_info().rss)
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
    return None if most <= WATCH_BYTES_MAX else f"`saleroom watch` took {most / 2**20:.0f} MB"


class _Bomb(http.server.BaseHTTPRequestHandler):
    packed = b""

    def do_GET(self) -> None:
        self.send_response(200)
        if "events" in self.path:
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b": hello\n\n")
            self.wfile.flush()
            time.sleep(WATCH_SECONDS)
            return
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(self.packed)))
        self.end_headers()
        try:
            self.wfile.write(self.packed)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def _bombing() -> Iterator[str]:
    packing = zlib.compressobj(1, zlib.DEFLATED, 31)
    head = packing.compress(b'{"auctions": [') + packing.flush(zlib.Z_FULL_FLUSH)
    piece = packing.compress(b" " * 2**20) + packing.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
    _Bomb.packed = head + piece * (UNPACKED_BYTES // 2**20)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Bomb)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def escapes_in_names(target: Target) -> str | None:
    """A name with control characters in an export is refused, or at least not printed to a terminal unescaped."""
    folder = Path(target.folder) / f"import-{time.monotonic_ns()}"
    folder.mkdir()

    def run(database: str, *arguments: str) -> str:
        typed = "correct horse\ncorrect horse\n"
        done = saleroom(folder, *arguments, stdin=typed, database=f"sqlite:///{folder}/{database}.db")
        return done.stdout + done.stderr

    run("from", "users", "add", "victim")
    with sqlite3.connect(folder / "from.db") as file:
        file.execute("UPDATE users SET username = ?", ("\x07\x9b2Jowned",))
    file.close()
    run("from", "export", "bad.ndjson")
    run("to", "import", "bad.ndjson")
    printed = run("from", "users", "list") + run("to", "users", "list")
    return "`users list` prints control characters" if "\x07" in printed else None


def full_of_forged_bids(target: Target) -> str | None:
    """Bids with made-up tokens on made-up lots, more than the desk has room for, leave room for an honest one."""
    seller, bidder = target.enter(2)
    gid = target.lot(seller)
    with ExitStack() as stack, target.client(bidder) as honest:
        honest.get(f"/auctions/{gid}")
        lines = [stack.enter_context(target.raw()) for _ in range(FORGERS)]
        for raw in lines:
            raw.send(
                request(
                    "POST", f"/auctions/{secrets.token_urlsafe(9)}/bids", secrets.token_urlsafe(12), {"amount": "1"}
                )
            )
        answer = honest.post(f"/auctions/{gid}/bids", json={"maximum": "100"})
    return None if answer.status_code == 201 else f"an honest bid: {answer.status_code} {answer.text[:100]}"


ATTACKS = (
    Attack("7", "a picture of a thousand scans", progressive_scans),
    Attack("10", "photos that trickle in", trickling_uploads),
    Attack("13", "addresses that make no sense", odd_addresses),
    Attack("14", "HEAD of an unknown auction's events", unknown_events),
    Attack("15", "piles of combining marks", piles_of_marks),
    Attack("16", "a gzip bomb for `saleroom watch`", bomb_for_watchers, on=("sqlite",)),
    Attack("17", "control characters in an import", escapes_in_names, on=("sqlite",)),
    Attack("20", "a long list of faults", many_faults),
    Attack("21", "lots without an end", many_lots),
    Attack("22", "a desk full of forged bids", full_of_forged_bids),
    Attack("7", "the end of the house during a picture", end_during_scans),
)
