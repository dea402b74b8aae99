"""The site as an app: the manifest, its icons, the service worker and the offline pages."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from saleroom.kernel.errors import Refusal
from saleroom.site import site
from saleroom.site.app import PAPER, SURFACE
from saleroom.site.house_profile import HouseProfile, read
from saleroom.site.site import Site
from tests.fixtures_house import House
from tests.page_routes import page_areas
from tests.site.markup import Page


def manifest(house: House, language: str) -> dict[str, Any]:
    """Return the manifest that the pages in a language link."""
    shown = Page(house.stranger.get("/login", headers={"Accept-Language": language}))
    answer = house.stranger.get(shown.one("link", rel="manifest")["href"])
    assert "application/manifest+json; charset=utf-8" == answer.headers["content-type"]
    return dict(answer.json())


def worker(house: House) -> dict[str, Any]:
    """Return what the service worker keeps."""
    answer = house.stranger.get("/service-worker.js")
    found = re.match(r"const HOUSE = (.*);\n", answer.text)
    assert found is not None
    return dict(msgspec.json.decode(found[1]))


def site_of(profile: HouseProfile) -> Site:
    """Return the site of a house with this profile, over no database."""
    nothing: Any = None
    return Site(page_areas(), nothing, nothing, "/login", profile=profile)


def picture(file: Path, size: tuple[int, int]) -> Path:
    """Write a picture in one colour, and return its file."""
    Image.new("RGB", size, (200, 20, 20)).save(file)
    return file


@pytest.mark.parametrize(("language", "lang"), [("en-GB", "en"), ("de-AT", "de")])
def test_a_house_can_be_installed(sqlite_house: House, language: str, lang: str) -> None:
    """The manifest has the name of the house, the language, where the app begins, and icons in the sizes it says."""
    found = manifest(sqlite_house, language)
    assert ("Saleroom", lang, "/", "/", "standalone") == tuple(
        found[name] for name in ("name", "lang", "start_url", "scope", "display")
    )
    icons = [(one["purpose"], one["sizes"]) for one in found["icons"]]
    assert [(purpose, size) for purpose in ("any", "maskable") for size in ("192x192", "512x512")] == icons
    for one in found["icons"]:
        shown = Image.open(io.BytesIO(sqlite_house.stranger.get(one["src"]).content))
        assert one["sizes"] == "{}x{}".format(*shown.size)
        corner = shown.convert("RGBA").getpixel((0, 0))
        assert isinstance(corner, tuple)
        assert (255 if one["purpose"] == "maskable" else 0) == corner[3]


def test_the_bars_have_the_colours_of_the_pages(sqlite_house: House) -> None:
    """In light and in dark, the bar of the browser has the ground of the header; both come from the style."""
    style = (Path(site.FOLDER) / "static" / "frame.css").read_text()
    light, dark = style.split("@media screen and (prefers-color-scheme: dark)", 1)
    for part, scheme in ((light, "light"), (dark, "dark")):
        assert f"--paper: {PAPER[scheme]};" in part
        assert f"--surface: {SURFACE[scheme]};" in part
    found = {
        one["media"]: one["content"] for one in Page(sqlite_house.stranger.get("/")).all("meta", name="theme-color")
    }
    assert {f"(prefers-color-scheme: {scheme})": SURFACE[scheme] for scheme in SURFACE} == found


def test_browsers_always_ask_for_the_worker(sqlite_house: House) -> None:
    """It is a script at the root under the policy of the pages, which is asked for again each time."""
    answer = sqlite_house.stranger.get("/service-worker.js")
    assert ("text/javascript; charset=utf-8", "no-cache") == tuple(
        answer.headers[name] for name in ("content-type", "cache-control")
    )
    assert "manifest-src 'self'" in answer.headers["content-security-policy"]
    assert 405 == sqlite_house.anyone.post("/service-worker.js").status_code


def test_an_offline_page_knows_nobody(sqlite_house: House) -> None:
    """There is one in each language. It says that no bid is placed, sets no cookie, has no form, and all it needs is kept."""
    kept = worker(sqlite_house)
    assert {"en", "de"} == kept["pages"].keys()
    for language, words in (("en", "No bid is placed"), ("de", "kein Gebot abgegeben")):
        answer = sqlite_house.user("grace").http.get(kept["pages"][language])
        shown = Page(answer)
        assert words in shown.main
        assert shown.one("html")["lang"].startswith(language)
        assert "set-cookie" not in answer.headers
        assert [] == shown.all("form")
        assert "grace" not in answer.text
        needed = {e["src"] for e in shown.elements if e.tag in ("script", "img")}
        needed |= {e["href"] for e in shown.all("link", rel="stylesheet")}
        assert needed <= {*kept["files"]}


def test_what_a_worker_keeps_decides_its_version() -> None:
    """A house of another name has another worker, which replaces the one before; the same house has the same."""
    assert site_of(HouseProfile()).worker == site_of(HouseProfile()).worker
    assert site_of(HouseProfile("Moeller")).worker != site_of(HouseProfile()).worker


def test_a_logo_becomes_the_icon(tmp_path: Path) -> None:
    """A picture as logo is drawn into squares, whole and in the middle."""
    found = site_of(HouseProfile(logo=picture(tmp_path / "logo.png", (300, 100))))
    body = {one["purpose"] + one["sizes"]: found.assets._found[one["src"][8:]] for one in icons(found)}
    whole = Image.open(io.BytesIO(body["any512x512"].representations["identity"].body))
    assert ((0, 0, 0, 0), (200, 20, 20, 255)) == (whole.getpixel((256, 10)), whole.getpixel((1, 256)))
    masked = Image.open(io.BytesIO(body["maskable192x192"].representations["identity"].body))
    assert ((250, 248, 243, 255), (200, 20, 20, 255)) == (masked.getpixel((5, 96)), masked.getpixel((96, 96)))
    assert found.app.touch_icon is not None and "house" in found.app.touch_icon


def icons(found: Site) -> list[dict[str, str]]:
    """Return the icons in the manifest of a site."""
    address = found.app.manifest(next(iter(found.languages)))
    body = found.assets._found[address.removeprefix("/assets/")].representations["identity"].body
    return list(msgspec.json.decode(body)["icons"])


@pytest.mark.parametrize(
    ("names", "types"),
    [
        (("logo.svg",), {"image/svg+xml"}),
        (("logo.svg", "icon.png"), {"image/png"}),
        (("logo.webp",), {"image/png"}),
    ],
)
def test_an_icon_stands_in_for_a_logo(tmp_path: Path, names: tuple[str, ...], types: set[str]) -> None:
    """A drawing is an icon of any size; a picture for the icon goes before it; a broken picture leaves the usual icons."""
    for name in names:
        content = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"/>' if name == "logo.svg" else b"broken"
        (tmp_path / name).write_bytes(content)
    if "icon.png" in names:
        picture(tmp_path / "icon.png", (64, 64))
    found = icons(site_of(read("Moeller", tmp_path)))
    assert types == {one["type"] for one in found}


def test_an_icon_of_another_kind_stops_the_start(tmp_path: Path) -> None:
    """`icon.jpg` is named as a file that nobody reads."""
    picture(tmp_path / "icon.jpg", (8, 8))
    with pytest.raises(Refusal, match=r"nobody reads icon\.jpg"):
        read("Moeller", tmp_path)
