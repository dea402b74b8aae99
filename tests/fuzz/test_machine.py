"""A house with a few users and lots, over HTTP, in any order of requests: never a 5xx, and the records agree."""

from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests import pictures
from tests.fixtures_house import House
from tests.fixtures_hypothesis import FUZZED
from tests.fuzz.mangling import any_json, nasty
from tests.fuzz.test_bodies import VALUES
from tests.fuzz.test_http import HEADERS, LATIN

pytestmark = pytest.mark.databases(*FUZZED)

USERS, LOTS_MAX = 3, 4
whos, whiches = st.integers(0, USERS - 1), st.integers(0, LOTS_MAX - 1)
amounts = st.sampled_from(
    ["0", "1", "5.5", "10", "11", "12.345", "20", 25, "1e3", "-1", "99999999999999999.999", None, ""]
)
instants = st.sampled_from(["2020-01-01T00:00:00Z", "2035-01-01T00:00:00+01:00", "9999-12-31T23:59:59Z", None, "x", 5])
TERMS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["Clock", "<b>Clock</b>", "\u202eClock", "=1+1", " "])
    | nasty().filter(lambda word: word.isprintable()),
    "description": st.text(max_size=20).filter(lambda word: word.isprintable()),
    "startingPrice": amounts,
    "increment": st.sampled_from(["1", "0", [{"from": "0", "step": "1"}, {"from": "10", "step": "5"}], [], {}]),
    "reservePrice": amounts,
    "buyNowPrice": amounts,
    "softClose": st.sampled_from([None, {"window": 60, "extension": 60}, {"window": 0, "extension": 1}, []]),
    "startsAt": instants,
    "endsAt": instants,
}
bodies = st.fixed_dictionaries({}, optional=TERMS)
least = {"name": "Clock", "startingPrice": "1"}
proper = bodies.map(lambda body: least | {name: body[name] for name in list(body)[:2]})
bids = st.just("least") | amounts


