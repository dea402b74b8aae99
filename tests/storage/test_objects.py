"""Objects in an S3 store that is away, slow, hostile, or not a store at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from saleroom.storage import objects
from saleroom.storage.objects import ObjectMissing, Objects, ObjectTooLarge, StorePlace, StoreUnavailable
from tests.fixtures_database import unique
from tests.mqtt.equipment import free_port
from tests.object_store import ACCESS_KEY, REGION, SECRET_KEY, ObjectStore

HEAD = 'Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: "one"\r\n'


def place(port: int) -> StorePlace:
    """The place of a bucket at a port of this machine."""
    return StorePlace(
        bucket="bucket",
        prefix="",
        endpoint=f"http://127.0.0.1:{port}",
        region=REGION,
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
    )


@asynccontextmanager
async def answering(answer: bytes, pause: float = 0.0, asked: list[bytes] | None = None) -> AsyncIterator[int]:
    """A server that answers every request with the same bytes, after a pause; yields its port."""
    open_ = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if asked is not None:
                asked.append(head)
            await asyncio.sleep(pause)
            writer.write(answer)
            await writer.drain()
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in open_:
            one.cancel()
        await asyncio.gather(*open_, return_exceptions=True)


def answer(status: str, body: bytes = b"", head: str = HEAD, length: int | None = None) -> bytes:
    """An answer over HTTP, perhaps with a false length."""
    lines = f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(body) if length is None else length}\r\n\r\n"
    return lines.encode() + body


Act = Callable[[Objects], Awaitable[object]]


async def put(store: Objects) -> None:
    """Put an object."""
    await store.put("a", b"data", "image/webp")


async def get(store: Objects) -> bytes:
    """Read an object."""
    return await store.get("a", 100)


async def delete(store: Objects) -> None:
    """Delete an object."""
    await store.delete(["a"])


async def list_all(store: Objects) -> None:
    """List all objects."""
    async for _ in store.pages():
        pass


ACTS: tuple[Act, ...] = (put, get, delete, list_all)


async def test_an_object_is_put_read_listed_and_deleted(object_store: ObjectStore) -> None:
    """Keys are without the prefix; to delete what is not there is no error."""
    bucket = unique("bucket").replace(".", "-")
    object_store.bucket(bucket)
    store = Objects(object_store.place(bucket, "folder"))
    for key in ("b/1", "a/1", "a/2"):
        await store.put(key, key.encode(), "image/webp")
    assert {f"folder/{key}": key.encode() for key in ("a/1", "a/2", "b/1")} == object_store.objects(bucket)
    assert await store.get("b/1", 3) == b"b/1"
    with pytest.raises(ObjectTooLarge):
        await store.get("b/1", 2)
    with pytest.raises(ObjectMissing):
        await store.get("c", 2)
    assert [[("a/1", 3), ("a/2", 3), ("b/1", 3)]] == [
        [(one.key, one.size) for one in page] async for page in store.pages()
    ]
    await store.delete(["a/1", "c", "b/1"])
    assert {"folder/a/2"} == set(object_store.objects(bucket))
    assert (3, 1, 1, 1) == tuple(
        store.outcomes[one] for one in (("put", "done"), ("get", "done"), ("get", "too_large"), ("get", "missing"))
    )


async def test_a_wrong_key_and_a_wrong_bucket_are_named_without_secrets(object_store: ObjectStore) -> None:
    """A bucket that does not exist is no missing object, and no message has the key or its secret."""
    bucket = unique("bucket").replace(".", "-")
    object_store.bucket(bucket)
    good = object_store.place(bucket)
    assert SECRET_KEY not in repr(good)
    wrong = {
        "403 Forbidden": replace(good, secret_access_key="another-secret"),
        "there is no bucket none|404 Not Found": replace(good, bucket="none"),
    }
    for words, one in wrong.items():
        for act in ACTS:
            with pytest.raises(StoreUnavailable, match=words) as refused:
                await act(Objects(one))
            assert not any(secret in str(refused.value) for secret in (ACCESS_KEY, SECRET_KEY, "another-secret"))
            assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (answer("403 Forbidden", b"<b>key-of-tests</b>"), "answers 403 Forbidden"),
        (answer("200 OK", b"<html>Welcome", "Content-Type: text/html\r\n"), "not that of an S3 store"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "cannot be reached"),
        (b"", "cannot be reached"),
    ],
)
async def test_what_is_no_store_is_named(said: bytes, words: str) -> None:
    """Other servers at its address are unavailable stores, in words that repeat nothing of what they said."""
    async with answering(said) as port:
        for act in (put, delete, list_all):
            with pytest.raises(StoreUnavailable, match=words) as refused:
                await act(Objects(place(port)))
            assert "key-of-tests" not in str(refused.value)


async def test_an_object_that_is_cut_off_is_none() -> None:
    """Bytes that end too early are no object, and those of a page are what they are: the digest of the row refuses them."""
    async with answering(answer("200 OK", b"cut off", length=50)) as port:
        with pytest.raises(StoreUnavailable):
            await get(Objects(place(port)))
    async with answering(answer("200 OK", b"<html>Welcome")) as port:
        assert await get(Objects(place(port))) == b"<html>Welcome"


async def test_a_store_that_is_away_or_silent_takes_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed port is noticed at once, and a server that accepts and says nothing within the bound."""
    monkeypatch.setattr(objects, "SECONDS_MAX", 0.5)
    for act in ACTS:
        with pytest.raises(StoreUnavailable, match=r"cannot be reached|no answer in time"):
            await act(Objects(place(free_port())))
    async with answering(b"", pause=3600.0) as port:
        for act in ACTS:
            with pytest.raises(StoreUnavailable, match="no answer in time"):
                await act(Objects(place(port)))


