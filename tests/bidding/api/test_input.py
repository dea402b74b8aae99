"""Bodies and queries as strangers write them: every fault is named with its field, and all are told at once."""

import gzip
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.bidding.api.answers import faults
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")

BODY_BYTES_MAX, ANSWER_BYTES_MAX = 65_536, 8_192
JSON = {"Content-Type": "application/json"}
DRAFT = {"name": "Clock", "startingPrice": "1"}
SENT = json.dumps(DRAFT)
FORMS = (
    ("POST", "/users"),
    ("POST", "/login"),
    ("POST", "/auctions"),
    ("PATCH", "/auctions/{gid}"),
    ("POST", "/auctions/{gid}/bids"),
    ("POST", "/auctions/{gid}/close"),
    ("POST", "/auctions/{gid}/buy"),
)
MALFORMED = {
    "half": b"{",
    "single quotes": b"{'name': 'a'}",
    "trailing comma": b'{"name": "a",}',
    "two values": b"{}{}",
    "something behind": b"{} x",
    "comment": b"{} // x",
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "not UTF-8 as a name": b'{"\xff": 1}',
    "NUL": b"\x00",
    "control character in a string": b'{"name\x01": 1}',
    "half an escape": b'{"name": "\\u12"}',
    "lone surrogate as a name": b'{"\\ud800": 1}',
    "unquoted": b"{name: 1}",
    "word": b"nul",
}
NO_OBJECTS = (b"[]", b"[{}]", b'"a"', b"1", b"null", b"true", b'[["name", "Clock"]]')
DEEP = {
    "arrays": b"[" * 30_000 + b"]" * 30_000,
    "objects": b'{"a":' * 9_000 + b"1" + b"}" * 9_000,
    "below a member": b'{"name": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "never closed": b"[" * 60_000,
    "below a nested object": b'{"softClose": {"window": ' + b"[" * 20_000 + b"]" * 20_000 + b"}}",
}
HIDDEN = {
    "NUL": "a\0b",
    "bell": "a\x07b",
    "escape": "\x1b[31mred",
    "delete": "a\x7fb",
    "next line (C1)": "a\x85b",
    "right-to-left override": "a\u202eb",
    "left-to-right embedding": "a\u202ab",
    "isolate": "a\u2066b",
    "line feed": "a\nb",
    "tab": "a\tb",
}


def send(user: User, method: str, path: str, body: bytes) -> httpx.Response:
    """Send exactly these bytes as JSON to an endpoint, for an auction of the user if it needs one."""
    return user.request(method, path.replace("{gid}", user.gid()), content=body, headers=JSON)


@pytest.mark.parametrize(("method", "path"), FORMS)
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed_json_is_400(sqlite_house: House, method: str, path: str, body: bytes) -> None:
    """A body that is not one JSON value in UTF-8 is 400 for the whole body, at every endpoint that reads one."""
    assert {"body": ["malformed_json"]} == faults(send(sqlite_house.user("ada"), method, path, body))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (SENT.encode("utf-8-sig"), "byte order mark"),
        (SENT.encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + SENT.encode("utf-16-be"), "UTF-16"),
        (gzip.compress(SENT.encode(), mtime=0), "compressed"),
    ],
)
def test_json_in_another_form_is_named(sqlite_house: House, body: bytes, word: str) -> None:
    """A body of an editor on Windows, or of a client that compresses, is told what it is."""
    answer = sqlite_house.user("ada").post("/auctions", content=body, headers=JSON)
    assert {"body": ["malformed_json"]} == faults(answer)
    assert word in answer.json()["message"]["body"][0]["message"]


@pytest.mark.parametrize(("method", "path"), FORMS[:-2])
def test_an_empty_body_is_400(sqlite_house: House, method: str, path: str) -> None:
    """An empty body is 400 too, except at the two endpoints that need none."""
    assert {"body": ["malformed_json"]} == faults(send(sqlite_house.user("ada"), method, path, b""))
    assert {"body": ["malformed_json"]} == faults(send(sqlite_house.user("ada"), method, path, b" \n"))


