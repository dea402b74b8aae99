"""Forms with files: how they pass the forgery filter, and how they are read."""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import Message, Receive, Scope

from saleroom.http import guard
from saleroom.http.forgery import forgery_token
from saleroom.http.guard import FIRST_FIELD_BYTES_MAX, Guard
from saleroom.http.multipart import PACE_BYTES, PACE_SECONDS, TEXT_CHARACTERS_MAX, multipart, paced
from saleroom.http.problems import BodyTimeout, BodyTooLarge, ForgeryRefusal
from saleroom.http.requests import read_body
from saleroom.kernel.errors import Invalid
from tests.sealing import known
from tests.simulation.loop import VirtualLoop

COOKIE = "saleroom_csrf=bound"
SECRET = known()
BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"


def token() -> str:
    """Return the token of a page that has set the cookie."""
    head = {"type": "http", "headers": [(b"cookie", COOKIE.encode())], "saleroom.secret": SECRET}
    return forgery_token(HTTPConnection(head))


def part(name: str, value: bytes, boundary: str = BOUNDARY, more: str = "") -> bytes:
    """Return a part of a form as browsers write it."""
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


def form(*parts: bytes, boundary: str = BOUNDARY) -> bytes:
    """Return a whole form."""
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def scope(boundary: str = BOUNDARY, **headers: str) -> Scope:
    """Return the head of a request with a form."""
    kind = f"multipart/form-data; boundary={boundary}"
    sent = {
        "cookie": COOKIE,
        "content-type": kind,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {
        "type": "http",
        "method": "POST",
        "path": "/sell",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
        "raw_path": b"/sell",
        "query_string": b"",
    }


def pieces(body: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Return `body` in pieces."""
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[a:b] for a, b in pairwise(places)] or [b""]


def receiving(*chunks: bytes, ends: bool = True) -> Receive:
    """Return a `receive` that gives these chunks. If the form does not end, the client hangs up."""
    messages: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    if ends:
        messages[-1]["more_body"] = False
    messages.append({"type": "http.disconnect"})
    waiting = iter(messages)

    async def receive() -> Message:
        return next(waiting)

    return receive


async def passed(head: Scope, receive: Receive) -> bytes | None:
    """Return the body that arrives behind the filter, or None if the filter refuses."""
    guard = Guard(secret=SECRET, form_bytes_max=10_000)
    try:
        if not guard.passes(head):
            receive = await guard.prove(head, receive)
    except (ForgeryRefusal, ClientDisconnect):
        return None
    return await read_body(Request(head, receive), 10**6)


CHUNKS = st.lists(st.integers(0, 2**20), max_size=20)
BOUNDARIES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'+_.-", min_size=1, max_size=70)


@given(BOUNDARIES, CHUNKS, st.binary(max_size=3000))
@example("-", [], b"\r\n---")
@example("a", [1, 2, 3, 4, 5], b"\r\n--a")
async def test_a_form_passes_by_its_first_field(boundary: str, cuts: list[int], file: bytes) -> None:
    """A form whose first field is the token passes, however it is cut and bounded, and arrives byte for byte."""
    parts = (part("csrfToken", token().encode(), boundary), part("photo", file, boundary, '; filename="a.jpg"'))
    body = form(*parts, boundary=boundary)
    assert body == await passed(scope(boundary), receiving(*pieces(body, cuts)))


@given(CHUNKS)
async def test_one_byte_at_a_time(cuts: list[int]) -> None:
    """A form that comes in single bytes also passes. A quoted boundary may have spaces around it."""
    body = form(part("csrfToken", token().encode()), part("photo", b"x"))
    head = scope(content_type=QUOTED)
    assert body == await passed(head, receiving(*(bytes([byte]) for byte in body)))
    assert body == await passed(head, receiving(*pieces(body, cuts)))


QUOTED = f'Multipart/Form-Data ; Boundary="{BOUNDARY}" '
FORGED: dict[str, Callable[[str], bytes]] = {
    "another value": lambda good: form(part("csrfToken", b"0" * len(good))),
    "no value": lambda good: form(part("csrfToken", b"")),
    "not text": lambda good: form(part("csrfToken", b"\xff\0")),
    "the second field": lambda good: form(part("name", b"x"), part("csrfToken", good.encode())),
    "another name": lambda good: form(part("csrftoken", good.encode())),
    "a file": lambda good: form(part("csrfToken", good.encode(), more='; filename="x"')),
    "two names": lambda good: form(part("x", good.encode(), more='; name="csrfToken"')),
    "a preamble": lambda good: b"preamble\r\n" + form(part("csrfToken", good.encode())),
    "no boundary before it": lambda good: form(part("csrfToken", good.encode()).replace(b"--", b"++", 1)),
    "more headers": lambda good: form(part("csrfToken", good.encode(), more="\r\nX: y")),
    "another boundary": lambda good: form(part("csrfToken", good.encode(), "other"), boundary="other"),
    "line feeds alone": lambda good: form(part("csrfToken", good.encode())).replace(b"\r\n", b"\n"),
    "no end": lambda good: part("csrfToken", good.encode())[:-2],
    "nothing": lambda good: b"",
    "only an end": lambda good: form(),
    "a very long field": lambda good: form(part("csrfToken", good.encode() + b" " * FIRST_FIELD_BYTES_MAX)),
    "a field behind a long one": lambda good: form(part("a", b" " * 10_000), part("csrfToken", good.encode())),
}


@pytest.mark.parametrize("made", FORGED.values(), ids=FORGED.keys())
async def test_other_forms_do_not_pass(made: Callable[[str], bytes]) -> None:
    """A form passes only if its first field is the right token, sent whole or byte by byte."""
    body = made(token())
    assert None is await passed(scope(), receiving(body))
    assert None is await passed(scope(), receiving(*(bytes([byte]) for byte in body), b""))


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=a b",
        f"multipart/form-data; boundary={'a' * 71}",
        f"multipart/form-data; charset=utf-16; boundary={BOUNDARY}",
        f"multipart/form-data; boundary={BOUNDARY}; boundary=x",
        f"multipart/mixed; boundary={BOUNDARY}",
        f"multipart/form-data; boundary=\u00fc{BOUNDARY}",
    ],
)
async def test_odd_heads_do_not_pass(kind: str) -> None:
    """A form whose header does not name its boundary plainly does not pass."""
    body = form(part("csrfToken", token().encode()))
    assert None is await passed(scope(content_type=kind), receiving(body))


@given(st.binary(max_size=400), CHUNKS)
async def test_bodies_that_are_no_form_are_refused(body: bytes, cuts: list[int]) -> None:
    """Anything that is not a form is refused, and nothing is raised."""
    assert None is await passed(scope(), receiving(*pieces(body, cuts)))


async def test_the_filter_reads_no_further_than_it_must() -> None:
    """The guard does not wait for the file after the token, and reads no more than 8 KiB in search of a token."""
    good = part("csrfToken", token().encode()) + part("photo", b"begins", more='; filename="a"')[:-2]
    calls: list[int] = []

    def counting(*chunks: bytes) -> Receive:
        receive = receiving(*chunks, ends=False)

        async def counted() -> Message:
            calls.append(1)
            return await receive()

        return counted

    await guard._first_field(scope(), counting(good, b"never asked for"))
    assert 1 == len(calls)
    calls.clear()
    assert None is await passed(scope(), counting(*[b"x" * 1024] * 100))
    assert 8 == len(calls)


async def test_a_form_that_stalls_before_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a client stalls before its token, it is answered after a while."""
    monkeypatch.setattr("saleroom.http.requests.BODY_SECONDS_MAX", 0.05)

    async def stalled() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("the wait has no limit")

    with pytest.raises(BodyTimeout):
        await guard._first_field(scope(), stalled)


def asking(receive: Receive, **headers: str) -> Request:
    """Return a request with a form."""
    return Request(scope(**headers), receive)


@given(CHUNKS, st.binary(max_size=5000), st.text(max_size=50))
async def test_a_form_is_read(cuts: list[int], file: bytes, text: str) -> None:
    """Texts and files come as they were sent, however the form is cut."""
    more = '; filename="a.jpg"\r\nContent-Type: image/jpeg'
    body = form(part("name", text.encode()), part("files", file, more=more), part("files", b"", more='; filename=""'))
    found = await multipart(asking(receiving(*pieces(body, cuts))), 100_000)
    assert text == found["name"]
    first, second = found.getlist("files")
    assert isinstance(first, UploadFile) and isinstance(second, UploadFile)
    assert (file, "a.jpg", "") == (await first.read(), first.filename, second.filename)
    await found.close()


@given(st.binary(max_size=600), CHUNKS)
@example(b"--" + BOUNDARY.encode() + b"\r\n\r\n\r\n", [])
@example(b"--" + BOUNDARY.encode() + b"\r\nContent-Disposition: form-data\r\n\r\n", [])
async def test_bodies_that_are_no_form_are_faults(body: bytes, cuts: list[int]) -> None:
    """Any other body is a fault, and nothing else is raised."""
    with contextlib.suppress(Invalid):
        found = await multipart(asking(receiving(*pieces(body, cuts))), 100_000)
        await found.close()


@given(st.integers(0, 2**20), st.integers(0, 255), CHUNKS)
async def test_a_damaged_form_is_read_or_a_fault(place: int, value: int, cuts: list[int]) -> None:
    """A form with one changed byte is either read or a fault of the body, and nothing else is raised."""
    body = bytearray(form(part("name", b"Clock"), part("files", b"x" * 50, more='; filename="a.jpg"')))
    body[place % len(body)] = value
    with contextlib.suppress(Invalid):
        found = await multipart(asking(receiving(*pieces(bytes(body), cuts))), 100_000)
        await found.close()


def large(size: int = 100_000) -> bytes:
    """Return a form of exactly this size."""
    empty = form(part("files", b"", more='; filename="a"'))
    return form(part("files", b"x" * (size - len(empty)), more='; filename="a"'))


async def test_a_form_has_a_size() -> None:
    """A form of the allowed size is read. A byte more is refused, with a Content-Length or without, and read no further."""
    found = await multipart(asking(receiving(large())), 100_000)
    await found.close()
    with pytest.raises(BodyTooLarge) as caught:
        await multipart(asking(receiving(*pieces(large(100_001), range(0, 100_000, 1000)))), 100_000)
    assert {"limit": 100_000} == caught.value.facts

    async def never() -> Message:
        raise AssertionError("the body is read")

    with pytest.raises(BodyTooLarge):
        await multipart(asking(never, content_length="100001"), 100_000)


@pytest.mark.parametrize(
    "parts",
    [
        [part(f"n{n}", b"x") for n in range(201)],
        [part("files", b"x", more='; filename="a"') for _ in range(51)],
        [part("name", b"x" * (64 * 1024 + 1))],
        [part("name" * 2000, b"x")],
    ],
    ids=["fields", "files", "a long text", "a long name"],
)
async def test_a_form_has_few_parts(parts: list[bytes]) -> None:
    """More than 200 fields or 50 files, or a text over 64 KiB, are a fault of the body."""
    with pytest.raises(Invalid) as caught:
        await multipart(asking(receiving(form(*parts))), 10**6)
    assert {"body": ["malformed_form"]} == {k: [f.code for f in v] for k, v in caught.value.faults.items()}


async def test_the_texts_of_a_form_have_a_size() -> None:
    """All texts together have a separate limit, because a refused form is shown again."""
    photo = part("files", b"x" * 50_000, more='; filename="a"')
    await (await multipart(asking(receiving(form(part("a", b"x" * TEXT_CHARACTERS_MAX), photo))), 10**6)).close()
    parts = [part(f"n{number}", b"x" * (TEXT_CHARACTERS_MAX // 100)) for number in range(101)]
    with pytest.raises(BodyTooLarge):
        await multipart(asking(receiving(form(*parts, photo))), 10**6)


@pytest.mark.parametrize(("each", "arrives"), [(PACE_BYTES, True), (PACE_BYTES // 4, True), (PACE_BYTES // 8, False)])
def test_a_slow_but_steady_upload_is_waited_for(each: int, arrives: bool) -> None:
    """A slow network is not a trickle: an upload that keeps the pace arrives, however often it is checked."""
    loop = VirtualLoop()
    sent: asyncio.Queue[Message] = asyncio.Queue()

    async def send() -> None:
        for _ in range(40):
            await asyncio.sleep(PACE_SECONDS / 5)
            sent.put_nowait({"type": "http.request", "body": bytes(each), "more_body": True})

    async def upload() -> bool:
        sender = asyncio.create_task(send())
        receive = paced(sent.get)
        try:
            for _ in range(40):
                await receive()
        except BodyTimeout:
            return False
        finally:
            sender.cancel()
        return True

    assert arrives == loop.run_until_complete(upload())
    loop.close()


async def _hangs_up(receive: Receive) -> None:
    with pytest.raises(ClientDisconnect):
        await multipart(asking(receive), 10**7)


async def _is_too_large(receive: Receive) -> None:
    with pytest.raises(BodyTooLarge):
        await multipart(asking(receive), 2_000_000)


async def _is_cancelled(receive: Receive) -> None:
    stalled = asyncio.Event()

    async def stalls() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            stalled.set()
            await asyncio.sleep(600)
        return message

    task = asyncio.create_task(multipart(asking(stalls), 10**7))
    await stalled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _takes_too_long(receive: Receive) -> None:
    async def stalls() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            await asyncio.sleep(60)
        return message

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("saleroom.http.multipart.UPLOAD_SECONDS_MAX", 3.0)
        with pytest.raises(BodyTimeout):
            await multipart(asking(stalls), 10**7)


@pytest.mark.parametrize("ending", [_hangs_up, _is_too_large, _is_cancelled, _takes_too_long])
async def test_no_file_stays_open(ending: Callable[[Receive], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary file of a large file is closed, however the form ends."""
    opened: list[UploadFile] = []
    original = UploadFile.__init__

    def noted(self: UploadFile, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        opened.append(self)

    monkeypatch.setattr(UploadFile, "__init__", noted)
    body = part("files", b"x" * 3_000_000, more='; filename="a"')
    await ending(receiving(*pieces(body, range(0, 3_000_000, 60_000)), ends=False))
    assert [True] == [file.file.closed for file in opened]
    gc.collect(1)  # a file that is new and not closed; to look through everything takes a second
