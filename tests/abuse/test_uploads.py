"""Photos that come in slowly, or never to their end: from one user, from one network, as a body and as a form."""

import contextlib
import json
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from saleroom.bidding.service.photos import PLACES, PLACES_OF_NETWORK, PLACES_OF_USER
from tests.abuse.attack import ELSEWHERE, HERE, THERE, HastyHouse, asked, client, dial, rest
from tests.bidding.service.test_decoder import BEGINNING, SLEEPS, gone, is_decoder
from tests.hostile_pictures import jpeg_of_scans
from tests.patience import SECONDS_MAX
from tests.pictures import plain
from tests.process import Client, wait_until

PICTURE = plain((1000, 500))
NEVER_ENDING = BEGINNING + SLEEPS + "\nprogram.main()"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HastyHouse]:
    """A house as patient as any."""
    served = HastyHouse(tmp_path_factory.mktemp("uploads"), test_constants="{}")
    yield served
    served.kill()


@pytest.fixture(scope="module")
def tokens(house: HastyHouse) -> dict[str, str]:
    """The tokens of some people."""
    return entered(house, "ada", "bob", "carl")


def entered(house: HastyHouse, *names: str) -> dict[str, str]:
    """Register people and return their tokens."""
    people = Client(house.url)
    try:
        return {name: people.enter(name) for name in names}
    finally:
        people.close()


def as_body(token: str, length: int = 19_000_000) -> bytes:
    """Return the beginning of a photo of this length."""
    head = [
        "POST /photos HTTP/1.1",
        "Host: x",
        "X-Requested-With: x",
        f"Authorization: Bearer {token}",
        "Content-Type: image/jpeg",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + PICTURE[:100]


def as_form(token: str, length: int = 19_000_000, path: str = "/sell/photos") -> bytes:
    """Return the beginning of a form with a photo; an empty token is a stranger's."""
    head = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        "X-Requested-With: x",
        f"Cookie: saleroom_session={token}",
        "Content-Type: multipart/form-data; boundary=b",
        f"Content-Length: {length}",
    ]
    part = '--b\r\nContent-Disposition: form-data; name="files"; filename="a.jpg"\r\n\r\n'
    return "\r\n".join([*head, "", ""]).encode() + part.encode() + PICTURE[:100]


@contextlib.contextmanager
def begun(house: HastyHouse, requests: list[tuple[bytes, str]]) -> Iterator[list[socket.socket]]:
    """Begin requests from addresses, and never complete them."""
    with contextlib.ExitStack() as open_ones:
        connections = [open_ones.enter_context(dial(house, source)) for _, source in requests]
        for connection, (request, _) in zip(connections, requests, strict=True):
            connection.sendall(request)
        yield connections


def answered(connections: list[socket.socket], count: int) -> list[bytes]:
    """Return the status lines of the `count` that were answered; all others still wait."""
    wait_until(lambda: len(select.select(connections, [], [], 0)[0]) >= count)
    return [one.recv(65536) for one in select.select(connections, [], [], 0)[0]]


def sends(house: HastyHouse, token: str, source: str) -> int:
    """Return the status of a photo that is sent whole."""
    with client(house, source) as sender:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "image/jpeg"}
        return sender.post("/photos", content=PICTURE, headers=headers).status_code


def is_quiet(house: HastyHouse, token: str) -> bool:
    """Whether the places of those who have hung up are free again."""
    wait_until(lambda: sends(house, token, THERE) == 201)
    return True


@pytest.mark.parametrize("kind", ["body", "form", "both"])
def test_one_user_has_a_share(house: HastyHouse, tokens: dict[str, str], kind: str) -> None:
    """Of sixteen photos that one user begins six have a place; the others are told when to come again, and others go on."""
    kinds = [begin for name, begin in (("body", as_body), ("form", as_form)) if kind in (name, "both")]
    ada, bob = tokens["ada"], tokens["bob"]
    requests = [(kinds[n % len(kinds)](ada), THERE) for n in range(PLACES)]
    with begun(house, requests) as connections:
        answers = answered(connections, PLACES - PLACES_OF_USER)
        assert PLACES - PLACES_OF_USER == len(answers)
        assert all(one.startswith(b"HTTP/1.1 429 ") and b"\r\nretry-after: 5\r\n" in one.lower() for one in answers)
        assert 429 == sends(house, ada, ELSEWHERE)
        assert [201, 201] == [sends(house, bob, source) for source in (THERE, ELSEWHERE)]
    assert is_quiet(house, ada)


