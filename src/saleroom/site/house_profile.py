"""The house's name, and the logo and the texts in its folder (docs/settings.md, "The folder of the house")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from msgspec import Struct

from saleroom.kernel.errors import Refusal

DEFAULT_NAME = "Saleroom"
PAGES = ("imprint", "privacy", "rules")
"""The texts that are pages, with a link at the foot of every page."""
AFTER_SALE = "after-sale"
"""The text that the winner and the seller of a lot see after the sale."""
LOGOS = ("logo.svg", "logo.png", "logo.webp")
ICON = "icon.png"
"""The picture of the house as an app, for a logo that is no good as a small square."""
TEXT_BYTES_MAX = 256 * 1024
LOGO_BYTES_MAX = 256 * 1024
_TEXT = re.compile(rf"({'|'.join((*PAGES, AFTER_SALE))})(?:\.([a-z]{{2,3}}))?\.md")
_REMEDY = f"a folder has {', '.join(LOGOS)}, {ICON}, and texts such as imprint.md and imprint.de.md: " + ", ".join(
    (*PAGES, AFTER_SALE)
)
# Neither HTML nor pictures: the pages' policy allows none of other sites, and a text cannot break a page.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


class HouseText(Struct, frozen=True):
    """A text as HTML, without its title. `language` is None if the file names none."""

    title: str | None
    html: Markup
    language: str | None


class HouseProfile(Struct, frozen=True):
    """What the owner says about the house. `texts` go by name, then by language; the language may be None."""

    name: str = DEFAULT_NAME
    logo: Path | None = None
    icon: Path | None = None
    texts: Mapping[str, Mapping[str | None, HouseText]] = MappingProxyType({})

    def text(self, name: str, language: str) -> HouseText | None:
        """Return a text in `language` if there is one, otherwise in the one for all languages, otherwise in any."""
        found = self.texts.get(name, {})
        return found.get(language) or found.get(None) or next(iter(found.values()), None)


def read(name: str, folder: Path | None) -> HouseProfile:
    """Return the profile of a house. Raises Refusal, with all faults, if the folder cannot be used."""
    texts: dict[str, dict[str | None, HouseText]] = {}
    pictures: dict[str, Path] = {}
    faults: list[str] = []
    for file in () if folder is None else _files(folder):
        named = _TEXT.fullmatch(file.name)
        if named is not None:
            try:
                texts.setdefault(named[1], {})[named[2]] = _text(_content(file, TEXT_BYTES_MAX), named[2])
            except ValueError as error:
                faults.append(f"house_folder: {file.name} {error}")
        elif file.name in LOGOS or file.name == ICON:
            pictures["icon" if file.name == ICON else "logo"] = file
            if file.stat().st_size > LOGO_BYTES_MAX:
                faults.append(f"house_folder: {file.name} is larger than {LOGO_BYTES_MAX} bytes")
        elif file.suffix == ".md" or file.stem in ("logo", "icon"):
            faults.append(f"house_folder: nobody reads {file.name}; {_REMEDY}")
    if faults:
        raise Refusal("\n".join(faults))
    return HouseProfile(name, pictures.get("logo"), pictures.get("icon"), texts)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.is_file())
    except OSError as error:
        raise Refusal(f"house_folder: cannot read {folder}: {error.strerror}") from error


def _content(file: Path, bytes_max: int) -> str:
    """Return the text of a file. Raises ValueError."""
    with file.open("rb") as opened:
        content = opened.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ValueError(f"is larger than {bytes_max} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None


def _text(markdown: str, language: str | None) -> HouseText:
    """Return a text. A first heading is its title; all other headings stand below that."""
    tokens = _MARKDOWN.parse(markdown)
    title = None
    if tokens and tokens[0].tag == "h1":
        title, tokens = _plain(tokens[1]), tokens[3:]
    for token in tokens:
        token.tag = "h2" if token.tag == "h1" else token.tag
    return HouseText(title, Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})), language)  # noqa: S704  # escaped


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ()).strip()
