"""Messages to browsers: from what happens to a lot to the message that a browser reads, over a real push service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from saleroom.accounts.service import accounts, sessions
from saleroom.bidding.service import questions, watching
from saleroom.bidding.service.closing import settle_due
from saleroom.notices.domain.choices import QuietHours, parse_time
from saleroom.notices.domain.pushes import SUBSCRIPTIONS_MAX
from saleroom.notices.service import choosing, subscribing
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.notices.service.posting import Poster
from saleroom.notices.service.pushing import Pusher
from saleroom.notices.web.mails import Letterhead, Mails
from saleroom.notices.web.pushes import Pushes
from saleroom.outbox import store
from saleroom.outbox.hooks import HookClient
from saleroom.outbox.kinds import MailKind
from saleroom.outbox.message import PUSH, State, Word
from saleroom.outbox.web_push import HouseKey
from saleroom.site.language import Languages
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, bid, person, sells
from tests.fixtures_database import T0, FakeClock
from tests.notices.equipment import ORIGIN
from tests.notices.push_service import PushService, push_service
from tests.outbox.mail_server import certificate

pytestmark = pytest.mark.databases("sqlite")

CONTACT = "mailto:bids@house.example"
KEY = HouseKey(b"\x07" * 32)
SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""For what does not depend on the database."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of the push service, and its key."""
    return certificate(tmp_path_factory.mktemp("push"))


@pytest.fixture
def service(authority: tuple[Path, Path]) -> Iterator[PushService]:
    """The push service."""
    with push_service(PushService(), authority) as found:
        yield found


class Courier:
    """The poster and the pusher of one process, and users with browsers."""

    def __init__(
        self,
        database: Database,
        service: PushService,
        authority: Path,
        *,
        private: bool = True,
        kinds: Sequence[MailKind] = (),
    ) -> None:
        self.database = database
        database.switch_on(store.SENT_BY[PUSH])
        self.service = service
        client = HookClient(private=private, ca_file=str(authority))
        known = {kind.name: kind for kind in kinds}
        folders = sorted({kind.folder for kind in kinds})
        letterhead = Letterhead(house="House", origin=ORIGIN, sender="a@b", signature=None, zone="Europe/Berlin")
        mails = Mails(folders, Languages("EUR"), str, letterhead)
        write = Pushes(Languages("EUR"), zone="Europe/Berlin", brief=mails.brief).write
        self.poster = Poster(database, timedelta(seconds=60), (PUSH,))
        self.pusher = Pusher(database, client, lambda: KEY, CONTACT, write, known, str)

    async def rounds(self, count: int = 2) -> None:
        """Post what is due, and send it: what goes to several browsers needs two rounds."""
        await self.poster.round()
        for _ in range(count):
            await self.pusher.round()
            await self.pusher.posts.drain()

    async def known(self, name: str, *browsers: str, language: str = "en") -> Person:
        """A user with a login in each of these browsers, in this language; the first has the user's name."""
        one = await person(self.database, name)
        await self.subscribe(one, name, language)
        for browser in browsers:
            token = await self.database.write(accounts.issue_token, one.account.id)
            await self.subscribe(Person(one.account, token.value), browser, language)
        return one

    async def subscribe(self, who: Person, browser: str, language: str = "en") -> None:
        """Let a browser get messages."""
        given = self.service.subscription(browser, language)
        await self.database.write(subscribing.subscribe, who.token, given)

    async def words(self, *states: State) -> list[Word]:
        """The words in these states, the first posted first."""
        return (await self.database.read(store.listed, states or [*State], 100))[::-1]

    @property
    def titles(self) -> list[tuple[str, str]]:
        """The browsers that got messages, with their titles."""
        return [(one.browser, one.said["title"]) for one in self.service.received]


@pytest.fixture
async def courier(
    clocked_database: Database, service: PushService, authority: tuple[Path, Path]
) -> AsyncIterator[Courier]:
    """A poster that has read the log so far, and a pusher."""
    found = Courier(clocked_database, service, authority[0])
    await found.rounds()
    yield found
    await found.pusher.posts.close()


@SQLITE
async def test_an_outbid_user_is_told_at_once(courier: Courier) -> None:
    """The message names lot and price, leads to the lot, and takes the place of the one before; only the browser reads it."""
    ada, ben, cyd = [
        await courier.known(name, language="de" if name == "ben" else "en") for name in ("ada", "ben", "cyd")
    ]
    gid = await sells(courier.database, ada, ends_at=T0 + timedelta(hours=1))
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    await bid(courier.database, ben.bids(gid, "300"), cyd.bids(gid, "400"))
    await courier.rounds()
    to_ben = [one for one in courier.service.received if one.browser == "ben"]
    first, second = (one.said for one in to_ben)
    assert ("Sie wurden überboten: Longcase clock", f"/lots/{gid}", gid, "de") == (
        first["title"],
        first["url"],
        first["tag"],
        first["lang"][:2],
    )
    assert "400,00" in second["body"]
    assert [("ben", first["title"])] * 2 == courier.titles, "a bidder who leads again has not been outbid"
    headers = [one.headers for one in to_ben]
    assert {("high", "aes128gcm", "3600")} == {(one["Urgency"], one["Content-Encoding"], one["TTL"]) for one in headers}
    assert headers[0]["Topic"] == headers[1]["Topic"]
    assert gid not in headers[0]["Topic"]
    claims = courier.service.claims()
    assert (courier.service.origin, CONTACT, KEY.public) == (claims["aud"], claims["sub"], claims["k"])
    assert [State.SENT, State.DROPPED, State.SENT] == [word.state for word in await courier.words()]


