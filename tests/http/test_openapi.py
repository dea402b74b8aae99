"""The OpenAPI document: valid, served, and complete, with every route, member and error."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from openapi_spec_validator import validate
from starlette.routing import Route

from saleroom import __version__, compose
from saleroom.accounts.domain.errors import (
    InvalidAuthentication,
    InvalidOwnerLink,
    InvalidPasskey,
    PasskeyNotAdded,
    PasskeysOff,
    TooManyPasskeys,
)
from saleroom.bidding.domain.errors import UnknownCalendar
from saleroom.compose import ENDPOINTS
from saleroom.http import problems
from saleroom.http.endpoints import Access, Endpoint
from saleroom.http.front import Routes
from saleroom.http.requests import SAFE_METHODS
from saleroom.kernel.errors import Invalid, Refusal
from tests.contract import DOCUMENT
from tests.fixtures_house import House, settings_for

PAGES = re.compile(
    r"/(address|admin|catalogues|catalogues\.ics|docs|join|language|live|lots|lots\.atom|lots\.ics|mails|mine|notices|owner|password|register|service-worker\.js|results\.csv|sell|session|watchlist)(/.*)?|/\.well-known/change-password"
    r"|/sales/\{gid\}/(auctioneer|block/live|console|console/state|entry|entry/sheet|live|next|screen|total)"
)
"""Addresses of pages. Their forms and their streams of HTML are no interface."""
ANSWERED = {refused for endpoint in ENDPOINTS for refused in endpoint.refusals}
TO_COME = tuple(
    kind for kind in problems.statuses() if kind.__module__ == "saleroom.sales.domain.errors" and kind not in ANSWERED
)
ON_PAGES: tuple[type[Refusal], ...] = (
    InvalidOwnerLink,
    InvalidPasskey,
    PasskeyNotAdded,
    PasskeysOff,
    TooManyPasskeys,
    UnknownCalendar,
    problems.NoSessions,
    *TO_COME,
)
"""Refusals of pages alone, which no operation answers with."""
OPERATIONS = {
    (method.upper(), path): operation
    for path, found in DOCUMENT["paths"].items()
    for method, operation in found.items()
}
each_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)


def operation(endpoint: Endpoint[Any]) -> dict[str, Any]:
    """Return the document's description of an endpoint."""
    found: dict[str, Any] = OPERATIONS[endpoint.method, endpoint.path]
    return found


def parameters(endpoint: Endpoint[Any], where: str) -> dict[str, dict[str, Any]]:
    """Return an endpoint's documented parameters by name."""
    return {found["name"]: found for found in operation(endpoint)["parameters"] if found["in"] == where}


