"""The pages of sales: the catalogue for everybody, and its editor in the back office."""

import pytest

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House, User
from tests.sales.api.evening import made, with_lots
from tests.sales.live_sale import LiveSale
from tests.site.markup import Page
from tests.site.visitor import Visitor


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_a_catalogue_is_read_searched_and_entered_by_number(house: House, staff: User) -> None:
    """Anyone reads the lots in each view, finds one by words, and goes to one by its number; a draft is not found."""
    gid = with_lots(staff, 2, title="Evening of clocks")
    reader = Visitor(house)
    assert 404 == reader.http.get(f"/catalogues/{gid}").status_code
    staff.json("PATCH", f"/sales/{gid}/lots/2", json={"name": "Écritoire", "estimateFrom": "20", "estimateTo": "30"})
    staff.json("POST", f"/sales/{gid}/publish")
    lots = {lot["label"]: lot["gid"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]}
    assert f"/catalogues/{gid}" in reader.page("/catalogues").links
    for view in ("cards", "list", "paper"):
        page = reader.page(f"/catalogues/{gid}?view={view}")
        assert {f"/lots/{lots['1']}", f"/lots/{lots['2']}"} <= set(page.links)
        assert "Écritoire" in page.main
    found = reader.page(f"/catalogues/{gid}?q=ecritoire")
    assert (True, False) == (f"/lots/{lots['2']}" in found.links, f"/lots/{lots['1']}" in found.links)
    assert (True, False) == ("1 lot" in found.main, "2 lots" in found.main)
    assert "No lot matches" in reader.page(f"/catalogues/{gid}?q=nothing").main
    assert f"/lots/{lots['2']}" == reader.http.get(f"/catalogues/{gid}?number=002").headers["location"]
    assert "There is no lot with this number here." in reader.page(f"/catalogues/{gid}?number=<9>").main


@pytest.mark.parametrize("role", [Role.CLERK, Role.AUCTIONEER, Role.CATALOGUER, Role.MEMBER])
def test_whoever_works_at_a_sale_finds_the_way(house: House, staff: User, role: Role) -> None:
    """From its catalogue each role finds the pages that it may use, and no link of them leads where it is refused."""
    gid = with_lots(staff, 1, title="Evening of maps", kind="live")
    staff.json("POST", f"/sales/{gid}/publish")
    visitor = Visitor(house, house.staff(role))
    ways = [f"/admin/sales/{gid}", f"/admin/sales/{gid}/", f"/sales/{gid}/"]
    seen = {f"/catalogues/{gid}"}
    waiting = [*seen]
    while waiting:
        found = {link.partition("?")[0].partition("#")[0] for link in visitor.page(waiting.pop()).links}
        new = {link for link in found if link.startswith(tuple(ways)) and not link.endswith((".pdf", "/export"))} - seen
        seen |= new
        waiting += new
    works = {
        f"/admin/sales/{gid}/people",
        f"/admin/sales/{gid}/book",
        f"/sales/{gid}/console",
        f"/sales/{gid}/entry",
        f"/sales/{gid}/auctioneer",
    }
    at_work = role in (Role.CLERK, Role.AUCTIONEER)
    assert (works if at_work else set()) == works & seen
    assert (f"/admin/sales/{gid}" in seen) == (role is Role.AUCTIONEER)


