"""Compares every answer of a house with its OpenAPI document: status, headers, content type, and body."""

import re
from typing import Any

import httpx
import msgspec
from jsonschema_rs import Draft202012, Draft202012Validator, Registry

from saleroom.compose import api_document, vocabulary
from saleroom.http import problems, schemas

DOCUMENT: dict[str, Any] = msgspec.json.decode(api_document())
_CLOSED: dict[str, Any] = msgspec.json.decode(api_document())
"""The document with every object closed, so that an answer may hold only the members it names."""
for _schema in _CLOSED["components"]["schemas"].values():
    if "properties" in _schema:
        _schema.setdefault("additionalProperties", False)
_PATTERNS: dict[tuple[str, int], list[tuple[str, re.Pattern[str]]]] = {}
"""The document's paths by their first word and number of words: to try all took longer than the rest of a check."""
for _path in DOCUMENT["paths"]:
    _pattern = re.compile(re.sub(r"\{[a-z]+\}", "[^/]*", _path))
    _PATTERNS.setdefault((_path.split("/")[1], _path.count("/")), []).append((_path, _pattern))
PAGES = re.compile(
    r"/(?:(?:lots|language)/.*|(?:mine|sell)(?:/.*)?|live|docs|imprint|privacy|results.csv|rules|register|service-worker.js|session|session/end)?"
)
"""The addresses of people's pages; they are not the API's (docs/pages.md, "Addresses")."""
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}
_ROOT = "urn:openapi"
_REGISTRY = Registry([(_ROOT, _CLOSED)], draft=Draft202012)
_VALIDATORS: dict[tuple[str, str, int], Draft202012Validator] = {}
"""For all houses: to make one takes longer than most answers."""


class Contract:
    """Checks answers, and counts which of the document's have been seen, as (method, path, status)."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, int]] = set()

    def check(self, response: httpx.Response) -> None:
        """Fail if `response` is not one that the document promises. Of a stream of events only the head is checked."""
        is_stream = response.headers.get("content-type") == "text/event-stream"
        if is_stream:
            response._content = b""
            response.close()
        response.read()
        request = response.request

        def about() -> str:
            return f"{request.method} {request.url}: {response.status_code} {response.text[:500]}"

        # An answer that is not a page needs only these two; test_guard.py has the pages.
        assert "nosniff" == response.headers.get("x-content-type-options"), about()
        assert "frame-ancestors 'none'" in response.headers.get("content-security-policy", ""), about()
        path = request.url.path
        form = path == "/login" and request.method in ("GET", "HEAD")
        mistyped = response.status_code == 404 and "text/html" in request.headers.get("accept", "")
        if form or PAGES.fullmatch(path) or path.startswith(("/assets/", "/photos/")) or mistyped:
            return
        where, answer = _promised(request.method, path, response.status_code)
        assert answer is not None, f"not in the document: {about()}"
        self.seen.add((request.method, where, response.status_code))
        for name, header in answer.get("headers", {}).items():
            assert name in response.headers or not header["required"], f"without {name}: {about()}"
        content = answer.get("content")
        if content is None or request.method == "HEAD":
            assert not response.content, about()
            return
        if is_stream:
            assert "text/event-stream" in content, about()
            return
        if "application/x-ndjson" in content:
            assert "application/x-ndjson" == response.headers.get("content-type"), about()
            return
        if "application/json" not in content:  # a file
            assert response.headers.get("content-type", "").partition(";")[0] in content, about()
            return
        assert "application/json" == response.headers.get("content-type"), about()
        promise = request.method, where, response.status_code
        if promise not in _VALIDATORS:
            schema = _absolute(content["application/json"]["schema"])
            _VALIDATORS[promise] = Draft202012Validator(schema, registry=_REGISTRY, validate_formats=True)
        faults = [error.message for error in _VALIDATORS[promise].iter_errors(response.json())]
        assert [] == faults, f"{about()}\n{faults}"


def _absolute(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with its references into the document made absolute; inside, they are relative to it anyway."""
    text = msgspec.json.encode(schema).decode().replace('"#/', f'"{_ROOT}#/')
    absolute: dict[str, Any] = msgspec.json.decode(text)
    return absolute


def _promised(method: str, path: str, status: int) -> tuple[str, Any]:
    """Return the path of the document that `path` is, and the answer it promises, or None."""
    for template, pattern in _PATTERNS.get((path.split("/")[1], path.count("/")), []):
        if pattern.fullmatch(path):
            operation = DOCUMENT["paths"][template].get("get" if method == "HEAD" else method.lower())
            return template, _at_any(method, status) if operation is None else operation["responses"].get(str(status))
    return "", _at_any(method, status)


def _at_any(method: str, status: int) -> Any:
    """Return the answer of an address or method that the document does not list."""
    if status == 404:
        return {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/NotFoundError"}}}}
    if status == 405:
        allow = {"Allow": {"required": True}}
        return {
            "headers": allow,
            "content": {"application/json": {"schema": schemas.error(problems.MethodNotAllowed, vocabulary())}},
        }
    if (method not in ("GET", "HEAD", "OPTIONS") and status == 403) or status == 431:
        error = {403: "ForgeryRefusedError", 431: "HeadersTooLargeError"}[status]
        return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{error}"}}}}
    return None
