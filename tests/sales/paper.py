"""Paper read back as other programs read it."""

from io import BytesIO
from typing import Any

import httpx
from pypdf import PdfReader

from tests.fixtures_house import CheckedClient, User


def printed(user: User | CheckedClient, gid: str, kind: str, **asked: str) -> PdfReader:
    """Return some paper of a sale."""
    return reader(user.get(f"/sales/{gid}/paper/{kind}.pdf", params=asked))


def reader(answer: httpx.Response) -> PdfReader:
    """Return the PDF of an answer."""
    assert 200 == answer.status_code, answer.text
    assert "application/pdf" == answer.headers["content-type"]
    return PdfReader(BytesIO(answer.content))


def text_of(paper: PdfReader) -> str:
    """Return all its text, in one line and without the places where words may break."""
    return " ".join(" ".join(page.extract_text() for page in paper.pages).replace("\u200b", "").split())


def tags_of(paper: PdfReader) -> list[str]:
    """Return the types of all elements of its structure, in their order."""
    return [str(one["/S"]) for one in elements_of(paper) if "/S" in one]


def alternatives_of(paper: PdfReader) -> list[str]:
    """Return the texts that stand for pictures."""
    return [str(one["/Alt"]) for one in elements_of(paper) if "/Alt" in one]


def elements_of(paper: PdfReader) -> list[Any]:
    """Return all elements of its structure, in their order."""
    found: list[Any] = []
    root: Any = paper.trailer["/Root"]
    left = [root["/StructTreeRoot"]]
    while left:
        node = left.pop().get_object()
        if isinstance(node, list):
            left += reversed(node)
        elif isinstance(node, dict):
            found.append(node)
            left += [node["/K"]] if "/K" in node else []
    return found
