"""A running house for tests: the real service over real HTTP, on each database, and the people who use it.

It runs in a thread with its own event loop, so that tests stay plain functions: a call, an answer, a comparison.
"""

import asyncio
import shutil
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import httpx
import pytest

from saleroom import compose, opening, starting
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import accounts, passwords
from saleroom.accounts.storage import accounts as account_rows
from saleroom.accounts.storage import people
from saleroom.area import Area
from saleroom.areas import AREAS
from saleroom.bidding.service.closing import settle_due
from saleroom.http.event_loop import EventLoop
from saleroom.http.protocol import Http
from saleroom.runtime import serving
from saleroom.settings import Settings
from saleroom.storage import database, turns
from saleroom.storage.database import Clock, Database, SharedPart, Transaction
from tests import fixtures_database
from tests.contract import Contract
from tests.fixtures_database import FakeClock
from tests.patience import SECONDS_MAX
from tests.prompt_server import PromptServer

P = ParamSpec("P")
R = TypeVar("R")

PASSWORD = "correct horse battery staple"
LOAD_KEY = "a-key-for-load-tests"
START_SECONDS_MAX = 240
USE_CASE_SECONDS_MAX = 300
"""Some tests store thousands of rows, on a machine that may be busy."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of a plain port: reading the machine's certificates costs more than all requests of a short test."""
_numbers = count(1)


class CheckedClient:
    """An HTTP client of a house. Every answer is checked against the OpenAPI document before the test sees it."""

    def __init__(self, base: str, headers: dict[str, str], contract: Contract) -> None:
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [contract.check]}
        self.http = httpx.Client(base_url=base, headers=headers, verify=NO_TLS, event_hooks=hooks)
        self.get, self.post, self.patch = self.http.get, self.http.post, self.http.patch
        self.delete, self.request, self.head = self.http.delete, self.http.request, self.http.head

    def json(self, method: str, path: str, **kwargs: Any) -> Any:
        """Send a request that must succeed, and return the JSON of its answer."""
        response = self.request(method, path, **kwargs)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None


class User(CheckedClient):
    """A client that is logged in as `name`."""

    def __init__(self, house: "House", name: str, token: str) -> None:
        super().__init__(house.base, {**house.headers, "Authorization": f"Bearer {token}"}, house.contract)
        self.name = name
        self.token = token
        self._gid = ""

    def auction(self, **terms: Any) -> str:
        """Create an auction and return its gid. The least first bid is 10 and the step 1 unless `terms` say otherwise."""
        draft = {"name": "Longcase clock", "startingPrice": "10", "increment": "1", **terms}
        return str(self.json("POST", "/auctions", json=draft)["gid"])

    def gid(self) -> str:
        """Return an auction of this user on which nobody bids; the same at every call."""
        self._gid = self._gid or self.auction()
        return self._gid

    def bid(self, gid: str, amount: Any = None, maximum: Any = None, **headers: str) -> httpx.Response:
        """Bid on an auction and return the answer, whatever it is."""
        asked = {"amount": amount, "maximum": maximum}
        body = {name: value for name, value in asked.items() if value is not None}
        return self.post(f"/auctions/{gid}/bids", json=body, headers=headers)


