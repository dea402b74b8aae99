"""Mail addresses: what is one, and how it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.kernel.mail import FORMAT, folded_address, parse_mail_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ada@Example.ORG\n", "ada@example.org"),
        ("Ada.Lovelace+lots@example.org", "Ada.Lovelace+lots@example.org"),
        ("o'hara#1@a-b.example", "o'hara#1@a-b.example"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
        ("jürgen@example.org", "jürgen@example.org"),
        ("ju\u0308rgen@example.org", "jürgen@example.org"),
        ("ada@localhost", "ada@localhost"),
        (f"{'x' * 64}@example.org", f"{'x' * 64}@example.org"),
        (f"a@{'b' * 63}.{'c' * 63}.{'d' * 63}.{'e' * 55}.org", f"a@{'b' * 63}.{'c' * 63}.{'d' * 63}.{'e' * 55}.org"),
    ],
)
def test_an_address_is_kept_in_one_form(text: str, expected: str) -> None:
    """The host is kept in lower-case ASCII, the name as its owner writes it."""
    assert expected == parse_mail_address(text)
    assert expected == parse_mail_address(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "@example.org",
        "ada@",
        "ada@example",
        "ada@127.0.0.1",
        "ada@[127.0.0.1]",
        "ada@exa mple.org",
        "ada @example.org",
        "ada@-a.example",
        "ada@a-.example",
        "ada@a..example",
        "ada@.example",
        "a..b@example.org",
        ".a@example.org",
        "a.@example.org",
        '"ada love"@example.org',
        "Ada <ada@example.org>",
        "ada@example.org, ben@example.org",
        "ada@ben@example.org",
        "ada@example.org\r\nBcc: ben@example.org",
        "ada\r\nBcc:x@example.org",
        "ada\0@example.org",
        "ada\u202e@example.org",
        "ada\u200b@example.org",
        "ada\u00a0b@example.org",
        "ada@exam\u200bple\u202e.org",
        f"{'x' * 65}@example.org",
        f"{'ü' * 33}@example.org",
        f"a@{'b' * 64}.org",
        f"ab@{'b' * 63}.{'c' * 63}.{'d' * 63}.{'e' * 56}.org",
        "=?utf-8?q?x=0D=0ABcc=3A_eve=40x.example?=@example.org",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Text that nobody gets mail at, lists of addresses and attempts to add headers are refused."""
    assert FORMAT == parse_mail_address(text)


def test_the_fault_shows_what_an_address_is() -> None:
    """The refusal has a stable code and an example."""
    assert ("mail_address_format", "must be a mail address, such as ada@example.org") == (FORMAT.code, FORMAT.message)


def test_addresses_that_differ_in_case_are_folded_alike() -> None:
    """Two spellings of what is almost always one mailbox are the same when folded."""
    assert folded_address("Ada@example.org") == folded_address("ada@example.org")


@given(st.text(alphabet=st.sampled_from('ab.@-\r\n\0\u202eü<>" ,;:\\()'), max_size=20))
def test_no_address_steers_a_header(text: str) -> None:
    """Whatever is taken as an address has no character that begins a header, a list or another address."""
    found = parse_mail_address(text)
    assert isinstance(found, Fault) or not set(found) & set('\r\n\0\u202e<>" ,;:\\()')
