"""The pages in a real Chromium: common tasks, also by keyboard, on a phone, and in both colour schemes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.people import WAIT_MS_MAX, broken_rules, is_missing
from tests.fixtures_house import PASSWORD, House, ServeHouse

PATHS = ("/", "/lots/{gid}", "/lots/{sold}", "/lots/{gid}/bids", "/lots/none", "/login", "/register")

OpenPage = Callable[..., Page]


@contextmanager
def opening(chromium: Browser, house: House) -> Iterator[OpenPage]:
    """Yield a function that opens a page in a new browser. Its console must be without errors at the end."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def another(path: str = "/", **options: Any) -> Page:
        contexts.append(chromium.new_context(base_url=house.base, service_workers="block", **options))
        contexts[-1].set_default_timeout(WAIT_MS_MAX)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.on("response", lambda answer: complaints.append(answer.url) if is_missing(answer) else None)
        page.goto(path)
        return page

    yield another
    for context in contexts:
        context.close()
    # Chromium reports every 4xx. A page's status is checked by its test, and a file's status above.
    assert [] == [line for line in complaints if "the server responded with a status of 4" not in line]


@pytest.fixture
def open_page(chromium: Browser, sqlite_house: House) -> Iterator[OpenPage]:
    """Return a function that opens a page in a new browser, whose console must be without errors at the end of the test."""
    with opening(chromium, sqlite_house) as another:
        yield another


@pytest.fixture(scope="module")
def shared_viewer(chromium: Browser, sqlite_house: House) -> Iterator[Page]:
    """The API's viewer. It reads a long document, so that to open it costs more than most tests."""
    with opening(chromium, sqlite_house) as another:
        yield another("/docs")


@pytest.fixture
def viewer(shared_viewer: Page) -> Iterator[Page]:
    """The viewer with its first section open, which the test leaves open."""
    section = shared_viewer.locator(".opblock-tag").first
    section.click()
    shared_viewer.locator(".opblock").first.wait_for()
    yield shared_viewer
    section.click()
    expect(shared_viewer.locator(".opblock")).to_have_count(0)


@pytest.fixture
def operation(viewer: Page) -> Iterator[Locator]:
    """The operation that registers a user, to be tried out. To open another one takes seconds, but not to open it again."""
    operation = viewer.locator(".opblock-post").filter(has=viewer.locator("[data-path='/users']"))
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_label("Request body").wait_for()
    yield operation
    operation.get_by_role("button", name="Cancel").click()
    operation.locator(".opblock-summary-control").click()


@pytest.fixture(scope="module")
def stranger(chromium: Browser, sqlite_house: House) -> Iterator[Page]:
    """A stranger's page, for tests that only look: a new browser costs more than another page in an old one."""
    with opening(chromium, sqlite_house) as another:
        yield another()


@pytest.fixture(scope="module")
def lots(sqlite_house: House) -> dict[str, str]:
    """Two auctions with everything on their pages: an open one (`gid`) and a `sold` one."""
    ada, grace = sqlite_house.user("ada"), sqlite_house.user("grace")
    gid = ada.auction(
        name="Longcase clock by Thomas Tompion, London, about 1690 " + "W" * 60,
        description="Eight-day.\n\nRuns well. " + "x" * 300,
        reservePrice="99999999999999999",
        buyNowPrice="99999999999999999.999",
        endsAt=(datetime.now(UTC) + timedelta(days=1)).isoformat(),
        increment="10000000000000000",
    )
    grace.bid(gid, maximum="20000000000000000")
    sqlite_house.user("a-very-long-username-of-32-chars").bid(gid, amount="50000000000000000.001")
    sold = ada.auction()
    sqlite_house.user("a-very-long-username-of-32-chars").bid(sold, amount="12.5")
    grace.bid(sold, amount="1234567.89")
    ada.json("POST", f"/auctions/{sold}/close", json={})
    return {"gid": gid, "sold": sold}


def fill_in(page: Page, name: str) -> None:
    """Fill in the page's form with a username and everybody's password, and submit it with Enter."""
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")


