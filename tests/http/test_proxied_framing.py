"""Where a request ends, for nginx, HAProxy and the house on the same bytes."""

import contextlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.http.echo import Echo, answers
from tests.http.framings import FRAMINGS
from tests.http.proxies import WAYS, dialled, proxied
from tests.http.test_framing import LAST
from tests.patience import SECONDS_MAX

SILENCES = (0.4, 10.0, SECONDS_MAX)
"""How long a server may be silent, at each try, before it is taken to wait for more: a busy machine may need the next one."""
SILENCE = 1.0
"""The same, where a server that has read less differs in nothing."""
AT_ONCE = 8


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    """An application behind the house's protocol."""
    with Echo() as served:
        yield served


@pytest.fixture(scope="module")
def ways(echo: Echo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """The ports of both proxies, before the application and alone."""
    with contextlib.ExitStack() as stack:
        yield proxied(tmp_path_factory.mktemp("proxies"), echo.port, stack)


def read_by(port: int, sent: bytes, form: Callable[[bytes], str], seconds: float) -> list[str]:
    """Return the requests that the server on a port reads, up to the first that it refuses.

    A server that waits for the end of an endless request is silent for so many `seconds`.
    """
    answer = b""
    with dialled(port) as connection, contextlib.suppress(ConnectionError, TimeoutError):
        connection.settimeout(seconds)
        connection.sendall(sent + LAST)
        while part := connection.recv(65_536):
            answer += part
    return [form(body) for status, body in answers(answer) if status == 200]


def by_echo(body: bytes) -> str:
    """Return the request that the application echoes, in the form of the proxies."""
    method, path, _ = json.loads(body)
    return f"{method} {path}"


def by_proxy(body: bytes) -> str:
    """Return the request that a proxy echoes. HAProxy adds the host if it was in the address."""
    return body.decode().replace(" http://x/", " /")


@pytest.mark.parametrize("proxy", ["nginx", "haproxy"])
def test_a_proxy_and_the_house_see_the_same_requests(echo: Echo, ways: dict[str, int], proxy: str) -> None:
    """Both servers read the same requests from the same bytes, up to where one refuses to read on."""
    with ThreadPoolExecutor(AT_ONCE) as pool:  # those that wait for more do so at the same time
        houses = pool.map(lambda sent: read_by(echo.port, sent, by_echo, SILENCE), FRAMINGS)
        proxies = pool.map(lambda sent: read_by(ways[f"{proxy} alone"], sent, by_proxy, SILENCE), FRAMINGS)
        read = list(zip(FRAMINGS, houses, proxies, strict=True))
    assert [] == [one for one in read if any(house != there for house, there in zip(*one[1:], strict=False))]


@pytest.mark.parametrize("way", WAYS)
def test_the_house_sees_what_a_proxy_passes_on(echo: Echo, ways: dict[str, int], way: str) -> None:
    """Each request that the house gets through a proxy was a request for the proxy too. The next client gets its own answer."""
    for number, sent in enumerate(FRAMINGS):
        victim = f"GET /victim-{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        for seconds in SILENCES:
            echo.seen.clear()
            read = read_by(ways[way], sent, by_echo, seconds) + read_by(ways[way], victim, by_echo, SECONDS_MAX)
            passed = [f"{method} {path}" for method, path, _ in echo.seen]
            if read == passed or seconds == SILENCES[-1]:
                assert f"GET /victim-{number}" == read[-1]
                assert read == passed, sent
                break