async def test_each_browser_of_a_user_is_told(courier: Courier) -> None:
    """A question reaches every browser of the seller once; a seller without a browser leaves nothing behind."""
    ada = await courier.known("ada", "phone", "tablet")
    ben = await person(courier.database, "ben")
    gid = await sells(courier.database, ada)
    asked = await courier.database.write(questions.ask, ben.token, gid, "Does it run?")
    await courier.rounds(3)
    await courier.database.write(questions.answer, ada.token, gid, asked.number, "It runs.")
    await courier.rounds(3)
    assert {(name, "A question about your lot: Longcase clock") for name in ("ada", "phone", "tablet")} == {
        *courier.titles
    }
    assert 3 == len(courier.titles)
    assert "Does it run?" not in courier.service.received[0].said["body"]
    assert {"question_asked"} == {word.kind for word in await courier.words() if word.channel == PUSH}


async def test_a_watched_lot_is_announced_once(courier: Courier, clock: FakeClock) -> None:
    """Ten minutes before the end those who watch a lot are told, once; a push service keeps it no longer than the lot."""
    ada, ben = [await courier.known(name) for name in ("ada", "ben")]
    gid = await sells(courier.database, ada, ends_at=T0 + timedelta(minutes=30))
    await courier.database.write(watching.watch, ben.token, gid)
    clock.advance(minutes=25)
    for _ in range(2):
        courier.poster = Poster(courier.database, timedelta(seconds=60), (PUSH,))
        await courier.rounds()
    assert [("ben", "Ends soon: Longcase clock")] == courier.titles
    assert "300" == courier.service.received[0].headers["TTL"]


@pytest.mark.parametrize("status", [404, 410])
@SQLITE
async def test_a_browser_that_is_gone_gets_nothing_more(courier: Courier, status: int) -> None:
    """When its push service says so, the subscription is deleted, and what still waits for it is dropped."""
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(courier.database, ada)
    courier.service.answers = [(status, {})]
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    assert [] == await courier.database.read(subscribing.subscriptions, ben.token)
    await bid(courier.database, ben.bids(gid, "300"), cyd.bids(gid, "400"))
    await courier.rounds()
    assert (1, []) == (courier.service.asked, courier.titles)
    await bid(courier.database, ben.bids(gid, "500"))
    await courier.rounds()
    assert ["cyd"] == [browser for browser, _ in courier.titles]


@SQLITE
async def test_a_busy_push_service_is_asked_again_when_it_says(courier: Courier, clock: FakeClock) -> None:
    """429 and 503 are tried again, not before Retry-After; what is no longer so then is not sent."""
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid, other = await sells(courier.database, ada), await sells(courier.database, ada, name="Chair")
    courier.service.answers = [(429, {"Retry-After": "600"})]
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    clock.advance(minutes=9)
    await courier.rounds()
    assert 1 == courier.service.asked
    courier.service.answers = [(503, {})]
    clock.advance(minutes=2)
    await courier.rounds()
    assert (2, []) == (courier.service.asked, courier.titles)
    clock.advance(minutes=5)
    await courier.rounds()
    assert [("ben", "You were outbid: Longcase clock")] == courier.titles
    courier.service.answers = [(503, {})]
    await bid(courier.database, ben.bids(other, "100"), cyd.bids(other, "200"))
    await courier.rounds()
    await bid(courier.database, ben.bids(other, "up to 900"))
    clock.advance(minutes=5)
    await courier.rounds()
    assert ("outbid", State.DROPPED) in [(word.kind, word.state) for word in await courier.words()]
    assert [("ben", "You were outbid: Longcase clock"), ("cyd", "You were outbid: Chair")] == courier.titles


@SQLITE
async def test_a_refused_message_is_given_up(courier: Courier) -> None:
    """Another refusal is for good: the word says why, and nothing of the address. The browser gets the next one."""
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(courier.database, ada)
    courier.service.answers = [(403, {})]
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    (word,) = await courier.words(State.GIVEN_UP)
    assert "The push service: the server answered 403" == word.last_error
    await bid(courier.database, ben.bids(gid, "300"), cyd.bids(gid, "400"))
    await courier.rounds()
    assert ["ben"] == [browser for browser, _ in courier.titles]


