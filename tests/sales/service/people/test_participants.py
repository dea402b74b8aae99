"""People of a sale through the services: registration, limits within the deciding transaction, paddles, guests and mergers."""

import asyncio

import pytest

from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.service.accounts import issue_token
from saleroom.accounts.storage import accounts, audit
from saleroom.accounts.storage.accounts import find_login
from saleroom.admin import ledger_check
from saleroom.bidding.domain.errors import OwnAuction, RegistrationDeclined
from saleroom.bidding.domain.events import Channel
from saleroom.bidding.service import ledgers, mine, moderation
from saleroom.bidding.service.admission import GATE
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.reading import Standing as Stands
from saleroom.kernel.errors import Invalid, MissingRight, Refusal
from saleroom.kernel.parties import Party
from saleroom.sales.domain.errors import (
    BidsStay,
    NoRegistration,
    PaddleFixed,
    PaddleTaken,
    ParticipantAlready,
    UnknownParticipant,
    UnknownSale,
)
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.sale import Names, Registration
from saleroom.sales.service.people import merging, participants
from saleroom.sales.service.people.admission import gate
from saleroom.sales.service.people.participants import Newcomer, ParticipantProfile
from saleroom.sales.storage import consignors
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, bid, outcome, person, stored
from tests.bidding.service.test_moderation import SLIP, auctioneer
from tests.bidding.service.test_waiting import WAITING_SECONDS, Pause
from tests.fixtures_database import OpenDatabase
from tests.sales.service.evenings import Evening, evening, published
from tests.tools.verify.ledgers import verified


async def registered(house: Evening, who: Person) -> ParticipantProfile:
    """A user who has registered for the sale."""
    return await house.database.write(participants.register, who.token, house.sale.gid)


async def change(house: Evening, known: ParticipantProfile, **changes: object) -> ParticipantProfile:
    """What staff change about a participant."""
    token, gid = house.clerk.token, known.participant.gid
    return await house.database.write(participants.change, token, house.sale.gid, gid, changes)


async def admitted(house: Evening, **said: object) -> ParticipantProfile:
    """Somebody whom staff admit."""
    newcomer = Newcomer(**{"name": "Ada Lovelace", **said})  # type: ignore[arg-type]  # as each test says it
    return await house.database.write(participants.admit, house.clerk.token, house.sale.gid, newcomer)


async def bids_as(house: Evening, known: ParticipantProfile, gid: str, asked: str) -> str:
    """Bid for a participant whom nobody can log in as, as a clerk will do it, with a token that is made for the test."""
    user = known.participant.user

    def issue(tx: Transaction) -> Person:
        return Person(accounts.find(tx, user.id), issue_token(tx, user.id).value)

    return (await bid(house.database, (await house.database.write(issue)).bids(gid, asked)))[0]


async def test_only_those_who_registered_bid(database: Database) -> None:
    """A stranger is told to register; who waits for approval and who was declined hear so; an approved one bids."""
    house = await evening(database, registration=Registration.APPROVAL)
    bob = await person(database)
    lot = house.lots[0]
    assert ["not_registered"] == await bid(database, bob.bids(lot, "100"))
    known = await registered(house, bob)
    assert Standing.PENDING is known.participant.standing
    assert ["registration_pending"] == await bid(database, bob.bids(lot, "100"))
    await change(house, known, standing=Standing.APPROVED)
    assert ["accepted"] == await bid(database, bob.bids(lot, "100"))
    await change(house, known, standing=Standing.DECLINED, reason="Owes us.")
    assert ["registration_declined"] == await bid(database, bob.bids(lot, "up to 300"))
    leader = (await stored(database, lot)).leader
    assert leader is not None and bob.account.id == leader.id, "what stands goes on to stand"
    with pytest.raises(RegistrationDeclined):
        await registered(house, bob)
    acts = [one.act for one in await database.read(audit.newest, audit.EntryFilter(), 9, None)]
    assert ["bidder.changed", "bidder.changed"] == acts


async def test_a_limit_holds_for_all_lots_together(database: Database) -> None:
    """What somebody leads by and has bought counts; being outbid gives it back; the refusal names the figures."""
    house = await evening(database, limit_default=eur("500"))
    bob, cyd = await person(database), await person(database)
    for one in (bob, cyd):
        await registered(house, one)
    first, second, third = house.lots
    batch = [
        bob.bids(first, "up to 300"),
        bob.bids(second, "up to 201"),
        bob.bids(second, "200"),
        bob.bids(third, "100"),
    ]
    answers = await database.write(place_bids, batch)
    assert ["accepted", "beyond_limit", "accepted", "beyond_limit"] == [outcome(one) for one in answers]
    refused = answers[1]
    assert isinstance(refused, Refusal)
    figures = {"limit": "500", "exposure": "300", "asked": "201", "left": "200"}
    assert {name: eur(value) for name, value in figures.items()} == refused.facts
    assert ["accepted", "accepted"] == await bid(database, cyd.bids(first, "up to 400"), bob.bids(third, "up to 300"))
    found = await database.read(participants.own, bob.token, house.sale.gid)
    assert found is not None and eur("500") == found.exposure.total


