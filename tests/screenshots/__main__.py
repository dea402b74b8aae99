"""`python -m tests.screenshots`: a picture of every page, on a desktop and on a phone, light and dark, with an index.

Exit codes: 0 all were taken, 1 some could not be, 130 it was stopped.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import Error as BrowserError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.browser.conftest import ARGUMENTS
from tests.fixtures_house import settings_for
from tests.needs import need
from tests.process import PASSWORD, ServeProcess, environment
from tests.screenshots.furnished import OWNER, FurnishedHouse
from tests.screenshots.settled import HOUSE
from tests.screenshots.shots import SHOTS, Shot

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
QUALITY = 55
PUBLIC_URL = "http://bids.harbour.example"
"""The address that the pages show: that of the test would be this computer's own."""
HEIGHT_MAX = 3600
"""Pixels of a page that are kept: what follows on a long one looks the same."""
PATIENCE_MS = 60_000
READY = """async () => {
    const pictures = [...document.images];
    for (const picture of pictures) picture.loading = 'eager';
    await Promise.all(pictures.map(picture => picture.decode().catch(() => null)));
    await document.fonts.ready;
    window.scrollTo(0, 0);
}"""


@dataclass(frozen=True)
class Window:
    """The browser window in which a page is shown."""

    name: str
    width: int
    height: int
    scale: float = 1.0
    touch: bool = False


WINDOWS = (Window("desktop", 1280, 800), Window("phone", 360, 740, 1.1, touch=True))


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures whose names hold one of the given words, write the index, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description="Take a picture of every page.")
    parser.add_argument("--only", default="", metavar="WORDS", help="with commas: parts of the pictures' names")
    parser.add_argument("--to", default=str(FOLDER), metavar="FOLDER", help="where to write them")
    chosen = parser.parse_args(arguments)
    words = [word for word in chosen.only.split(",") if word]
    planned = [shot for shot in SHOTS if not words or any(word in shot.name for word in words)]
    if not planned:
        parser.error(f"no page is called so; there are: {', '.join(shot.name for shot in SHOTS)}")
    try:
        program = need("chromium")
    except pytest.skip.Exception as missing:
        parser.error(str(missing))
    folder = Path(chosen.to)
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        with houses(console) as (furnished, urls), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
            failed = Studio(browser, urls, furnished, folder).take(planned, console)
    except KeyboardInterrupt:
        return 130
    write_index(folder)
    total = sum(file.stat().st_size for file in folder.glob("*.webp"))
    console.print(f"{len(list(folder.glob('*.webp')))} pictures, {total / 1e6:.1f} MB, in {folder}")
    return 1 if failed else 0


@contextmanager
def houses(console: Console) -> Iterator[tuple[FurnishedHouse, dict[bool, str]]]:
    """Serve two houses, a full one and an empty one; yield their addresses by whether the house is empty."""
    console.print("Furnishing a house")
    with tempfile.TemporaryDirectory(prefix="saleroom-screenshots-") as place:
        for name in ("full", "empty"):
            Path(place, name).mkdir()
        said = {"full": HOUSE, "empty": {}}
        served = [ServeProcess(Path(place, name), mqtt="off", smtp_url="show", **more) for name, more in said.items()]
        furnished = FurnishedHouse(served[0].url)
        try:
            furnished.furnish()
            command = [str(served[0].program), "users", "add", OWNER, "--role", "owner"]
            password, full = f"{PASSWORD}\n".encode(), Path(place, "full")
            subprocess.run(command, cwd=full, env=environment(), input=password, check=True, capture_output=True)
            furnished.staff()
            furnished.evening()
            furnished.settled(settings_for(f"sqlite:///{full}/saleroom.db", **HOUSE))
            yield furnished, {False: served[0].url, True: served[1].url}
        finally:
            furnished.close()
            for house in served:
                house.kill()


