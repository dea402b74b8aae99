"""The site as an app: its manifests and icons, and the service worker with the offline pages (docs/pages.md, "As an app")."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.site.assets import DIGEST_CHARACTERS, Assets
from saleroom.site.house_profile import HouseProfile
from saleroom.site.language import N_, Language, Languages

WORKER_PATH = "/service-worker.js"
"""At the root, because a worker is for the addresses below its own."""
PAPER = {"light": "#faf8f3", "dark": "#14130f"}
"""The ground of the pages, `--paper` of frame.css: behind an icon, and while the app starts."""
SURFACE = {"light": "#ffffff", "dark": "#1e1c17"}
"""The ground of their headers, `--surface`: the bar of the browser or of the app has it too."""
SIZES = (192, 512)
TOUCH_SIZE = 180
"""The size of the icon that iPhones take from the page and not from the manifest."""
SAFE = 0.8
"""The part of the width of a maskable icon that no mask cuts off (W3C, "Web Application Manifest", maskable icons)."""
_DESCRIPTION = N_("Look at lots, bid and follow your bids.")
_WORKER = Path(__file__).parent / "worker" / "service-worker.js"
_NEEDED = ("vendor/pico.min.css", "frame.css", "site.css", "offline.js")
"""What the offline page needs, beside the logo."""


class Icon(Struct, frozen=True):
    """An icon of a manifest."""

    src: str
    sizes: str
    type: str
    purpose: str = "any"


class Shell(Struct, frozen=True):
    """A page that opens without a connection too, once a browser has opened it: `template` without anything private.

    `path` is the pattern of its addresses, for a script. `files` are the assets that it needs beside those of the site, and
    `context` gives what its template shows in a language.
    """

    path: str
    template: str
    files: tuple[str, ...]
    context: Callable[[Language], Mapping[str, Any]]


class App:
    """The manifests and icons of a house. They are added to `assets`, so each is at an address that never changes."""

    def __init__(self, assets: Assets, languages: Languages, profile: HouseProfile) -> None:
        self._assets = assets
        self._languages = tuple(languages)
        self.touch_icon: str | None = assets.url("icons/touch.png")
        self._icons = self._own_icons(profile)
        self._manifests = {one.catalogue: self._manifest(one, profile) for one in self._languages}

    def manifest(self, language: Language) -> str:
        """Return the address of the manifest in a language."""
        return self._manifests[language.catalogue]

    def worker(
        self, logo: str, written: Callable[[Language, str, Mapping[str, Any]], str], shells: Sequence[Shell]
    ) -> bytes:
        """Return the script of the service worker. `written` writes a template in a language, with what it shows."""
        pages = {
            one.catalogue: self._assets.put(f"offline.{one.catalogue}.html", written(one, "offline.html", {}).encode())
            for one in self._languages
        }
        files = [*map(self._assets.url, _NEEDED), logo]
        kept = [self._shell(one, written) for one in shells]
        house: dict[str, Any] = {"pages": pages, "files": files, "shells": kept, "icon": self._icons[0].src}
        script = _WORKER.read_bytes()
        version = hashlib.sha256(script + msgspec.json.encode(house)).hexdigest()[:DIGEST_CHARACTERS]
        return b"const HOUSE = " + msgspec.json.encode({"version": version, **house}) + b";\n" + script

    def _shell(self, shell: Shell, written: Callable[[Language, str, Mapping[str, Any]], str]) -> dict[str, Any]:
        pages = {}
        for one in self._languages:
            html = written(one, shell.template, shell.context(one))
            pages[one.catalogue] = self._assets.put(
                f"{shell.template.removesuffix('.html')}.{one.catalogue}.html", html.encode()
            )
        return {"path": shell.path, "pages": pages, "files": [self._assets.url(name) for name in shell.files]}

    def _own_icons(self, profile: HouseProfile) -> list[Icon]:
        """Return the icons of the house: those of its own logo if it has one, otherwise those of saleroom."""
        source = profile.icon or profile.logo
        if source is None:
            made: Mapping[str, bytes] = {}
        elif source.suffix == ".svg":
            self.touch_icon = None
            return [Icon(self._assets.url(f"house/{source.name}"), "any", "image/svg+xml")]
        else:
            made = drawn(source)
        if "touch" in made:
            self.touch_icon = self._assets.put("house/touch.png", made["touch"])
        return [
            Icon(
                self._assets.put(f"house/{name}.png", made[name])
                if name in made
                else self._assets.url(f"icons/{name}.png"),
                f"{size}x{size}",
                "image/png",
                purpose,
            )
            for purpose in ("any", "maskable")
            for size in SIZES
            for name in (f"{purpose}-{size}",)
        ]

    def _manifest(self, language: Language, profile: HouseProfile) -> str:
        manifest = {
            "id": "/",
            "name": profile.name,
            "short_name": profile.name,
            "description": language.gettext(_DESCRIPTION),
            "lang": language.catalogue,
            "dir": "rtl" if language.right_to_left else "ltr",
            "start_url": "/",
            "scope": "/",
            "display": "standalone",
            "background_color": PAPER["light"],
            "theme_color": SURFACE["light"],
            "icons": self._icons,
        }
        return self._assets.put(f"app.{language.catalogue}.webmanifest", msgspec.json.encode(manifest))


def drawn(source: Path) -> dict[str, bytes]:
    """Return the icons of a picture, as PNG by their names; none if it cannot be read.

    The picture stands in the middle of a square; where a mask may cut, on paper and smaller.
    """
    from PIL import Image  # here, as only a house with a picture of its own needs it

    try:
        with Image.open(source) as opened:
            picture = opened.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {}

    def icon(size: int, part: float, ground: str | tuple[int, ...]) -> bytes:
        square = Image.new("RGBA", (size, size), ground)
        factor = size * part / max(picture.size)
        width, height = (max(1, round(side * factor)) for side in picture.size)
        square.alpha_composite(picture.resize((width, height)), ((size - width) // 2, (size - height) // 2))
        written = io.BytesIO()
        square.save(written, "PNG", optimize=True)
        return written.getvalue()

    found = {f"any-{size}": icon(size, 1.0, (0, 0, 0, 0)) for size in SIZES}
    found |= {f"maskable-{size}": icon(size, SAFE, PAPER["light"]) for size in SIZES}
    return found | {"touch": icon(TOUCH_SIZE, 0.9, PAPER["light"])}
