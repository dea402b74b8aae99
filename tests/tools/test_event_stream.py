"""Server-sent events: as a house sends them, and as the standard allows."""

import pytest

from saleroom.tools.event_stream import LINE_BYTES_MAX, Comment, EventStreamParser, Message, NotAnEventStream

RECORDED = (
    b"retry: 2755\n: time 2026-11-21T19:44:30.701122Z\n\n"
    b'id: qyJix0pkch8D/2\ndata: {"id":"qyJix0pkch8D/2","data":{"bidder":"b\xc3\xa9n"}}\n\n'
    b"id: qyJix0pkch8D/3\ndata: {}\n\n: time 2026-11-21T19:44:45.701122Z\n\n"
)
"""A recorded stream of a house, with shortened events."""
READ = [
    Comment("time 2026-11-21T19:44:30.701122Z"),
    Message("qyJix0pkch8D/2", '{"id":"qyJix0pkch8D/2","data":{"bidder":"bén"}}'),
    Message("qyJix0pkch8D/3", "{}"),
    Comment("time 2026-11-21T19:44:45.701122Z"),
]


def read(*chunks: bytes) -> list[Message | Comment]:
    """Return the items that a new parser finds in the chunks."""
    parser = EventStreamParser()
    return [item for chunk in chunks for item in parser.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_is_read_wherever_it_is_cut(end: bytes) -> None:
    """A stream cut in two at any byte, or into single bytes, with any of the three line ends, gives the same items."""
    stream = RECORDED.replace(b"\n", end) + b":"  # a CR at the very end may be half of a line end
    for cut in range(len(stream) + 1):
        assert read(stream[:cut], stream[cut:]) == READ
    assert READ == read(*(bytes([byte]) for byte in stream))


@pytest.mark.parametrize(
    ("stream", "items"),
    [
        (b"data: a\ndata:b\ndata\n\n", [Message(None, "a\nb\n")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Message(None, "a")]),
        (b"data:  a\n\n", [Message(None, " a")]),
        (b"id: 1\ndata: a\n\ndata: b\n\n", [Message("1", "a"), Message("1", "b")]),
        (b"id: 1\ndata: a\n\nid\ndata: b\n\n", [Message("1", "a"), Message("", "b")]),
        (b"id: 1\n\n", [Message("1", "")]),
        (b"id: 1\0\ndata: a\n\n", [Message(None, "a")]),
        (b"event: add\nunknown: x\n\n\n", []),
        (b"event: add\nid: 1\ndata: a\n\ndata: b\n\n", [Message("1", "a", "add"), Message("1", "b")]),
        (b"data: never dispatched\n", []),
        (b"data: \xff\n\n", [Message(None, "\N{REPLACEMENT CHARACTER}")]),
    ],
)
def test_the_standards_corners(stream: bytes, items: list[Message | Comment]) -> None:
    """Fields mean what the standard says, even those that a house does not send."""
    assert items == read(stream)


@pytest.mark.parametrize(("line", "retry"), [(b"retry: 2755\n", 2755), (b"retry: -1\n", None), (b"retry: 1.5\n", None)])
def test_the_pause_is_what_the_server_asks_for(line: bytes, retry: int | None) -> None:
    """`retry` has only digits; any other value is ignored."""
    parser = EventStreamParser()
    list(parser.feed(line))
    assert retry == parser.retry_ms


def test_an_endless_line_is_refused() -> None:
    """An endless line is refused before it fills the memory."""
    parser = EventStreamParser()
    list(parser.feed(b"x" * LINE_BYTES_MAX))
    with pytest.raises(NotAnEventStream):
        list(parser.feed(b"x"))
