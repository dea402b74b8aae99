"""The page of a lot over HTTP: what it shows to each reader, and its bid box, which asks before it bids."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User
from tests.site.markup import Page
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 7*7 }}&amp;"""


def page(house: House, path: str, user: User | None = None) -> Page:
    """Return a page as `user` sees it, or a visitor without a session."""
    return Visitor(house, user).page(path)


def at(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


def standing(shown: Page) -> str:
    """Return what a page says about its reader's standing."""
    return shown.one("div", id="lot-standing").text


def test_a_lot_shows_all_that_is_known(clocked_house: House, clock: FakeClock) -> None:
    """A lot's page shows name, description, price, leader, reserve, times, soft close and history."""
    ada, grace, hedy = (clocked_house.user(name) for name in ("ada", "grace", "hedy"))
    gid = ada.auction(
        name="Longcase clock",
        description="Eight-day.\n\nRuns well.",
        startingPrice="100",
        increment="5",
        reservePrice="500",
        endsAt=at(clock, hours=1),
        softClose={"window": 90, "extension": 300, "cap": at(clock, hours=2)},
    )
    grace.bid(gid, maximum="200")
    clock.advance(61)
    hedy.bid(gid, maximum="150")
    lot = page(clocked_house, f"/lots/{gid}")
    assert ["Open", "Reserve not met"] == [
        tag.text for tag in lot.all("span") if "tag" in tag.attributes.get("class", "")
    ]
    assert ("Longcase clock", "Longcase clock · Saleroom") == (lot.heading, lot.one("title").text)
    assert "Eight-day.\n\nRuns well." == lot.one("p", class_="description").raw
    assert "155.000" == lot.one("data")["value"]
    assert "Highest bid €155.00 by grace" in lot.main
    assert {"Bids": "3", "Ends": "21 Nov 2026, 13:00:00 UTC", "Starting price": "€100.00"} == lot.facts
    soft_close = "A bid in the last 90 seconds moves the end to 5 minutes after that bid, but never past 21 Nov 2026,"
    assert f"{soft_close} 14:00:00 UTC." in lot.main
    assert [
        "grace automatic bid 21 Nov 2026, 12:01:01 UTC €155.00",
        "hedy 21 Nov 2026, 12:01:01 UTC €150.00",
        "grace 21 Nov 2026, 12:00:00 UTC €100.00",
    ] == [row.text for row in lot.all("tr")[1:]]
    assert "Bid €160.00 or more." in lot.main


def test_an_end_that_has_moved_is_told_later_too(clocked_house: House, clock: FakeClock) -> None:
    """A page opened after a late bid says that the end has moved; a page opened before, or after an early bid, does not."""
    gid = clocked_house.user("ada").auction(endsAt=at(clock, hours=1), softClose={"window": 60, "extension": 90})
    clocked_house.user("grace").bid(gid, amount="12")
    assert "The end has moved." not in page(clocked_house, f"/lots/{gid}").main
    clock.advance(3570)
    clocked_house.user("hedy").bid(gid, amount="20")
    assert "The end has moved." in page(clocked_house, f"/lots/{gid}").main


def test_each_outcome_is_told(clocked_house: House) -> None:
    """A lot that is over says how it ended: its buyer and price, without bids, below its reserve, or cancelled."""
    ada, grace = clocked_house.user("ada"), clocked_house.user("grace")
    sold, unbid, unmet, cancelled, bought = (
        ada.auction(**terms) for terms in ({}, {}, {"reservePrice": "99"}, {}, {"buyNowPrice": "50"})
    )
    for gid in (sold, unmet):
        grace.bid(gid, amount="12")
    for gid in (sold, unbid, unmet):
        ada.json("POST", f"/auctions/{gid}/close", json={})
    ada.delete(f"/auctions/{cancelled}")
    grace.json("POST", f"/auctions/{bought}/buy", json={})
    pages = {gid: page(clocked_house, f"/lots/{gid}") for gid in (sold, unbid, unmet, cancelled, bought)}
    assert {
        sold: "",
        unbid: "Not sold: nobody has bid.",
        unmet: "Not sold: the highest bid did not reach the reserve.",
        cancelled: "The seller has cancelled this lot.",
        bought: "",
    } == {gid: standing(shown) for gid, shown in pages.items()}
    assert "Hammer price €12.00 to grace" in pages[sold].main
    assert "Price €50.00 to grace" in pages[bought].main
    assert "Sold to grace for €12.00." == standing(page(clocked_house, f"/lots/{sold}", ada))
    assert all([] == shown.all("form", action=f"/lots/{gid}/bid") for gid, shown in pages.items())


def test_a_lot_bought_before_its_end_does_not_claim_to_have_ended_then(clocked_house: House, clock: FakeClock) -> None:
    """If a buyer at the buy-now price ended the auction early, the page says when it would have ended."""
    gid = clocked_house.user("ada").auction(buyNowPrice="50", endsAt=at(clock, hours=1))
    clocked_house.user("grace").json("POST", f"/auctions/{gid}/buy", json={})
    facts = page(clocked_house, f"/lots/{gid}").facts
    assert "21 Nov 2026, 13:00:00 UTC" == facts["Would have ended"]
    assert "21 Nov 2026, 12:00:00 UTC" == facts["Bought"]
    grace = clocked_house.user("grace")
    assert "You bought this lot for €50.00. The seller is ada." == standing(page(clocked_house, f"/lots/{gid}", grace))


def test_a_scheduled_lot_says_when_it_starts(clocked_house: House, clock: FakeClock) -> None:
    """Before its start a lot shows that, and its buy-now price; nobody can bid yet."""
    gid = clocked_house.user("ada").auction(startsAt=at(clock, hours=1), buyNowPrice="50")
    lot = page(clocked_house, f"/lots/{gid}", clocked_house.user("grace"))
    assert "21 Nov 2026, 13:00:00 UTC" == lot.facts["Starts"]
    assert "€50.00" == lot.facts["Buy now"]
    assert "When the seller closes it" == lot.facts["Ends"]
    assert "Bidding has not started yet. The first bid must be €10.00 or more." in lot.main
    assert [] == lot.all("form", action=f"/lots/{gid}/bid")


def test_only_its_owner_sees_what_is_private(house: House) -> None:
    """Only the author sees the reserve price, and only its bidder sees a limit."""
    ada, grace = house.user("ada"), house.user("grace")
    gid = ada.auction(reservePrice="777.777")
    grace.bid(gid, maximum="555.555")
    seen = {user.name: page(house, f"/lots/{gid}", user).main for user in (ada, grace, house.user("hedy"))}
    assert {"ada": True, "grace": False, "hedy": False} == {name: "777.777" in text for name, text in seen.items()}
    assert {"ada": False, "grace": True, "hedy": False} == {name: "555.555" in text for name, text in seen.items()}


def test_everybody_is_told_how_they_stand(house: House) -> None:
    """The leader, an outbid user and the seller each see their own standing; a user without a bid sees none."""
    ada, grace, hedy = (house.user(name) for name in ("ada", "grace", "hedy"))
    gid = ada.auction()
    grace.bid(gid, maximum="30")
    hedy.bid(gid, amount="20")
    grace.bid(gid, maximum="60")
    assert "You lead at €21.00. Your limit is €60.00, which nobody else can see before the end." == standing(
        page(house, f"/lots/{gid}", grace)
    )
    assert "You were outbid. grace leads at €21.00." == standing(page(house, f"/lots/{gid}", hedy))
    for reader in (ada, None):
        assert "" == standing(page(house, f"/lots/{gid}", reader))
    assert "This is your own lot." in page(house, f"/lots/{gid}", ada).main


def test_an_equal_bid_that_came_later_is_told_as_such(house: House) -> None:
    """Who has bid as much as the leader, but later, was not outbid; after the next bid they were."""
    grace, hedy = house.newcomer(), house.newcomer()
    gid = house.user("ada").auction()
    hedy.bid(gid, maximum="40")
    grace.bid(gid, maximum="60")
    hedy.bid(gid, maximum="60")
    told = f"An equal bid came before yours. {grace.name} leads at €60.00."
    assert "Equal bid · Longcase clock" in page(house, f"/lots/{gid}", hedy).one("title").text
    assert told == standing(page(house, f"/lots/{gid}", hedy))
    assert f"Equal bid {grace.name} bid first and leads." in page(house, "/mine", hedy).main
    house.user("ida").bid(gid, amount="70")
    for loser in (hedy, grace):
        assert "You were outbid. ida leads at €70.00." == standing(page(house, f"/lots/{gid}", loser))
        assert "Outbid ida leads." in page(house, "/mine", loser).main


@pytest.mark.parametrize(("path", "rows"), [("", 20), ("/bids", 50), ("/screen", 5)])
@pytest.mark.parametrize("later", [-2, -1, 0])
def test_equal_bids_stay_together(house: House, path: str, rows: int, later: int) -> None:
    """Equal bids stand on one page, the leader's first and marked, wherever a page would end."""
    gid = house.user("ada").auction(increment="1")
    house.user("grace").bid(gid, maximum="50")
    house.user("hedy").bid(gid, maximum="50")
    for number in range(rows + later):
        house.user("grace" if number % 2 else "hedy").bid(gid, amount=str(51 + number))
    shown = page(house, f"/lots/{gid}{path}")
    followed = (
        page(house, shown.one("a", rel="next")["href"]) if path == "/bids" and shown.all("a", rel="next") else None
    )
    texts = [row.text for one in (shown, followed) if one for row in one.all("tr")[1:]]
    equal = [text for text in texts if "€50.00" in text]
    if later == -2 or followed:
        assert ["grace", "hedy"] == [text.split()[0] for text in equal]
        assert ["bid first" in text for text in equal] == [True, False]
    else:
        assert [] == equal
    assert len(texts) >= rows - 1


def test_the_history_turns_its_pages(house: House) -> None:
    """The lot shows the newest bids; the history's pages show all bids, each once, newest first."""
    gid = house.user("ada").auction()
    for amount in range(10, 62):
        house.user("grace" if amount % 2 else "hedy").bid(gid, amount=str(amount))
    lot = page(house, f"/lots/{gid}")
    assert 20 == len(lot.all("tr")[1:])
    assert f"/lots/{gid}/bids" in lot.links
    first = page(house, f"/lots/{gid}/bids")
    second = page(house, first.one("a", rel="next")["href"])
    amounts = [row.text.split()[-1] for shown in (first, second) for row in shown.all("tr")[1:]]
    assert [f"€{amount}.00" for amount in range(61, 9, -1)] == amounts
    assert [] == second.all("a", rel="next")
    assert "There are no older bids." in page(house, f"/lots/{gid}/bids?before=1").main


@pytest.mark.parametrize("before", ["x", "", "-1", "1.5", "٣", "9" * 30, "%00"])
def test_a_bid_number_that_is_none_is_refused(house: House, before: str) -> None:
    """A mistyped place in the history is 400, with a page that says so."""
    gid = house.user("ada").auction()
    assert 400 == page(house, f"/lots/{gid}/bids?before={before}").status


def confirmed(visitor: Visitor, gid: str, **values: str) -> httpx.Response:
    """Fill in the bid box, and confirm the bid that it shows."""
    question = visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", **values)
    assert 200 == question.status_code
    return visitor.send(Page(question), f"/lots/{gid}/bid")


@pytest.mark.parametrize(
    ("values", "shown", "placed"),
    [
        ({"amount": "12.345"}, ["You bid exactly €12.345."], {"amount": "12.345"}),
        ({"maximum": "40", "amount": ""}, ["You never pay more than €40.00."], {"maximum": "40.000"}),
        (
            {"amount": "15", "maximum": "40"},
            ["You bid at least €15.00 at once."],
            {"amount": "15.000", "maximum": "40.000"},
        ),
        (
            {"amount": "99,999,999,999,999,999.999"},
            ["€99,999,999,999,999,999.999"],
            {"amount": "99999999999999999.999"},
        ),
    ],
)
def test_the_second_step_does_exactly_as_the_first_has_shown(
    house: House, values: dict[str, str], shown: list[str], placed: dict[str, str]
) -> None:
    """The first step places no bid and shows exactly what will happen; the second does exactly that, and leads back."""
    grace = house.user("grace")
    gid = house.user("ada").auction()
    visitor = Visitor(house, grace)
    question = Page(visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", **values))
    assert 0 == house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]
    assert all(words in question.main for words in shown)
    hidden = {e["name"]: e["value"] for e in question.all("input", type="hidden")}
    assert placed == {name[5:].lower(): value for name, value in hidden.items() if name.startswith("exact")}
    done = visitor.send(question, f"/lots/{gid}/bid", again=values.get("maximum") or values["amount"])
    assert (303, f"/lots/{gid}#lot-box") == (done.status_code, done.headers["location"])
    (bid,) = grace.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert placed.get("amount", "10.000") == bid["amount"]
    assert placed.get("maximum", placed.get("amount")) == bid["maximum"]


def test_a_bid_in_german_is_read_as_germans_write(house: House) -> None:
    """An amount is read in the reader's language only: 1.250 is 1250 in German, and is confirmed as 1250."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"), **{"Accept-Language": "de"})
    asked = visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", amount="1.250")
    assert "1250.000" == Page(asked).one("input", name="exactAmount")["value"]
    visitor.send(Page(asked), f"/lots/{gid}/bid", again="1.250,00")
    assert "1250.000" == house.anyone.json("GET", f"/auctions/{gid}")["currentBid"]


def test_a_lot_leads_to_its_ledger_and_an_accepted_bid_to_its_receipt(house: House) -> None:
    """The page links the ledger, and the answer to a bid links the bidder's receipts."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    page = visitor.page(f"/lots/{gid}")
    link = page.one("a", href=f"/auctions/{gid}/ledger")
    assert "Download the ledger" == link.text
    asked = Page(visitor.send(page, f"/lots/{gid}/bid", amount="12"))
    visitor.http.headers["HX-Request"] = "true"
    answer = visitor.send(asked, f"/lots/{gid}/bid").text
    assert f'href="/lots/{gid}/receipts"' in answer


def test_a_bid_that_is_sent_twice_counts_once(house: House) -> None:
    """A double click on the confirmation places one bid."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    asked = Page(visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", amount="12"))
    answers = [visitor.send(asked, f"/lots/{gid}/bid").status_code for _ in range(2)]
    assert [303, 303] == answers
    assert 1 == house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]


def test_a_bid_that_comes_too_late_says_so(house: House) -> None:
    """If the price or the end moved between the two steps, no bid is placed, and the page is 409 and says why."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    asked = Page(visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", amount="12"))
    house.user("hedy").bid(gid, amount="20")
    refused = visitor.send(asked, f"/lots/{gid}/bid")
    assert 409 == refused.status_code
    assert "Overtaken: bid €21.00 or more." in Page(refused).main
    house.user("ada").json("POST", f"/auctions/{gid}/close", json={})
    refused = visitor.send(asked, f"/lots/{gid}/bid")
    assert 409 == refused.status_code
    assert "The auction is over" in Page(refused).main
    assert 1 == house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"amount": ""}, "amount", "Please fill this in."),
        ({"amount": "9.99"}, "amount", "Bid €10.00 or more."),
        ({"amount": "NaN"}, "amount", "Enter an amount"),
        ({"amount": "1e3"}, "amount", "Enter an amount"),
        ({"amount": "-20"}, "amount", "cannot be below zero"),
        ({"amount": "20", "maximum": "15"}, "maximum", "at least as high as the bid"),
        ({"amount": "", "maximum": "9"}, "maximum", "Bid €10.00 or more."),
        ({"amount": HOSTILE}, "amount", "Enter an amount"),
    ],
)
def test_a_fault_of_a_bid_is_shown_at_its_field(house: House, values: dict[str, str], field: str, said: str) -> None:
    """Each fault is 400 and shown in words at its field; what was typed stays, and is text."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    refused = visitor.send(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", **values)
    shown = Page(refused)
    assert 400 == refused.status_code
    assert said in shown.one("small", id=f"{field}-fault").text
    assert values[field] == shown.one("input", name=field)["value"]
    assert "true" == shown.one("input", name=field)["aria-invalid"]
    assert 0 == house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]


@pytest.mark.parametrize(
    "broken",
    [
        {"exactAmount": "12"},
        {"exactAmount": "12", "key": "-" * 65},
        {"key": "k"},
        {"key": "k", "exactAmount": "NaN"},
        {"key": "k", "exactAmount": "1e9"},
        {"key": "k", "exactMaximum": "12,50"},
    ],
)
def test_a_forged_confirmation_is_refused(house: House, broken: dict[str, str]) -> None:
    """A confirmation that no page made is 400, and places no bid."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.user("grace"))
    token = visitor.page(f"/lots/{gid}").all("input", name="csrfToken")[0]["value"]
    answer = visitor.http.post(f"/lots/{gid}/bid", data={"csrfToken": token, "confirmed": "1", **broken})
    assert 400 == answer.status_code
    assert 0 == house.anyone.json("GET", f"/auctions/{gid}")["bidCount"]


