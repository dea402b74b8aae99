"""Webhooks over HTTP: made, listed, changed, tested, rotated, deleted; and what was posted."""

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.notices.domain.webhooks import secret, shown_secret
from saleroom.notices.storage import webhooks as rows
from saleroom.storage import secrets
from tests.fixtures_house import House

URL = "https://hooks.example.org/a-part-that-nobody-can-guess"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested in the service."""
    return sqlite_house


def test_a_webhook_is_made_changed_tested_and_deleted(house: House) -> None:
    """Its secret is shown when it is made and when it is replaced, and is in no list; what was posted is listed."""
    user = house.newcomer()
    made = user.json("POST", "/me/webhooks", json={"endpoint": URL, "kinds": ["notice.won", "bid.placed"]})
    [listed] = user.json("GET", "/me/webhooks")["webhooks"]
    assert {name: value for name, value in made.items() if name != "signingSecret"} == listed
    assert (URL, ["notice.won", "bid.placed"], "own", True) == tuple(
        listed[name] for name in ("endpoint", "kinds", "scope", "on")
    )
    path = f"/me/webhooks/{made['id']}"
    off = user.json("PATCH", path, json={"kinds": ["*"], "on": False})
    assert (["*"], False, "owner") == (off["kinds"], off["on"], off["offFor"])
    assert (409, "webhook_off") == _refused(user.request("POST", f"{path}/test"))
    assert user.json("PATCH", path, json={"on": True})["offFor"] is None
    new = user.json("POST", f"{path}/secret")
    assert made["signingSecret"] != new["signingSecret"]
    assert new["oldSecretUntil"] is not None
    user.request("POST", f"{path}/test")
    page = user.json("GET", f"{path}/deliveries?limit=1")
    assert [("webhook.test", None)] == [(one["kind"], one["about"]) for one in page["deliveries"]]
    assert page["next"] is None
    assert 204 == user.request("DELETE", path).status_code
    for method, rest, body in (
        ("PATCH", "", {}),
        ("DELETE", "", None),
        ("POST", "/test", None),
        ("POST", "/secret", None),
    ):
        assert (404, "unknown_webhook") == _refused(user.request(method, path + rest, json=body))
    assert (404, "unknown_webhook") == _refused(user.request("GET", f"{path}/deliveries"))


def test_the_numbers_of_deliveries_say_nothing_of_others(house: House) -> None:
    """How many words were posted for others between two of mine does not show in their numbers, which stay as they are."""
    shown: list[int] = []
    for _ in range(2):
        user = house.newcomer()
        _, made = (user.json("POST", "/me/webhooks", json={"endpoint": URL, "kinds": ["*"]}) for _ in range(2))
        path = f"/me/webhooks/{made['id']}"  # SQLite gives the number of a deleted one again: one test in 10 s
        user.request("POST", f"{path}/test")
        [first], [again] = (user.json("GET", f"{path}/deliveries")["deliveries"] for _ in range(2))
        assert first["id"] == again["id"]
        shown.append(first["id"])
    assert abs(shown[0] - shown[1]) > 1000


def test_the_secret_is_that_of_the_signatures(house: House) -> None:
    """What the user is shown is what the house signs with."""
    user = house.newcomer()
    made = user.json("POST", "/me/webhooks", json={"endpoint": URL, "kinds": ["*"]})
    keys = HouseSecret()
    keys.learn(house.read(secrets.find) or "")
    salt = house.read(rows.get_many, [made["id"]])[made["id"]].salt
    assert shown_secret(secret(keys.key(Purpose.WEBHOOKS), salt)) == made["signingSecret"]


@pytest.mark.parametrize(
    ("sent", "field", "code"),
    [
        *(
            ({"endpoint": url}, "endpoint", "webhook_url")
            for url in (
                "http://example.org/",
                "ftp://example.org/",
                "https://",
                "example.org",
                "https://[::1",
                URL + "#a",
                "https://example.org:0/",
            )
        ),
        *(
            ({"endpoint": url}, "endpoint", "webhook_url")
            for url in (
                "https://u:p@example.org/",
                "https://example.org/\\a",
                f"{URL}{'a' * 500}",
                "https://exämple.org",
            )
        ),
        *(
            ({"endpoint": url}, "endpoint", "webhook_private")
            for url in (
                "https://localhost/",
                "https://127.0.0.1/",
                "https://[::1]/",
                "https://10.1.2.3:8443/",
                "https://127.1/",
            )
        ),
        ({"kinds": []}, "kinds", "not_a_choice"),
        ({"kinds": ["spam"]}, "kinds", "not_a_choice"),
        ({"kinds": ["maximum.raised"]}, "kinds", "not_a_choice"),
        ({"kinds": "*"}, "kinds", "not_a_list"),
        ({"scope": "world"}, "scope", "not_a_choice"),
    ],
)
def test_a_wrong_webhook_is_refused(house: House, sent: dict[str, Any], field: str, code: str) -> None:
    """An address that the house does not post to, and a kind that does not exist, are named."""
    user = house.newcomer()
    answer = user.request("POST", "/me/webhooks", json={"endpoint": URL, "kinds": ["*"]} | sent)
    assert 400 == answer.status_code
    assert [code] == [fault["code"] for fault in answer.json()["message"][field]]


def test_events_of_all_lots_are_for_staff(house: House) -> None:
    """A member may not have the events of the whole house, a manager may; and that is noted."""
    sent = {"endpoint": URL, "kinds": ["auction.closed"], "scope": "house"}
    refused = house.newcomer().request("POST", "/me/webhooks", json=sent)
    assert (403, "post_events") == (refused.status_code, refused.json()["right"])
    made = house.staff(Role.MANAGER).json("POST", "/me/webhooks", json=sent)
    [entry] = [
        one
        for one in house.staff(Role.OWNER).json("GET", "/staff/audit")["entries"]
        if one["subject"] == f"webhook {made['id']}"
    ]
    assert ("webhook.added", {"host": "hooks.example.org"}) == (entry["act"], entry["after"])


def _refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]
