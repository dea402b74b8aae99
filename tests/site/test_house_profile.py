"""The house's name, logo and texts: from its folder onto the pages, as text that can do no harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from saleroom.kernel.errors import Refusal
from saleroom.site.house_profile import LOGO_BYTES_MAX, TEXT_BYTES_MAX, read
from tests.fixtures_house import House, ServeHouse
from tests.process import saleroom
from tests.site.markup import Page

NAME = "Auktionshaus Möller & Söhne"
LOGO = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><rect width="2" height="1"/></svg>'
IMPRINT = (
    '# Imprint of "Möller" <b>\n\nMöller & Söhne <script>alert(1)</script>\n\n# Register\n\n[Mail](mailto:a@b.example)'
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that fills the folder of a house, and returns it: `write(imprint_de_md="...")`."""

    def filled(**files: str | bytes) -> Path:
        for name, content in files.items():
            file = tmp_path / name.replace("__", "-").replace("_", ".")
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return filled


@pytest.fixture
def moeller(serve_house: ServeHouse, write: Write) -> House:
    """A house with a name, a logo, an imprint in two languages and terms of sale in German alone."""
    folder = write(
        logo_svg=LOGO,
        imprint_md=IMPRINT,
        imprint_de_md="# Angaben\n\nText",
        rules_de_md="Es gilt **das**.",
        notes_txt="x",
    )
    return serve_house(house_name=f" {NAME} ", house_folder=folder)


def test_name_and_logo_are_on_every_page(moeller: House) -> None:
    """The name stands in titles, in the header and on the hall's screen; the logo is served with its type, for good."""
    gid = moeller.user("ada").auction()
    for path in ("/", "/login", "/docs", f"/lots/{gid}", "/nope/../lots/none"):
        shown = Page(moeller.stranger.get(path))
        assert shown.one("title").text.endswith(f" · {NAME}")
        assert NAME == shown.one("a", class_="brand").text
    assert NAME in Page(moeller.stranger.get(f"/lots/{gid}/screen")).main
    shown = Page(moeller.stranger.get("/"))
    address = shown.one("link", rel="icon")["href"]
    assert address == shown.all("img")[0]["src"]
    answer = moeller.stranger.get(address)
    assert (LOGO, "image/svg+xml; charset=utf-8") == (answer.content, answer.headers["content-type"])
    assert "immutable" in answer.headers["cache-control"]
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_texts_are_pages_in_the_readers_language(moeller: House) -> None:
    """Each text that is there is linked at the foot of the pages, and shown in the reader's language or in the one there is."""
    home = Page(moeller.stranger.get("/"))
    assert ["/imprint", "/rules"] == [link for link in home.links if link in ("/imprint", "/privacy", "/rules")]
    english, german = (
        Page(moeller.stranger.get("/imprint", headers={"Accept-Language": tag})) for tag in ("en", "de-AT")
    )
    assert ('Imprint of "Möller" <b>', "Angaben") == (english.heading, german.heading)
    assert ("Terms of sale", "Auktionsbedingungen") == tuple(
        Page(moeller.stranger.get("/rules", headers={"Accept-Language": tag})).heading for tag in ("en", "de")
    )
    rules = Page(moeller.stranger.get("/rules"))
    assert ("de", "das") == (rules.one("section")["lang"], rules.one("strong").text)
    assert 404 == moeller.stranger.get("/privacy").status_code
    assert 405 == moeller.anyone.post("/imprint").status_code


def test_a_text_is_never_code(moeller: House) -> None:
    """HTML in a text is shown as text; a second first heading stands below the page's own."""
    shown = Page(moeller.stranger.get("/imprint", headers={"Accept-Language": "en"}))
    assert "<script>alert(1)</script>" in shown.main
    assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
    assert ["Register"] == [e.text for e in shown.all("h2")]
    assert "mailto:a@b.example" in shown.links


@pytest.mark.parametrize(
    "markdown",
    [
        "[x](javascript:alert(1))",
        "![x](https://evil.example/x.png)",
        "<a href='javascript:1'>x</a>",
        "[x](data:text/html,x)",
    ],
)
def test_no_text_leads_to_code(write: Write, markdown: str) -> None:
    """A link to a script stays text, and a text has no picture of another site."""
    text = read("x", write(privacy_md=markdown)).text("privacy", "en")
    assert text is not None
    assert not any(evil in text.html for evil in ("<img", 'href="javascript', 'href="data', "<a href='"))


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"impressum_md": "x"}, "nobody reads impressum.md"),
        ({"imprint_md": b"\xff"}, "imprint.md is not UTF-8"),
        ({"imprint_md": b"x" * (TEXT_BYTES_MAX + 1)}, "imprint.md is larger"),
        ({"logo_png": b"x" * (LOGO_BYTES_MAX + 1)}, "logo.png is larger"),
        ({"logo_gif": b"x"}, "nobody reads logo.gif"),
    ],
)
def test_a_wrong_file_is_named(write: Write, files: dict[str, str | bytes], fault: str) -> None:
    """A file that cannot be shown is named, and so is one that nobody would read."""
    with pytest.raises(Refusal, match=fault):
        read("x", write(**files))


def test_a_wrong_file_stops_the_start(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`saleroom serve` ends at once with one line for each wrong file."""
    folder = str(write(impressum_md="x", imprint_md=b"\xff"))
    ended = saleroom(tmp_path_factory.mktemp("run"), "serve", house_folder=folder)
    assert 1 == ended.returncode
    assert ["nobody reads impressum.md", "imprint.md is not UTF-8"] == [
        line.partition("house_folder: ")[2].partition(";")[0] for line in ended.stderr.splitlines()
    ]


def test_a_folder_that_is_missing_stops_the_start(write: Write) -> None:
    """A folder that cannot be read is named at the start."""
    with pytest.raises(Refusal, match="cannot read"):
        read("x", write() / "none")