def test_a_visitor_finds_a_lot(open_page: OpenPage, sqlite_house: House) -> None:
    """A search at home and a click lead to the lot, which shows its price and its bids."""
    gid = sqlite_house.user("ada").auction(name="A lot to be found")
    sqlite_house.user("grace").bid(gid, amount="12.5")
    page = open_page()
    page.get_by_role("searchbox").fill("to be found")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="A lot to be found").click()
    expect(page).to_have_title("A lot to be found · Saleroom")
    expect(page.get_by_role("heading", level=1)).to_have_text("A lot to be found")
    expect(page.get_by_role("region", name="Price and bid")).to_contain_text("12.50")
    expect(page.get_by_role("row").nth(1)).to_contain_text("grace")


def test_a_visitor_registers_and_logs_out_and_in(open_page: OpenPage) -> None:
    """A visitor registers, sees the name in the header, logs out, and logs in again, by links and forms alone."""
    page = open_page()
    header = page.get_by_role("banner")
    header.get_by_role("link", name="Register").click()
    fill_in(page, "Newcomer")
    expect(header).to_contain_text("Logged in as newcomer")
    header.get_by_role("button", name="Log out").click()
    header.get_by_role("link", name="Log in").click()
    fill_in(page, "newcomer")
    expect(header).to_contain_text("Logged in as newcomer")
    assert "/" == page.evaluate("location.pathname")
    assert "" == page.evaluate("document.cookie"), "a script can read the session"


def test_a_refused_form_says_why(open_page: OpenPage, sqlite_house: House) -> None:
    """A wrong password is reported in an alert, and the form keeps the name."""
    page = open_page("/login")
    page.get_by_label("Username").fill(sqlite_house.user("ada").name)
    page.get_by_label("Password", exact=True).fill("wrong password")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("The username or the password is wrong.")
    expect(page.get_by_label("Username")).to_have_value("ada")
    expect(page.get_by_label("Password", exact=True)).to_have_value("")


