"""Paper of a sale over the API: what it says, for whom, tagged, whatever people have written."""

from typing import Any

import pytest
from sqlalchemy import update

from saleroom.accounts.domain.rights import Role
from saleroom.bidding.storage.tables import auctions
from saleroom.storage.database import Transaction
from tests.fixtures_house import House, User
from tests.pictures import plain
from tests.sales.api.evening import made, with_lots
from tests.sales.paper import alternatives_of, printed, tags_of, text_of

HOSTILE = (
    '#panic("x") $x^2$ `raw` *b* _i_ @ref <label> \\ // #eval("1") [x] #include "/etc/passwd"',
    "\u05e9\u05e2\u05d5\u05df \u0643\u0631\u0633\u064a",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \u4e2d\u6587 \u0939\u093f\u0928",
    "Donaudampfschifffahrtsgesellschaft" * 5,
    "Za\u0334\u0335\u0336lgo",
)


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_a_catalogue_says_what_the_sale_says_and_is_tagged(house: House, staff: User) -> None:
    """Anyone gets it once it is published: lots in order, in both languages, as PDF/UA with a title and a language."""
    gid = with_lots(staff, 2, title="Evening of clocks", venue="Town hall", description="Come early.\nAnd stay.")
    staff.json(
        "PATCH", f"/sales/{gid}/lots/2", json={"name": "Écritoire", "estimateFrom": "1200", "estimateTo": "1500"}
    )
    assert 404 == house.stranger.get(f"/sales/{gid}/paper/catalogue.pdf").status_code
    assert "Lot 2" in text_of(printed(staff, gid, "catalogue"))
    staff.json("POST", f"/sales/{gid}/publish")
    for language, words in (
        ("en", ("Lot 2", "Estimate €1,200.00 – €1,500.00", "Starting price €10.00", "First lot ends 1 May 2099")),
        ("de", ("Los 2", "Schätzpreis 1.200,00 € – 1.500,00 €", "Startpreis 10,00 €", "1. Mai 2099")),
    ):
        paper = printed(house.stranger, gid, "catalogue", language=language, zone="Europe/Berlin")
        text = text_of(paper)
        assert [] == [word for word in (*words, "Écritoire", "Town hall", "Come early.", "14:00") if word not in text]
        assert text.index("Écritoire") > text.index(words[0][:3] + " 1")
        root: Any = paper.trailer["/Root"]
        assert language == root["/Lang"][:2]
        assert "Evening of clocks" == getattr(paper.metadata, "title", None)
        assert True is root["/MarkInfo"]["/Marked"].value
        assert "pdfuaid" in root["/Metadata"].get_object().get_data().decode()
        assert 2 == tags_of(paper).count("/H1")


@pytest.mark.parametrize("size", [(640, 480), (300, 700), (40, 30)])
def test_photos_are_in_the_catalogue_with_words_for_them(house: House, size: tuple[int, int]) -> None:
    """The first photo of a lot, before and after publication; none in a catalogue of words."""
    staff = house.staff(Role.AUCTIONEER)
    gid = with_lots(staff, 2)
    sent = staff.post("/photos", content=plain(size), headers={"Content-Type": "image/jpeg"}).json()["id"]
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"photos": [sent]})
    for publish in (False, True):
        if publish:
            staff.json("POST", f"/sales/{gid}/publish")
        paper = printed(staff, gid, "catalogue")
        assert ["Photo of lot 1: Lot 1"] == alternatives_of(paper)
        assert 1 == sum(len(page.images) for page in paper.pages)
    assert [] == alternatives_of(printed(staff, gid, "catalogue", layout="words"))


def test_hidden_lots_and_drafts_are_for_nobody_else(house: House, staff: User) -> None:
    """A lot that staff hide is in no paper of strangers, and no paper says its name to them."""
    gid = with_lots(staff, 2)
    staff.json("PATCH", f"/sales/{gid}/lots/2", json={"name": "Secret thing"})
    staff.json("POST", f"/sales/{gid}/publish")
    hidden = staff.json("GET", f"/sales/{gid}/lots/2")["gid"]
    staff.json("PUT", f"/auctions/{hidden}/hiding", json={"reason": "It is not ours."})
    for kind in ("catalogue", "results"):
        assert "Secret" not in text_of(printed(house.stranger, gid, kind))
        assert "Secret" not in text_of(printed(staff, gid, kind))
    assert "Secret" in text_of(printed(staff, gid, "run-sheet"))


@pytest.mark.parametrize("kind", ["labels", "bid-cards", "run-sheet", "clerk-sheet", "results?buyers=true"])
def test_papers_of_the_house_need_their_right(house: House, staff: User, kind: str) -> None:
    """A member gets 403 and a stranger 401, whatever the state of the sale."""
    gid = with_lots(staff, 1)
    staff.json("POST", f"/sales/{gid}/publish")
    path = f"/sales/{gid}/paper/" + (kind if "?" not in kind else "results")
    name, _, asked = kind.partition("?")
    path = f"/sales/{gid}/paper/{name}.pdf" + (f"?{asked}" if asked else "")
    assert 403 == house.user().get(path).status_code
    assert 401 == house.stranger.get(path).status_code


