"""The book over HTTP: staff enter absentee bids for paddles, change them, and take them back before the call."""

from decimal import Decimal
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, select, update

from saleroom.accounts.domain.rights import Role
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.storage.tables import auctions
from saleroom.sales.storage.tables import book_lines
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.live_sale import LiveSale
from tests.tools.verify.ledgers import verified


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def live(house: House) -> LiveSale:
    """A live sale of three lots from 10, with a reserve of 15 and an increment of 5; nobody is there yet."""
    return LiveSale(house)


def guest(live: LiveSale, paddle: int, **said: Any) -> str:
    """Admit somebody without an account, and return their identifier."""
    body = {"personName": f"Guest {paddle}", "paddle": paddle, "bidsBy": "absentee", **said}
    made = live.staff.json("POST", f"/sales/{live.gid}/participants", json=body)
    assert ("absentee", None) == (made["bidsBy"], made["checkedInAt"])
    return str(made["participant"])


def sent(by: User, live: LiveSale, paddle: int, label: str, maximum: str | None, **headers: str) -> httpx.Response:
    """Send a line of the book."""
    line = {"paddle": paddle, "label": label, "maximum": maximum}
    return by.post(f"/sales/{live.gid}/book", json=line, headers=headers)


def entered(live: LiveSale, paddle: int, label: str, maximum: str | None) -> Any:
    """Send a line that is accepted, and return it as the book has it."""
    answer = sent(live.staff, live, paddle, label, maximum)
    assert 200 == answer.status_code, answer.text
    return answer.json()


def auction(live: LiveSale, number: int = 0) -> Any:
    """Return a lot as anyone sees it."""
    return live.house.anyone.json("GET", f"/auctions/{live.lots[number]}")


def standing(live: LiveSale, number: int = 0) -> tuple[str, str]:
    """Return who leads on a lot, and at which price."""
    lot = auction(live, number)
    return lot["currentBidder"], lot["currentBid"]


def test_the_book_sets_the_opening_and_bids_on(live: LiveSale) -> None:
    """Of two absentee bids the higher leads, at a tie the earlier; on the block the house bids for it, as by its channel."""
    for paddle in (11, 12, 13):
        guest(live, paddle)
    first = entered(live, 11, "1", "40")
    assert (True, True, "40.000", "Guest 11") == tuple(
        first[name] for name in ("stands", "leads", "bookMaximum", "personName")
    )
    assert not entered(live, 12, "1", "40")["leads"]
    assert entered(live, 13, "1", "60")["leads"]
    assert ("#13", "45.000") == standing(live)
    called = live.act("call")["onBlock"]["auction"]
    screen = live.house.plain.get(f"/sales/{live.gid}/screen").text
    assert "by a maximum left before" in screen and "60.00" not in screen
    assert ("#13", "45.000", "50.000") == tuple(called[name] for name in ("currentBidder", "currentBid", "minimumBid"))
    live.act("bid", amount="50", paddle=11)
    assert ("#13", "55.000") == standing(live)
    live.act("sell")
    live.act("end")
    ledger = live.house.anyone.get(f"/auctions/{live.lots[0]}/ledger").content
    verified(ledger)
    assert 3 == ledger.count(b'"channel":"absentee"') and b'"maximum":"60.000"' in ledger


def test_a_line_replaces_the_one_before(live: LiveSale) -> None:
    """A higher maximum raises it, a lower one takes it back and comes later, null takes it back; the same changes nothing."""
    guest(live, 11), guest(live, 12)
    entered(live, 11, "1", "100")
    assert entered(live, 11, "1", "200")["leads"]
    bids = auction(live)["bidCount"]
    assert "200.000" == entered(live, 11, "1", "200")["bookMaximum"] and bids == auction(live)["bidCount"]
    entered(live, 12, "1", "50")
    assert ("#11", "55.000") == standing(live)
    assert not entered(live, 11, "1", "50")["leads"]
    assert ("#12", "50.000") == standing(live)
    taken = entered(live, 12, "1", None)
    assert (False, False) == (taken["stands"], taken["leads"])
    assert ("#11", "15.000") == standing(live)
    assert not entered(live, 11, "1", None)["stands"]
    assert None is auction(live)["currentBidder"]
    assert (409, "not_in_book") == refusal(sent(live.staff, live, 11, "1", None))
    history = live.house.anyone.json("GET", f"/auctions/{live.lots[0]}/bids")["bids"]
    assert {"The absentee bid was taken back before the lot was called."} == {
        bid["voided"] for bid in history if bid["voided"]
    }


