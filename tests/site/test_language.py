"""Languages: the choice of one, its way to write money, instants and durations, and money as people type it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from babel import Locale
from hypothesis import example, given
from hypothesis import strategies as st

from saleroom.kernel.currency import with_currency
from saleroom.kernel.errors import Fault
from saleroom.site import amounts
from saleroom.site.language import Language, Languages
from tests.fixtures_house import House, ServeHouse
from tests.site.markup import Page

pytestmark = pytest.mark.databases("sqlite")

EUROS = Languages("EUR")
LOCALES = ("en", "en_GB", "en_IN", "de", "de_AT", "de_CH", "fr", "ar", "he", "fa", "hi", "da", "pl", "es", "pt_PT")
CURRENCIES = ("EUR", "JPY", "KWD", "CHF", "USD", "INR", "DKK")
POLISH = r"""
msgid ""
msgstr ""
"Language: pl\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"

msgid "Log in"
msgstr "Zaloguj"

msgid "%(num)s lot"
msgid_plural "%(num)s lots"
msgstr[0] "%(num)s pozycja"
msgstr[1] "%(num)s pozycje"
msgstr[2] "%(num)s pozycji"
"""


def language(tag: str, currency: str = "EUR") -> Language:
    """Return the language for a browser that asks for `tag`."""
    return Languages(currency).negotiate(tag)


@pytest.mark.parametrize(
    ("accepted", "words", "tag"),
    [
        ("", "en", "en-GB"),
        ("de", "de", "de"),
        ("de-AT;q=0.8", "de", "de-AT"),
        ("DE-at", "de", "de-AT"),
        ("de-CH-1996, en", "de", "de-CH"),
        ("en-GB,en;q=0.9,de;q=0.8", "en", "en-GB"),
        ("en-US", "en", "en-US"),
        ("en;q=0.3, de;q=0.31", "de", "de"),
        ("fr, it;q=0.9, de;q=0.1", "de", "de"),
        ("fr", "en", "en-GB"),
        ("*", "en", "en-GB"),
        ("fr, *;q=0.1, de;q=0.05", "en", "en-GB"),
        ("en;q=0, *", "de", "de"),
        ("de;q=0", "en", "en-GB"),
        ("de;q=0.0, en;q=0.001", "en", "en-GB"),
        ("de-ZZ", "de", "de"),
        # Malformed parts are ignored, and the other parts still count.
        ("de;q=2", "en", "en-GB"),
        ("de;q=0.5;x=1", "en", "en-GB"),
        ("de;q=0,5", "en", "en-GB"),
        ("rubbish;;,, de", "de", "de"),
        ("../../etc, <de>, de_DE", "en", "en-GB"),
        ("٣, de;q=٣", "en", "en-GB"),
    ],
)
def test_the_browser_asks(accepted: str, words: str, tag: str) -> None:
    """The words are in the best language that the house has, and the formats are those of the region in the header."""
    found = EUROS.negotiate(accepted)
    assert (words, tag) == (found.catalogue, found.tag)


@pytest.mark.parametrize(
    ("chosen", "tag"), [("de", "de-CH"), ("en", "en-GB"), ("fr", "de-CH"), ("", "de-CH"), ("../de", "de-CH")]
)
def test_a_choice_goes_before_the_browser(chosen: str, tag: str) -> None:
    """A chosen language goes before the header, in the region that the header names for it. An unknown choice is ignored."""
    assert tag == EUROS.negotiate("de-CH, fr", chosen).tag


@pytest.mark.parametrize(
    "accepted", ["de" + "-a" * 3_500, "de" + "-a" * 9, ",".join(["xx"] * 50 + ["de"]), "," * 4_000 + "de"], ids=len
)
def test_long_lists_of_languages_are_not_read_to_their_end(accepted: str) -> None:
    """Only a few tags of a list, and a few parts of a tag, are read: parsing them all would take quadratic time."""
    assert "en-GB" == EUROS.negotiate(accepted).tag


def test_a_third_language_needs_no_code(tmp_path: Path) -> None:
    """A folder with a catalogue adds a language, with its name and its plural forms."""
    (tmp_path / "pl").mkdir()
    (tmp_path / "pl" / "messages.po").write_text(POLISH)
    found = Languages("PLN", tmp_path)
    assert ["English", "Polski"] == [one.name for one in found]
    polish = found.negotiate("pl-PL, en;q=0.5")
    assert "Zaloguj" == polish.gettext("Log in")
    assert "Not said in Polish" == polish.gettext("Not said in Polish")
    assert ["1 pozycja", "3 pozycje", "5 pozycji", "22 pozycje"] == [
        polish.ngettext("%(num)s lot", "%(num)s lots", count) for count in (1, 3, 5, 22)
    ]
    assert Decimal("1234.500") == polish.parse_money("1 234,50 zł")


@pytest.mark.parametrize(
    ("tag", "currency", "amount", "written", "bare"),
    [
        ("en-GB", "EUR", "1234.500", "€1,234.50", "1234.50"),
        ("en-GB", "EUR", "0.125", "€0.125", "0.125"),
        ("en-GB", "EUR", "100.000", "€100.00", "100.00"),
        ("en-GB", "JPY", "100.000", "JP¥100", "100"),
        ("en-GB", "JPY", "100.500", "JP¥100.5", "100.5"),
        ("en-US", "KWD", "100.500", "KWD\u00a0100.500", "100.500"),
        ("de", "EUR", "1234.500", "1.234,50\u00a0€", "1234,50"),
        ("de-AT", "EUR", "1234.500", "€\u00a01.234,50", "1234,50"),
        ("de-CH", "CHF", "1234567.000", "CHF\u00a01\u2019234\u2019567.00", "1234567.00"),
        ("en-GB", "CLF", "1.500", "CLF\u00a01.5000", "1.500"),
        ("de", "EUR", "99999999999999999.999", "99.999.999.999.999.999,999\u00a0€", "99999999999999999,999"),
    ],
)
def test_money_is_written_as_people_do(tag: str, currency: str, amount: str, written: str, bare: str) -> None:
    """The currency's own decimals are always there, a further one if it is not 0, and nothing is rounded."""
    reader = language(tag, currency)
    assert (written, bare) == (reader.money(amount), reader.amount(amount))


