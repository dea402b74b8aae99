"""Requests that are too large, in each part by turns. The house refuses them quickly, and never breaks."""

from collections.abc import Callable, Iterator

import httpx
import psutil
import pytest

from tests import pictures
from tests.abuse.attack import THERE, HastyHouse, asked, client, sale
from tests.hostile_pictures import chunk, packed_zeros, png
from tests.process import Client

PIECE = "a" * 60_000
GROWTH_BYTES_MAX = 40 * 2**20
"""Memory that pictures may take in the house, which keeps their files; another process decodes them."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HastyHouse]:
    """A house for all of these tests."""
    served = HastyHouse(tmp_path_factory.mktemp("oversized"))
    yield served
    served.kill()


@pytest.fixture(scope="module")
def token(house: HastyHouse) -> str:
    """The token of somebody."""
    people = Client(house.url)
    found = people.enter("somebody")
    people.close()
    return found


def raw(first: str, *headers: str, body: str = "") -> bytes:
    """Return a request as bytes; the connection ends after it."""
    lines = [first + " HTTP/1.1", "Host: x", "X-Requested-With: x", "Connection: close", *headers]
    return "\r\n".join([*lines, "", body]).encode()


def posted(path: str, body: str, kind: str = "application/json", **more: str) -> bytes:
    """Return a request with a body."""
    headers = [
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in more.items()),
    ]
    return raw(f"POST {path}", *headers, body=body)


WHOLE = {
    "a long address": (raw(f"GET /{PIECE}"), 431),
    "a long address of the API": (raw(f"GET /auctions/{'a' * 20_000}"), 431),
    "an address below the limit": (raw(f"GET /auctions/{'a' * 8_000}"), 404),
    "a long query": (raw(f"GET /auctions?q={PIECE[:20_000]}"), 431),
    "many parameters": (raw("GET /auctions?" + "&".join(f"a{n}=1" for n in range(900))), 400),
    "a long header": (raw("GET /auctions", f"X-Long: {PIECE[:20_000]}"), 431),
    "many headers": (raw("GET /auctions", *["a:b"] * 5_000), 431),
    "a long name of a header": (raw("GET /auctions", f"{PIECE[:20_000]}: x"), 431),
    "a long cookie": (raw("GET /", f"Cookie: saleroom_session={PIECE[:20_000]}"), 431),
    "many cookies": (raw("GET /", "Cookie: " + ";".join(["a=b"] * 5_000)), 431),
    "a long method": (raw(f"{'A' * 1000} /auctions"), 400),
    "a long host": (raw("GET /", f"X-Host: {PIECE[:9_000]}"), 431),
    "a long token": (raw("GET /me", f"Authorization: Bearer {PIECE[:7_000]}"), 401),
    "a length of many digits": (
        raw("POST /login", "Content-Type: application/json", "Content-Length: " + "9" * 30),
        400,
    ),
    "a length beyond the limit": (
        raw("POST /login", "Content-Type: application/json", "Content-Length: 99999999999"),
        413,
    ),
    "deep arrays": (posted("/login", "[" * 60_000), 400),
    "deep objects": (posted("/login", '{"a":' * 12_000), 400),
    "deep and closed": (posted("/login", '{"username":' + "[" * 29_000 + "]" * 29_000 + "}"), 400),
    "many members": (posted("/users", "{" + ",".join(f'"a{n}":1' for n in range(6_000)) + "}"), 400),
    "the same member often": (posted("/users", "{" + ",".join(['"username":"x"'] * 4_000) + "}"), 400),
    "a number of many digits": (posted("/users", '{"username":' + "9" * 60_000 + "}"), 400),
    "a large exponent": (posted("/users", '{"username":1e999999999}'), 400),
    "a long name and password": (
        posted("/users", f'{{"username":"{PIECE[:30_000]}","password":"{PIECE[:30_000]}"}}'),
        400,
    ),
    "a long password": (posted("/login", f'{{"username":"somebody","password":"{PIECE}"}}'), 422),
    "a body above the limit": (posted("/login", f'{{"username":"{PIECE}{PIECE}"}}'), 413),
    "many fields of a form": (posted("/session", "&".join(["a=b"] * 10_000), "application/x-www-form-urlencoded"), 413),
    "many parts": (posted("/sell", "--b\r\n\r\n" * 9_000, "multipart/form-data; boundary=b"), 400),
    "a long boundary": (posted("/sell", "x", f"multipart/form-data; boundary={'b' * 5_000}"), 400),
}


@pytest.mark.parametrize("what", WHOLE)
def test_oversized_input_is_refused(house: HastyHouse, what: str) -> None:
    """Each is refused with the right status, never with an internal error."""
    request, status = WHOLE[what]
    answer = asked(house, request)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:300]


@pytest.mark.parametrize(
    "amount", ["9" * 60_000, "0." + "1" * 60_000, "1e99999", "-" + "9" * 5_000, "1" + "0" * 4_400], ids=len
)
def test_amounts_of_many_digits(house: HastyHouse, token: str, amount: str) -> None:
    """An impossible amount is refused at once, as text and as a number."""
    body = f'{{"name": "Clock", "startingPrice": {amount}}}'
    for written in (body, body.replace(amount, f'"{amount}"')):
        answer = asked(house, posted("/auctions", written, Authorization=f"Bearer {token}"))
        assert answer.startswith(b"HTTP/1.1 400 ") and b"startingPrice" in answer


@pytest.mark.usefixtures("token")
def test_a_form_of_many_parts(house: HastyHouse) -> None:
    """A form with files that has more parts than any form of the house is refused, even from a user who may send it."""
    with client(house, THERE) as browser:
        assert 303 == browser.post("/session", data={"username": "somebody", "password": "correct horse"}).status_code
        many = (
            b"".join(b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' for _ in range(1_000))
            + b"--b--\r\n"
        )
        files = many.replace(b'name="a"', b'name="photo"; filename="a.png"')
        for body in (many, files):
            answer = browser.post("/sell", content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})
            assert 400 == answer.status_code


def text_bomb(kind: bytes) -> bytes:
    """Return a PNG whose text or colour profile unpacks to 200 MB."""
    return png((64, 64), chunk(kind, b"x\0\0" + packed_zeros()))


BOMBS: dict[str, Callable[[], bytes]] = {
    "what claims 900 million pixels": lambda: pictures.png_that_claims(30_000, 30_000),
    "what has 60 million in 240 KB": lambda: png((10_000, 6_000)),
    "what has 61 million": lambda: png((10_000, 6_100)),
    "text of 200 MB": lambda: text_bomb(b"zTXt"),
    "a profile of 200 MB": lambda: text_bomb(b"iCCP"),
}


def test_pictures_that_unpack(house: HastyHouse, token: str) -> None:
    """Small files that become large are refused or made, in bounded memory and time, and bids are taken meanwhile."""
    process = psutil.Process(house.process.pid)
    before = process.memory_info().rss
    with sale(house), client(house, THERE) as attacker:
        for what, make in BOMBS.items():
            answer = attacker.post(
                "/photos", content=make(), headers={"Authorization": f"Bearer {token}", "Content-Type": "image/png"}
            )
            assert answer.status_code in (201, 400), f"{what}: {answer.text}"
            assert process.memory_info().rss - before < GROWTH_BYTES_MAX, what


def test_nothing_broke(house: HastyHouse) -> None:
    """After all of it the house serves, and has logged no internal error."""
    assert 200 == httpx.get(f"{house.url}/healthz").status_code
    assert "internal error" not in house.log() and "Traceback" not in house.log()
