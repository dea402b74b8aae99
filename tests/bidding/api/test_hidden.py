"""A raised maximum cannot be noticed: public answers, streams, pages and cursors keep every byte, length and chunk."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from saleroom.bidding.service import ledgers
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import streams as streams_module
from saleroom.feed.feed import Feed
from saleroom.feed.follower import Follower
from saleroom.log import store
from saleroom.storage.database import Database
from tests.bidding.service.people import bid, person, read, sells
from tests.feed.followers import running
from tests.fixtures_house import House, User
from tests.patience import SECONDS_MAX

pytestmark = pytest.mark.databases("sqlite")

SILENCE_SECONDS = 0.5
CURSOR = re.compile(rb"(?<=next\":\")[\w-]+|(?<=cursor=)[\w-]+|(?<=after=)[\w-]{100,}|(?<=now=)[\w-]+|(?<=over=)[\w-]+")
RANDOM = (
    (re.compile(rb"(?i)\r\n(date|set-cookie): [^\r]*"), b""),
    (re.compile(rb"[0-9a-f]{256}"), b"a token of a form"),
    (re.compile(rb"retry: \d+"), b"retry"),
    (re.compile(rb'(?<="stream.started","time":")[^"]+'), b"the running clock of a stream"),
    (re.compile(rb"(?<=: time )[^\n]+|(?<=event: time\ndata: )[^\n]+"), b"the running clock of a stream"),
)
"""Parts that are random or the machine's time. All other parts must be the same."""

Answer = tuple[bytes, list[bytes]]


def normal(raw: bytes) -> bytes:
    """Return an answer without its random parts, and cursors by their length."""
    for pattern, by in RANDOM:
        raw = pattern.sub(by, raw)
    return CURSOR.sub(lambda found: b"<%d>" % len(found[0]), raw)