async def test_two_bids_at_once_cannot_both_pass_the_limit(open_database: OpenDatabase) -> None:
    """Two processes decide bids of one bidder on two lots: the second waits for the first to commit, and counts it."""
    first, second = open_database(), open_database()
    house = await evening(first, limit_default=eur("500"))
    second.provide(GATE, gate)
    bob = await person(first)
    await registered(house, bob)
    pause = Pause()

    def slowly(tx: Transaction) -> str:
        [answer] = place_bids(tx, [bob.bids(house.lots[0], "up to 300")])
        pause.within(tx)
        return outcome(answer)

    slow = asyncio.create_task(first.write(slowly))
    await pause.reached.wait()
    other = asyncio.create_task(bid(second, bob.bids(house.lots[1], "up to 300")))
    await asyncio.sleep(WAITING_SECONDS)
    assert not other.done()
    pause.end()
    assert ("accepted", ["beyond_limit"]) == (await slow, await other)
    found = await first.read(participants.own, bob.token, house.sale.gid)
    assert found is not None and eur("300") == found.exposure.total


async def test_a_guest_bids_and_becomes_an_account(database: Database) -> None:
    """Nobody can log in to a guest. Once merged, lead, history and limit are the account's, under the same paddle."""
    house = await evening(database, limit_default=eur("5000"))
    guest = await admitted(house, paddle=12, limit=eur("500"), contact="0171")
    login = await database.read(find_login, guest.participant.user.name)
    assert login is not None and login.password_digest is None
    lot, other, _ = house.lots
    cyd = await person(database)
    await registered(house, cyd)
    assert ["accepted"] == await bid(database, cyd.bids(lot, "100"))
    assert "accepted" == await bids_as(house, guest, lot, "up to 300")
    assert ["accepted"] == await bid(database, cyd.bids(lot, "1000"))
    staff = await auctioneer(database)
    await database.write(moderation.void_bid, staff.token, lot, 5, SLIP)
    assert "#12" == (await leader(database, lot)).name
    before = b"".join([page async for page in ledgers.lines(database, await stored(database, lot))])
    bob = await person(database)
    known = await registered(house, bob)
    pair = (guest.participant.gid, known.participant.gid)
    both = await database.write(merging.merge, house.clerk.token, house.sale.gid, *pair)
    assert (bob.account.id, 12, eur("500"), "Ada Lovelace") == (
        both.participant.user.id,
        both.participant.paddle,
        both.participant.limit,
        both.participant.name,
    )
    assert Party(bob.account.id, "#12") == await leader(database, lot)
    [row] = (await database.read(mine.bidding, bob.token, mine.LIVE, 9, None)).rows
    assert (Stands.LEADING, eur("300")) == (row.standing, row.limit)
    assert ["already_leading", "beyond_limit"] == await bid(database, bob.bids(lot, "300"), bob.bids(other, "201"))
    after = b"".join([page async for page in ledgers.lines(database, await stored(database, lot))])
    assert before == after, "no byte of the public ledger has changed"
    verified(after)
    assert [] == await database.read(ledger_check.faults_of)
    with pytest.raises(UnknownParticipant):
        await database.write(merging.merge, house.clerk.token, house.sale.gid, *pair)


async def leader(database: Database, gid: str) -> Party:
    """Who leads."""
    found = (await stored(database, gid)).leader
    assert found is not None
    return found


async def test_bids_of_two_stay_apart(database: Database) -> None:
    """Two who have both bid are not merged, nor an account with bids into another; one without bids goes."""
    house = await evening(database)
    guest, bob, cyd = await admitted(house), await person(database), await person(database)
    known, other = await registered(house, bob), await registered(house, cyd)
    assert "accepted" == await bids_as(house, guest, house.lots[0], "100")
    assert ["accepted"] == await bid(database, bob.bids(house.lots[1], "100"))
    token, gid = house.clerk.token, house.sale.gid
    for source, target in ((guest, known), (known, other)):
        with pytest.raises(BidsStay):
            await database.write(merging.merge, token, gid, source.participant.gid, target.participant.gid)
    await database.write(merging.merge, token, gid, other.participant.gid, known.participant.gid)
    assert await database.read(participants.own, cyd.token, gid) is None
    with pytest.raises(Invalid):
        await database.write(merging.merge, token, gid, known.participant.gid, known.participant.gid)


