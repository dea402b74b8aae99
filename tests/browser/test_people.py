"""What the tests of this folder judge pages by finds what is wrong."""

from __future__ import annotations

from tests.browser.conftest import Enter
from tests.browser.people import broken_rules

SPOIL = """() => {
  document.querySelector('h1').style.color = 'black'
  document.querySelector('main').append(document.createElement('img'), document.createElement('button'))
}"""


def test_axe_names_what_breaks_a_rule(enter: Enter) -> None:
    """Elements that break a rule are named, also one whose colour is too dark for the dark scheme alone."""
    page = enter().page
    page.goto("/login")
    assert {} == broken_rules(page)
    page.evaluate(SPOIL)
    found = broken_rules(page)
    assert {"button-name": 1, "color-contrast": 1, "image-alt": 1} == {
        rule: len(where) for rule, where in found.items()
    }
