"""`saleroom demo` as users run it: a process whose house is tested from outside.

The commands that it runs are forks of it (tests/forking.py), but in `test_a_taken_port_is_refused`.
"""

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, environment, wait_until


class Demo:
    """A running demo in `folder`, where it also makes its temporary folder."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        self._output, self._errors = folder / "stdout.txt", folder / "stderr.txt"
        theirs, self._keyboard = os.pipe()
        with self._output.open("wb") as output, self._errors.open("wb") as errors, os.fdopen(theirs, "rb") as keyboard:
            own = environment(**settings) | {"TMPDIR": str(folder), "COLUMNS": "200"}
            self.process = Program([str(PROGRAM), "demo", *arguments], folder, own, output, errors, keyboard)

    def close(self) -> None:
        """Leave its terminal."""
        os.close(self._keyboard)

    def press_enter(self) -> None:
        """Press Enter in its terminal."""
        os.write(self._keyboard, b"\n")

    def output(self) -> str:
        """Return its standard output so far."""
        return self._output.read_text()

    def errors(self) -> str:
        """Return its standard error so far."""
        return self._errors.read_text()

    def wait_for(self, text: str) -> re.Match[str]:
        """Wait until its output matches `text`; fail if it ends first."""

        def there() -> bool:
            assert self.process.poll() is None, f"it ended\n{self.output()}\n{self.errors()}"
            return re.search(text, self.output()) is not None

        wait_until(there)
        found = re.search(text, self.output())
        assert found is not None, "it was there"
        return found

    def house(self) -> psutil.Process:
        """Return the process of the house."""
        [house] = psutil.Process(self.process.pid).children()
        return house

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS_MAX)


def end(demo: Demo) -> None:
    """End a demo that may run still, as after a test that fails."""
    demo.close()
    if demo.process.poll() is None:
        for child in psutil.Process(demo.process.pid).children(recursive=True):
            child.kill()
        demo.process.kill()
        demo.process.wait()


@pytest.fixture
def demos(tmp_path: Path) -> Iterator[list[Demo]]:
    """A list of demos that are ended after the test."""
    started: list[Demo] = []
    yield started
    for demo in started:
        end(demo)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A quick demo for several tests, as to furnish one costs more than they do; the last of them ends it."""
    demo = Demo(tmp_path_factory.mktemp("shared"), "--port", "0", "--lots", "3", "--speed", "20")
    yield demo
    end(demo)


def lots(url: str, status: str) -> list[dict[str, Any]]:
    """Return the lots of a house in one state."""
    found: list[dict[str, Any]] = httpx.get(f"{url}/auctions", params={"status": status}).json()["auctions"]
    return found