def test_a_run_sheet_has_what_only_the_house_knows(house: House, staff: User) -> None:
    """Reserve, consignor, who leads by how much; with a row of headings that programs find."""
    staff.json("POST", "/consignors", json={"code": "RUN1", "name": "Her"})
    gid = with_lots(staff, 1, kind="live", registration="open", names="paddles")
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"consignor": "RUN1"})
    staff.json("POST", f"/sales/{gid}/publish")
    bidder = house.user("run.bidder")
    paddle = bidder.json("PUT", f"/sales/{gid}/registration")["paddle"]
    lot = staff.json("GET", f"/sales/{gid}/lots/1")["gid"]
    assert bidder.bid(lot, maximum="1234").status_code == 201
    paper = printed(staff, gid, "run-sheet")
    text = text_of(paper)
    said = ("€15.00", "RUN1", f"#{paddle} up to €1,234.00", "Hammer price", "Absentee leader")
    assert [] == [word for word in said if word not in text]
    assert 9 == tags_of(paper).count("/TH")
    assert "1.234,00" in text_of(printed(staff, gid, "run-sheet", language="de"))


def test_labels_are_printed_again_where_they_have_changed(house: House, staff: User) -> None:
    """Printing notes nothing; what is noted is what was printed, and a change after it is printed again."""
    gid = with_lots(staff, 3)
    first = staff.json("GET", f"/sales/{gid}/paper/labels")["lotLabels"]
    assert [("1", True), ("2", True), ("3", True)] == [(one["label"], one["isChanged"]) for one in first]
    paper = printed(staff, gid, "labels", layout="thermal-62x29", changed="true")
    assert 3 == len(paper.pages)
    assert 3 == len([one for one in alternatives_of(paper) if one.startswith("QR code: the page of lot")])
    assert 3 == len(staff.json("GET", f"/sales/{gid}/paper/labels?changed=true")["lotLabels"])
    staff.json("PATCH", f"/sales/{gid}/lots/2", json={"name": "Another name"})
    digests = {one["label"]: one["digest"] for one in first}
    assert 3 == staff.json("POST", f"/sales/{gid}/paper/labels/printed", json={"digests": digests})["printed"]
    staff.json("PATCH", f"/sales/{gid}/lots/3", json={"description": "Not on the label", "reservePrice": "99"})
    left = staff.json("GET", f"/sales/{gid}/paper/labels?changed=true")["lotLabels"]
    assert ["2"] == [one["label"] for one in left]
    assert "Another name" in text_of(printed(staff, gid, "labels", changed="true"))
    staff.json("POST", f"/sales/{gid}/paper/labels/printed", json={"digests": {"2": left[0]["digest"]}})
    assert [] == staff.json("GET", f"/sales/{gid}/paper/labels?changed=true")["lotLabels"]
    unknown = staff.post(f"/sales/{gid}/paper/labels/printed", json={"digests": {"9": "0" * 32}})
    assert "unknown_lot" == unknown.json()["code"]


def test_sheets_of_labels_begin_where_labels_are_left(staff: User) -> None:
    """24 labels fill a sheet; with one gone there is a second one. A range prints these lots alone."""
    gid = with_lots(staff, 24)
    assert 1 == len(printed(staff, gid, "labels").pages)
    assert 2 == len(printed(staff, gid, "labels", skip="1").pages)
    text = text_of(printed(staff, gid, "labels", lots="3-4,7"))
    assert [True, True, True, False] == [f"Lot {number}" in text for number in (3, 4, 7, 5)]


def test_bid_cards_have_the_paddle_and_a_code_for_its_holder(staff: User) -> None:
    """One for each who may bid; those who were declined have none."""
    gid = with_lots(staff, 1, registration="approval")
    staff.json("POST", f"/sales/{gid}/publish")
    for name in ("Ada Lovelace", "Charles Babbage"):
        staff.json("POST", f"/sales/{gid}/participants", json={"personName": name})
    people = staff.json("GET", f"/sales/{gid}/participants")["participants"]
    paddles = {one["personName"]: one["paddle"] for one in people}
    paper = printed(staff, gid, "bid-cards", layout="a5")
    assert 2 == len(paper.pages)
    assert ["Ada Lovelace" in text_of(paper), str(paddles["Ada Lovelace"]) in text_of(paper)] == [True, True]
    alone = printed(staff, gid, "bid-cards", layout="a5", paddles=str(paddles["Charles Babbage"]))
    assert "Ada" not in text_of(alone)
    assert f"QR code: the sale as paddle {paddles['Charles Babbage']}" in alternatives_of(alone)