@pytest.mark.parametrize(("method", "path"), FORMS)
@pytest.mark.parametrize("body", NO_OBJECTS)
def test_json_that_is_no_object_is_400(sqlite_house: House, method: str, path: str, body: bytes) -> None:
    """An array, a string, a number, a boolean or null is 400."""
    assert {"body": ["not_an_object"]} == faults(send(sqlite_house.user("ada"), method, path, body))


@pytest.mark.parametrize(("method", "path"), FORMS)
@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_400(sqlite_house: House, method: str, path: str, body: bytes) -> None:
    """Tens of thousands of nested arrays or objects are refused without an overflow."""
    [[code]] = faults(send(sqlite_house.user("ada"), method, path, body)).values()
    assert code in ("too_deep", "malformed_json", "not_an_object")


@pytest.mark.parametrize(("method", "path"), [form for form in FORMS if form[1] != "/login"])
@pytest.mark.parametrize(
    "name", ["authorId", "currentBid", "gid", "status", "version", "__proto__", "", "x" * 100, "\0"]
)
def test_unknown_members_are_named(sqlite_house: House, method: str, path: str, name: str) -> None:
    """An unknown member is 400 under its own name, which is cut if it is long."""
    found = faults(send(sqlite_house.user("ada"), method, path, json.dumps({name: "1"}).encode()))
    assert ["unknown"] == found[name[:64]]


def test_all_faults_come_at_once(sqlite_house: House) -> None:
    """One answer has every fault of every field, each with a code and a sentence."""
    body = {
        "name": " \0 ",
        "description": 5,
        "startingPrice": "1.2345",
        "reservePrice": "-1",
        "buyNowPrice": True,
        "startsAt": "2026-11-21T12:00:00",
        "endsAt": "tomorrow",
        "increment": 0,
        "softClose": {"window": 0, "extension": "1", "cap": "never", "more": 1},
        "authorId": 1,
        "currentBid": "5",
    }
    answer = sqlite_house.user("ada").post("/auctions", json=body)
    assert {
        "name": ["text_characters"],
        "description": ["not_a_string"],
        "startingPrice": ["money_decimals"],
        "reservePrice": ["money_negative"],
        "buyNowPrice": ["money_type"],
        "startsAt": ["instant_format"],
        "endsAt": ["instant_format"],
        "increment": ["step_not_positive"],
        "softClose": ["out_of_range", "out_of_range", "instant_format", "unknown"],
        "authorId": ["unknown"],
        "currentBid": ["unknown"],
    } == faults(answer)
    assert "validation" == answer.json()["code"]
    assert all(fault["message"] for found in answer.json()["message"].values() for fault in found)


MANY_FAULTS = {
    "unknown members": "{" + ",".join(f'"a{number}":1' for number in range(6_000)) + "}",
    "long names": "{" + ",".join(f'"{number}{"n" * 60}":1' for number in range(800)) + "}",
    "names that are written longer": "{"
    + ",".join(f'"{number}{chr(92)}u0001{"e" * 9}":1' for number in range(2_000))
    + "}",
    "unknown members of a nested object": '{"softClose":{'
    + ",".join(f'"a{number}":1' for number in range(6_000))
    + "}}",
    "tiers that are none": '{"increment":[' + ",".join(["1"] * 50) + "]}",
    "unknown members of tiers": '{"increment":['
    + ",".join("{" + ",".join(f'"{tier}.{number}":1' for number in range(100)) + "}" for tier in range(50))
    + "]}",
}


