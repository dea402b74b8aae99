"""`python -m tests.holds`: how long each address of a house holds the event loop, and so every bid.

Each request is sent several times to a house in this process. The result is the processor time of the longest step of the
loop, the first time and the best of the later ones; other programs on the machine do not count.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from structlog.testing import capture_logs

from saleroom.compose import ENDPOINTS
from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests import pictures
from tests.fixtures_house import PASSWORD, House, User, settings_for
from tests.page_routes import methods, page_routes
from tests.patience import SECONDS_MAX

TIMES = 4
LOTS, BIDS, SESSIONS = 110, 500, 20
TEXT = ('"Ä\u0301<&>漢 ' * 2000)[:10_000]
"""Ten thousand characters that are longer in HTML, in JSON and in UTF-8."""
LONG = "x" * 60_000
BROWSER = {"Accept-Encoding": "br", "Accept-Language": "de-DE,de;q=0.9"}
BODIES = {
    "deep": "[" * 60_000,
    "deep object": '{"name":' * 7_000,
    "unknown members": "{" + ",".join(f'"a{number}":1' for number in range(5_500)) + "}",
    "one member often": "{" + ",".join(['"name":""'] * 5_000) + "}",
    "digits": '{"startingPrice":' + "9" * 60_000 + ',"amount":' + "9" * 4_000 + "}",
    "long text": json.dumps({"name": LONG[:30_000], "description": "é" * 10_000}),
    "marks": json.dumps({"name": "a" + "\u0301" * 9_000}, ensure_ascii=False),
    "tiers": '{"increment":[' + ",".join(['{"from":"0","step":"1"}'] * 2_500) + "]}",
    "photos": '{"photos":[' + ",".join(['"abcdefgh"'] * 5_500) + "]}",
    "escapes": '{"description":"' + "\\u00e9" * 10_000 + '"}',
}
HEADERS = {
    "languages": {"Accept-Language": ",".join(f"a{n}-b-c-d;q=0.{n % 9}" for n in range(450))},
    "subtags": {"Accept-Language": "-".join(["a"] * 3_500)},
    "codings": {"Accept-Encoding": ",".join(f"c{n};q=0.5" for n in range(600))},
    "cookies": {"Cookie": "; ".join(f"a{n}=b" for n in range(800))},
    "quoted cookies": {"Cookie": 'a="' + '\\"' * 3_500 + '"'},
    "tags": {"If-None-Match": ",".join(f'"{n}"' for n in range(1_200))},
    "open tags": {"If-None-Match": '"' * 7_000},
    "a program": {"User-Agent": "Edg" * 2_400},
    "a referer": {"Referer": "http://" + "a" * 7_000, "X-Requested-With": "x"},
    "an event": {"Last-Event-ID": "9" * 7_000},
    "a token": {"Authorization": "Bearer " + "a" * 7_000},
    "a key": {"Idempotency-Key": "k" * 7_000},
}
Row = tuple[str, str, str, dict[str, Any]]
"""Name, method, path, and httpx's other arguments."""


class LoopWatch(House):
    """A house whose loop records its longest step."""

    longest = 0.0

    def _run(self) -> None:
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest = max(self.longest, time.thread_time() - began)

        asyncio.Handle._run = timed  # type: ignore[assignment,method-assign]  # this process does nothing else
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # handed to the main thread, which raises it
            self._failed = error
            self._started.set()


def furnish(house: House) -> tuple[User, str]:
    """Fill the house; return a seller of many lots, who has many sessions, and a lot with many bids."""
    seller, first, second = house.user("ada"), house.user("grace"), house.user("hedy")
    for number in range(LOTS):
        seller.auction(
            name=f"{TEXT[:150]} {number}", description=TEXT, endsAt=f"2099-01-{number % 28 + 1:02}T00:00:00Z"
        )
    gid = seller.auction(name=TEXT[:190], description=TEXT)
    for amount in range(BIDS):
        (first, second)[amount % 2].bid(gid, amount=str(10 + amount))
    photo = seller.json("POST", "/photos", content=pictures.plain((900, 600)), headers={"Content-Type": "image/jpeg"})
    lot = seller.gid()
    seller.json("PUT", f"/auctions/{lot}/photos", json={"photos": [photo["id"]]})
    for _ in range(SESSIONS):
        house.anyone.json("POST", "/login", json={"username": "ada", "password": PASSWORD})
    return seller, gid


def rows(user: User, gid: str) -> Iterator[Row]:
    """Yield every request: each address as intended, each form with each body, some addresses with each header."""
    yield from api_rows(user, gid)
    yield from page_rows(user, gid)
    yield from header_rows(gid)
    yield from query_rows(user, gid)


def address(template: str, gid: str) -> str:
    """Return the path of an address, on that lot."""
    values = {"{gid}": gid, "{id}": "9" * 17, "{width}": "400", "{tag}": "de", "{file:path}": "site.css"}
    for name, value in values.items():
        template = template.replace(name, value)
    return template


def api_rows(user: User, gid: str) -> Iterator[Row]:
    """Yield requests to each address of the API, with each body where it takes one."""
    for row in ENDPOINTS:
        if row.stream or (row.path in ("/logout", "/me/sessions") and row.method == "DELETE"):
            continue
        path = address(row.path, gid)
        path += "?limit=100" if any(field.name == "limit" for field in row.query) else ""
        token = {"Authorization": f"Bearer {user.token}", "X-Requested-With": "x"}
        if row.form is None:
            yield (row.path, row.method, path, {"headers": token})
            continue
        for name, body in BODIES.items():
            more = {
                "content": body.encode("utf-8", "surrogatepass"),
                "headers": {**token, "Content-Type": "application/json"},
            }
            yield (f"{row.path}: {name}", row.method, path, more)