@SQLITE
async def test_at_the_end_of_a_lot_nobody_is_outbid(courier: Courier, clock: FakeClock) -> None:
    """What waits when a lot ends is dropped, and the end is told: to the winner, the others and the seller."""
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(courier.database, ada, ends_at=T0 + timedelta(minutes=20))
    courier.service.answers = [(503, {})]
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    clock.advance(minutes=21)
    await courier.database.write(settle_due, reopens=False)
    await courier.rounds()
    assert {
        ("ada", "Sold: Longcase clock"),
        ("ben", "Not won: Longcase clock"),
        ("cyd", "You have won: Longcase clock"),
    } == {*courier.titles}
    assert [("outbid", State.DROPPED)] == [(one.kind, one.state) for one in await courier.words(State.DROPPED)]


@SQLITE
async def test_choices_and_quiet_hours_count(courier: Courier, clock: FakeClock) -> None:
    """A kind that is not wanted on browsers is not shown there; after quiet hours all that is still so is one message."""
    ada, ben = [await courier.known(name) for name in ("ada", "ben")]
    zone = QuietHours(parse_time("12:00"), parse_time("14:00"), "UTC")  # type: ignore[arg-type]  # both are right
    change = ChoiceChange(push={"sold": False}, mail={"not_sold": False}, quiet=(zone,))
    await courier.database.write(choosing.choose, ada.token, change)
    ends = T0 + timedelta(minutes=5)
    gids = [await sells(courier.database, ada, name=name, ends_at=ends) for name in ("Clock", "Chair", "Vase")]
    await bid(courier.database, ben.bids(gids[0], "100"))
    clock.advance(minutes=6)
    await courier.database.write(settle_due, reopens=False)
    await courier.rounds()
    assert [("ben", "You have won: Clock")] == courier.titles
    clock.advance(hours=4)
    await courier.rounds()
    last = courier.service.received[-1]
    assert ("ada", "News of 2 lots", {"Chair", "Vase"}, "/mine") == (
        last.browser,
        last.said["title"],
        {*last.said["body"].split("\n")},
        last.said["url"],
    )
    assert 2 == len(courier.titles)


async def test_a_login_that_ends_takes_its_browser_along(courier: Courier) -> None:
    """Logging out, ending a session and ending all of them each end the messages to these browsers, and to no other."""
    ada = await courier.known("ada", "phone")
    ben = await courier.known("ben")
    tablet = Person(ada.account, (await courier.database.write(accounts.issue_token, ada.account.id)).value)
    await courier.subscribe(tablet, "tablet")

    async def browsers(who: Person) -> list[bool]:
        return [here for _, here in await courier.database.read(subscribing.subscriptions, who.token)]

    assert [True, False, False] == await browsers(tablet)
    await courier.database.write(accounts.log_out, tablet.token)
    assert [False, True] == await browsers(ada)
    others = [one.id for one in await courier.database.read(sessions.sessions, ada.token) if not one.current]
    for number in others:
        await courier.database.write(sessions.end_session, ada.token, number)
    assert [True] == await browsers(ada)
    await courier.database.write(sessions.end_all, ada.token)
    assert [True] == await browsers(ben)
    await courier.subscribe(ben, "ada")
    found = await courier.database.read(subscribing.subscriptions, ben.token)
    assert [courier.service.subscription("ada").endpoint] == [one.subscription.endpoint for one, _ in found]


async def test_a_user_has_a_few_browsers(courier: Courier) -> None:
    """One more than the most takes the place of the oldest; a browser that somebody else had is theirs no longer."""
    ada, ben = (
        await courier.known("ada", *(f"b{number}" for number in range(SUBSCRIPTIONS_MAX))),
        await courier.known("ben"),
    )
    found = [one.subscription.endpoint for one, _ in await courier.database.read(subscribing.subscriptions, ada.token)]
    assert SUBSCRIPTIONS_MAX == len(found)
    assert courier.service.subscription("ada").endpoint not in found
    await courier.subscribe(ben, "b3")
    assert SUBSCRIPTIONS_MAX - 1 == len(await courier.database.read(subscribing.subscriptions, ada.token))


@SQLITE
async def test_no_message_goes_into_a_private_network(
    clocked_database: Database, service: PushService, authority: tuple[Path, Path]
) -> None:
    """Where its name leads is looked at when the house connects: at a private address no push service is asked."""
    courier = Courier(clocked_database, service, authority[0], private=False)
    await courier.rounds()
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(courier.database, ada)
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.rounds()
    await courier.pusher.posts.close()
    (word,) = await courier.words()
    assert (0, State.WAITING) == (service.asked, word.state)
    assert "private network" in str(word.last_error)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_word_is_claimed_before_it_is_sent(courier: Courier, authority: tuple[Path, Path]) -> None:
    """Two processes that read the same word send it once."""
    ada, ben, cyd = [await courier.known(name) for name in ("ada", "ben", "cyd")]
    gid = await sells(courier.database, ada)
    await bid(courier.database, ben.bids(gid, "100"), cyd.bids(gid, "200"))
    await courier.poster.round()
    await courier.pusher.round()  # the word gets its address
    other = Courier(courier.database, courier.service, authority[0]).pusher
    await asyncio.gather(courier.pusher.round(), other.round())
    await asyncio.gather(courier.pusher.posts.drain(), other.posts.drain())
    await other.posts.close()
    assert 1 == courier.service.asked
    assert [State.SENT] == [word.state for word in await courier.words()]