@given(thousandths=st.integers(0, 10**20 - 1), locale=st.sampled_from(LOCALES), currency=st.sampled_from(CURRENCIES))
@example(thousandths=10**20 - 1, locale="de_CH", currency="CHF")
@example(thousandths=1_000_001, locale="en_IN", currency="INR")
def test_money_comes_back_as_it_went(thousandths: int, locale: str, currency: str) -> None:
    """Every amount that is written, in any language and currency, with the sign or without, is read back exactly."""
    amount, where = Decimal(thousandths).scaleb(-3), Locale.parse(locale)
    assert amount == amounts.read(with_currency(amount, currency, where), currency, where)
    assert amount == amounts.read(amounts.write_bare(amount, currency, where), currency, where)


@pytest.mark.parametrize(
    ("tag", "text", "amount"),
    [
        ("de", "1.234,50", "1234.500"),
        ("de", "1234,5", "1234.500"),
        ("de", "1.234", "1234.000"),
        ("de", "  12,50 € ", "12.500"),
        ("de", "EUR 12,50", "12.500"),
        ("de", "12 eur", "12.000"),
        ("de", "1 234,50", "1234.500"),
        ("de", "1\u00a0234\u00a0567", "1234567.000"),
        ("de-AT", "€\u00a01.234,50", "1234.500"),
        ("de", "300,-", "300.000"),
        ("de", "300,--", "300.000"),
        ("de", "300,\u2013 ", "300.000"),
        ("de", "300,\u2014", "300.000"),
        ("de", "300,\u2212", "300.000"),
        ("de", "300.-", "300.000"),
        ("de", "€ 300", "300.000"),
        ("de", "300 €", "300.000"),
        ("de", "€ 1.300,-", "1300.000"),
        ("de", "1300,-- EUR", "1300.000"),
        ("de", "300,-\u00a0€", "300.000"),
        ("de", "0,-", "0.000"),
        ("de-AT", "€ 300,--", "300.000"),
        ("de-CH", "1\u2019300.-", "1300.000"),
        ("en", "300.-", "300.000"),
        ("de-CH", "1\u2019234.50", "1234.500"),
        ("de-CH", "1'234.50", "1234.500"),
        ("de-CH", "12.50 €", "12.500"),
        ("en", "1,234.50", "1234.500"),
        ("en", "1234.5", "1234.500"),
        ("en", "€0.125", "0.125"),
        ("en", "0", "0.000"),
        ("en-IN", "12,34,567", "1234567.000"),
        ("en", "99,999,999,999,999,999.999", "99999999999999999.999"),
    ],
)
def test_money_is_read_as_people_write_it(tag: str, text: str, amount: str) -> None:
    """Each language's format is read, with the currency on either side, and with spaces between thousands."""
    assert Decimal(amount) == language(tag).parse_money(text)


