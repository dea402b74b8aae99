"""The OpenAPI 3.1 document, built from the one table of routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from saleroom import __version__
from saleroom.http import problems, schemas
from saleroom.http.endpoints import KEY_LENGTH_MAX, Access, Endpoint, Upload
from saleroom.http.forms import Field
from saleroom.http.guard import HEADER_BYTES_MAX
from saleroom.http.problems import sentence_of, status_of
from saleroom.http.requests import SAFE_METHODS
from saleroom.http.schemas import CONTACT, Schema, Vocabulary, error_name, reference
from saleroom.kernel.errors import Invalid, Refusal

JSON, HTML, EVENTS, NDJSON = "application/json", "text/html", "text/event-stream", "application/x-ndjson"
BINARY: Schema = {"type": "string", "format": "binary"}
"""Bytes, as generators of clients know them."""

_ABOUT = f"""\
A self-hosted auction house.

**Who you are.** `POST /login` gives a token, good for 30 days. Send it as `Authorization: Bearer TOKEN`: the token is what
follows the first space, the word before it may be anything.

**Forgery filter.** Every request but GET, HEAD and OPTIONS carries the header `X-Requested-With`, with any value.
(The service's own pages send a token of their own instead.)

**Money** is a string with exactly three decimals in answers. In requests it is a string or a JSON number, read exactly,
never rounded. **Instants** are RFC 3339, in answers always UTC with microseconds.

**Errors** are JSON with `message`, a stable `code`, and the facts to act on. Any address that is not listed here answers
404 `not_found`; a method that is not listed answers 405 `method_not_allowed`, in the same shape, with the header `Allow`. HEAD
works wherever GET does. Headers may have {HEADER_BYTES_MAX} bytes together.

**Repeats.** With an `Idempotency-Key` a request that was accepted has one effect, however often it is sent within 24
hours, and gets its first answer again.

**New members** may be added to answers, and new codes of errors: let pass what you do not know.

**Live.** What passes over MQTT and in the streams of events is described at [/asyncapi.json](/asyncapi.json).
"""
_PAGES = {"pages": "For people: the home page, the form to log in, the public folder."}

Operations = Mapping[str, Mapping[str, Any]]
"""Operations by method, by path."""


def document(endpoints: Sequence[Endpoint[Any]], vocabulary: Vocabulary, pages: Operations) -> bytes:
    """Return the document as JSON. `pages` are the operations that are no rows of the table of routes."""
    paths: dict[str, dict[str, Any]] = {path: {**operations} for path, operations in pages.items()}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "saleroom",
            "version": __version__,
            "summary": "An auction service",
            "description": _ABOUT,
            "contact": CONTACT,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This house"}],
        "tags": [{"name": name, "description": about} for name, about in {**vocabulary.tags, **_PAGES}.items()],
        "paths": paths,
        "components": {
            "schemas": _used(schemas.components(endpoints, vocabulary), paths),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The token that `POST /login` gave."}
            },
        },
    }
    return msgspec.json.encode(whole)


def _used(components: Mapping[str, Any], paths: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas without those of refusals that pages alone give."""
    text = msgspec.json.encode(paths)
    return {
        name: found
        for name, found in components.items()
        if not name.endswith("Error") or f'"{reference(name)["$ref"]}"'.encode() in text
    }


def _operation(endpoint: Endpoint[Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": endpoint.about,
        "security": _SECURITY[endpoint.access],
        "parameters": _parameters(endpoint),
        "responses": _answers(endpoint),
    }
    if endpoint.form is not None:
        operation["requestBody"] = {
            "description": "`text/json` is read as well."
            + (" An empty body without a type is taken as `{}`." if endpoint.body_optional else ""),
            "required": not endpoint.body_optional,
            "content": {JSON: {"schema": reference(endpoint.form.name), "example": endpoint.form.example}},
        }
    if endpoint.upload is not None:
        operation["requestBody"] = {
            "description": endpoint.upload.about,
            "required": True,
            "content": {kind: {"schema": _upload_schema(endpoint.upload)} for kind in endpoint.upload.media_types},
        }
    return operation


_SECURITY: dict[Access, list[dict[str, list[str]]]] = {
    Access.OPEN: [],
    Access.TOKEN_OPTIONAL: [{"token": []}, {}],
    Access.TOKEN: [{"token": []}],
}


def _upload_schema(upload: Upload) -> dict[str, Any]:
    if not upload.files:
        return BINARY
    return {
        "type": "object",
        "properties": {name: BINARY | {"description": about} for name, about in upload.files.items()},
    }


def _parameters(endpoint: Endpoint[Any]) -> list[dict[str, Any]]:
    found = [
        parameter("path", named.name, dict(named.schema), named.about, required=True)
        for named in (endpoint.identifier, endpoint.part)
        if named is not None
    ]
    found += [_query(field) for field in endpoint.query]
    if endpoint.method not in SAFE_METHODS and not endpoint.proven:
        about = "Any value: it passes the forgery filter."
        found.append(
            parameter("header", "X-Requested-With", {"type": "string", "default": "api"}, about, required=True)
        )
    if endpoint.once:
        about = "One effect and one answer for all requests with the same key and body, for at least 24 hours."
        key = {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_MAX}
        found.append(parameter("header", "Idempotency-Key", key, about))
    if endpoint.match is not None:
        about = "The `ETag` of the auction as you know it, or several: refused where it is at no such version any more."
        found.append(parameter("header", "If-Match", {"type": "string", "examples": ['"7-cbbb9d5d629a292a"']}, about))
    if endpoint.stream:
        about = "The id of the last event that came; it counts before `after`, and a browser sends it by itself."
        found.append(parameter("header", "Last-Event-ID", dict(endpoint.query[0].schema), about))
    if endpoint.conditional:
        about = "The `ETag` of what is known already; 304 where it has not changed."
        found.append(parameter("header", "If-None-Match", {"type": "string"}, about))
    return found


def _query(field: Field) -> dict[str, Any]:
    return parameter("query", field.name, dict(field.schema), field.about, required=field.required)


def parameter(where: str, name: str, schema: Schema, about: str, *, required: bool = False) -> dict[str, Any]:
    """Return a parameter of an operation; `where` is `path`, `query` or `header`."""
    return {"in": where, "name": name, "description": about, "required": required, "schema": schema}


_STREAM = """\
Server-sent events. `data` is an event as [CloudEvents](https://cloudevents.io) JSON, on one line; `id` is its `id`. A comment
`: time` tells the house's clock at the start and every 15 seconds. The connection ends when the service stops or its reader is
too slow; connect again with the last id, after `retry` milliseconds. Whatever happened meanwhile comes first, in order, without
a gap and without a repeat.
"""


def _answers(endpoint: Endpoint[Any]) -> dict[str, Any]:
    """Return every answer of an endpoint by status: the good one, and each error it can meet."""
    good: dict[str, Any] = {"description": endpoint.summary}
    if headers := _good_headers(endpoint):
        good["headers"] = headers
    if endpoint.answer is not None:
        schema = {"type": "object"} if endpoint.answer is dict else reference(endpoint.answer.__name__)
        good["content"] = {JSON: {"schema": schema}}
    answers = {str(endpoint.status): good}
    if endpoint.stream:
        good |= {"description": _STREAM, "content": {EVENTS: {"schema": {"type": "string"}}}}
        answers["204"] = {"description": "It is over, and there is nothing left to tell."}
    if endpoint.lines:
        good["content"] = {NDJSON: {"schema": {"type": "string"}}}
    if endpoint.file:
        good["content"] = {endpoint.file: {"schema": BINARY}}
    if endpoint.conditional:
        answers["304"] = {"description": "It has not changed.", "headers": headers}
    by_status: dict[int, list[type[Refusal]]] = {}
    for refused in _refusals(endpoint):
        by_status.setdefault(status_of(refused), []).append(refused)
    for status, refusals in by_status.items():
        answers[str(status)] = problem(refusals, bare=endpoint.bare)
    if endpoint.unavailable is not None:
        answers["503"] = {
            "description": "The database cannot be reached.",
            "headers": _RETRY_AFTER,
            "content": {JSON: {"schema": reference(endpoint.unavailable.__name__)}},
        }
    return dict(sorted(answers.items()))


def _refusals(endpoint: Endpoint[Any]) -> list[type[Refusal]]:
    """Return the endpoint's own errors and those of every door. Invalid is among them: unknown parameters are refused."""
    found = [*endpoint.refusals, Invalid, problems.HeadersTooLarge, problems.InternalError]
    if endpoint.tag != "service":
        found.append(problems.Unavailable)
    if endpoint.method not in SAFE_METHODS:
        found.append(problems.ForgeryRefusal)
    if endpoint.match is not None:
        found.append(endpoint.match)
    if endpoint.form is not None:
        found += [problems.NotJson, problems.BodyTooLarge, problems.BodyTimeout]
    if endpoint.upload is not None:
        found += [problems.BodyTooLarge, problems.BodyTimeout]
    if "{" in endpoint.path:
        found.append(problems.NotFound)
    return list(dict.fromkeys(found))


def problem(refusals: Sequence[type[Refusal]], *, bare: bool = False) -> dict[str, Any]:
    """Return the answer that stands for errors of the same status."""
    lines = [f"`{refused.code}`: {sentence_of(refused).removesuffix('.')}." for refused in refusals]
    choices = [reference(error_name(refused, bare=bare and refused is Invalid)) for refused in refusals]
    # The specification's bare error has no code, so that its schema alone does not exclude the others.
    several = "anyOf" if any(refused.bare for refused in refusals) else "oneOf"
    schema = choices[0] if len(choices) == 1 else {several: choices}
    answer = {"description": "\n\n".join(lines), "content": {JSON: {"schema": schema}}}
    headers = _PROBLEM_HEADERS.get(status_of(refusals[0]))
    return answer | ({"headers": headers} if headers else {})


_TEXT = {"type": "string"}


def header(about: str, schema: Mapping[str, Any] = _TEXT, *, required: bool = True) -> dict[str, Any]:
    """Return a header of an answer."""
    return {"description": about, "required": required, "schema": dict(schema)}


_RETRY_AFTER = {"Retry-After": header("Seconds to wait.", {"type": "integer", "minimum": 1})}
_PROBLEM_HEADERS = {
    401: {"WWW-Authenticate": header("The scheme.", {"const": "Bearer"})},
    405: {"Allow": header("The methods that this address takes.")},
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}


def _good_headers(endpoint: Endpoint[Any]) -> dict[str, Any]:
    headers = {one.name: header(one.about, one.schema, required=one.required) for one in endpoint.headers}
    if any(field.name == "cursor" for field in endpoint.query):
        headers["Link"] = header('`<address>; rel="next"`, where there is a next page.', required=False)
    return headers


def page(
    name: str, summary: str, about: str, parameters: list[dict[str, Any]], *refusals: type[Refusal]
) -> dict[str, Any]:
    """Return the operation of a page for people, with the refusals that it can meet."""
    page = {HTML: {"schema": {"type": "string"}}}
    responses: dict[str, Any] = {"200": {"description": "The page.", "content": page}}
    for one in (*refusals, problems.HeadersTooLarge, problems.Unavailable, problems.InternalError):
        responses[str(status_of(one))] = {"description": f"A page that says: {sentence_of(one)}", "content": page}
    return {
        "operationId": name,
        "tags": ["pages"],
        "summary": summary,
        "description": about,
        "security": [],
        "parameters": parameters,
        "responses": responses,
    }
