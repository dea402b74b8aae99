"""The plain text of a mail, from its HTML: one template says both."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from textwrap import fill

WIDTH = 76
_BLOCKS = frozenset({"h1", "h2", "p", "li", "tr", "hr", "div", "ul", "table"})
_RULE = "--"
_BEGINNINGS = {"hr": _RULE, "li": "- "}
_SIGNATURE = "\n\n-- \n"
"""Parts a text from the signature, which mail programs then show apart or fold (RFC 3676)."""
_BLANKS = re.compile(r"[ \t\r\n]+")


def plain_text(html: str) -> tuple[str, str]:
    """Return the title and the text of a mail's HTML; addresses of links stand behind their words."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    return parser.title, parser.text


def brief(html: str) -> tuple[str, str]:
    """Return the title, and what the HTML of a mail says in the paragraphs before its first link, as one line."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    return parser.title, parser.before_links


class _Text(HTMLParser):
    """Gathers the text of a document of the house's own templates."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._title: list[str] = []
        self._blocks: list[str] = [""]
        self._link: str | None = None
        self._in_title = False
        self._keeps_lines = False
        self._first_link: int | None = None
        """The number of the block with the first link."""

    @property
    def title(self) -> str:
        return _BLANKS.sub(" ", "".join(self._title)).strip()

    @property
    def text(self) -> str:
        found = [block.strip() for block in self._blocks]
        lines = [
            "\n".join(
                fill(line.strip(), WIDTH, break_long_words=False, break_on_hyphens=False) for line in block.split("\n")
            )
            for block in found
            if block
        ]
        return "\n\n".join(lines).replace(f"\n\n{_RULE}\n\n", _SIGNATURE) + "\n"

    @property
    def before_links(self) -> str:
        return _BLANKS.sub(" ", " ".join(self._blocks[: self._first_link])).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, or note where a link leads."""
        given = dict(attrs)
        if tag in _BLOCKS:
            self._blocks.append(_BEGINNINGS.get(tag, ""))
            self._keeps_lines = "pre-line" in (given.get("style") or "")
            if tag == "hr":
                self._blocks.append("")
        elif tag == "br":
            self._blocks[-1] += "\n"
        self._in_title = tag == "title"
        if tag == "a":
            self._link = given.get("href")
            if self._first_link is None:
                self._first_link = len(self._blocks) - 1

    def handle_endtag(self, tag: str) -> None:
        """End the block, or say where the link leads."""
        if tag == "a" and self._link is not None:
            self._blocks[-1] += f" <{self._link}>"
            self._link = None
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self._keeps_lines = False
            self._blocks.append("")

    def handle_data(self, data: str) -> None:
        """Add text to the title or to the block."""
        if self._in_title:
            self._title.append(data)
        else:
            self._blocks[-1] += data if self._keeps_lines else _BLANKS.sub(" ", data)
