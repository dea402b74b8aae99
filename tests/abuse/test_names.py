"""Names that attack the places that show them: pages, streams, headers, topics, terminals, logs."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from tests import wire
from tests.abuse.attack import credentials
from tests.patience import SECONDS_MAX
from tests.process import PASSWORD, Client, ServeProcess, saleroom
from tests.tools.watch.watching import Watcher

PLAIN = "Longcase clock"
HOSTILE = [
    "<script>alert(1)</script>",
    "</title></script><img src=x onerror=alert(1)>",
    '" autofocus onfocus="alert(1)',
    "' onmouseover='alert(1)",
    "<!-- <svg onload=alert(1)>",
    "]]></textarea><iframe src=//evil.example>",
    "{{7*7}} ${7*7} {% raw %} #{7*7} %(x)s {0.__class__}",
    "javascript:alert(1)",
    "&lt;b&gt; &#60;b&#62;",
    "data: x event: y id: z",
    "a\u200bb\u200dc\ufeffd",
    "\U0001f528 \U00010348 \u05d0\u05d1 \u0639\u0631\u0628",
    "e\u0301\u0302\u0323 Z\u0308\u0336",
    "+/#/$SYS/broker",
    "=HYPERLINK(1) @SUM(1) -2+3|cmd",
    "%0d%0aSet-Cookie: a=b",
    "../../etc/passwd",
    "'; DROP TABLE auctions; --",
]
"""Hostile names that are allowed, and must be shown unchanged everywhere."""
REFUSED = [
    "a\u202eb",
    "a\u2066b",
    "a\x00b",
    "a\x1b[2Jb",
    "a\nb",
    "a\r\nSet-Cookie: x",
    "a\x9b31mb",
    "e" + "\u0301" * 9,
    "e" + "\u20dd" * 9,
    "\u0e01" + "\u0e34" * 9,
    "\u200b\u200b\u200b",
    "\u3164",
    "\u00ad\u0300",
]
"""Names that turn the direction, steer a terminal, end a line, cover their neighbours, or show nothing."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    """A house with its own broker, for all of these tests."""
    served = ServeProcess(
        tmp_path_factory.mktemp("names"), mqtt_port="0", database=f"sqlite:///{tmp_path_factory.getbasetemp()}/names.db"
    )
    yield served
    served.kill()


@pytest.fixture(scope="module")
def people(house: ServeProcess) -> Iterator[Client]:
    """A client of the house."""
    visitor = Client(house.url)
    yield visitor
    visitor.close()


@pytest.fixture(scope="module")
def seller(people: Client) -> str:
    """The token of the seller of all lots."""
    return people.enter("seller")


class Shape(HTMLParser):
    """A page as elements with the names of their attributes; `links` are its targets, `text` is its visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, *sorted(name for name, _ in attrs)))
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "hx-sse:connect")]

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.fixture(scope="module")
def browser(house: ServeProcess, seller: str) -> Iterator[httpx.Client]:
    """The seller's browser, logged in."""
    assert seller
    with httpx.Client(base_url=house.url, headers={"X-Requested-With": "test"}) as window:
        assert 303 == window.post("/session", data={"username": "seller", "password": PASSWORD}).status_code
        yield window


def pages_of(browser: httpx.Client, gid: str) -> dict[str, httpx.Response]:
    """Return the pages that show a lot, as its seller sees them, by name."""
    paths = {"lot": "/lots/{}", "screen": "/lots/{}/screen", "sell": "/sell/{}", "bids": "/lots/{}/bids"}
    return {name: browser.get(path.format(gid)) for name, path in paths.items()}