def test_from_the_call_on_the_book_is_closed(live: LiveSale) -> None:
    """On the block nothing is entered or taken back; a skipped lot is open again, and undoing takes no absentee bid."""
    guest(live, 11), guest(live, 12)
    entered(live, 11, "1", "40")
    live.act("call")
    assert (409, "on_the_block") == refusal(sent(live.staff, live, 12, "1", "60"))
    assert (409, "on_the_block") == refusal(sent(live.staff, live, 11, "1", None))
    live.act("skip")
    assert entered(live, 12, "1", "60")["leads"]
    undone = live.act("undo")["onBlock"]["auction"]
    assert ("#12", "45.000", "50.000") == tuple(undone[name] for name in ("currentBidder", "currentBid", "minimumBid"))
    live.act("sell")
    assert (409, "auction_closed") == refusal(sent(live.staff, live, 11, "1", "90"))
    live.act("call")
    live.act("pass")
    live.act("call")
    live.act("pass")
    live.act("end")
    assert (409, "sale_over") == refusal(sent(live.staff, live, 11, "2", "90"))


def test_limits_and_admission_hold(live: LiveSale) -> None:
    """What waits counts against the limit, less what is taken back; who is declined, unknown or the consignor is refused."""
    one = guest(live, 11, bidLimit="100")
    entered(live, 11, "1", "60")
    refused = sent(live.staff, live, 11, "2", "41")
    assert (409, "beyond_limit", "60.000", "40.000") == (
        *refusal(refused),
        refused.json()["exposure"],
        refused.json()["left"],
    )
    entered(live, 11, "1", "50")
    entered(live, 11, "2", "50")
    assert (409, "unknown_paddle") == refusal(sent(live.staff, live, 99, "1", "60"))
    assert (404, "unknown_lot") == refusal(sent(live.staff, live, 11, "99", "60"))
    path = f"/sales/{live.gid}/participants/{one}"
    live.staff.json("PATCH", path, json={"bidLimit": "40"})
    assert (409, "beyond_limit") == refusal(sent(live.staff, live, 11, "1", "60"))
    entered(live, 11, "2", None)
    assert "30.000" == entered(live, 11, "1", "30")["bookMaximum"]
    live.staff.json("PATCH", path, json={"admission": "declined", "reason": "Owes us."})
    assert (403, "registration_declined") == refusal(sent(live.staff, live, 11, "1", "35"))
    assert not entered(live, 11, "1", None)["stands"]


def test_what_a_bidder_has_bid_stays(live: LiveSale) -> None:
    """A raise by the bidder is not taken back by a line, nor is an online bid; a line below another's bid is too low."""
    bob = live.bidder()
    paddle = live.staff.json("GET", f"/sales/{live.gid}/participants")["participants"][0]["paddle"]
    entered(live, paddle, "1", "40")
    assert 201 == bob.bid(live.lots[0], maximum="80").status_code
    assert (409, "not_in_book") == refusal(sent(live.staff, live, paddle, "1", None))
    assert (409, "not_in_book") == refusal(sent(live.staff, live, paddle, "1", "30"))
    assert entered(live, paddle, "1", "90")["leads"]
    assert 201 == bob.bid(live.lots[1], maximum="80").status_code
    assert (409, "already_leading") == refusal(sent(live.staff, live, paddle, "2", "80"))
    assert (409, "not_in_book") == refusal(sent(live.staff, live, paddle, "2", None))
    guest(live, 12)
    assert (409, "bid_too_low") == refusal(sent(live.staff, live, 12, "2", "15"))