def who_may_see_the_people(url: str, name: str, password: str) -> int:
    """Return the status of the list of people for a user of the demo, who logs in by this password."""
    with httpx.Client(base_url=url, headers={"X-Requested-With": "test"}) as http:
        token = http.post("/login", json={"username": name, "password": password}).json()["token"]
        return http.get("/staff/users", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_demo_is_furnished_and_goes_on(tmp_path: Path, demos: list[Demo]) -> None:
    """Lots have photos and bids, one closes and another follows, and its staff may log in. Ctrl-C leaves nothing behind."""
    foreign = tmp_path / "own.db"
    demos.append(Demo(tmp_path, "--port", "0", "--lots", "3", "--speed", "20", database=f"sqlite:///{foreign}"))
    demo = demos[0]
    url = demo.wait_for(r"home +(http://127\.0\.0\.1:\d+)/\n")[1]
    account = demo.wait_for(r"as (\w+), password (\S+)")
    wait_until(lambda: any(lot["bidCount"] for lot in lots(url, "open")))
    first = {lot["gid"] for status in ("open", "scheduled", "closed") for lot in lots(url, status)}
    for gid in first:
        photos = httpx.get(f"{url}/auctions/{gid}/photos").json()["photos"]
        assert photos, f"{gid} has no photo"
    assert 200 == httpx.get(f"{url}/").status_code
    demo.wait_for(r"\n +(sold|unsold) ")
    assert lots(url, "closed")
    demo.wait_for(r"\n +new ")
    assert {lot["gid"] for lot in lots(url, "open") + lots(url, "scheduled")} - first
    login = {"username": account[1], "password": account[2]}
    answer = httpx.post(f"{url}/login", json=login, headers={"X-Requested-With": "test"})
    assert 200 == answer.status_code
    assert {"owner": 200, "auctioneer": 200, "clerk": 200, "guest": 403} == {
        name: who_may_see_the_people(url, name, account[2]) for name in ("owner", "auctioneer", "clerk", "guest")
    }
    house = demo.house()
    assert 1 == len(list(tmp_path.glob("saleroom-demo-*")))
    assert 0 == demo.stop()
    assert "" == demo.errors()
    assert not house.is_running()
    assert [] == list(tmp_path.glob("saleroom-demo-*"))
    assert not foreign.exists(), "the demo has used the owner's database"


def test_people_bid_on_a_visitors_lot(shared: Demo) -> None:
    """A visitor's lot gets bids like any other."""
    found = shared.wait_for(r"(http://\S+)/login +as (\w+), password (\S+)")
    url = found[1]
    with httpx.Client(base_url=url, headers={"X-Requested-With": "test"}) as http:
        token = http.post("/login", json={"username": found[2], "password": found[3]}).json()["token"]
        draft = {"name": "Two opera tickets", "startingPrice": "20"}
        made = http.post("/auctions", json=draft, headers={"Authorization": f"Bearer {token}"}).json()
        wait_until(lambda: http.get(f"/auctions/{made['gid']}").json()["bidCount"] > 0)


class Staff:
    """An account of the demo's staff, at work on its live sale."""

    def __init__(self, demo: Demo, name: str) -> None:
        found = demo.wait_for(r"(http://\S+)/sales/(\S+)/screen")
        password = demo.wait_for(r"password (\S+)")[1]
        self.gid = found[2]
        self.url, self.headers = found[1], {"X-Requested-With": "test"}
        token = self.ask("POST", "/login", {"username": name, "password": password}).json()["token"]
        self.headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Return the answer to a request."""
        return httpx.request(method, f"{self.url}{path}", json=body, headers=self.headers, timeout=SECONDS_MAX)

    def json(self, path: str) -> Any:
        """Return what the house answers."""
        answer = self.ask("GET", path)
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def block(self) -> Any:
        """Return the block."""
        return self.json(f"/sales/{self.gid}/block")

    def act(self, act: str, **said: Any) -> bool:
        """Act on the block as it is now, and return whether nobody was quicker."""
        body = {"act": act, "seen": self.block()["tag"], **said}
        return 200 == self.ask("POST", f"/sales/{self.gid}/block", body).status_code

    def acted(self) -> list[tuple[int, str]]:
        """Return the last acts on the block, as the audit log has them: number and name, the newest first."""
        return [(one["id"], one["by"]) for one in self.json("/staff/audit?act=block.acted&limit=50")["entries"]]


def test_a_live_sale_runs_by_itself(shared: Demo) -> None:
    """Lots with photos, estimates, consignors and absentee bids are called and sold; when all are over, another sale begins."""
    staff = Staff(shared, "owner")
    lots = staff.json(f"/sales/{staff.gid}/lots")["lots"]
    assert all(lot["estimateTo"] and lot["consignor"] for lot in lots) and 3 == len(lots)
    assert all(staff.json(f"/auctions/{lot['gid']}/photos")["photos"] for lot in lots)
    found = {one["bidsBy"] for one in staff.json(f"/sales/{staff.gid}/participants?limit=100")["participants"]}
    assert {"floor", "absentee", "online"} == found
    assert 200 == staff.ask("GET", f"/sales/{staff.gid}/screen").status_code
    shared.wait_for(r"\n +(hammer|passed) ")
    wait_until(lambda: "closed" == staff.block()["status"])
    wait_until(lambda: 2 <= shared.output().count("An auctioneer sells a live sale"))
    assert "" == shared.errors()


def test_a_house_that_dies_ends_the_demo(shared: Demo) -> None:
    """If the house is killed, the demo says so and exits with 1, without a traceback."""
    shared.wait_for("The sale is on")
    shared.house().kill()
    assert 1 == shared.process.wait(SECONDS_MAX)
    assert shared.errors().startswith("saleroom: ")
    assert "Traceback" not in shared.errors()


def test_the_auctioneer_stands_back_for_a_person(tmp_path: Path, demos: list[Demo]) -> None:
    """Once somebody acts on the console the demo does not act until Enter is pressed; people online go on to bid."""
    demos.append(Demo(tmp_path, "--port", "0", "--lots", "12", "--speed", "3"))
    clerk, owner = Staff(demos[0], "clerk"), Staff(demos[0], "owner")
    wait_until(lambda: clerk.block()["onBlock"] is not None)
    wait_until(lambda: clerk.act("skip") if clerk.block()["onBlock"] else clerk.act("call"))
    demos[0].wait_for(r"\n +yours +clerk runs the sale")
    before = owner.acted()
    assert "clerk" in [by for _, by in before]
    for _ in range(3):
        wait_until(lambda: clerk.act("skip") if clerk.block()["onBlock"] else clerk.act("call"))
        time.sleep(2)
    assert {"clerk"} == {by for number, by in owner.acted() if number > before[0][0]}
    demos[0].press_enter()
    demos[0].wait_for(r"\n +sale +the auctioneer of the demo sells on")
    wait_until(lambda: "rostrum" == owner.acted()[0][1])
    assert 0 == demos[0].stop(signal.SIGTERM)


def test_a_taken_port_is_refused(tmp_path: Path, demos: list[Demo]) -> None:
    """If the port is taken, the demo exits with 1, names the port and the remedy, and leaves nothing behind."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        demos.append(Demo(tmp_path, "--port", str(port), test_spawns="yes"))
        assert 1 == demos[0].process.wait(SECONDS_MAX)
    [line] = demos[0].errors().splitlines()
    assert f"port {port}" in line
    assert "--port" in line
    assert [] == list(tmp_path.glob("saleroom-demo-*"))


@pytest.mark.parametrize("arguments", [("--lots", "0"), ("--speed", "0"), ("--port", "65536"), ("--seed", "x")])
def test_wrong_usage_is_refused(tmp_path: Path, demos: list[Demo], arguments: tuple[str, ...]) -> None:
    """A wrong option is refused with exit code 2 and a line that names it."""
    demos.append(Demo(tmp_path, *arguments))
    assert 2 == demos[0].process.wait(SECONDS_MAX)
    assert arguments[0] in demos[0].errors()
