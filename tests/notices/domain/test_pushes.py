"""The rules of messages to browsers: addresses, and how long a push service keeps a message."""

from datetime import UTC, datetime, timedelta

import pytest

from saleroom.kernel.errors import Fault
from saleroom.notices.domain.pushes import ENDPOINT_MAX, TOPIC_CHARACTERS, kept, parse_endpoint, topic

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("http://push.example/x", "push_endpoint"),
        ("ftp://push.example/x", "push_endpoint"),
        ("https://", "push_endpoint"),
        ("https://user:secret@push.example/x", "push_endpoint"),
        ("https://push.example:0/x", "push_endpoint"),
        ("https://push.example:99999/x", "push_endpoint"),
        ("https://push.example/x y", "push_endpoint"),
        ("https://push.example/x#y", "push_endpoint"),
        ("https://püsh.example/x", "push_endpoint"),
        ("https://[::1/x", "push_endpoint"),
        ("https://push.example/" + "x" * ENDPOINT_MAX, "push_endpoint"),
        ("https://127.0.0.1/x", "push_private"),
        ("https://[::1]/x", "push_private"),
        ("https://10.1.2.3:8443/x", "push_private"),
        ("https://169.254.169.254/latest", "push_private"),
        ("https://2130706433/x", "push_private"),
        ("https://localhost/x", "push_private"),
        ("https://push.local/x", "push_private"),
    ],
)
def test_other_addresses_are_refused(text: str, code: str) -> None:
    """A push service has a public https address, as far as its writing tells; a setting allows private ones."""
    found = parse_endpoint(text, private=False)
    assert isinstance(found, Fault)
    assert code == found.code
    assert isinstance(parse_endpoint(text, private=True), Fault) is (code == "push_endpoint")


def test_the_address_of_a_push_service_is_taken_as_it_is() -> None:
    """Nothing of it is changed."""
    given = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA_-%2F?x=1"
    assert given == parse_endpoint(given, private=False)


@pytest.mark.parametrize(
    ("kind", "ends", "expires", "seconds"),
    [
        ("outbid", timedelta(minutes=5), timedelta(days=1), 300),
        ("outbid", None, timedelta(days=1), 86400),
        ("outbid", timedelta(minutes=-1), timedelta(days=1), 0),
        ("won", timedelta(minutes=-1), timedelta(days=3), 86400),
        ("won", timedelta(minutes=-1), timedelta(hours=1), 3600),
        ("won", None, timedelta(seconds=-1), 0),
    ],
)
def test_a_message_is_kept_while_it_is_of_use(
    kind: str, ends: timedelta | None, expires: timedelta, seconds: int
) -> None:
    """For a day at most; what asks for a bid ends with the lot."""
    assert seconds == kept(kind, [] if ends is None else [NOW + ends], NOW + expires, NOW)


def test_a_topic_tells_nothing() -> None:
    """It is the same for the same cause, different for another, and as push services take it."""
    assert topic("7 lot") == topic("7 lot")
    assert topic("7 lot") != topic("8 lot")
    assert TOPIC_CHARACTERS == len(topic("7 lot"))