class House:
    """A running service. `base` is its address, `url` its database; `clock`, if there is one, stands still."""

    headers: ClassVar = {"X-Requested-With": "tests"}

    def __init__(self, settings: Settings, clock: Clock | None = None, areas: Sequence[Area[Settings]] = AREAS) -> None:
        self.areas = areas
        self.settings = settings
        self.clock = clock
        self.contract = Contract()
        self._users: dict[str, User] = {}
        self._clients: list[CheckedClient] = []
        self._started = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="house", daemon=True)

    def start(self) -> None:
        """Serve, on a free port."""
        self._socket = serving.listen("127.0.0.1", 0)
        self.port = int(self._socket.getsockname()[1])
        self.base = f"http://127.0.0.1:{self.port}"
        self._thread.start()
        assert self._started.wait(START_SECONDS_MAX), "the house does not start"
        if self._failed is not None:
            raise self._failed
        self.anyone = self.client()
        self.stranger = self.client(headers={})
        """Without the header that passes the forgery filter."""
        self.plain = httpx.Client(base_url=self.base, verify=NO_TLS)
        """Not checked against the OpenAPI document, for answers outside its scope."""

    def stop(self) -> None:
        """Finish the requests in flight, and end."""
        for client in (*self._clients, *self._users.values()):
            client.http.close()
        self.plain.close()
        self._server.end()
        self._thread.join(START_SECONDS_MAX)
        self._socket.close()
        assert not self._thread.is_alive(), "the house does not stop"

    def client(self, headers: dict[str, str] | None = None) -> CheckedClient:
        """Return another client; with `X-Requested-With` unless `headers` are given."""
        self._clients.append(CheckedClient(self.base, self.headers if headers is None else headers, self.contract))
        return self._clients[-1]

    def user(self, name: str = "ada") -> User:
        """Return the user of this name, who has an account and a token since the first call."""
        if name not in self._users:
            self._users[name] = User(self, name, self.write(_add_user, name, _digest()))
        return self._users[name]

    def newcomer(self) -> User:
        """Return a user that no other test has."""
        return self.user(f"newcomer.{next(_numbers)}")

    def staff(self, role: Role) -> User:
        """Return a new user with a role."""
        user = self.newcomer()
        self.write(_give_role, user.name, role)
        return user

    def log_in(self, name: str) -> User:
        """Return the user of this name, who exists already, with a new token."""
        token = self.anyone.json("POST", "/login", json={"username": name, "password": PASSWORD})["token"]
        again = User(self, name, token)
        self._clients.append(again)
        return again

    def write(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a use case in a transaction of the house's own database."""
        return asyncio.run_coroutine_threadsafe(self._database.write(use_case, *args, **kwargs), self._loop).result(
            USE_CASE_SECONDS_MAX
        )

    def read(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a use case in a transaction that only reads, from the rows and not from the house's cache."""
        self._database.cache.clear()
        return asyncio.run_coroutine_threadsafe(self._database.read(use_case, *args, **kwargs), self._loop).result(
            USE_CASE_SECONDS_MAX
        )

    def provided(self, part: SharedPart[R]) -> R:
        """Return a part that the house has given its database."""
        found = self._database.provided(part)
        assert found is not None, "this house has no such part"
        return found

    def advance(self, seconds: float) -> None:
        """Turn the fake clock forward, and let the closer run."""
        assert isinstance(self.clock, FakeClock), "this house has the real clock"
        self.clock.advance(seconds)
        self.write(settle_due, reopens=False)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=EventLoop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # handed to the test's thread, which raises it
            self._failed = error
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._database = opening.database(self.settings, partial(Database, clock=self.clock))
        application = compose.application(self.settings, starting.broker_of(self.settings), self._database, self.areas)
        self._server = PromptServer(serving._config(application, Http, 1))
        task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not task.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await task


ServeHouse = Callable[..., House]


def settings_for(url: str, **more: Any) -> Settings:
    """Return the settings of a house for tests: no broker, and no limit on registrations that a test could meet."""
    values: dict[str, Any] = {"database": url, "mqtt": "off", "registrations_per_hour": 100_000, "load_key": LOAD_KEY}
    return Settings(**{**values, **more})


@pytest.fixture(scope="session")
def house_kind(request: pytest.FixtureRequest) -> str:
    """The database of `house`."""
    return str(request.param)


@pytest.fixture(scope="session")
def house(house_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A running house on each database, shared by all tests: each makes its own auctions."""
    for url in _urls(house_kind, request, tmp_path_factory.mktemp("house")):
        yield from _served(House(settings_for(url)))


@pytest.fixture(scope="session")
def sqlite_house(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A running house on SQLite, for tests that do not depend on the database."""
    file = tmp_path_factory.mktemp("house") / "saleroom.db"
    shutil.copy(sqlite_template, file)
    yield from _served(House(settings_for(f"sqlite:///{file}")))


@pytest.fixture(scope="session")
def mail_house(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A running house on SQLite that sends mails, to a server that does not answer: they wait in its outbox."""
    file = tmp_path_factory.mktemp("house") / "saleroom.db"
    shutil.copy(sqlite_template, file)
    mail: dict[str, Any] = {"smtp_url": "smtp://127.0.0.1:9", "mail_sender": "house@example.org"}
    yield from _served(House(settings_for(f"sqlite:///{file}", account_mails_per_hour=10_000, **mail)))


@pytest.fixture
def clocked_house(database_url: str, clock: FakeClock) -> Iterator[House]:
    """A running house on each database whose `clock` the test turns; for this test alone, without auctions at first."""
    yield from _served(House(settings_for(database_url, outage_reopens=False), clock))


@pytest.fixture
def serve_house(sqlite_template: Path, tmp_path: Path) -> Iterator[ServeHouse]:
    """Start separate houses on SQLite: `serve_house(registration="closed")`."""
    houses: list[House] = []

    def serve(clock: Clock | None = None, **more: Any) -> House:
        file = tmp_path / f"house-{len(houses)}.db"
        shutil.copy(sqlite_template, file)
        houses.append(House(settings_for(f"sqlite:///{file}", **more), clock))
        houses[-1].start()
        return houses[-1]

    yield serve
    for served in houses:
        served.stop()


def _urls(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), folder / "saleroom.db")
        yield f"sqlite:///{folder}/saleroom.db"
        return
    yield from fixtures_database._postgresql_database(*request.getfixturevalue("postgresql_template"))


@cache
def _digest() -> str:
    """Return the digest of PASSWORD. Making one costs more than most tests."""
    return passwords.HASHER.hash(PASSWORD)


def _add_user(tx: Transaction, name: str, digest: str) -> str:
    """Store a user unless there is one of this name, and return a token of theirs."""
    # A test that shares the house may have registered the name by the form or the API.
    account = people.find(tx, name) or accounts.register(tx, name, digest)
    return accounts.issue_token(tx, account.id).value


def _give_role(tx: Transaction, name: str, role: Role) -> None:
    user = people.find(tx, name)
    assert user is not None
    account_rows.set_role(tx, user.id, role)


def without_delay(fail: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the first answer to `fail` that comes within the delay after the one before: each failure doubles the delay."""
    while (answer := fail()).status_code in (403, 422):
        pass
    return answer


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A house that is under test gives its reads as long as a busy machine needs."""
    if not {"house", "sqlite_house", "clocked_house", "serve_house"}.isdisjoint(request.fixturenames):
        monkeypatch.setattr(database, "READ_SECONDS_MAX", SECONDS_MAX)
        monkeypatch.setattr(turns, "WAIT_SECONDS_MAX", SECONDS_MAX)


def _served(served: House) -> Iterator[House]:
    served.start()
    yield served
    served.stop()