@pytest.mark.parametrize(
    ("tag", "text", "code", "says"),
    [
        ("de", "12.50", "money_format", "12,50"),
        ("de", "1,234.50", "money_format", "1234,50"),
        ("en", "1,23", "money_format", "1.23"),
        ("en", "1.234,50", "money_format", "1234.50"),
        ("en", "1,2345", "money_format", "1,234.50"),
        ("de", "1.23.456", "money_format", "1.234,50"),
        ("de", "12.34.567", "money_format", "1.234,50"),
        ("de", "1'234", "money_format", "1.234,50"),
        ("de", "300-", "money_format", "1.234,50"),
        ("de", "300,", "money_format", "1.234,50"),
        ("de", "300,---", "money_format", "1.234,50"),
        ("de", "300,5-", "money_format", "1.234,50"),
        ("de", "300,-5", "money_format", "1.234,50"),
        ("de", "3,-00", "money_format", "1.234,50"),
        ("de", "300,- 20,-", "money_format", "1.234,50"),
        ("de", "1,300.-", "money_format", "1300"),
        ("de", "-300,-", "money_negative", "unter null"),
        ("en", "300,-", "money_format", "300"),
        ("en", "1,234 567", "money_format", "1,234.50"),
        ("en", "12.", "money_format", "1,234.50"),
        ("en", ".5", "money_format", "1,234.50"),
        ("en", "007", "money_format", "1,234.50"),
        ("en", "$12", "money_format", "1,234.50"),
        ("en", "€ 12 €", "money_format", "1,234.50"),
        ("en", "NaN", "money_format", "1,234.50"),
        ("en", "1e3", "money_format", "1,234.50"),
        ("en", "+5", "money_format", "1,234.50"),
        ("en", "１２", "money_format", "1,234.50"),
        ("en", "٣", "money_format", "1,234.50"),
        ("en", "1" * 65, "money_format", "1,234.50"),
        ("en", "-5", "money_negative", "below zero"),
        ("en", "0.1234", "money_decimals", "three decimals"),
        ("de", "0,1234", "money_decimals", "Nachkommastellen"),
        ("en", "100000000000000000", "money_digits", "seventeen digits"),
        ("en", "", "required", "fill this in"),
        ("en", " ", "required", "fill this in"),
    ],
)
def test_an_ambiguous_amount_is_refused(tag: str, text: str, code: str, says: str) -> None:
    """An ambiguous amount is refused: the fault says in the reader's language what to write, or asks what is meant."""
    found = language(tag).parse_money(text)
    assert isinstance(found, Fault)
    assert code == found.code
    assert says in found.message


@given(
    text=st.text(max_size=30) | st.text("0123456789.,' €EUR-\u00a0\u2013", max_size=30),
    tag=st.sampled_from(("en", "de")),
)
def test_nothing_but_an_amount_is_read(text: str, tag: str) -> None:
    """Any text is read either as the exact amount of its digits, within the bounds, or as a fault with a message."""
    found = language(tag).parse_money(text)
    if isinstance(found, Decimal):
        assert -3 == found.as_tuple().exponent
        point = "." if tag == "en" else ","
        assert found == Decimal("".join(c for c in text.replace(point, "!") if c in "0123456789!").replace("!", "."))
    else:
        assert found.message


@pytest.mark.parametrize(
    ("tag", "when", "durations"),
    [
        ("en-GB", "21 Nov 2026, 18:05:00 UTC", ["90 seconds", "2 minutes", "1 hour", "1 day"]),
        ("en-US", "Nov 21, 2026, 6:05:00\u202fPM UTC", ["90 seconds", "2 minutes", "1 hour", "1 day"]),
        ("de", "21.11.2026, 18:05:00 UTC", ["90 Sekunden", "2 Minuten", "1 Stunde", "1 Tag"]),
    ],
)
def test_instants_and_durations_are_the_languages_own(tag: str, when: str, durations: list[str]) -> None:
    """An instant is written in UTC and says so. A duration has the largest unit that is exact."""
    reader = language(tag)
    assert when == " ".join(reader.when("2026-11-21T18:05:00.000000Z"))
    assert durations == [reader.duration(seconds) for seconds in (90, 120, 3600, 86400)]


@pytest.mark.parametrize(
    ("tag", "even", "odd"),
    [
        ("en-US", "Nov 21, 2026, 6:05\u202fPM UTC", "Nov 21, 2026, 6:05:30\u202fPM UTC"),
        ("de", "21.11.2026, 18:05 UTC", "21.11.2026, 18:05:30 UTC"),
    ],
)
def test_a_planned_instant_has_seconds_only_if_it_is_not_on_the_minute(tag: str, even: str, odd: str) -> None:
    """The start of a sale reads as people have set it."""
    reader = language(tag)
    assert [even, odd] == [" ".join(reader.planned(f"2026-11-21T18:05:{second}Z")) for second in ("00", "30")]