class Studio:
    """A browser that takes pictures of pages."""

    def __init__(self, browser: Browser, urls: dict[bool, str], furnished: FurnishedHouse, folder: Path) -> None:
        self._browser = browser
        self._urls = urls
        self._furnished = furnished
        self._folder = folder
        self._cookies: dict[tuple[str, bool], Any] = {}

    def take(self, shots: list[Shot], console: Console) -> int:
        """Take all pictures, and return how many could not be taken."""
        columns = (TextColumn("{task.description:<30}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        failed = 0
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("", total=len(WINDOWS) * sum(len(shot.schemes) for shot in shots))
            for shot in shots:
                progress.update(task, description=shot.name)
                for device in WINDOWS:
                    try:
                        self._both_schemes(shot, device)
                    except (BrowserError, AssertionError) as error:
                        failed += 1
                        progress.console.print(
                            f"{shot.name}, {device.name}: {str(error).splitlines()[0]}", markup=False
                        )
                    progress.advance(task, len(shot.schemes))
        return failed

    def _both_schemes(self, shot: Shot, device: Window) -> None:
        """Take one page in all of its schemes, without a reload between them."""
        context = self._context(shot, device)
        try:
            page = context.new_page()
            page.goto(shot.path.format(**self._furnished.gids))
            if shot.steps is not None:
                shot.steps(page)
            if shot.path == "/docs":
                page.locator(".opblock").first.wait_for()
            page.evaluate(READY)
            for scheme in shot.schemes:
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
                self._save(page, shot, f"{shot.name}-{device.name}-{scheme}.webp")
        finally:
            context.close()

    def _context(self, shot: Shot, device: Window) -> BrowserContext:
        options: dict[str, Any] = {
            "base_url": self._urls[shot.empty],
            "viewport": {"width": device.width, "height": device.height},
            "device_scale_factor": device.scale,
            "is_mobile": device.touch,
            "has_touch": device.touch,
            "locale": "de-DE" if shot.german else "en-GB",
            "timezone_id": "Europe/Berlin",
        }
        if shot.who is not None:
            options["storage_state"] = self._logged_in(shot.who, options)
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def _logged_in(self, who: str, options: dict[str, Any]) -> Any:
        """Return the cookies of somebody who has logged in by the form, once for all pictures."""
        found = self._cookies.get((who, options["is_mobile"]))
        if found is None:
            context = self._browser.new_context(**options)
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto("/login")
            page.locator("#username").fill(who)
            page.locator("#password").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_url("**/")
            found = self._cookies[who, options["is_mobile"]] = context.storage_state()
            context.close()
        return found

    def _save(self, page: Page, shot: Shot, name: str) -> None:
        taken = page.screenshot(full_page=shot.whole, animations="disabled", caret="hide", scale="device")
        with Image.open(io.BytesIO(taken)) as image:
            shown = image.crop((0, 0, image.width, min(image.height, HEIGHT_MAX))).convert("RGB")
            shown.save(self._folder / name, "WEBP", quality=QUALITY, method=6)


def write_index(folder: Path) -> None:
    """Write the page that shows all existing pictures."""
    lines = [
        "# Every page",
        "",
        "Made by `make screenshots`, which furnishes a house with the demo's lots and looks at each page on a desktop and on",
        "a phone, in light and in dark.",
    ]
    for shot in SHOTS:
        taken = [
            (f"{shot.title}, {device.name}, {scheme}", f"{shot.name}-{device.name}-{scheme}.webp", device)
            for device in WINDOWS
            for scheme in shot.schemes
        ]
        found = [(alt, file, device) for alt, file, device in taken if (folder / file).exists()]
        if found:
            lines += ["", f"## {shot.title}", ""]
            lines += [f'<img src="{file}" alt="{alt}" width="{_shown(device)}">' for alt, file, device in found]
    (folder / "README.md").write_text("\n".join(lines) + "\n", "utf-8")


def _shown(device: Window) -> int:
    return 380 if device.name == "desktop" else 140


if __name__ == "__main__":
    sys.exit(main())
