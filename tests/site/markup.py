"""A page as the tests read it: its elements with their attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

_VOID = frozenset({"input", "link", "meta", "img", "br", "hr"})


@dataclass
class Element:
    """An element; `element["href"]` is an attribute that it must have."""

    tag: str
    attributes: dict[str, str]
    parts: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def raw(self) -> str:
        """All text within it, with its white space."""
        return "".join(self.parts)

    @property
    def text(self) -> str:
        """All text within it, with each run of white space as one space."""
        return " ".join(self.raw.split())


class Page(HTMLParser):
    """The elements of an HTML answer, in order. A tag that is never closed, or closed without being open, is a fault."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        assert "text/html; charset=utf-8" == response.headers["content-type"], response.text
        self.status = response.status_code
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(response.text)
        self.close()
        assert [] == self._open, "not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Record its end."""
        assert self._open and tag == self._open[-1].tag, f"</{tag}> closes nothing"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Record its text."""
        for element in self._open:
            element.parts.append(data)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of this tag with these attributes; `class_` is one of an element's classes."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [e for e in self.elements if tag == e.tag and all(_has(e, *item) for item in wanted.items())]

    def one(self, tag: str, **attributes: str) -> Element:
        """Return the only element of this tag with these attributes."""
        [element] = self.all(tag, **attributes)
        return element

    @property
    def main(self) -> str:
        """The text of the page's main part."""
        return self.one("main").text

    @property
    def links(self) -> list[str]:
        """The addresses that the page links."""
        return [link["href"] for link in self.all("a")]

    @property
    def heading(self) -> str:
        """The text of the page's one first-level heading."""
        return self.one("h1").text

    @property
    def facts(self) -> dict[str, str]:
        """A lot's facts: term to description."""
        return {dt.text: dd.text for dt, dd in zip(self.all("dt"), self.all("dd"), strict=True)}


def _has(element: Element, name: str, value: str) -> bool:
    found = element.attributes.get(name, "")
    return value in found.split() if name == "class" else value == found