async def test_paddles_are_unique_and_stay(database: Database) -> None:
    """Online bidders get the next paddle in a sale of paddles; a taken one is refused, and one that was bid under stays."""
    house = await evening(database, names=Names.PADDLES)
    bob, cyd = await person(database), await person(database)
    known, other = await registered(house, bob), await registered(house, cyd)
    assert [100, 101] == [known.participant.paddle, other.participant.paddle]
    with pytest.raises(PaddleTaken):
        await change(house, other, paddle=100)
    assert 7 == (await change(house, known, paddle=7)).participant.paddle
    assert ["accepted"] == await bid(database, bob.bids(house.lots[0], "100"))
    assert "#7" == (await leader(database, house.lots[0])).name
    with pytest.raises(PaddleFixed):
        await change(house, known, paddle=8)
    checked = await database.write(participants.check_in, house.clerk.token, house.sale.gid, other.participant.gid, 12)
    assert (12, Channel.FLOOR) == (checked.participant.paddle, checked.participant.channel)
    assert checked.participant.checked_in_at is not None
    assert [] == await database.read(ledger_check.faults_of)


async def test_many_who_register_at_once_get_paddles_of_their_own(open_database: OpenDatabase) -> None:
    """Two processes register twenty users in the same moment: all of them have a paddle, and none has that of another."""
    first, second = open_database(), open_database()
    house = await evening(first, names=Names.PADDLES)
    people = [await person(first) for _ in range(20)]
    known = await asyncio.gather(
        *(
            (first, second)[number % 2].write(participants.register, one.token, house.sale.gid)
            for number, one in enumerate(people)
        )
    )
    assert [*range(100, 120)] == sorted(one.participant.paddle or 0 for one in known)


async def test_what_staff_do_needs_the_right_and_the_sale(database: Database) -> None:
    """Members admit nobody; a draft is unknown to those who would register; who may bid anyway does not register."""
    house = await evening(database)
    bob = await person(database)
    known = await registered(house, bob)
    gid = house.sale.gid
    for act in (
        lambda: database.write(participants.admit, bob.token, gid, Newcomer(name="Bob")),
        lambda: database.write(participants.change, bob.token, gid, known.participant.gid, {"limit": None}),
        lambda: database.write(participants.check_in, bob.token, gid, known.participant.gid, None),
        lambda: database.write(merging.merge, bob.token, gid, known.participant.gid, "x"),
        lambda: database.read(participants.listed, bob.token, gid, "", 9, None),
    ):
        with pytest.raises(MissingRight):
            await act()
    with pytest.raises(UnknownSale):
        await database.write(participants.register, bob.token, "nowhere")
    with pytest.raises(UnknownUser):
        await admitted(house, username="nobody.at.all")
    with pytest.raises(ParticipantAlready):
        await admitted(house, username=bob.account.username)
    with pytest.raises(Invalid):
        await admitted(house, name=" ")
    with pytest.raises(Invalid):
        await change(house, known, standing=Standing.DECLINED)
    anybody = await evening(database, registration=Registration.NONE)
    with pytest.raises(NoRegistration):
        await registered(anybody, bob)
    assert ["accepted"] == await bid(database, bob.bids(anybody.lots[0], "100"))


async def test_a_consignor_does_not_bid_on_their_lot(database: Database) -> None:
    """Somebody with an account who brought a lot is refused as the seller is, and a merger does not help."""
    house = await evening(database)
    bob = await person(database)

    def bring(tx: Transaction) -> list[str]:
        number = consignors.add(tx, "bob-brings", "B1", "Bob", "", bob.account.id)
        sale, gids = published(tx, house.sale.owner, 1, number, title="Bob's")
        house.sale = sale
        return gids

    [lot] = await database.write(bring)
    assert ["own_auction"] == await bid(database, bob.bids(lot, "100"))
    guest, known = await admitted(house), await admitted(house, username=bob.account.username)
    assert "accepted" == await bids_as(house, guest, lot, "100")
    pair = (guest.participant.gid, known.participant.gid)
    with pytest.raises(OwnAuction):
        await database.write(merging.merge, house.clerk.token, house.sale.gid, *pair)


async def test_staff_find_people(database: Database) -> None:
    """By paddle, by the beginning of a name or username, page by page, each with what they owe."""
    house = await evening(database)
    guest, bob = await admitted(house, paddle=12, name="Zoë 50%"), await person(database)
    await registered(house, bob)
    assert "accepted" == await bids_as(house, guest, house.lots[0], "100")
    read, token, gid = database.read, house.clerk.token, house.sale.gid
    for text in ("12", "#12", "zoë 5"):
        [found], place = (await read(participants.listed, token, gid, text, 9, None)).people
        assert (guest.participant.gid, eur("100"), None) == (found.participant.gid, found.exposure.total, place)
    assert ([], None) == (await read(participants.listed, token, gid, "%", 9, None)).people
    [newest], place = (await read(participants.listed, token, gid, "", 1, None)).people
    [oldest], end = (await read(participants.listed, token, gid, "", 1, place)).people
    assert (bob.account.id, guest.participant.user.id, None) == (
        newest.participant.user.id,
        oldest.participant.user.id,
        end,
    )