def test_a_page_is_in_the_browsers_language(house: House) -> None:
    """A page names its language, and varies by Accept-Language and by a cookie."""
    response = httpx.get(f"{house.base}/login", headers={"Accept-Language": "de-AT"})
    page = Page(response)
    assert "de-AT" == page.one("html")["lang"] == response.headers["content-language"]
    assert "Anmelden" == page.heading
    assert {"cookie", "accept-language"} <= {name.strip().lower() for name in response.headers["vary"].split(",")}


def test_a_language_is_chosen_in_the_footer(house: House) -> None:
    """The footer names each language in that language. The choice is kept for a year and leads back to the same page."""
    english = house.stranger.get("/login?next=%2Flots%2Fx%3Fa%3D1")
    [link] = [link for link in Page(english).all("a", lang="de") if "hreflang" in link.attributes]
    assert "Deutsch" == link.text
    chosen = httpx.get(house.base + link["href"])  # a separate client, which keeps the cookie to itself
    assert (303, "/login?next=%2Flots%2Fx%3Fa%3D1") == (chosen.status_code, chosen.headers["location"])
    kept, *attributes = chosen.headers["set-cookie"].split("; ")
    assert "saleroom_language=de" == kept
    assert {"HttpOnly", "Max-Age=31536000", "Path=/", "SameSite=lax"} == set(attributes)
    german = Page(httpx.get(f"{house.base}/login", headers={"Cookie": kept, "Accept-Language": "en"}))
    assert "Anmelden" == german.heading


def test_over_https_the_choice_stays_there(serve_house: ServeHouse) -> None:
    """If the public address is https, the cookie of the choice is Secure."""
    served = serve_house(public_url="https://sales.example.org")
    assert "; Secure" in served.stranger.get("/language/de").headers["set-cookie"]


@pytest.mark.parametrize("tag", ["fr", "xx", "de_DE", "%00", "messages.po", "de%2F..", "../x"])
def test_an_unknown_language_is_nothing(house: House, tag: str) -> None:
    """Only a language of the house can be chosen."""
    response = house.stranger.get(f"/language/{tag}")
    assert 404 == response.status_code
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("address", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/\nx"])
def test_a_choice_never_leads_to_another_host(house: House, address: str) -> None:
    """The choice never leads to another host, whatever `next` says."""
    response = httpx.get(f"{house.base}/language/de", params={"next": address})
    assert (303, "/") == (response.status_code, response.headers["location"])


def test_the_answer_to_a_form_links_its_page(house: House) -> None:
    """After a form was sent, the choice of a language leads to the page of the form."""
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Referer": f"{house.base}/login?next=%2Fsell"}
    answer = Page(house.anyone.post("/session", content="username=&password=", headers=sent))
    [link] = [link for link in answer.all("a", lang="de") if "hreflang" in link.attributes]
    chosen = httpx.get(f"{house.base}{link['href']}")  # not a client of the house, which would keep the language
    assert "/login?next=%2Fsell" == chosen.headers["location"]


@pytest.mark.parametrize(
    ("tag", "currency", "share", "written"),
    [("en", "EUR", "19.000", "19\u00a0%"), ("de", "EUR", "8.100", "8,1\u00a0%"), ("en", "JPY", "7.700", "7.7\u00a0%")],
)
def test_a_percentage_is_never_rounded(tag: str, currency: str, share: str, written: str) -> None:
    """It has no zeros at its end, stays on one line, and does not take the decimals of the currency."""
    assert written == language(tag, currency).percent(share)


def test_an_amount_in_doubt_is_sure_once_it_is_written_as_the_fault_says() -> None:
    """Both ways to write it that the fault names are taken; where one of them would be in doubt again, it names the other."""
    for tag, text, exact, meant in (("de", "1,000", "1,00", "1000,00"), ("de-CH", "12.500", "12.50", "12500.00")):
        fault = language(tag).parse_sure_money(text)
        assert isinstance(fault, Fault) and exact in fault.message and meant in fault.message
        assert [Decimal(text.replace(",", ".")), 1000 * Decimal(text.replace(",", "."))] == [
            language(tag).parse_sure_money(one) for one in (exact, meant)
        ]
    for tag, text in (("de", "1,234"), ("en", "1.234")):
        fault = language(tag).parse_sure_money(text)
        assert isinstance(fault, Fault) and "1234" in fault.message and text not in fault.message.split("?")[0]