@pytest.mark.parametrize("body", MANY_FAULTS.values(), ids=MANY_FAULTS)
def test_thousands_of_faults_have_a_short_answer(sqlite_house: House, body: str) -> None:
    """An answer with many faults tells the first ones, and the number of the others."""
    assert len(body) < BODY_BYTES_MAX
    answer = send(sqlite_house.user("ada"), "POST", "/auctions", body.encode())
    assert "more_faults" in [code for codes in faults(answer).values() for code in codes]
    assert len(answer.content) < ANSWER_BYTES_MAX


def test_faults_of_body_query_and_key_come_together(sqlite_house: House) -> None:
    """Faults of the query and of the Idempotency-Key come with those of the body."""
    answer = sqlite_house.user("ada").post("/auctions?a=1", json={}, headers={"Idempotency-Key": "k" * 256})
    assert {
        "name": ["required"],
        "startingPrice": ["required"],
        "a": ["unknown"],
        "Idempotency-Key": ["key_length"],
    } == faults(answer)


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_names_hold_no_hidden_characters(sqlite_house: House, text: str) -> None:
    """Control and direction-override characters inside a name are refused."""
    answer = sqlite_house.user("ada").post("/auctions", json={**DRAFT, "name": text})
    assert {"name": ["text_characters"]} == faults(answer)


def test_descriptions_may_have_lines(house: House) -> None:
    """A description may have line breaks and tabs, but no other control and no override characters."""
    ada = house.user("ada")
    text = "First line\n\n\tindented \u2014 \u00fc \u4e2d \U0001f570"
    assert text == ada.json("GET", f"/auctions/{ada.auction(description=text)}")["description"]
    for hidden in ("NUL", "escape", "right-to-left override", "next line (C1)"):
        answer = ada.post("/auctions", json={**DRAFT, "description": HIDDEN[hidden]})
        assert {"description": ["text_characters"]} == faults(answer)
    assert {"description": ["text_length"]} == faults(
        ada.post("/auctions", json={**DRAFT, "description": "a" * 10_001})
    )


@pytest.mark.parametrize(("name", "kept"), [("a", "a"), ("  Clock \n", "Clock"), ("\u00fc" * 200, "\u00fc" * 200)])
def test_names_are_trimmed(house: House, name: str, kept: str) -> None:
    """A name has 1 to 200 characters after trimming, and is stored trimmed."""
    ada = house.user("ada")
    assert kept == ada.json("GET", f"/auctions/{ada.auction(name=name)}")["name"]


@pytest.mark.parametrize("name", ["", " ", "\t\n", "\u2003", "a" * 201, "\U0001f570" * 201])
def test_names_that_are_too_short_or_long(sqlite_house: House, name: str) -> None:
    """A name of spaces only, or of more than 200 characters, is refused."""
    assert {"name": ["text_length"]} == faults(sqlite_house.user("ada").post("/auctions", json={**DRAFT, "name": name}))