class OneRequest:
    """A connection for one request."""

    def __init__(self, house: House, path: str, *headers: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", house.port))
        lines = (f"GET {path} HTTP/1.1", "Host: house.example", "Connection: close", *headers)
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._seen = b""

    def read(self, seconds: float, awaits: int = 0) -> bytes:
        """Return the bytes until nothing comes for `seconds` or the answer ends, after at least `awaits` parts."""
        got = b""
        try:
            while True:
                self._socket.settimeout(seconds if len(chunked(got)[1]) >= awaits else SECONDS_MAX)
                more = self._socket.recv(1 << 16)
                if not more:
                    return got
                got += more
        except TimeoutError:
            return got

    def next(self) -> bytes:
        """Return the next bytes."""
        self._socket.settimeout(SECONDS_MAX)
        return self._socket.recv(1 << 16)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def chunked(raw: bytes) -> Answer:
    """Return the head of an answer and its body, chunk by chunk if it has chunks."""
    head, _, body = raw.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return normal(head), [normal(body)] if body else []
    chunks = []
    while b"\r\n" in body:
        size, _, body = body.partition(b"\r\n")
        chunks.append(normal(body[: int(size, 16)]))
        body = body[int(size, 16) + 2 :]
    return normal(head), chunks


def paths(house: House, gid: str) -> Iterator[str]:
    """Yield every address that may tell of an auction, and the second page of each list."""
    lists = [f"/auctions?limit=1&sort={sort}" for sort in ("ending", "newest", "price")]
    lists += [f"/auctions/{gid}/bids?limit=1"]
    for one in lists:
        yield one
        yield f"{one}&cursor={house.anyone.json('GET', one)['next']}"
    yield from (f"/auctions/{gid}", f"/auctions/{gid}/ledger", f"/auctions/{gid}/photos", "/auctions?q=clock")
    yield from (f"/lots/{gid}", f"/lots/{gid}/bids", f"/lots/{gid}/box", f"/lots/{gid}/screen", "/", "/?sort=price")
    yield from ("/healthz", "/readyz", "/time", "/.well-known/saleroom.json")
    yield from ("/me", "/me/bids?limit=1", "/me/auctions?limit=1", "/me/watching?limit=1", "/me/sessions")
    yield from ("/mine", "/mine/selling", "/mine/watching", f"/sell/{gid}")


def streams(gid: str) -> list[str]:
    """Return the addresses of all streams."""
    at_once = [f"/auctions/{gid}/events?after=0", "/events?after=0", f"/lots/{gid}/live?after=1"]
    return [*at_once, f"/auctions/{gid}/events", "/events", f"/lots/{gid}/screen/live", f"/live?lots={gid}"]


def looks(house: House, gid: str, readers: list[User], given: list[str]) -> dict[tuple[str, str], Answer]:
    """Return all answers to anyone and to `readers`; `given` are addresses with earlier cursors."""
    found = {}
    for path in [*given, *paths(house, gid)]:
        for reader in (None, *readers):
            headers = [] if reader is None else [f"Authorization: Bearer {reader.token}"]
            headers += [] if reader is None else [f"Cookie: saleroom_session={reader.token}"]
            with closing(OneRequest(house, path, *headers)) as line:
                found[normal(path.encode()).decode(), "" if reader is None else reader.name] = chunked(
                    line.read(SECONDS_MAX)
                )

    def beginning(path: str) -> Answer:
        """Return the beginning of the stream, and then the earlier events."""
        with closing(OneRequest(house, path)) as line:
            return chunked(line.read(SILENCE_SECONDS, 2 if "after=" in path else 1))

    with ThreadPoolExecutor() as pool:
        found |= {
            (path, ""): answer for path, answer in zip(streams(gid), pool.map(beginning, streams(gid)), strict=True)
        }
    return found


def silent(lines: list[OneRequest], awaits: int = 0) -> list[bytes]:
    """Return the bytes of each connection until nothing comes any more, all at the same time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda line: line.read(SILENCE_SECONDS, awaits), lines))


@pytest.mark.databases("sqlite", "postgresql")
def test_no_public_byte_tells_of_a_raise(clocked_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that others can read is the same before and after raises, chunk by chunk, also with earlier cursors."""
    monkeypatch.setattr(ledgers, "PAGE", 3)
    monkeypatch.setattr(streams_module, "COMMENT_SECONDS", 3600.0)
    house = clocked_house
    ada, bob, cyd = house.user("ada"), house.user("bob"), house.user("cyd")
    gid, other, _ = (ada.auction(name=f"Clock {number}") for number in range(3))
    for lot in (gid, other):
        for price in (10, 20, 30, 40):
            assert 201 == cyd.bid(lot, amount=price).status_code
            assert 201 == bob.bid(lot, maximum=price + 5).status_code
    given = list(paths(house, gid))[:8]
    with ExitStack() as stack:
        open_ = [stack.enter_context(closing(OneRequest(house, path))) for path in streams(gid)]
        assert all(silent(open_, 1))
        compare(house, gid, bob, given, open_)
        assert 201 == cyd.bid(gid, amount=50).status_code
        assert all(line.next() for line in open_)
    with closing(OneRequest(house, f"/auctions/{gid}/ledger")) as line:
        _, chunks = chunked(line.read(SECONDS_MAX))
    assert [3, 3, 3, 3, 2] == [chunk.count(b"\n") for chunk in chunks if chunk]


def compare(house: House, gid: str, bob: User, given: list[str], open_: list[OneRequest]) -> None:
    """Look, raise, and look again."""
    readers = [house.user("ada"), house.user("cyd")]
    before = looks(house, gid, readers, given)
    assert any(len(chunks) > 2 for (path, _), (_, chunks) in before.items() if path.endswith("/ledger"))
    for maximum in range(100, 108):
        assert 201 == bob.bid(gid, maximum=maximum).status_code
    assert [b""] * len(open_) == silent(open_)
    after = looks(house, gid, readers, given)
    assert list(before) == list(after)
    for at, answer in before.items():
        assert answer == after[at], at


@pytest.mark.parametrize("raises", [0, 7])
async def test_pages_of_events_do_not_reveal_raises(
    database: Database, monkeypatch: pytest.MonkeyPatch, raises: int
) -> None:
    """Followers get events in pages with the same edges, however many raises lie between them."""
    monkeypatch.setattr(store, "PAGE_MAX", 5)
    bob, cyd = await person(database), await person(database)
    gid = await sells(database, await person(database))
    feed, pages = Feed(database, LOG, 10), list[int]()
    async with running(feed):
        follower = await feed.follow(gid, None)
    monkeypatch.setattr(Follower, "push", lambda _, events: pages.append(len(events)))
    assert ["accepted"] * 2 == await bid(database, cyd.bids(gid, "110"), bob.bids(gid, "up to 10000"))
    raised = [bob.bids(gid, f"up to {20_000 + number}") for number in range(raises)]
    await database.write(place_bids, [*raised, *(cyd.bids(gid, f"{1000 * number}") for number in range(1, 8))])
    await feed._look()
    assert [5, 5, 5, 1] == pages
    follower.close()


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize("raises", [0, 1, 5])
async def test_no_receipt_tells_of_a_raise(database: Database, raises: int) -> None:
    """The receipts of a transaction have the same size and places, however many raises of others were decided in it."""
    bob, cyd = await person(database), await person(database)
    gids = [await sells(database, bob) for _ in range(4)]
    leaders = [await person(database) for _ in gids]
    for gid, leader in zip(gids, leaders, strict=True):
        assert ["accepted"] == await bid(database, leader.bids(gid, "up to 10000"))
    raised = [leaders[n % 4].bids(gids[n % 4], f"up to {20_000 + n}") for n in range(raises)]
    commands = [*raised, *(cyd.bids(gid, "1000") for gid in gids[:3])]
    texts = [read(answer)["receipt"] for answer in await database.write(place_bids, commands)]
    assert ["0"] * raises == [text.split("~")[2] for text in texts[:raises]]
    assert raises == len({text.split("~")[0] for text in texts[:raises]})
    places = [text.split("~")[2].split(".") for text in texts[raises:]]
    assert [("0", 2), ("1", 2), ("2", 1)] == [(place, len(path)) for place, *path in places]
    assert 1 == len({text.split("~")[0] for text in texts[raises:]})