def test_who_may_and_what_is_noted(house: House, live: LiveSale) -> None:
    """Clerks may, catalogue keepers may not; a clerk who bids on the lot takes none back; a repeat with its key is one line."""
    guest(live, 11)
    clerk, keeper = house.staff(Role.CLERK), house.staff(Role.CATALOGUER)
    assert (403, "missing_right") == refusal(sent(keeper, live, 11, "1", "60"))
    assert 403 == keeper.get(f"/sales/{live.gid}/book").status_code
    key = {"Idempotency-Key": "line-1"}
    first = sent(clerk, live, 11, "1", "60", **key)
    assert first.json() == sent(clerk, live, 11, "1", "60", **key).json()
    assert (422, "idempotency_mismatch") == refusal(sent(clerk, live, 11, "1", "61", **key))
    clerk.json("PUT", f"/sales/{live.gid}/registration")
    assert 201 == clerk.bid(live.lots[0], maximum="30").status_code
    assert (403, "bids_there") == refusal(sent(clerk, live, 11, "1", None))
    entered(live, 11, "1", None)
    page = clerk.json("GET", f"/sales/{live.gid}/book")
    assert [(clerk.name, "60.000", False)] == [
        (line["enteredBy"], line["bookMaximum"], line["stands"]) for line in page["book"]
    ]
    owner = house.staff(Role.OWNER)
    acts = [entry for entry in owner.json("GET", "/staff/audit")["entries"] if entry["subject"] == live.lots[0]]
    assert ["absentee_bid.taken_back", "absentee_bid.entered"] == [entry["act"] for entry in acts]
    assert "60" not in str([entry["after"] for entry in acts])


def test_a_draft_and_bad_lines_are_refused(house: House, live: LiveSale) -> None:
    """Nobody bids in a draft; all faults of a line come at once; a page of lines leads to the next one."""
    wrong = faults(live.staff.post(f"/sales/{live.gid}/book", json={"paddle": 0, "label": "x", "maximum": "much"}))
    assert {"paddle", "label", "maximum"} == wrong.keys()
    assert {"paddle", "label", "maximum"} == faults(live.staff.post(f"/sales/{live.gid}/book", json={})).keys()
    need = {"name": "A new roof", "levels": ["100", "50"]}
    label = live.staff.json("POST", f"/sales/{live.gid}/lots", json=need)["label"]
    assert (409, "of_auctions") == refusal(sent(live.staff, live, 11, label, "60"))
    draft = live.staff.json("POST", "/sales", json={"title": "Soon", "kind": "live"})["gid"]
    answer = live.staff.post(f"/sales/{draft}/book", json={"paddle": 1, "label": "1", "maximum": "5"})
    assert (409, "not_published") == refusal(answer)
    guest(live, 11)
    for number in (1, 2, 3):
        entered(live, 11, str(number), "20")
    page = live.staff.json("GET", f"/sales/{live.gid}/book?limit=2")
    rest = live.staff.json("GET", f"/sales/{live.gid}/book?cursor={page['next']}")
    assert (["3", "2"], ["1"], None) == (
        [line["label"] for line in page["book"]],
        [line["label"] for line in rest["book"]],
        rest["next"],
    )


def test_a_changed_line_is_found(house: House, live: LiveSale) -> None:
    """`saleroom verify --database` finds a line with another maximum or of another bid, and one that is gone."""
    for paddle in (31, 32):
        guest(live, paddle)
    for paddle, maximum in ((31, "50"), (32, "80"), (32, "90"), (31, "40")):
        assert sent(live.staff, live, paddle, "1", maximum).is_success
    faults: list[list[str]] = []

    def tampered(tx: Transaction) -> None:
        lot = select(auctions.c.id).where(auctions.c.gid == live.lots[0]).scalar_subquery()
        mine = (book_lines.c.number == 1, book_lines.c.auction_id == lot)
        other = (update(book_lines).values(maximum=Decimal("51.000")), update(book_lines).values(number=9))
        for change in (None, *other, delete(book_lines)):
            with tx.connection.begin_nested() as undone:
                if change is not None:
                    tx.execute(change.where(*mine))
                faults.append([one.split(": ", 1)[1] for one in faults_of(tx) if live.lots[0] in one])
                undone.rollback()

    house.write(tampered)
    never = "the book has bid 1 with a maximum that it never had"
    gone = "bid 1 is an absentee bid, and the book has no line of it"
    assert [[], [never], ["the book has a line of bid 9, which nobody has placed", gone], [gone]] == faults