async def test_a_gigantic_object_is_not_read() -> None:
    """The length that the store says is enough to refuse it."""
    async with answering(answer("200 OK", bytes(1000), length=2**40)) as port:
        store = Objects(place(port))
        with pytest.raises(ObjectTooLarge):
            await store.get("a", 2**20)


async def test_a_redirect_takes_no_signature_elsewhere() -> None:
    """A store that sends requests to another address cannot make the house sign for it."""
    asked: list[bytes] = []
    async with answering(answer("200 OK", b"elsewhere"), asked=asked) as other:
        moved = answer("307 Temporary Redirect", head=f"Location: http://127.0.0.1:{other}/elsewhere\r\n")
        async with answering(moved) as port:
            store = Objects(place(port))
            await store.get("a", 100)
            with pytest.raises(StoreUnavailable, match="307"):
                await store.put("a", b"data", "image/webp")
    assert [False] * len(asked) == [b"authorization" in head.lower() for head in asked]


async def test_the_environment_leads_nowhere_else(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables for AWS's own tools change neither the address nor the account."""
    for name, value in (
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ("AWS_SESSION_TOKEN", "another"),
        ("AWS_ACCESS_KEY_ID", "another"),
        ("AWS_SKIP_SIGNATURE", "true"),
        ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true"),
    ):
        monkeypatch.setenv(name, value)
    bucket = unique("bucket").replace(".", "-")
    object_store.bucket(bucket)
    await Objects(object_store.place(bucket)).put("a", b"data", "image/webp")
    assert {"a": b"data"} == object_store.objects(bucket)


def test_the_address_of_a_bucket() -> None:
    """AWS without an endpoint, and the bucket in the path or in the host."""
    one = place(1)
    assert one.url == "http://127.0.0.1:1/bucket"
    assert replace(one, endpoint=None, region="eu-central-1").url == "https://s3.eu-central-1.amazonaws.com/bucket"
    assert replace(one, endpoint="https://s3.example", bucket_in_host=True).url == "https://bucket.s3.example"