def resolved(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the possible schemas of an answer."""
    choices = schema.get("oneOf") or schema.get("anyOf") or [schema]
    return [DOCUMENT["components"]["schemas"][choice["$ref"].rpartition("/")[2]] for choice in choices]


def test_the_document_is_valid() -> None:
    """openapi-spec-validator finds nothing wrong with it as OpenAPI 3.1."""
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")
    assert __version__ == DOCUMENT["info"]["version"]


def test_the_document_is_served(sqlite_house: House) -> None:
    """GET /openapi.json gives the document that these tests check."""
    assert DOCUMENT == sqlite_house.stranger.json("GET", "/openapi.json")


def test_every_route_is_in_the_document_and_the_other_way_round(
    sqlite_template: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The router answers exactly the methods and paths in the document, and otherwise only pages."""
    routes: list[Route] = []

    def noted(pages: Sequence[Route], resources: Sequence[Route]) -> Routes:
        routes.extend((*pages, *resources))
        return Routes(pages, resources)

    monkeypatch.setattr(compose, "Routes", noted)
    compose.application(settings_for(f"sqlite:///{sqlite_template}"))
    paths = {route.path.replace(":path}", "}") for route in routes}
    assert DOCUMENT["paths"].keys() == {path for path in paths if not PAGES.fullmatch(path)}
    operations = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    files = {("GET", "/assets/{file}"), ("GET", "/photos/{id}/{width}.webp")}
    assert OPERATIONS.keys() == operations | {("GET", "/"), ("GET", "/login")} | files


def test_every_error_code_is_documented() -> None:
    """Each code of the map of errors is in an answer of the document, with a separate schema and its message."""
    schemas = DOCUMENT["components"]["schemas"]
    coded = {
        found["properties"]["code"]["const"]: found
        for name, found in schemas.items()
        if name.endswith("Error") and "code" in found["properties"]
    }
    for refused in problems.statuses():
        if refused not in (InvalidAuthentication, problems.MethodNotAllowed, *ON_PAGES):
            assert problems.sentence_of(refused) == coded[refused.code]["description"]
    assert len(problems.statuses()) - 2 - len(ON_PAGES) == len(coded), (
        "a login's has no code, and a method that is not there no operation"
    )
    text = str(DOCUMENT["paths"]) + DOCUMENT["info"]["description"]
    assert [] == [one.code for one in problems.statuses() if f"`{one.code}`" not in text and one not in ON_PAGES]


@each_endpoint
def test_errors_stand_under_their_status(endpoint: Endpoint[Any]) -> None:
    """Each error of an endpoint is under its status in the document, also the errors of every request."""
    answers = operation(endpoint)["responses"]
    expected: set[type[Refusal]] = set(endpoint.refusals) | {
        problems.HeadersTooLarge,
        problems.InternalError,
        Invalid,
    }
    if endpoint.method not in SAFE_METHODS:
        expected.add(problems.ForgeryRefusal)
    if endpoint.form is not None:
        expected |= {problems.NotJson, problems.BodyTooLarge, problems.BodyTimeout}
    if endpoint.upload is not None:
        expected |= {problems.BodyTooLarge, problems.BodyTimeout}
    if endpoint.access is not Access.OPEN or endpoint.form is not None:
        expected.add(problems.Unavailable)
    for refused in expected:
        answer = answers[str(problems.status_of(refused))]
        assert f"`{refused.code}`" in answer["description"]
        codes = [one["properties"].get("code", {}).get("const") for one in resolved(_schema(answer))]
        assert refused.code in codes or endpoint.bare or refused is InvalidAuthentication


def _schema(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["content"]["application/json"]["schema"]
    return found


@each_endpoint
def test_requests_are_described(endpoint: Endpoint[Any]) -> None:
    """Body, query, path, token, key and the forgery filter's header are described on exactly the endpoints that use them."""
    described = operation(endpoint)
    assert (endpoint.form is not None or endpoint.upload is not None) == ("requestBody" in described)
    assert {field.name for field in endpoint.query} == parameters(endpoint, "query").keys()
    assert set(re.findall(r"{([a-z]+)}", endpoint.path)) == parameters(endpoint, "path").keys()
    headers = parameters(endpoint, "header")
    assert endpoint.once == ("Idempotency-Key" in headers)
    filtered = endpoint.method not in SAFE_METHODS and not endpoint.proven
    assert filtered == ("X-Requested-With" in headers)
    token: dict[Access, Any] = {
        Access.OPEN: [],
        Access.TOKEN: [{"token": []}],
        Access.TOKEN_OPTIONAL: [{"token": []}, {}],
    }
    assert token[endpoint.access] == described["security"]


def test_defaults_and_bounds_of_a_query_are_told() -> None:
    """The list's limit is 1 to 100 and 50 by default; its order is by end."""
    [listed] = [endpoint for endpoint in ENDPOINTS if endpoint.name == "listAuctions"]
    query = {name: found["schema"] for name, found in parameters(listed, "query").items()}
    assert {"type": "integer", "minimum": 1, "maximum": 100, "default": 50} == query["limit"]
    assert ("ending", ["ending", "newest", "price"]) == (query["sort"]["default"], query["sort"]["enum"])
    assert ["scheduled", "open", "closed", "cancelled"] == query["status"]["enum"]


def test_request_bodies_name_required_and_unknown_members() -> None:
    """A new auction requires name and starting price, and refuses unknown members. A login ignores unknown members."""
    schemas = DOCUMENT["components"]["schemas"]
    assert {"name", "startingPrice"} == set(schemas["AuctionDraft"]["required"])
    assert schemas["AuctionDraft"]["additionalProperties"] is False
    assert schemas["Login"]["additionalProperties"] is True


@each_endpoint
def test_examples_are_what_they_exemplify(endpoint: Endpoint[Any]) -> None:
    """Each form has an example that it accepts."""
    if endpoint.form is not None:
        example = operation(endpoint)["requestBody"]["content"]["application/json"]["example"]
        endpoint.form.read(json.dumps(example).encode())


def test_members_of_answers_have_form_and_meaning() -> None:
    """Money has its pattern, instants are date-times, and every member of every answer has a description."""
    schemas = DOCUMENT["components"]["schemas"]
    auction = schemas["AuctionView"]["properties"]
    assert auction["startingPrice"]["pattern"].endswith(r"\.[0-9]{3}$")
    assert "date-time" == auction["createdAt"]["format"]
    assert {"type": "null"} in auction["currentBid"]["anyOf"]
    views = [found for name, found in schemas.items() if name.endswith(("View", "Page", "Answer", "MyBid"))]
    assert 163 == len(views)
    for view in views:
        assert view["description"]
        assert [] == [name for name, member in view["properties"].items() if not member.get("description")]


def test_answers_may_get_new_members() -> None:
    """No schema of an answer forbids unknown members, so a later member breaks no client."""
    bodies = {one.form.name for one in ENDPOINTS if one.form is not None}
    schemas = DOCUMENT["components"]["schemas"]
    assert [] == [
        name for name, one in schemas.items() if name not in bodies and one.get("additionalProperties") is False
    ]


def test_every_operation_says_more_than_its_summary() -> None:
    """Each operation has a description, an explained tag, and a unique name."""
    assert all(found["description"] and found["tags"] for found in OPERATIONS.values())
    names = [found["operationId"] for found in OPERATIONS.values()]
    assert len(names) == len(set(names))


def test_headers_of_answers_are_described() -> None:
    """Location, ETag, Link, Retry-After, WWW-Authenticate and Allow are described on the answers that have them."""
    answers = {found["operationId"]: found["responses"] for found in OPERATIONS.values()}
    assert "Location" in answers["createAuction"]["201"]["headers"]
    assert "ETag" in answers["getAuction"]["200"]["headers"] and "ETag" in answers["getAuction"]["304"]["headers"]
    assert "Link" in answers["listAuctions"]["200"]["headers"]
    assert "Retry-After" in answers["logIn"]["429"]["headers"] and "Retry-After" in answers["logIn"]["503"]["headers"]
    assert "WWW-Authenticate" in answers["me"]["401"]["headers"]
    assert "405 `method_not_allowed`" in DOCUMENT["info"]["description"]


def test_the_login_errors_are_the_specifications_own() -> None:
    """Both errors of a login have a `message` and nothing else; only those of one-time codes have a code."""
    answers = OPERATIONS["POST", "/login"]["responses"]
    for status, coded in (("400", []), ("422", ["code_required", "wrong_code"])):
        bare, *others = resolved(_schema(answers[status]))
        assert ["message"] == list(bare["properties"])
        assert coded == [other["properties"]["code"]["const"] for other in others]


def test_a_renamed_refusal_keeps_the_name_of_its_schema() -> None:
    """Clients are generated from the names of schemas. A class in the code may get a new name, and its schema may not."""
    assert "AuctionClosedError" in DOCUMENT["components"]["schemas"]
    assert "auction_closed" == DOCUMENT["components"]["schemas"]["AuctionClosedError"]["properties"]["code"]["const"]
