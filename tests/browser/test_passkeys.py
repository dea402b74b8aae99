"""Passkeys in a real browser, with the virtual authenticator of its developer tools."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, CDPSession, expect

from tests.browser.people import BrowserVisitor, broken_rules
from tests.fixtures_house import PASSWORD, House, User

PHONE = {"width": 360, "height": 740}


@pytest.fixture
def visitor(chromium: Browser, sqlite_house: House) -> Iterator[BrowserVisitor]:
    """A phone in dark at a house that it calls `localhost`, as passkeys need a name."""
    visitor = BrowserVisitor(chromium, f"http://localhost:{sqlite_house.port}", viewport=PHONE, color_scheme="dark")
    yield visitor
    visitor.leave()


def authenticator(visitor: BrowserVisitor) -> tuple[CDPSession, str]:
    """Give the browser a device that verifies its user, and return how to reach it."""
    tools = visitor.page.context.new_cdp_session(visitor.page)
    tools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = tools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return tools, str(made["authenticatorId"])


def test_a_passkey_from_its_adding_to_its_end(visitor: BrowserVisitor, seller: User) -> None:
    """A user adds a passkey, logs out, signs in with it by keyboard and removes it; then it opens nothing."""
    page = visitor.page
    tools, device = authenticator(visitor)
    visitor.log_in(seller.name)
    page.goto("/mine/security")
    assert {} == broken_rules(page)
    form = page.locator("form[action='/mine/security/passkeys']")
    form.get_by_label("Name of the passkey").fill("Ada's phone")
    form.get_by_label("Your password").fill(PASSWORD)
    form.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Add a passkey")).to_be_visible()
    assert {} == broken_rules(page)
    assert 360 == page.evaluate("document.documentElement.scrollWidth")
    tools.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
    page.get_by_role("button", name="Make the passkey").press("Enter")
    expect(page.get_by_text("The device has made no passkey")).to_be_visible()
    tools.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
    page.get_by_role("button", name="Make the passkey").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("“Ada's phone” is added")
    assert {} == broken_rules(page)
    page.context.clear_cookies()
    page.goto("/login?next=/mine/security")
    assert {} == broken_rules(page)
    page.get_by_role("button", name="Sign in with a passkey").press("Enter")
    page.wait_for_url("**/mine/security")
    expect(page.get_by_text("last used")).to_be_visible()
    page.locator("summary", has_text="Remove").press("Enter")
    assert {} == broken_rules(page)
    page.locator("details").get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Yes, remove Ada's phone").press("Enter")
    expect(page.get_by_text("last used")).to_be_hidden()
    page.context.clear_cookies()
    page.goto("/login")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey is not known here")).to_be_visible()


def test_a_browser_without_passkeys(visitor: BrowserVisitor) -> None:
    """A browser that knows no passkeys says so in place of the button, in the language of its reader."""
    visitor.page.add_init_script("delete window.PublicKeyCredential")
    visitor.page.goto("/language/de?next=/login")
    visitor.page.goto("/login")
    expect(visitor.page.get_by_text("Dieser Browser kennt keine Passkeys")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Mit einem Passkey anmelden")).to_be_hidden()
