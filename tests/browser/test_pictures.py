"""Pictures made smaller in a real Chromium before they go up, also behind a real nginx with its default limit of 1 MB."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat
from playwright.sync_api import Page, Route, expect

from tests.browser.people import BrowserVisitor, intercept
from tests.fixtures_house import House, User
from tests.http.proxies import nginx
from tests.pictures import ORIENTATION, corners, quartered, written

NGINX_BYTES_MAX = 1 << 20
"""nginx's default `client_max_body_size`."""


MADE_SMALLER = """async data => {
    const made = await smaller(new File([Uint8Array.from(atob(data), letter => letter.charCodeAt(0))], "a.jpg"));
    const url = await new Promise(done => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.readAsDataURL(made);
    });
    return url.slice(url.indexOf(",") + 1);
}"""


@pytest.fixture(scope="module")
def phone_photo() -> bytes:
    """A photo of twelve megapixels as a phone stores it: on its side, with detail everywhere, and of several MB."""
    size = (4032, 3024)
    scene = Image.merge("RGB", [Image.effect_noise((504, 378), 120).resize(size)] * 3)
    detail = ImageChops.add(scene, Image.merge("RGB", [Image.effect_noise(size, 12)] * 3), 2)
    detail.paste("red", (0, 0, 1000, 1000))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    data = written(detail, exif=exif, quality=95)
    assert len(data) > 3 * NGINX_BYTES_MAX
    return data


@pytest.fixture
def behind_nginx(sqlite_house: House, tmp_path: Path) -> Iterator[str]:
    """The address of the house behind nginx as it comes."""
    with nginx(tmp_path, int(sqlite_house.base.rpartition(":")[2])) as ports:
        yield f"http://127.0.0.1:{ports['collecting']}"


def kept(page: Page, number: int = 0) -> Image.Image:
    """Return the widest version that the house keeps of a photo in the form."""
    photo = page.locator("input[name=photo]").nth(number).get_attribute("value")
    answer = page.request.get(f"/photos/{photo}/1600.webp")
    assert answer.ok
    return Image.open(io.BytesIO(answer.body())).convert("RGB")


def test_photos_of_a_phone_pass_nginx(
    enter: Callable[..., BrowserVisitor], seller: User, behind_nginx: str, phone_photo: bytes, tmp_path: Path
) -> None:
    """Three photos at once arrive behind nginx, each upright, and look as the house's own version of the original."""
    page = enter(seller).page
    page.goto(f"{behind_nginx}/sell")
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(phone_photo)
    page.get_by_label("Add photos").set_input_files([tmp_path / f"{number}.jpg" for number in range(3)])
    expect(page.locator(".thumb")).to_have_count(3)
    expect(page.locator(".refused")).to_have_count(0)
    sent = seller.request("POST", "/photos", content=phone_photo, headers={"Content-Type": "image/jpeg"}).json()
    answer = page.request.get(sent["files"][-1]["url"])
    expected = Image.open(io.BytesIO(answer.body())).convert("RGB")
    for number in range(3):
        found = kept(page, number)
        assert (1600, 2133) == expected.size == found.size
        assert "red" == max(("red", "grey"), key=lambda one: -distance(found.getpixel((1500, 100)), one))
        difference = ImageStat.Stat(ImageChops.difference(expected, found))
        assert max(difference.mean) < 4, difference.mean


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_a_smaller_picture_is_upright(enter: Callable[..., BrowserVisitor], seller: User, orientation: int) -> None:
    """A photo that the browser makes smaller stands as its EXIF orientation says, as the house would turn it."""
    page = enter(seller).page
    page.goto("/sell")
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    noise = Image.merge("RGB", [Image.effect_noise((2400, 1800), 30)] * 3)
    scene = ImageChops.multiply(quartered((2400, 1800)), noise.point(lambda value: 245 + value % 10))
    original = written(scene, exif=exif, quality=97)
    made = base64.b64decode(page.evaluate(MADE_SMALLER, base64.b64encode(original).decode()))
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(original)))
    assert len(made) < len(original)
    assert upright.size[0] > 1600 == Image.open(io.BytesIO(made)).width
    assert corners(written(upright)) == corners(made)


def test_a_file_that_is_too_large_for_nginx_is_named(
    enter: Callable[..., BrowserVisitor], seller: User, behind_nginx: str, tmp_path: Path
) -> None:
    """A large file that the browser cannot open goes up as it is; nginx's refusal says that it is too large."""
    page = enter(seller).page
    page.goto(f"{behind_nginx}/sell")
    (tmp_path / "raw.jpg").write_bytes(bytes(range(256)) * 8192)
    page.get_by_label("Add photos").set_input_files(tmp_path / "raw.jpg")
    expect(page.locator(".refused")).to_contain_text("raw.jpg is too large for this site.")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (413, "a.jpg is too large for this site."),
        (401, "a.jpg was not added: you are logged out."),
        (429, "a.jpg was not added: the site answered with error 429."),
        (0, "a.jpg did not arrive. Check your connection and add it again."),
    ],
)
def test_each_refusal_is_told_as_what_it_is(
    enter: Callable[..., BrowserVisitor], seller: User, tmp_path: Path, status: int, says: str
) -> None:
    """The answer of another program on the way is told by its status, and only a broken connection blames the connection."""
    page = enter(seller).page
    page.goto("/sell")

    def answer(route: Route) -> None:
        if status:
            route.fulfill(status=status, content_type="text/html", body="<h1>nginx</h1>")
        else:
            route.abort()

    intercept(page, "**/sell/photos", answer)
    (tmp_path / "a.jpg").write_bytes(written(Image.new("RGB", (40, 30))))
    page.get_by_label("Add photos").set_input_files(tmp_path / "a.jpg")
    expect(page.locator(".refused")).to_contain_text(says)


def test_small_pictures_go_up_as_they_are(enter: Callable[..., BrowserVisitor], seller: User, tmp_path: Path) -> None:
    """A picture below the limit is sent byte for byte, and the form waits for it when the button is pressed before."""
    page = enter(seller).page
    page.goto("/sell")
    data = written(Image.effect_noise((300, 200), 60))
    (tmp_path / "a.jpg").write_bytes(data)
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    intercept(page, "**/sell/photos", hold)
    page.get_by_label("Name of the lot").fill("Clock")
    page.get_by_label("Starting price").fill("1")
    with page.expect_request("**/sell/photos"):
        page.get_by_label("Add photos").set_input_files(tmp_path / "a.jpg")
    page.locator(".actions").get_by_role("button", name="Preview").click()
    expect(page.locator(".photos .status")).to_have_text("a.jpg is on its way")
    waiting[0].continue_()
    page.wait_for_url("**/preview")
    sent = seller.request("POST", "/photos", content=data, headers={"Content-Type": "image/jpeg"}).json()
    photo = page.locator("input[name=photo]").get_attribute("value")
    as_it_is, found = (page.request.get(f"/photos/{one}/300.webp").body() for one in (sent["id"], photo))
    assert as_it_is == found


def distance(pixel: object, name: str) -> int:
    """Return how far a pixel is from a colour."""
    assert isinstance(pixel, tuple)
    colour = {"red": (255, 0, 0), "grey": (128, 128, 128)}[name]
    return sum(abs(int(one) - other) for one, other in zip(pixel, colour, strict=True))
