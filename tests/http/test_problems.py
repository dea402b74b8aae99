"""The map from errors to statuses, and the body and headers of an error."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from saleroom.accounts.domain.errors import InvalidAuthentication
from saleroom.bidding.domain.errors import BidTooLow, PhotosUnavailable
from saleroom.http import problems
from saleroom.http.problems import body_of, headers_of, status_of, statuses
from saleroom.kernel.errors import Busy, Declined, Fault, Invalid, Refusal, TooManyRequests, Unauthenticated


class Inside(Refusal):
    """This is said to nobody over HTTP."""


INSIDE = {Inside}
"""Refusals that never reach a client."""


def refusals(kind: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """Yield every kind of refusal in the house."""
    for found in kind.__subclasses__():
        if found.__module__.startswith("saleroom."):
            yield found
            yield from refusals(found)


def test_every_refusal_has_a_status() -> None:
    """The map has exactly the errors that can reach a client."""
    with_codes = {refused for refused in refusals() if "code" in vars(refused) and refused is not Refusal}
    assert with_codes - INSIDE == statuses().keys()
    assert all(500 != status_of(refused) for refused in with_codes - INSIDE - {problems.InternalError})


def test_forms_show_every_refusal_but_the_lack_of_a_session() -> None:
    """Each refusal is declined, which forms catch, or lacks a live token, which leads to the form to log in."""
    kinds = set(refusals())
    declined, unknown = ({kind for kind in kinds if issubclass(kind, base)} for base in (Declined, Unauthenticated))
    assert kinds == declined | unknown
    assert set() == declined & unknown


def test_statuses_are_client_errors_or_announced_server_errors() -> None:
    """Only faults of the house and temporary conditions are 5xx."""
    temporary = {Busy, PhotosUnavailable, problems.Unavailable}
    assert temporary | {problems.InternalError} == {r for r, s in statuses().items() if s >= 500}
    assert all(400 <= status for status in statuses().values())


def test_codes_are_stable_words_and_tell_errors_apart() -> None:
    """Every code is snake_case and stands for one error."""
    codes = [refused.code for refused in statuses()]
    assert len(codes) == len(set(codes))
    assert all(code.isascii() and code.replace("_", "").islower() for code in codes)


def test_facts_stand_beside_message_and_code() -> None:
    """Facts are beside message and code: money with three decimals, instants with microseconds and `Z`, null as null."""
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    refused = BidTooLow(minimum_bid=Decimal("12.500"), ends_at=at, starts_at=None, limit=3)
    assert {
        "message": "The bid is too low; bid at least the minimum bid.",
        "code": "bid_too_low",
        "minimumBid": "12.500",
        "endsAt": "2026-11-21T12:00:00.000000Z",
        "startsAt": None,
        "limit": 3,
    } == body_of(refused)


def test_a_refusal_says_how_to_act_on_it_over_http() -> None:
    """The domain's message names no header. The message over HTTP does, unless the refusal has a more exact one."""
    assert "header" not in Unauthenticated.sentence()
    assert "'Authorization: Bearer TOKEN'" in body_of(Unauthenticated())["message"]
    assert "wait as long as Retry-After says" in body_of(TooManyRequests(retry_after=7))["message"]
    assert "Too many failed logins." == body_of(TooManyRequests("Too many failed logins.", retry_after=7))["message"]


def test_validation_lists_every_fault_of_every_field() -> None:
    """The message of `validation` is an object from field to a list of codes and messages."""
    refused = Invalid({"name": [Fault("a", "is a"), Fault("b", "is b")], "body": [Fault("c", "is c")]})
    message = {
        "name": [{"code": "a", "message": "is a"}, {"code": "b", "message": "is b"}],
        "body": [{"code": "c", "message": "is c"}],
    }
    assert {"message": message, "code": "validation"} == body_of(refused)
    assert {"message": message} == body_of(refused, bare=True)


def test_a_failed_login_is_bare() -> None:
    """The body is exactly that of the specification."""
    assert {"message": "Invalid authentication"} == body_of(InvalidAuthentication())


@pytest.mark.parametrize("refused", statuses(), ids=lambda refused: refused.code)
def test_headers_that_a_status_asks_for(refused: type[Refusal]) -> None:
    """401 names the scheme, 405 the methods, 429 and 503 the seconds to wait; 408 and 413 end the connection."""
    special: dict[type[Refusal], Refusal] = {
        Invalid: Invalid({}),
        problems.MethodNotAllowed: problems.MethodNotAllowed("GET, HEAD"),
    }
    expected = {
        401: {"WWW-Authenticate": "Bearer"},
        405: {"Allow": "GET, HEAD"},
        408: {"Connection": "close"},
        413: {"Connection": "close"},
        429: {"Retry-After": "1"},
        503: {"Retry-After": "1"},
    }
    assert expected.get(status_of(refused), {}) == headers_of(special.get(refused) or refused())


def test_retry_after_says_what_the_error_says() -> None:
    """The header Retry-After has the value of the fact `retryAfter`."""
    assert {"Retry-After": "7"} == headers_of(TooManyRequests(retry_after=7))


def test_an_error_that_is_not_meant_to_reach_a_client_is_500() -> None:
    """An error outside the map counts as a fault of the house."""
    assert 500 == status_of(Inside())
