"""The client that posts to webhooks, against a real server with the faults of real ones."""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from saleroom.outbox import hooks
from saleroom.outbox.hooks import HookClient, PostResult
from tests.notices.receiver import Receiver, receiving
from tests.outbox.mail_server import certificate
from tests.patience import SECONDS_MAX, until


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A server of webhooks."""
    async with receiving(Receiver()) as found:
        yield found


@pytest.fixture
async def client() -> AsyncIterator[HookClient]:
    """A client that may post to this machine."""
    async with HookClient(private=True) as found:
        yield found


async def test_what_is_posted_arrives(receiver: Receiver, client: HookClient) -> None:
    """The body and the headers arrive as they are, and the next post uses the connection again."""
    for number in range(2):
        posted = await client.post(receiver.url("/a%2Fb?c=d"), {"webhook-id": f"msg_{number}"}, b'{"a": 1}')
        assert (True, 204) == (posted.ok, posted.status)
    headers, body = receiver.posts[1]
    assert ("msg_1", "saleroom", b'{"a": 1}') == (headers["webhook-id"], headers["user-agent"], body)
    assert 1 == receiver.connections


@pytest.mark.parametrize("status", ["301", "307", "400", "410", "500"])
async def test_every_other_status_is_a_failure(receiver: Receiver, client: HookClient, status: str) -> None:
    """Redirects are not followed; the reason names the status and no address."""
    receiver.answers = [status]
    receiver.more = f"Location: {receiver.url('/elsewhere')}\r\n"
    posted = await client.post(receiver.url("/secret"), {}, b"{}")
    assert (False, int(status)) == (posted.ok, posted.status)
    assert status in posted.reason
    assert "secret" not in posted.reason
    assert 1 == len(receiver.posts)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("cut", "it ended the connection"), ("garbage", "its answer is no HTTP"), ("hang", "it did not answer in time")],
)
async def test_a_server_without_an_answer_is_a_failure(
    receiver: Receiver, client: HookClient, answer: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is cut, that speaks something else, or that hangs ends in time, and says why."""
    monkeypatch.setattr(hooks, "ANSWER_SECONDS_MAX", 0.2)
    receiver.answers = [answer]
    assert PostResult(None, reason) == await client.post(receiver.url(), {}, b"{}")


async def test_an_endless_answer_is_not_read_on(receiver: Receiver, client: HookClient) -> None:
    """Of an answer that never ends no more than the bound is read; the event has arrived all the same."""
    receiver.answers = ["endless"]
    async with asyncio.timeout(5):
        assert (await client.post(receiver.url(), {}, b"{}")).ok


async def test_bytes_around_an_answer_count(receiver: Receiver, client: HookClient) -> None:
    """Interim answers and chunks that say much beside their size end with the connection; a status that came counts."""
    receiver.answers = ["interim", "extensions"]
    async with asyncio.timeout(SECONDS_MAX):
        assert PostResult(None, "its answer is too long") == await client.post(receiver.url(), {}, b"{}")
        assert (await client.post(receiver.url(), {}, b"{}")).ok
    for _ in range(25):  # each answer counts for itself
        receiver.more = f"X-Much: {'y' * (hooks.RECEIVED_BYTES_MAX // 20)}\r\n"
        assert (await client.post(receiver.url(), {}, b"{}")).ok
    assert 3 == receiver.connections


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("90", 90.0),
        ("9" * 40, 86400.0),
        ("soon", 0.0),
        ("-5", 0.0),
        ("Mon, 23 Nov 2026 12:02:00 GMT\r\nDate: Mon, 23 Nov 2026 12:00:00 GMT", 120.0),
    ],
)
async def test_a_server_may_ask_for_peace(receiver: Receiver, client: HookClient, header: str, seconds: float) -> None:
    """Retry-After is read, within reason."""
    receiver.answers = ["503"]
    receiver.more = f"Retry-After: {header}\r\n"
    assert seconds == (await client.post(receiver.url(), {}, b"{}")).retry_after


async def test_names_that_nobody_answers_hold_up_nothing(
    receiver: Receiver, client: HookClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While many look-ups hang, the house looks other names up and posts to them; at the end nothing waits for them."""
    answers, real = threading.Event(), socket.getaddrinfo
    hung = threading.Semaphore(0)

    def getaddrinfo(host: str, *args: Any, **more: Any) -> Any:
        if host.endswith(".example"):
            hung.release()
            answers.wait(SECONDS_MAX)
            raise socket.gaierror(socket.EAI_AGAIN, "no name server answers")
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    posts = [asyncio.create_task(client.post(f"https://slow{number}.example/", {}, b"{}")) for number in range(50)]
    try:
        for _ in posts:
            await until(lambda: hung.acquire(blocking=False), "each name is looked up")
        async with asyncio.timeout(SECONDS_MAX):
            assert await asyncio.get_running_loop().getaddrinfo("localhost", receiver.port)
        url = receiver.url().replace("127.0.0.1", "localhost")
        assert (await client.post(url, {}, b"{}")).ok
        assert not any(post.done() for post in posts)
    finally:
        answers.set()
    assert {PostResult(None, "no host has this name")} == set(await asyncio.gather(*posts))


async def test_nobody_listens(client: HookClient) -> None:
    """A port at which nobody listens, and a name that does not exist, are named in words."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert PostResult(None, "nothing listens there") == await client.post(
            f"http://127.0.0.1:{free.getsockname()[1]}/", {}, b"{}"
        )
    assert PostResult(None, "no host has this name") == await client.post("http://none.invalid/", {}, b"{}")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "public.example"])
async def test_no_private_address_is_connected_to(
    receiver: Receiver, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very address that is connected to counts: a name that resolves to this machine reaches nothing."""

    def getaddrinfo(*args: Any, **kwargs: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    reason = "its name leads to an address of this machine or of a private network"
    async with HookClient(private=False) as client:
        assert PostResult(None, reason) == await client.post(receiver.url(host=host), {}, b"{}")
    assert 0 == receiver.connections


async def test_certificates_are_checked(tmp_path: Path) -> None:
    """A server whose certificate nobody vouches for gets nothing; one whose authority is named does."""
    made = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*made)
    async with receiving(Receiver(), tls) as receiver:
        url = receiver.url(host="localhost", scheme="https")
        async with HookClient(private=True) as client:
            assert PostResult(None, "its certificate is not valid") == await client.post(url, {}, b"{}")
        async with HookClient(private=True, ca_file=str(made[0])) as client:
            assert (await client.post(url, {}, b"{}")).ok
        assert 1 == len(receiver.posts)
