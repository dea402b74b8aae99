"""The pages of the screenshots, and the actions before each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from saleroom.tools.demo.catalogue import pieces
from tests.process import PASSWORD
from tests.screenshots.furnished import LATE, OWNER, READER, RIVAL, SELLER

Steps = Callable[[Page], None]


@dataclass(frozen=True)
class Shot:
    """One page. `{word}` in the path is a lot's gid; `who` is logged in; `empty` is in the house without lots."""

    name: str
    title: str
    path: str
    who: str | None = None
    steps: Steps | None = None
    empty: bool = False
    whole: bool = True
    """Whether the whole page is shown, and not only the part that fits on a screen."""
    german: bool = False
    light: bool = False
    """Whether it is shown only in light, as another page shows the same in dark."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """The colour schemes it is shown in; another language changes none of them."""
        return ("light",) if self.german or self.light else ("light", "dark")


def name_a_limit(page: Page) -> None:
    """Ask to bid up to a limit, and stop at the confirmation."""
    page.locator("#maximum").fill("700")
    page.locator("#lot-box button[type=submit]").first.click()
    page.locator("form.confirm").wait_for()


def fill_in_a_lot(page: Page) -> None:
    """Fill in the form to sell, with two photos."""
    piece = next(piece for piece in pieces(1) if piece.thing == "boat")
    page.locator("#name").fill(piece.name)
    page.locator("#description").fill(piece.description)
    page.locator("#startingPrice").fill("80")
    page.locator("#files").set_input_files([piece.file(view) for view in range(2)])
    page.locator(".thumb img").nth(1).wait_for()


def preview_a_lot(page: Page) -> None:
    """Fill in the form, and go on to the preview."""
    fill_in_a_lot(page)
    page.get_by_role("button", name="Preview").last.click()
    page.wait_for_load_state()


def make_mistakes(page: Page) -> None:
    """Send the form to sell with impossible values."""
    page.locator("#startingPrice").fill("12.3456")
    page.locator("details.more summary").click()
    page.locator("#reservePrice").fill("ten")
    page.get_by_role("button", name="Preview").last.click()
    page.locator(".summary").wait_for()


def mistype(page: Page) -> None:
    """Log in with a wrong password."""
    page.locator("#username").fill(READER)
    page.locator("#password").fill(f"not {PASSWORD}")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()


def about_to_erase(page: Page) -> None:
    """Open the form that erases a person."""
    page.locator("summary", has_text="Erase this person").click()


SHOTS = (
    Shot("home", "Home", "/"),
    Shot("home-member", "Home of somebody logged in", "/", READER, light=True),
    Shot("home-search", "Search", "/?q=brass", light=True),
    Shot("home-nothing", "A search that finds nothing", "/?q=unicorn"),
    Shot("home-empty", "An empty house", "/", empty=True),
    Shot("lot-visitor", "A lot, to a visitor", "/lots/{leading}"),
    Shot("lot-leading", "A lot, to the leader", "/lots/{leading}", READER),
    Shot("lot-outbid", "A lot, to somebody outbid", "/lots/{outbid}", READER),
    Shot("lot-fresh", "A lot without bids", "/lots/{fresh}", READER, light=True),
    Shot("lot-seller", "A lot, to its seller", "/lots/{seller}", SELLER),
    Shot("lot-soft-close", "A lot whose end has moved", "/lots/{soft}", RIVAL),
    Shot("lot-scheduled", "A lot that is not open yet", "/lots/{scheduled}", READER),
    Shot("lot-sold", "A lot that is sold", "/lots/{sold}"),
    Shot("lot-won", "A lot that one has won", "/lots/{won}", READER),
    Shot("lot-unsold", "A lot whose reserve was not met", "/lots/{unsold}"),
    Shot("lot-bids", "All bids of a lot", "/lots/{leading}/bids", light=True),
    Shot("bid-confirmation", "A bid to be confirmed", "/lots/{outbid}", READER, name_a_limit),
    Shot("sell", "Sell", "/sell", SELLER, fill_in_a_lot),
    Shot("sell-faults", "Sell, with faults", "/sell", SELLER, make_mistakes),
    Shot("sell-preview", "Sell, the preview", "/sell", SELLER, preview_a_lot),
    Shot("sell-manage", "A lot of one's own, managed", "/sell/{fresh}", SELLER, light=True),
    Shot("mine", "My saleroom: bidding", "/mine", READER),
    Shot("mine-selling", "My saleroom: selling", "/mine/selling", SELLER, light=True),
    Shot("mine-watching", "My saleroom: watching", "/mine/watching", READER),
    Shot("mine-sessions", "My saleroom: sessions", "/mine/sessions", READER),
    Shot("password", "Another password", "/mine/password", READER),
    Shot("mine-security", "My saleroom: security", "/mine/security", READER, light=True),
    Shot("mine-webhooks", "My saleroom: webhooks", "/mine/webhooks", READER, light=True),
    Shot("mine-notices", "My saleroom: notices", "/mine/notices", READER, light=True),
    Shot("admin-people", "Back office: people", "/admin/people", OWNER),
    Shot("admin-person", "Back office: a person", f"/admin/people/{LATE}", OWNER, about_to_erase, light=True),
    Shot("admin-invitations", "Back office: invitations", "/admin/invitations", OWNER, light=True),
    Shot("admin-health", "Back office: health", "/admin/health", OWNER, light=True),
    Shot("sale-catalogue", "The catalogue of a sale", "/catalogues/{evening}", whole=False),
    Shot("sale-list", "The catalogue as a list", "/catalogues/{evening}?view=list", whole=False, light=True),
    Shot("sale-costs", "What buying costs", "/catalogues/{settled}/costs?price=1200", light=True),
    Shot("sale-people", "The bidders of a sale, and the door", "/admin/sales/{evening}/people", OWNER, light=True),
    Shot("sale-book", "The book: absentee bids", "/admin/sales/{evening}/book", OWNER, light=True),
    Shot("sale-console", "The clerk's console", "/sales/{evening}/console", OWNER, whole=False),
    Shot("sale-auctioneer", "The auctioneer's view", "/sales/{evening}/auctioneer", OWNER, whole=False),
    Shot("sale-live", "A live sale, to a bidder online", "/sales/{evening}/live", READER, whole=False),
    Shot("sale-live-german", "A live sale, in German", "/sales/{evening}/live", READER, whole=False, german=True),
    Shot("sale-screen", "The hall screen of a sale", "/sales/{evening}/screen", whole=False),
    Shot("sale-next", "The next lots, on a screen", "/sales/{evening}/next", whole=False),
    Shot("sale-entry", "Results entered from paper", "/sales/{evening}/entry", OWNER, light=True),
    Shot("need-console", "A fund-a-need at the console", "/sales/{giving}/console", OWNER, whole=False, light=True),
    Shot("need-screen", "A fund-a-need on the hall screen", "/sales/{giving}/screen", whole=False),
    Shot("need-live", "A fund-a-need, to a bidder online", "/sales/{giving}/live", READER, whole=False, light=True),
    Shot("desk", "The cashier's desk", "/admin/desk/{settled}?buyer=101", OWNER),
    Shot("desk-german", "The cashier's desk, in German", "/admin/desk/{settled}?buyer=107", OWNER, german=True),
    Shot("desk-accounts", "The accounts of a sale", "/admin/desk/{settled}/accounts", OWNER, light=True),
    Shot("desk-invoice", "An invoice, at the desk", "/admin/documents/{invoice}", OWNER, light=True),
    Shot(
        "desk-statement", "A consignor's lots", "/admin/desk/{settled}/statements/B04", OWNER, whole=False, light=True
    ),
    Shot("desk-pickup", "Pick-up", "/admin/desk/{settled}/pickup?buyer=100", OWNER, whole=False, light=True),
    Shot("desk-offers", "Offers after the sale", "/admin/desk/{settled}/offers", OWNER, light=True),
    Shot("desk-report", "The report of a sale", "/admin/desk/{settled}/report", OWNER, whole=False, light=True),
    Shot("money-rates", "A rate card, with its preview", "/admin/rates/{card}?price=1200", OWNER, light=True),
    Shot("money-overdue", "Overdue invoices", "/admin/overdue", OWNER, light=True),
    Shot("money-bank", "Payments from the bank", "/admin/bank", OWNER, light=True),
    Shot("money-payouts", "Payouts", "/admin/payouts", OWNER, light=True),
    Shot("money-taxes", "The tax of some days", "/admin/taxes?firstDay={today}&lastDay={today}", OWNER, light=True),
    Shot("money-total", "The evening's total, on the hall screen", "/sales/{settled}/total", whole=False),
    Shot("mine-documents", "My saleroom: invoices and statements", "/mine/documents", READER, light=True),
    Shot("login", "Log in", "/login"),
    Shot("login-fault", "Log in, with a wrong password", "/login", steps=mistype),
    Shot("register", "Register", "/register"),
    Shot("problem", "A lot that there is not", "/lots/none"),
    Shot("screen", "The hall screen", "/lots/{leading}/screen", whole=False),
    Shot("screen-sold", "The hall screen, sold", "/lots/{sold}/screen", whole=False),
    Shot("docs", "The API", "/docs", whole=False),
    Shot("home-german", "Home, in German", "/", READER, german=True),
    Shot("lot-german", "A lot, in German", "/lots/{outbid}", READER, german=True),
    Shot("sell-german", "Sell, in German", "/sell", SELLER, german=True),
    Shot("mine-german", "My saleroom, in German", "/mine", READER, german=True),
    Shot("register-german", "Register, in German", "/register", german=True),
)