def test_the_page_of_a_lot_names_its_sale(house: House, staff: User) -> None:
    """It has the number, the estimate, and the lots before and after it in the catalogue, whatever their ends."""
    gid = with_lots(staff, 3, title="Evening of chairs")
    staff.json("PATCH", f"/sales/{gid}/lots/2", json={"estimateFrom": "20", "estimateTo": "30"})
    staff.json("POST", f"/sales/{gid}/publish")
    first, second, third = [lot["gid"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    page = Visitor(house).page(f"/lots/{second}")
    assert "Lot 2" in page.main
    assert "Evening of chairs" in page.main
    assert "Estimate" in page.main
    assert {f"/catalogues/{gid}", f"/lots/{first}", f"/lots/{third}"} <= set(page.links)


def test_a_sale_is_made_filled_ordered_and_published_on_pages(house: House, staff: User) -> None:
    """The editor does all of it with forms alone: make, terms, lots, order by arrows and by number, publish, withdraw."""
    editor = Visitor(house, staff)
    answer = editor.send(editor.page("/admin/sales"), "/admin/sales", title="A night", kind="timed")
    path = answer.headers["location"]
    for name in ("First", "Second", "Third"):
        assert 303 == editor.send(editor.page(path), f"{path}/lots", name=name, startingPrice="1,000").status_code
    saved = editor.send(editor.page(path), path, title="The night", startsAt="2099-05-01T20:00", softClose="60")
    assert 303 == saved.status_code
    rows = editor.page(path)
    assert 303 == editor.send(rows, f"{path}/order", label="3", to="up").status_code
    assert 303 == editor.send(editor.page(path), f"{path}/order", label="3", to="up").status_code
    assert 303 == editor.send(editor.page(path), f"{path}/order", label="1", before="").status_code
    assert 303 == editor.send(editor.page(path), f"{path}/order", label="1", before="1").status_code
    for label, behind in (("3", "2"), ("3", "1"), ("3", "3"), ("1", "3"), ("2", "3"), ("1", "2")):
        assert 303 == editor.send(editor.page(path), f"{path}/order", label=label, behind=behind).status_code
    assert 404 == editor.send(editor.page(path), f"{path}/order", label="1", behind="9").status_code
    gid = path.rpartition("/")[2]
    assert ["3", "2", "1"] == [lot["label"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    assert 303 == editor.send(editor.page(path), f"{path}/renumber").status_code
    edited = editor.send(editor.page(f"{path}/lots/1"), f"{path}/lots/1", name="Third, really", estimateFrom="5")
    assert 303 == edited.status_code
    assert 303 == editor.send(editor.page(path), f"{path}/publish").status_code
    lots = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [("1", "Third, really"), ("2", "Second"), ("3", "First")] == [(lot["label"], lot["name"]) for lot in lots]
    assert ("1000.000", 60) == (lots[1]["startingPrice"], lots[1]["auction"]["softClose"]["window"])
    assert 303 == editor.send(editor.page(path), f"{path}/pause").status_code
    assert "Let the sale go on" in editor.page(path).main
    assert 303 == editor.send(editor.page(path), f"{path}/order", label="2", before="2").status_code
    assert 303 == editor.send(editor.page(path), f"{path}/resume").status_code
    assert "Pause the sale" in editor.page(path).main
    running = editor.page(path).main
    assert (True, False) == ("Move lot" in running, "Number all lots" in running)
    withdrawn = editor.send(editor.page(f"{path}/lots/2"), f"{path}/lots/2/withdraw", reason="Broken.")
    assert 303 == withdrawn.status_code
    assert "Withdrawn" in editor.page(path).main
    assert "This lot was withdrawn" in editor.page(f"{path}/lots/2").main


def test_a_start_that_nobody_changes_stays(house: House, staff: User) -> None:
    """Another venue moves no start to the other hour of the two, when clocks go back."""
    said = {"title": "The night", "kind": "live", "startsAt": "2099-10-25T01:30:00.500000Z"}
    gid = staff.json("POST", "/sales", json=said)["gid"]
    path, editor = f"/admin/sales/{gid}", Visitor(house, staff)
    sent = {"venue": "The hall", "startsAt": "2099-10-25T02:30", "zone": "Europe/Vienna"}
    assert 303 == editor.send(editor.page(path), path, **sent).status_code
    saved = staff.json("GET", f"/sales/{gid}")
    assert ("The hall", said["startsAt"]) == (saved["venue"], saved["startsAt"])
    assert 303 == editor.send(editor.page(path), path, **sent | {"startsAt": "2099-10-25T03:30"}).status_code
    assert "2099-10-25T02:30:00.000000Z" == staff.json("GET", f"/sales/{gid}")["startsAt"]


def test_what_is_wrong_in_a_form_stays_in_it(house: House, staff: User) -> None:
    """A fault stands beside its field, with what was typed; a refusal is said in words."""
    editor, gid = Visitor(house, staff), made(staff)
    path = f"/admin/sales/{gid}"
    refused = editor.send(editor.page(path), f"{path}/lots", name="Clock", startingPrice="ten", label="X")
    assert 400 == refused.status_code
    assert 'value="ten"' in refused.text
    assert "Enter up to six digits" in refused.text
    assert 409 == editor.send(editor.page(path), f"{path}/publish").status_code
    wrong = editor.send(editor.page(path), path, opensAt="2099-05-02T10:00", startsAt="2099-05-01T10:00")
    assert 400 == wrong.status_code
    assert "Bidding must open before" in wrong.text
    other = f"/admin/sales/{with_lots(staff, 1)}"
    assert 404 == editor.send(editor.page(other), f"{other}/order", label="no").status_code


@pytest.mark.parametrize(
    ("typed", "kept", "shown"),
    [
        ("5", "5.000", "5.00"),
        (" 0: 5/100 :10 ; 1,000:50", [("0.000", "5.000"), ("100.000", "10.000"), ("1000.000", "50.000")], ""),
        ("5 / 100: 10", [("0.000", "5.000"), ("100.000", "10.000")], "0.00: 5.00 / 100.00: 10.00"),
    ],
)
def test_the_increments_of_a_sale_are_set_on_its_page(
    house: House, staff: User, typed: str, kept: str | list[tuple[str, str]], shown: str
) -> None:
    """One step, or steps by price; an empty field gives the usual ones back."""
    editor, gid = Visitor(house, staff), made(staff)
    path = f"/admin/sales/{gid}"
    usual = staff.json("GET", f"/sales/{gid}")["increment"]
    assert 303 == editor.send(editor.page(path), path, increment=typed).status_code
    found = staff.json("GET", f"/sales/{gid}")["increment"]
    assert kept == (found if isinstance(found, str) else [(tier["from"], tier["step"]) for tier in found])
    assert f'name="increment" value="{shown}' in editor.http.get(path).text
    assert 303 == editor.send(editor.page(path), path, increment="").status_code
    assert usual == staff.json("GET", f"/sales/{gid}")["increment"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("ten", "amount"),
        ("0: 5 / 10", "Enter one step, such as 5, or steps by price"),
        ("10: 5", "The first step must be for prices from zero."),
        ("0: 5 / 0: 6", "Each step must begin at a higher price"),
        ("0: 0", "Every step must be above zero."),
        ("0", "above"),
        (":", "fill this in"),
        ("1:2:3", "amount"),
        (" / ".join(f"{start}: 1" for start in range(51)), "Enter at most 50 steps."),
    ],
)
def test_wrong_increments_of_a_sale_stay_in_the_field(house: House, staff: User, typed: str, said: str) -> None:
    """A fault stands beside the field, and the sale keeps the increments that it has."""
    editor, gid = Visitor(house, staff), made(staff)
    path, before = f"/admin/sales/{gid}", staff.json("GET", f"/sales/{gid}")["increment"]
    refused = editor.send(editor.page(path), path, increment=typed)
    assert 400 == refused.status_code
    assert said in refused.text
    assert f'value="{typed}"' in refused.text
    assert before == staff.json("GET", f"/sales/{gid}")["increment"]


def test_a_live_sale_that_has_begun_does_not_say_that_it_begins(house: House) -> None:
    """It may begin before its time, and the catalogue goes on to say for when it was planned."""
    sale = LiveSale(house, startsAt="2099-05-01T10:00:00Z")
    reader, path = Visitor(house), f"/catalogues/{sale.gid}"
    before = reader.page(path).main
    sale.act("call")
    after = reader.page(path).main
    assert (True, True) == ("Begins" in before, "2099" in before)
    assert (False, True) == ("Begins" in after, "2099" in after)


def test_the_editor_is_for_those_with_the_right(house: House, staff: User) -> None:
    """A cataloguer edits and finds nothing to publish; a clerk and a member get no editor."""
    gid = with_lots(staff, 1)
    cataloguer = Visitor(house, house.staff(Role.CATALOGUER))
    page = cataloguer.page(f"/admin/sales/{gid}")
    assert "Publish the sale" not in page.main
    assert "Add a lot" in page.main
    assert 403 == Visitor(house, house.staff(Role.CLERK)).http.get(f"/admin/sales/{gid}").status_code
    assert 403 == Visitor(house, house.newcomer()).http.get("/admin/sales").status_code


def test_a_wrong_lot_changes_no_terms(house: House, staff: User) -> None:
    """What was typed for a new lot stays in its form alone, so that saving the terms afterwards does not take it for theirs."""
    gid = with_lots(staff, 1, description="Clocks of a collector")
    visitor, path = Visitor(house, staff), f"/admin/sales/{gid}"
    page = visitor.page(path)
    wrong = visitor.sent(page, f"{path}/lots", name="Vase", startingPrice="dear", description="With a crack")
    assert "dear" == wrong.one("input", id="startingPrice")["value"]
    assert "With a crack" == wrong.one("textarea", id="lot-description").text
    assert "Clocks of a collector" == wrong.one("textarea", id="description").text
    assert 303 == visitor.send(wrong, path).status_code
    assert "Clocks of a collector" == staff.json("GET", f"/sales/{gid}")["description"]


@pytest.mark.parametrize(
    ("action", "field", "typed", "tag", "name"),
    [
        ("", "description", "\u202eclocks", "textarea", "description"),
        ("/lots", "description", "\u202ecrack", "textarea", "lot-description"),
        ("/cancel", "reason", "\u202eflood", "input", "reason"),
        ("/order", "label", "77", "input", "move-label"),
    ],
)
def test_a_fault_is_said_at_its_field(
    house: House, staff: User, action: str, field: str, typed: str, tag: str, name: str
) -> None:
    """Each field that is refused keeps what was typed, and is described by what is wrong with it."""
    gid = with_lots(staff, 2)
    visitor, path = Visitor(house, staff), f"/admin/sales/{gid}"
    if action == "/order":
        token = visitor.page(path).all("input", name="csrfToken")[0]["value"]
        sent = {"csrfToken": token, "label": typed, "before": "1"}
        wrong = Page(visitor.http.post(path + action, data=sent))
    else:
        more = {"name": "Vase", "startingPrice": "10"} if action == "/lots" else {}
        wrong = visitor.sent(visitor.page(path), path + action, **{field: typed, **more})
    refused = wrong.one(tag, id=name)
    assert typed == (refused["value"] if tag == "input" else refused.text)
    assert "true" == refused["aria-invalid"]
    [said] = [one for one in wrong.elements if one.attributes.get("id") == refused["aria-describedby"]]
    assert "fault" in said["class"] and said.text


def test_an_unticked_box_stays_unticked_in_a_refused_form(house: House, staff: User) -> None:
    """A box that was unticked is not ticked again because another field was wrong."""
    gid = made(staff, title="Clocks", kind="timed", following=True)
    visitor, path = Visitor(house, staff), f"/admin/sales/{gid}"
    page = visitor.page(path)
    assert "checked" in page.one("input", name="following").attributes
    wrong = visitor.sent(page, path, following=None, spacing="never")
    assert "checked" not in wrong.one("input", name="following").attributes


@pytest.mark.parametrize(("tag", "doubtful", "said"), [("en", "1.000", "1000.00"), ("de", "1,000", "1000,00")])
def test_amounts_of_the_editor_that_may_mean_thousands_are_told(
    house: House, staff: User, tag: str, doubtful: str, said: str
) -> None:
    """After a lot was added or changed, and after the terms were, the page says of each how it was read."""
    path = f"/admin/sales/{with_lots(staff, 1, kind='live')}"
    visitor = Visitor(house, staff, **{"Accept-Language": tag})

    def notes(form: str, of: str, **values: str) -> list[str]:
        answer = visitor.send(visitor.page(of), form, **values)
        assert 303 == answer.status_code
        return [one.text for one in visitor.page(answer.headers["location"]).all("p", class_="note-alert")]

    sure = {"name": "Clock", "startingPrice": "12"}
    for told, count in (
        (notes(f"{path}/lots", path, **sure, estimateFrom=doubtful), 1),
        (notes(f"{path}/lots/1", f"{path}/lots/1", startingPrice=doubtful, reservePrice=doubtful), 2),
        (notes(path, path, limitDefault=doubtful, increment=f"0: 5 / 100: {doubtful}"), 2),
    ):
        assert count == len(told) and all(one.startswith(doubtful) and said in one for one in told)
    assert [] == notes(f"{path}/lots", path, **sure)
    assert [] == notes(f"{path}/lots/1", f"{path}/lots/1", startingPrice="1000", reservePrice="")