class HouseMachine(RuleBasedStateMachine):
    """Three users, and a lot for requests to one that does not exist."""

    house: House

    def __init__(self) -> None:
        super().__init__()
        self.users = [self.house.user(f"fuzz.{number}") for number in range(USERS)]
        self.lots: list[str] = []
        self.versions: dict[str, int] = {}
        self.photos: list[str] = []

    def _lot(self, which: int) -> str:
        if which >= len(self.lots):
            self.lots.append(self.users[len(self.lots) % USERS].auction())
        return self.lots[min(which, len(self.lots) - 1)]

    def _ask(self, who: int, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request. Its answer is checked against the OpenAPI document."""
        answer = self.users[who].request(method, path, **more)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert answer.json()["code"] and answer.json()["message"]
        return answer

    @rule(who=whos, body=proper | bodies)
    def sell(self, who: int, body: dict[str, Any]) -> None:
        """A lot, on terms that may contradict each other."""
        answer = self._ask(who, "POST", "/auctions", json=body)
        if answer.status_code == 201 and len(self.lots) < LOTS_MAX:
            self.lots.append(answer.json()["gid"])

    @rule(who=whos, which=whiches, amount=bids, maximum=bids, key=st.sampled_from([None, "a", "b", "c"]))
    def bid(self, who: int, which: int, amount: Any, maximum: Any, key: str | None) -> None:
        """A bid, often under a key that was used before; the same bid twice gets the same answer."""
        gid = self._lot(which)
        enough = self._ask(who, "GET", f"/auctions/{gid}").json()["minimumBid"]
        asked = {"amount": amount, "maximum": maximum}
        more: dict[str, Any] = {"json": {name: enough if said == "least" else said for name, said in asked.items()}}
        if key is not None:
            more["headers"] = {"Idempotency-Key": key}
        answer = self._ask(who, "POST", f"/auctions/{gid}/bids", **more)
        if answer.status_code == 201 and key is not None:
            assert answer.content == self._ask(who, "POST", f"/auctions/{gid}/bids", **more).content

    @rule(who=whos, which=whiches, body=bodies)
    def amend(self, who: int, which: int, body: dict[str, Any]) -> None:
        """Other terms."""
        self._ask(who, "PATCH", f"/auctions/{self._lot(which)}", json=body)

    @rule(who=whos, which=whiches, ends=instants)
    def announce(self, who: int, which: int, ends: Any) -> None:
        """An end."""
        self._ask(who, "POST", f"/auctions/{self._lot(which)}/close", json={"endsAt": ends})

    @rule(
        who=whos,
        which=whiches,
        what=st.sampled_from(["DELETE ", "POST /buy", "PUT /watch", "DELETE /watch", "POST /close"]),
    )
    def act(self, who: int, which: int, what: str) -> None:
        """Any request without a body."""
        method, path = what.split(" ")
        body: dict[str, Any] = {"json": {}} if method == "POST" else {}
        self._ask(who, method, f"/auctions/{self._lot(which)}{path}", **body)

    @rule(who=whos, size=st.sampled_from([(20, 20), (15, 15), (400, 20)]))
    def photograph(self, who: int, size: tuple[int, int]) -> None:
        """A picture."""
        answer = self._ask(who, "POST", "/photos", content=pictures.plain(size), headers={"Content-Type": "image/jpeg"})
        if answer.status_code == 201:
            self.photos.append(answer.json()["id"])

    @rule(who=whos, which=whiches, data=st.data())
    def arrange(self, who: int, which: int, data: st.DataObject) -> None:
        """Photos of any user, on any lot."""
        ids = data.draw(st.lists(st.sampled_from(["x", *self.photos[-4:]]), max_size=4))
        self._ask(who, "PUT", f"/auctions/{self._lot(which)}/photos", json={"photos": ids})

    @rule(
        who=whos,
        sort=VALUES["sort"],
        status=VALUES["status"],
        limit=st.integers(1, 3),
        q=nasty(),
        start=VALUES["cursor"],
    )
    def turn_pages(self, who: int, sort: str, status: str, limit: int, q: str, start: Any) -> None:
        """A list from its first page to its last, and one from another list's cursor."""
        query = {"sort": sort, "limit": limit} | ({"q": q} if q.isprintable() else {"status": status})
        self._ask(who, "GET", "/auctions", params=query | {"cursor": start})
        seen: list[str] = []
        answer = self._ask(who, "GET", "/auctions", params=query)
        for _ in range(20):
            if answer.status_code != 200:
                break
            seen += [lot["gid"] for lot in answer.json()["auctions"]]
            if answer.json()["next"] is None:
                break
            answer = self._ask(who, "GET", "/auctions", params=query | {"cursor": answer.json()["next"]})
        assert len(seen) == len({*seen})

    @rule(
        who=whos,
        which=whiches,
        path=st.sampled_from(["/auctions/{}", "/lots/{}", "/", "/mine", "/me/bids", "/sell/{}"]),
        data=st.data(),
    )
    def look(self, who: int, which: int, path: str, data: st.DataObject) -> None:
        """A page or resource, with headers of any kind."""
        safe = ("If-None-Match", "Accept-Language", "Range", "Accept", "Cookie", "User-Agent", "Origin")
        headers = {
            name: LATIN.sub("", data.draw(HEADERS[name] | nasty()))[:2000]
            for name in data.draw(st.sets(st.sampled_from(safe)))
        }
        sent = {name.encode(): value.strip().encode("latin-1", "replace") for name, value in headers.items()}
        answer = self.users[who].request("GET", path.format(self._lot(which)), headers=sent)
        assert answer.status_code < 500, answer.text

    @rule(who=whos, which=whiches, body=any_json())
    def send_anything(self, who: int, which: int, body: Any) -> None:
        """JSON of any kind."""
        for path in ("bids", "close", "buy"):
            self._ask(who, "POST", f"/auctions/{self._lot(which)}/{path}", json=_sendable(body))

    @invariant()
    def the_books_agree(self) -> None:
        """Price, count and bids of each lot fit together, versions only rise, and nobody but its author sees a reserve."""
        for gid in self.lots:
            lot = self._ask(0, "GET", f"/auctions/{gid}").json()
            bids = self._ask(1, "GET", f"/auctions/{gid}/bids", params={"limit": 100}).json()["bids"]
            assert lot["bidCount"] == len(bids) or len(bids) == 100
            assert lot["version"] >= self.versions.get(gid, 0)
            self.versions[gid] = lot["version"]
            assert (lot["currentBid"] is None) == (not bids)
            assert all(bid["bidder"] != lot["author"] for bid in bids)
            at_the_price = [bid for bid in bids if bid["amount"] == lot["currentBid"]]
            assert not at_the_price or lot["currentBidder"] == at_the_price[-1]["bidder"], "the earlier of two leads"
            if bids and lot["minimumBid"] is not None:
                assert Decimal(lot["currentBid"]) < Decimal(lot["minimumBid"])
            assert "reservePrice" not in lot or lot["author"] == self.users[0].name
            assert all("maximum" not in bid for bid in bids if bid["bidder"] != self.users[1].name)


def _sendable(value: Any) -> Any:
    """Return JSON that can be written as UTF-8: a client library sends no lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_sendable(one) for one in value]
    if isinstance(value, dict):
        return {_sendable(name): _sendable(one) for name, one in value.items()}
    return value


@pytest.fixture
def machine_type(house: House) -> type[HouseMachine]:
    """The machine, in a running house."""
    return type("MachineHere", (HouseMachine,), {"house": house})


def test_any_order_of_requests_is_answered_below_500(machine_type: type[HouseMachine]) -> None:
    """In any order of requests, good and bad, no answer is a 5xx, each fits the OpenAPI document, and the records agree."""
    thorough = settings.get_current_profile_name() in ("long", "fuzz")
    run_state_machine_as_test(
        machine_type,
        settings=settings(
            max_examples=15 if thorough else 4,
            stateful_step_count=50 if thorough else 20,
            suppress_health_check=list(HealthCheck),
            # A machine over HTTP shrinks for minutes; in `fuzz` that is worth it.
            phases=[Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if thorough else [])],
        ),
    )


def test_the_earlier_of_two_equal_limits_leads(machine_type: type[HouseMachine]) -> None:
    """A bid up to exactly the leader's maximum does not take the lead, and the records would show it."""
    machine = machine_type()
    gid = machine._lot(0)
    for who in (1, 2):
        machine.bid(who, 0, None, "20", None)
    machine.the_books_agree()
    assert "20.000" == machine._ask(0, "GET", f"/auctions/{gid}").json()["currentBid"]


def test_the_machine_would_notice(machine_type: type[HouseMachine], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bids that the price does not reflect are found."""
    machine = machine_type()
    gid = machine._lot(0)
    machine.the_books_agree()
    ask = machine._ask

    def lied(who: int, method: str, path: str, **more: Any) -> httpx.Response:
        answer = ask(who, method, path, **more)
        if path == f"/auctions/{gid}/bids":
            answer._content = b'{"bids": [{"bidder": "x", "amount": "1.000"}], "next": null}'
        return answer

    monkeypatch.setattr(machine, "_ask", lied)
    with pytest.raises(AssertionError):
        machine.the_books_agree()
