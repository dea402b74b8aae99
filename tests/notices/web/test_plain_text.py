"""The plain text of a mail, from its HTML."""

import pytest

from saleroom.notices.web.plain_text import WIDTH, plain_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>One</h1>\n  <p>Two\n  three</p>", "One\n\nTwo three\n"),
        ("<p>1 &lt; 2 &amp; &quot;x&quot; &eacute;</p>", '1 < 2 & "x" é\n'),
        ('<p><a href="https://house.example/lots/1?a=1&amp;b=2">See <b>it</b></a>.</p>', "See it <https://house.example/lots/1?a=1&b=2>.\n"),
        ("<p><a>No link</a></p>", "No link\n"),
        ("<ul><li>One</li><li>Two</li></ul>", "- One\n\n- Two\n"),
        ("<p>Best,<br>the house</p><hr><p>Am Markt 1</p>", "Best,\nthe house\n\n-- \nAm Markt 1\n"),
        ('<p style="white-space: pre-line">Am Markt 1\nBerlin</p><p>a\nb</p>', "Am Markt 1\nBerlin\n\na b\n"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "ab\n\nc\n"),
        ("", "\n"),
    ],
)  # fmt: skip
def test_blocks_are_paragraphs(html: str, text: str) -> None:
    """Blocks are parted by a blank line, addresses of links stand behind their words, and entities are characters."""
    assert ("", text) == plain_text(html)


def test_the_title_is_the_subject() -> None:
    """The title stands in no block, on one line."""
    assert ("Outbid: A & B", "Hello\n") == plain_text("<title>Outbid:\n  A &amp; B</title><p>Hello</p>")


def test_lines_are_short_and_addresses_whole() -> None:
    """Lines are at most 76 characters, but an address stays whole, so that it can be followed."""
    address = "https://house.example/" + "a-b" * 40
    _, text = plain_text(f'<p>{"word " * 40}<a href="{address}">here</a></p>')
    lines = text.splitlines()
    assert f"<{address}>" in lines
    assert max(len(line) for line in lines if address not in line) <= WIDTH