def test_nobody_bids_without_a_session_or_a_token(house: House) -> None:
    """A user without a session is led to the login and back; a form without the page's token is refused."""
    gid = house.user("ada").auction()
    stranger = Visitor(house)
    token = stranger.page("/login").all("input", name="csrfToken")[0]["value"]
    led = stranger.http.post(f"/lots/{gid}/bid", data={"csrfToken": token, "amount": "12"})
    assert (303, f"/login?next=/lots/{gid}") == (led.status_code, led.headers["location"])
    forged = Visitor(house, house.user("grace")).http.post(f"/lots/{gid}/bid", data={"amount": "12"})
    assert 403 == forged.status_code


def test_markup_in_texts_makes_no_element(house: House) -> None:
    """Markup in a name or a description is shown as it was written, and makes no element anywhere on the page."""
    gid = house.user("ada").auction(name=HOSTILE, description=HOSTILE)
    lot = page(house, f"/lots/{gid}", house.user("grace"))
    assert (HOSTILE, HOSTILE) == (lot.heading, lot.one("p", class_="description").raw)
    assert [] == [e for e in lot.all("script") if not e["src"].startswith("/assets/")]
    assert {"/assets/"} == {image["src"][:8] for image in lot.all("img")}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "After the end everyone can read it in the ledger of this lot, even if you win."),
        ("de", "Nach dem Ende steht es für alle lesbar im Auktionsprotokoll dieses Loses, auch wenn Sie gewinnen."),
    ],
)
def test_a_limit_is_typed_knowing_that_it_becomes_public(house: House, language: str, words: str) -> None:
    """Where a limit is typed, confirmed and raised, the page says that the ledger shows it after the end."""
    gid = house.user("ada").auction()
    visitor = Visitor(house, house.newcomer())
    visitor.http.headers["Accept-Language"] = language
    lot = visitor.page(f"/lots/{gid}")
    asked = Page(visitor.send(lot, f"/lots/{gid}/bid", amount="", maximum="60"))
    visitor.send(asked, f"/lots/{gid}/bid")
    leading = visitor.page(f"/lots/{gid}")
    raised = Page(visitor.send(leading, f"/lots/{gid}/bid", maximum="70"))
    for page in (lot, asked, leading, raised):
        assert words in page.main