def test_results_name_buyers_to_those_who_run_the_sale(house: House, staff: User) -> None:
    """Anyone reads hammer prices; the paddles of buyers only with the right."""
    gid = with_lots(staff, 2, registration="open", names="paddles")
    staff.json("POST", f"/sales/{gid}/publish")
    bidder = house.user("results.bidder")
    paddle = bidder.json("PUT", f"/sales/{gid}/registration")["paddle"]
    lot = staff.json("GET", f"/sales/{gid}/lots/1")["gid"]
    assert bidder.bid(lot, amount="20").status_code == 201
    house.write(_sold, lot)
    house.read(lambda tx: None)  # forgets what the house remembers of the lot
    text = text_of(printed(house.stranger, gid, "results"))
    assert "1 of 2 lots sold, for €20.00" in text
    assert f"#{paddle}" not in text
    assert f"#{paddle}" in text_of(printed(staff, gid, "results", buyers="true"))


def _sold(tx: Transaction, gid: str) -> None:
    sold = {"status": "closed", "outcome": "sold"}
    tx.execute(update(auctions).where(auctions.c.gid == gid).values(**sold))


def test_a_fund_a_need_leaves_room_for_the_names_of_lots(staff: User) -> None:
    """Twenty levels, and everybody who gave, stand below the name: no column for them makes that of names narrow."""
    gid = made(staff, kind="live")
    name = "A longcase clock of walnut with a brass dial"
    staff.json("POST", f"/sales/{gid}/lots", json={"name": name, "startingPrice": "10"})
    levels = [str(1000 * number) for number in range(20, 0, -1)]
    staff.json("POST", f"/sales/{gid}/lots", json={"name": "A new roof", "levels": levels})
    staff.json("POST", f"/sales/{gid}/publish")
    staff.json("POST", f"/sales/{gid}/block", json={"act": "call", "label": "2", "seen": tag(staff, gid)})
    for paddle in range(1, 31):
        guest = {"personName": f"Person {paddle}", "paddle": paddle}
        staff.json("POST", f"/sales/{gid}/participants", json=guest)
        pledge = {"act": "pledge", "paddle": paddle, "amount": "20000"}
        staff.json("POST", f"/sales/{gid}/block", json=pledge)
    run, results = printed(staff, gid, "run-sheet"), printed(staff, gid, "results", buyers="true")
    assert "€20,000.00 / €19,000.00" in text_of(run)
    assert "#30 €20,000.00" in text_of(results)
    for paper in (run, results):
        assert name in paper.pages[0].extract_text().replace("\u200b", "")


def tag(staff: User, gid: str) -> str:
    """The identifier of the state of a block."""
    found: str = staff.json("GET", f"/sales/{gid}/block")["tag"]
    return found


@pytest.mark.parametrize("kind", ["catalogue", "labels", "run-sheet", "clerk-sheet", "results"])
def test_texts_of_people_are_never_code_and_break_no_page(staff: User, kind: str) -> None:
    """Commands of the templates, other scripts, emoji, endless words: all are shown, and the paper keeps PDF/UA."""
    gid = made(staff, title=HOSTILE[0], description=HOSTILE[0] + "\n" + HOSTILE[3])
    for name in HOSTILE:
        staff.json("POST", f"/sales/{gid}/lots", json={"name": name, "startingPrice": "10", "description": name})
    paper = printed(staff, gid, kind)
    assert '#panic("x") $x^2$' in text_of(paper)
    root: Any = paper.trailer["/Root"]
    assert "pdfuaid" in root["/Metadata"].get_object().get_data().decode()


@pytest.mark.parametrize(
    "asked",
    [
        "lots=3-1",
        "lots=x",
        "zone=Mars/Base",
        "zone=../../etc/passwd",
        "language=fr",
        "layout=a0",
        "skip=24",
        "skip=-1",
        "lots=7-9",
    ],
)
def test_bad_parameters_are_named(staff: User, asked: str) -> None:
    """400 or 422 with the fault of the parameter."""
    gid = with_lots(staff, 1)
    answer = staff.get(f"/sales/{gid}/paper/labels.pdf?{asked}")
    assert 400 <= answer.status_code < 500
    assert asked.split("=", maxsplit=1)[0] in answer.text


def test_numbers_of_nobody_print_no_blank_paper(staff: User) -> None:
    """Lots and paddles that are not there are refused, on each paper; labels may have none that has changed."""
    gid = with_lots(staff, 1, kind="live")
    for kind in ("catalogue", "labels", "run-sheet", "clerk-sheet", "results"):
        assert "nothing_chosen" in staff.get(f"/sales/{gid}/paper/{kind}.pdf?lots=2").text, kind
    assert "nothing_chosen" in staff.get(f"/sales/{gid}/paper/bid-cards.pdf?paddles=2").text
    printed(staff, gid, "labels", lots="1", changed="true")