@pytest.mark.parametrize("raw", [b'"\\ud800"', b'"a\\udfffb"', b'"\\udc00\\ud800"', b'"\xff"', b'"\xed\xa0\x80"'])
@pytest.mark.parametrize(
    ("path", "field", "rest"),
    [
        ("/auctions", "name", {"startingPrice": "1"}),
        ("/auctions", "startingPrice", {"name": "Clock"}),
        ("/auctions", "endsAt", DRAFT),
        ("/users", "username", {"password": "long enough"}),
        ("/users", "password", {"username": "ada.surrogate"}),
        ("/login", "username", {"password": "long enough"}),
        ("/login", "password", {"username": "ada"}),
    ],
)
def test_text_that_is_not_unicode_is_400(
    sqlite_house: House, path: str, field: str, rest: Mapping[str, Any], raw: bytes
) -> None:
    """A lone surrogate, and bytes that are not UTF-8, are refused in every text field."""
    body = json.dumps(rest).encode()[:-1] + f', "{field}": '.encode() + raw + b"}"
    found = faults(sqlite_house.user("ada").post(path, content=body, headers=JSON))
    assert found in ({field: ["not_text"]}, {"body": ["malformed_json"]})


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2099-11-21T12:00:00Z", "2099-11-21T12:00:00.000000Z"),
        ("2099-11-21T12:00:00.5Z", "2099-11-21T12:00:00.500000Z"),
        ("2099-11-21T12:00:00.123456Z", "2099-11-21T12:00:00.123456Z"),
        ("2099-11-21T12:00:00+01:30", "2099-11-21T10:30:00.000000Z"),
        ("2099-11-21t12:00:00z", "2099-11-21T12:00:00.000000Z"),
        ("2099-11-21T12:00:00-08:00", "2099-11-21T20:00:00.000000Z"),
        ("2100-02-28T23:59:59.999999+00:00", "2100-02-28T23:59:59.999999Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_instants_are_kept_to_the_microsecond_in_utc(house: House, written: str, kept: str) -> None:
    """An instant with an offset comes back as UTC with six decimals, from either database."""
    ada = house.user("ada")
    assert kept == ada.json("GET", f"/auctions/{ada.auction(endsAt=written)}")["endsAt"]


@pytest.mark.parametrize(
    "written",
    [
        "2099-11-21T12:00:00",
        "2099-11-21 12:00:00Z",
        "2099-11-21",
        "12:00:00Z",
        "2099-11-21T12:00Z",
        "2099-11-21T12:00:00.1234567Z",
        "2099-11-21T12:00:00.Z",
        "2099-11-21T12:00:00,5Z",
        "2099-11-21T12:00:00+0100",
        "2099-11-21T12:00:00+25:00",
        "2099-11-21T12:00:00 Z",
        "2099-13-21T12:00:00Z",
        "2099-02-29T12:00:00Z",
        "2099-11-21T23:59:60Z",
        "2099-11-21T25:00:00Z",
        "0000-11-21T12:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "\u0662\u0660\u0669\u0669-11-21T12:00:00Z",
        "+12099-11-21T12:00:00Z",
        "20991121T120000Z",
        "tomorrow",
        "",
        " 2099-11-21T12:00:00Z",
    ],
)
def test_instants_that_are_refused(sqlite_house: House, written: str) -> None:
    """An instant without an offset or with more than microseconds is 400, and so is any other text."""
    answer = sqlite_house.user("ada").post("/auctions", json={**DRAFT, "endsAt": written})
    assert {"endsAt": ["instant_format"]} == faults(answer)


@pytest.mark.parametrize("value", [1, 4_100_000_000, 1.5, True, [], {}])
def test_instants_are_text(sqlite_house: House, value: Any) -> None:
    """A number of seconds is not an instant; the refusal shows one."""
    answer = sqlite_house.user("ada").post("/auctions", json={**DRAFT, "startsAt": value})
    assert {"startsAt": ["not_a_string"]} == faults(answer)
    assert 'such as "2026-11-21T12:00:00Z", as a string' in answer.json()["message"]["startsAt"][0]["message"]


def test_instants_before_1970_are_refused(sqlite_house: House) -> None:
    """An instant before 1970 is refused."""
    answer = sqlite_house.user("ada").post("/auctions", json={**DRAFT, "startsAt": "1969-12-31T23:59:59Z"})
    assert {"startsAt": ["instant_range"]} == faults(answer)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"increment": []}, {"increment": ["ladder_empty"]}),
        ({"increment": [{"from": "1", "step": "1"}]}, {"increment": ["ladder_start"]}),
        ({"increment": [{"from": 0, "step": 1}] * 2}, {"increment": ["ladder_order"]}),
        ({"increment": [{"from": 0, "step": 0}]}, {"increment": ["step_not_positive"]}),
        ({"increment": [{"from": 0}]}, {"increment": ["required"]}),
        ({"increment": [1]}, {"increment": ["not_an_object"]}),
        ({"increment": [{"from": n, "step": 1} for n in range(51)]}, {"increment": ["ladder_too_long"]}),
        ({"increment": None}, {"increment": ["money_type"]}),
        ({"softClose": []}, {"softClose": ["not_an_object"]}),
        ({"softClose": {}}, {"softClose": ["required", "required"]}),
        ({"softClose": {"window": 86_401, "extension": 1.5}}, {"softClose": ["out_of_range", "out_of_range"]}),
        ({"softClose": {"window": -1, "extension": True}}, {"softClose": ["out_of_range", "out_of_range"]}),
        ({"endsAt": "2001-01-01T00:00:00Z"}, {"endsAt": ["not_in_future"]}),
        ({"reservePrice": "0.999"}, {"reservePrice": ["below_starting_price"]}),
        ({"buyNowPrice": "0.999"}, {"buyNowPrice": ["below_starting_price"]}),
        (
            {
                "reservePrice": "5",
                "buyNowPrice": "4",
                "startsAt": "2099-01-01T00:00:00Z",
                "endsAt": "2098-01-01T00:00:00Z",
            },
            {"buyNowPrice": ["below_reserve_price"], "endsAt": ["not_after_start"]},
        ),
        (
            {
                "endsAt": "2099-01-01T00:00:00Z",
                "softClose": {"window": 1, "extension": 1, "cap": "2098-01-01T00:00:00Z"},
            },
            {"softClose": ["cap_before_end"]},
        ),
    ],
)
def test_terms_that_make_no_auction(house: House, change: dict[str, Any], expected: dict[str, list[str]]) -> None:
    """Ladders, soft closes and terms that contradict each other or the clock are 400 and create nothing."""
    ada = house.user("ada")
    before = ada.json("GET", "/me/auctions?limit=1")
    assert expected == faults(ada.post("/auctions", json={**DRAFT, **change}))
    assert before["auctions"] == ada.json("GET", "/me/auctions?limit=1")["auctions"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=0", {"limit": ["out_of_range"]}),
        ("limit=101", {"limit": ["out_of_range"]}),
        ("limit=-1", {"limit": ["out_of_range"]}),
        ("limit=1.0", {"limit": ["out_of_range"]}),
        ("limit=1e1", {"limit": ["out_of_range"]}),
        ("limit=%D9%A1", {"limit": ["out_of_range"]}),
        ("limit=", {"limit": ["out_of_range"]}),
        ("limit=+1", {"limit": ["out_of_range"]}),
        ("limit=99999999999999999999", {"limit": ["out_of_range"]}),
        ("limit=1&limit=1", {"limit": ["repeated"]}),
        ("status=sold", {"status": ["not_a_choice"]}),
        ("sort=Newest", {"sort": ["not_a_choice"]}),
        ("author=a", {"author": ["username_format"]}),
        ("author=%00%00%00", {"author": ["username_format"]}),
        ("q=", {"q": ["text_length"]}),
        (f"q={'a' * 201}", {"q": ["text_length"]}),
        ("q=a%00b", {"q": ["text_characters"]}),
        ("q=%E2%80%AE.", {"q": ["text_characters"]}),
        ("q=%FF", {"query": ["not_text"]}),
        ("q=%ED%A0%80", {"query": ["not_text"]}),
        ("page=2", {"page": ["unknown"]}),
        ("limit=0&sort=x&page=2", {"limit": ["out_of_range"], "sort": ["not_a_choice"], "page": ["unknown"]}),
    ],
)
def test_queries_that_are_refused(sqlite_house: House, query: str, expected: dict[str, list[str]]) -> None:
    """Every fault of a query is named: out of range, unknown, repeated, or not text."""
    assert expected == faults(sqlite_house.anyone.get(f"/auctions?{query}"))


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/auctions/AAAAAAAAAAAA"])
def test_parameters_where_there_are_none(sqlite_house: House, path: str) -> None:
    """An endpoint without parameters refuses each by its name."""
    assert {"x": ["unknown"]} == faults(sqlite_house.anyone.get(f"{path}?x=1"))