@pytest.fixture(scope="module")
def shapes(browser: httpx.Client, people: Client, seller: str) -> dict[str, list[tuple[str, ...]]]:
    """The elements of the pages of a lot with a plain name."""
    people.sell(seller, name=PLAIN)  # every page of a lot leads to the lot before it
    gid = people.sell(seller, name=PLAIN, description=PLAIN)
    return {name: Shape(page.text).elements for name, page in pages_of(browser, gid).items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_text(
    browser: httpx.Client, people: Client, seller: str, shapes: dict[str, list[tuple[str, ...]]], name: str
) -> None:
    """A page of a lot with a hostile name has the elements of any other, leads nowhere else, and shows the name as it is."""
    gid = people.sell(seller, name=name, description=name)
    for page, answer in pages_of(browser, gid).items():
        assert 200 == answer.status_code
        shape = Shape(answer.text)
        assert shapes[page] == shape.elements, page
        assert " ".join(name.split()) in " ".join(shape.text.split()) or page == "bids", page
        assert [] == [link for link in shape.links if not re.match(r"[/#?]|https?://127\.0\.0\.1:", link) and link]
        assert not any(name in f"{key}: {value}" for key, value in answer.headers.items())
    assert name == people.get(f"/auctions/{gid}")["name"]


def test_the_home_page_and_the_streams(house: ServeProcess, people: Client, seller: str) -> None:
    """Home, its search, and the stream of a page hold no element that a name has brought along."""
    gid = people.sell(seller, name=HOSTILE[0], description=HOSTILE[1])
    for path in ("/", f"/?q={HOSTILE[2]}", "/?q=<script>alert(1)</script>"):
        shape = Shape(httpx.get(f"{house.url}{path}").text)
        brought = [element for element in shape.elements if element[0] in ("iframe", "svg") or "onerror" in element]
        assert [] == [one for one in brought if one[0] != "svg"]
        assert [] == [element for element in shape.elements if any(name.startswith("on") for name in element[1:])]
    people.post(f"/auctions/{gid}/bids", people.enter("bidder"), {"amount": "100"})
    with httpx.stream("GET", f"{house.url}/lots/{gid}/live?after=1") as stream:
        text = ""
        for chunk in stream.iter_text():
            text += chunk
            if "lot-panel" in text and "\n\n" in text.partition("lot-panel")[2]:
                break
    assert "alert(1)" not in re.sub(r"&lt;.*?&gt;", "", text)
    assert "<script" not in text and "onerror=alert" not in text.replace("&lt;img src=x onerror=alert", "")


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_names_that_are_none(people: Client, seller: str, name: str) -> None:
    """A name that cannot be shown as text is refused; the fault names the field and a remedy."""
    answer = people.ask("POST", "/auctions", seller, {"name": name, "startingPrice": "1"})
    assert (400, ["name"]) == (answer.status_code, list(answer.json()["message"]))


@pytest.mark.parametrize(
    "name", ["<b>x</b>", "a b", "a+b", "a/b", "a#b", "\u0430da", "ad\u0430", "a\u202eb", "a\nb", "-" * 33]
)
def test_usernames_cannot_attack(people: Client, name: str) -> None:
    """A username has few allowed characters: it fits into a line, a page, a topic, and looks like no other."""
    answer = people.ask("POST", "/users", body=credentials(name)["json"])
    assert (400, ["username"]) == (answer.status_code, list(answer.json()["message"]))


def test_topics_and_terminals(house: ServeProcess, people: Client, seller: str, tmp_path: Path) -> None:
    """A name is in no MQTT topic; a watch shows each event in one line without a control character; users are a line each."""
    device = wire.RawClient(house.mqtt_port)
    device.send(wire.packet(0x10, wire.text("MQTT") + b"\x04\x02\x00\x3c" + wire.text("abuse")))
    device.take()
    device.send(wire.packet(0x82, b"\0\1" + wire.text("saleroom/auctions/+/events") + b"\0"))
    device.take()
    name = "+/#/$SYS/\u200b\ufeff\u2028x"
    refused = people.ask("POST", "/auctions", seller, {"name": name, "startingPrice": "1"})
    name = name if refused.status_code == 201 else HOSTILE[13]
    gid = people.sell(seller, name=name)
    while True:
        body = device.take().data
        topic = body.partition(b"saleroom/")[2].partition(b"{")[0].decode()
        assert re.fullmatch(r"auctions/[A-Za-z0-9_-]+/events", topic)
        if gid in topic:
            break
    device.close()
    watch = Watcher(tmp_path, house.url, gid)
    watch.until_live()
    assert people.ask("DELETE", f"/auctions/{gid}", seller).is_success
    watch.process.wait(SECONDS_MAX)
    assert watch.lines and all(line.isprintable() for line in watch.lines)
    listed = saleroom(tmp_path, "users", "list", database=f"sqlite:///{tmp_path.parent}/names.db").stdout
    assert all(re.fullmatch(r"[a-z0-9._-]+\t[-0-9T:.Z]+\t[a-z]+", line) for line in listed.splitlines())


def test_logs_are_lines(house: ServeProcess, people: Client, seller: str) -> None:
    """Neither a name nor a path ends a line of the log or steers the terminal that shows it."""
    people.ask("GET", "/auctions/%1b[2J%0d%0aFAKE")
    people.ask("POST", "/login", body={"username": "a\r\nFAKE \x1b[2J", "password": "x" * 8})
    log = house.log()
    assert "FAKE" not in log and "\x1b" not in log
    assert json.dumps(PLAIN) not in log