def test_one_network_has_a_share(house: HastyHouse, tokens: dict[str, str]) -> None:
    """Several users of one network have ten places; at another address the same people are served."""
    requests = [(as_body(tokens[name]), THERE) for name in ("ada", "bob", "carl") for _ in range(5)]
    with begun(house, requests) as connections:
        assert 15 - PLACES_OF_NETWORK == len(answered(connections, 15 - PLACES_OF_NETWORK))
        assert 429 == sends(house, tokens["carl"], THERE)
        assert 201 == sends(house, entered(house, "dora")["dora"], ELSEWHERE)
    assert is_quiet(house, tokens["carl"])


def test_a_large_form_takes_many_places(house: HastyHouse, tokens: dict[str, str]) -> None:
    """A form counts by its length, so that what all forms keep on the disk is bounded; one without a length is the largest."""
    ada = tokens["ada"]
    unsaid = as_form(ada).replace(b"Content-Length: 19000000", b"Transfer-Encoding: chunked").partition(b"\r\n\r\n")[0]
    for request in (as_form(ada, 115_000_000), unsaid + b"\r\n\r\n5\r\n--b\r\n\r\n"):
        with begun(house, [(request, THERE)] * 2) as connections:
            [answer] = answered(connections, 1)
            assert answer.startswith(b"HTTP/1.1 429 ")
            assert 429 == sends(house, ada, THERE)
        assert is_quiet(house, ada)


def test_strangers_share_a_place_of_one(house: HastyHouse, tokens: dict[str, str]) -> None:
    """Forms of strangers count for their network, and no logged-in user waits for them."""
    with begun(house, [(as_form("", path="/sell"), THERE)] * 8) as connections:
        assert 2 == len(answered(connections, 2))
        assert 201 == sends(house, tokens["ada"], THERE)


@pytest.mark.parametrize("begin", [as_body, as_form], ids=["body", "form"])
def test_a_trickle_ends(tmp_path: Path, begin: object) -> None:
    """An upload slower than any network is ended long before its five minutes, with an answer that says so."""
    assert callable(begin)
    served = HastyHouse(tmp_path, test_constants=json.dumps({"saleroom.http.multipart:PACE_SECONDS": 1.0}))
    try:
        token = entered(served, "ada")["ada"]
        with dial(served) as connection:
            connection.sendall(begin(token))
            deadline = time.monotonic() + SECONDS_MAX
            while not select.select([connection], [], [], 0.1)[0] and time.monotonic() < deadline:
                connection.sendall(b"x")
            assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
    finally:
        served.kill()


def decoding_for_ever(folder: Path) -> HastyHouse:
    """Start a house whose decoder never comes to an end."""
    constants = {
        "saleroom.confined.confinement:START": NEVER_ENDING,
    }
    return HastyHouse(folder, test_constants=json.dumps(constants))


def decoder_of(house: HastyHouse) -> psutil.Process:
    """Return the process that decodes, once there is one."""
    children = psutil.Process(house.process.pid).children
    wait_until(lambda: any(map(is_decoder, children())))
    return next(filter(is_decoder, children()))


def whole(token: str) -> bytes:
    """Return a request with a whole photo."""
    return as_body(token, len(PICTURE))[:-100] + PICTURE


def test_a_picture_of_a_client_that_hung_up_is_not_decoded(tmp_path: Path) -> None:
    """Once its client has gone a picture costs nothing: neither one that is decoded nor those that wait."""
    served = decoding_for_ever(tmp_path)
    try:
        token = entered(served, "ada")["ada"]
        with contextlib.ExitStack() as open_ones:
            for _ in range(3):
                open_ones.enter_context(dial(served)).sendall(whole(token))
            first = decoder_of(served)
        assert gone(first)
        wait_until(lambda: not psutil.Process(served.process.pid).children())
    finally:
        served.kill()


def test_the_end_of_the_house_waits_for_no_photo(tmp_path: Path) -> None:
    """A house that stops tells the senders of photos, and ends; a running decoder ends with it."""
    served = decoding_for_ever(tmp_path)
    try:
        token = entered(served, "ada")["ada"]
        with begun(served, [(whole(token), HERE), (as_body(token), HERE), (as_form(token), HERE)]) as connections:
            process = decoder_of(served)
            served.process.send_signal(signal.SIGTERM)
            answers = [rest(connection) for connection in connections]
            assert [b"HTTP/1.1 503"] * 3 == [answer[:12] for answer in answers]
            assert 0 == served.wait()
        assert gone(process)
    finally:
        served.kill()


def test_an_answer_says_what_to_do(house: HastyHouse, tokens: dict[str, str]) -> None:
    """A picture that costs too much is 400 with a fault of `photo` that names the remedy."""
    data = jpeg_of_scans(9_000)
    answer = asked(
        house, as_body(tokens["ada"], len(data))[:-100].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + data
    )
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"image_too_costly"' in answer and b"baseline" in answer