def page_rows(user: User, gid: str) -> Iterator[Row]:
    """Yield requests to each address of the pages, packed in each way, with long forms where they take one."""
    session = {"Cookie": f"saleroom_session={user.token}", "X-Requested-With": "x"}
    form = "&".join([f"f{number}={'%22' * 200}" for number in range(100)])
    texts = {
        "name": TEXT[:200],
        "username": LONG,
        "description": TEXT,
        "amount": LONG,
        "maximum": LONG,
        "next": "/" + LONG,
    }
    parts = [("tierFrom", (None, '"' * 1000)) for _ in range(90)] + [
        ("tierStep", (None, '"' * 1000)) for _ in range(90)
    ]
    parts += [(name, (None, '"' * 60_000)) for name in ("description", "zone", "name")]
    for route in page_routes():
        path = address(route.path, gid)
        if path.endswith("/live") or path.startswith(("/session/end", "/mine/sessions/end")):
            continue
        for method in methods(route):
            if method == "GET":
                for coding in ("br", "gzip"):
                    headers = {**BROWSER, **session, "Accept-Encoding": coding}
                    yield (f"{route.path} {coding}", method, path, {"headers": headers})
            elif method == "POST":
                yield (
                    f"{route.path}: 100 fields",
                    method,
                    path,
                    {
                        "content": form.encode(),
                        "headers": {**BROWSER, **session, "Content-Type": "application/x-www-form-urlencoded"},
                    },
                )
                yield (f"{route.path}: long fields", method, path, {"data": texts, "headers": {**BROWSER, **session}})
                if route.path.startswith("/sell"):
                    yield (f"{route.path}: parts", method, path, {"files": parts, "headers": {**BROWSER, **session}})


def header_rows(gid: str) -> Iterator[Row]:
    """Yield requests with headers as long as a house takes them."""
    for name, headers in HEADERS.items():
        for method, path in (
            ("GET", "/"),
            ("GET", "/auctions"),
            ("GET", "/assets/site.css"),
            ("GET", f"/auctions/{gid}"),
            ("POST", "/session"),
            ("GET", f"/lots/{gid}/live"),
            ("GET", "/nowhere"),
        ):
            if not path.endswith("/live") or name == "an event":
                yield (f"{path.replace(gid, '{gid}')} with {name}", method, path, {"headers": headers})


def query_rows(user: User, gid: str) -> Iterator[Row]:
    """Yield requests with long addresses and hosts, and those of strangers."""
    session = {"Cookie": f"saleroom_session={user.token}"}
    query = "&".join(f"a{number}=%22" for number in range(700))
    for path in ("/", "/auctions", f"/lots/{gid}/screen", "/login", "/mine"):
        yield (
            f"{path.replace(gid, '{gid}')} with 700 parameters",
            "GET",
            f"{path}?{query}",
            {"headers": {**BROWSER, **session}},
        )
    for path in ("/", f"/lots/{gid}", "/auctions?limit=100", f"/auctions/{gid}/ledger"):
        yield (f"{path.replace(gid, '{gid}')} of a stranger", "GET", path, {"headers": BROWSER})
    yield ("/ with a search", "GET", f"/?q={'%C3%A9' * 200}", {"headers": BROWSER})
    yield (
        "/lots/{gid}/qr.svg for a long host",
        "GET",
        f"/lots/{gid}/qr.svg",
        {"headers": {"Host": "a." * 120 + "example"}},
    )
    yield ("/live of 100 lots", "GET", "/live?lots=" + ",".join(["A" * 60] * 100), {"headers": BROWSER})


def measure(house: LoopWatch, client: httpx.Client, row: Row) -> tuple[float, float, int]:
    """Return the longest step of the loop at the first time, the least of those of later times, and the status."""
    _, method, path, more = row
    found = []
    status = 0
    for _ in range(TIMES):
        house.longest = 0.0
        with client.stream(method, path, **more) as answer:
            status = answer.status_code
            if "event-stream" not in answer.headers.get("content-type", ""):
                answer.read()
        # The step that sent the answer may not be over when the answer is here.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), house._loop).result(30)
        found.append(house.longest)
    return found[0], min(found[1:]), status


def main(least: float, url: str | None = None) -> None:
    """Print every request that held the loop for at least so many milliseconds, the longest first.

    `url` is that of an empty database of PostgreSQL, where use cases run in the thread of the loop; otherwise it is SQLite.
    """
    with tempfile.TemporaryDirectory() as folder, capture_logs():
        url = url or f"sqlite:///{Path(folder) / 'house.db'}"

        async def made() -> None:
            database = Database(url)
            await database.write(migrate)
            await database.close()

        asyncio.run(made())
        house = LoopWatch(settings_for(url))
        house.start()
        user, gid = furnish(house)
        with httpx.Client(base_url=house.base, timeout=SECONDS_MAX) as client:
            found = [(measure(house, client, row), row) for row in rows(user, gid)]
        house.stop()
    found.sort(key=lambda one: -one[0][1])
    for (first, later, status), (name, method, _, _) in found:
        if later * 1000 >= least:
            print(f"{first * 1000:8.1f} {later * 1000:8.2f} ms  {status}  {method:<6} {name}")  # noqa: T201  # a program that talks to people
    print(f"{len(found)} requests; the others held it for less than {least} ms")  # noqa: T201  # as above


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, *sys.argv[2:3])