def test_the_command_to_bid_can_be_copied(open_page: OpenPage, lots: dict[str, str], sqlite_house: House) -> None:
    """The button beside a command copies exactly that command to the clipboard."""
    page = open_page(f"/lots/{lots['gid']}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_text("For developers", exact=True).click()
    command = page.locator("pre code").text_content()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert command == page.evaluate("navigator.clipboard.readText()")


def test_pages_work_without_scripts(open_page: OpenPage, lots: dict[str, str]) -> None:
    """Without JavaScript a visitor can register and read a lot. The viewer says where the document is."""
    page = open_page("/register", java_script_enabled=False)
    fill_in(page, "no.scripts")
    expect(page.get_by_role("banner")).to_contain_text("no.scripts")
    page.goto(f"/lots/{lots['gid']}")
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    page.goto("/docs")
    expect(page.get_by_text("This viewer needs JavaScript.")).to_be_visible()


def test_the_viewer_shows_every_operation(shared_viewer: Page, sqlite_house: House) -> None:
    """The API's viewer renders each operation of the document, under the strict policy."""
    paths = sqlite_house.anyone.json("GET", "/openapi.json")["paths"].values()
    operations = Counter(tag for methods in paths for one in methods.values() for tag in one["tags"])
    tags = shared_viewer.locator(".opblock-tag")
    expect(tags).to_have_count(len(operations))
    for place in range(len(operations)):
        tag = tags.nth(place)
        tag.click()
        expect(shared_viewer.locator(".opblock")).to_have_count(operations.pop(tag.get_attribute("data-tag") or ""))
        tag.click()
        expect(shared_viewer.locator(".opblock")).to_have_count(0)
    assert {} == operations


def test_the_viewer_is_accessible_and_fits_a_phone(viewer: Page, operation: Locator) -> None:
    """axe finds no fault where an operation can be tried out, and with it open, nothing is wider than 360 pixels."""
    assert {} == broken_rules(viewer)
    usual = viewer.viewport_size
    assert usual is not None
    viewer.set_viewport_size({"width": 360, "height": 740})
    expect(operation.locator(".responses-table").first).to_be_visible()
    assert 360 == viewer.evaluate("document.documentElement.scrollWidth")
    samples = operation.locator("pre.microlight").evaluate_all(
        "all => all.map(of => of.scrollHeight - of.clientHeight)"
    )
    assert samples
    assert {0} == set(samples)
    viewer.set_viewport_size(usual)


def test_a_request_from_the_viewer_passes_the_forgery_filter(
    viewer: Page, operation: Locator, sqlite_house: House
) -> None:
    """A request from the viewer reaches the API with X-Requested-With."""
    operation.get_by_label("Request body").fill('{"username": "from.the.viewer", "password": "' + PASSWORD + '"}')
    with viewer.expect_response(f"{sqlite_house.base}/users") as answered:
        operation.get_by_role("button", name="Execute").click()
    assert 201 == answered.value.status
    assert "saleroom docs" == answered.value.request.headers["x-requested-with"]


@pytest.mark.parametrize("path", [*PATHS, "/nope"])
def test_axe_finds_nothing_and_a_phone_needs_no_sideways_scrolling(
    stranger: Page, lots: dict[str, str], path: str
) -> None:
    """axe finds no fault, in light and in dark. At 360 pixels nothing is wider than the screen.

    Not even with the longest name and the highest price.
    """
    stranger.goto(path.format(**lots))
    assert {} == broken_rules(stranger)
    usual = stranger.viewport_size
    assert usual is not None
    stranger.set_viewport_size({"width": 360, "height": 740})
    assert 360 == stranger.evaluate("document.documentElement.scrollWidth")
    stranger.set_viewport_size(usual)


def test_axe_finds_nothing_in_a_refused_form_and_a_logged_in_header(open_page: OpenPage) -> None:
    """axe finds no fault in a form with faults, nor in the header of a logged-in user."""
    page = open_page("/register")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_label("Username").fill("a b")
    page.get_by_label("Password", exact=True).fill("short")
    page.keyboard.press("Enter")
    page.locator(".fault").first.wait_for()
    assert {} == broken_rules(page)
    fill_in(page, "reader.of.it")
    expect(page.get_by_role("banner")).to_contain_text("reader.of.it")
    assert {} == broken_rules(page)


@pytest.mark.parametrize("path", PATHS)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(stranger: Page, lots: dict[str, str], path: str) -> None:
    """Tab reaches each link, field and button in order, and each shows that it has the focus. The skip link is first."""
    stranger.goto(path.format(**lots))
    expected = stranger.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.type !== 'hidden' && e.checkVisibility()).map(e => e.outerHTML)"
    )
    reached = []
    for _ in expected:
        stranger.keyboard.press("Tab")
        reached.append(stranger.evaluate("document.activeElement.outerHTML"))
        assert stranger.evaluate(SHOWS_FOCUS), reached[-1]
    assert expected == reached
    assert "Skip to the content" in reached[0]


def test_the_skip_link_leads_past_the_header(open_page: OpenPage) -> None:
    """The first Tab and Enter skip to the content: the next Tab is past the header."""
    page = open_page("/login")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Username")).to_be_focused()


SHOWS_FOCUS = """() => {
    const around = [];
    for (let e = document.activeElement; e; e = e.parentElement) around.push(getComputedStyle(e));
    return around.some(style => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2);
}"""


@pytest.mark.parametrize("path", ["/lots", "/login/", "/nope"])
def test_a_mistyped_address_leads_on(open_page: OpenPage, path: str) -> None:
    """An address that a person has mistyped shows a page in the reader's language, with a link to the lots."""
    page = open_page(path, locale="de-DE")
    expect(page.get_by_role("heading", level=1)).to_have_text("Diese Seite gibt es nicht")
    page.get_by_role("link", name="Zu den Losen im Angebot").click()
    page.wait_for_url("**/")


def test_a_logo_runs_no_script(chromium: Browser, serve_house: ServeHouse, tmp_path: Path) -> None:
    """A script in the logo of a house does not run, neither in a page nor when the logo itself is opened."""
    (tmp_path / "logo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" onload="document.documentElement.id=1">'
        "<script>document.documentElement.id = 1; parent.document.title = 1</script></svg>"
    )
    page = chromium.new_page(base_url=serve_house(house_folder=tmp_path).base)
    page.goto("/")
    assert page.title().endswith(" · Saleroom")
    page.goto(page.locator(".brand img").get_attribute("src") or "")
    assert "svg" == page.evaluate("document.documentElement.tagName")
    assert "" == page.evaluate("document.documentElement.id")
    page.close()
