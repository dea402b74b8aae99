"""Bids over MQTT: the same desk, rules and answers as over HTTP, whatever a device sends."""

import json
import secrets
from typing import Any

import pytest

from saleroom.bidding.api import devices
from saleroom.mqtt.topics import MqttSettings
from tests.fixtures_database import unique
from tests.fixtures_house import PASSWORD, House, ServeHouse, User
from tests.fixtures_mqtt import Join, connected, on
from tests.http.conftest import Log
from tests.mqtt.device import V5
from tests.mqtt.equipment import Mosquitto, publish

RESPONSE = "saleroom/replies/mine"


def over_http(user: User, gid: str, **bid: str) -> dict[str, Any]:
    """Return HTTP's answer to a bid, with the status as MQTT has it."""
    answer = user.post(f"/auctions/{gid}/bids", json=bid)
    return {"status": answer.status_code, **answer.json()}


def bids(user: User, gid: str) -> list[tuple[str, str]]:
    """Return bidder and amount of every bid of an auction, newest first."""
    return [(bid["bidder"], bid["amount"]) for bid in user.json("GET", f"/auctions/{gid}/bids")["bids"]]


def test_a_bid_is_placed_and_answered(served: House, broker: MqttSettings, join: Join) -> None:
    """A command is a bid like any other; its answer on `replies/{id}` is HTTP's after a status, and is not retained."""
    seller, ada = served.user("seller"), served.user("ada")
    gid = seller.auction()
    device = join(broker)
    answer = device.ask(gid, ada.token, amount="12", id="paddle-7/1")
    assert [("ada", "12.000")] == bids(ada, gid)
    assert {"status", "bid", "auction", "leading", "receipt"} == answer.keys()
    assert (201, "12.000", True) == (answer["status"], answer["bid"]["amount"], answer["leading"])
    assert ada.json("GET", f"/auctions/{gid}") == answer["auction"]
    [heard] = device.on("saleroom/replies/paddle-7/1")
    assert heard.payload.startswith(b'{"status":201,"')
    assert not heard.retained


def test_a_device_bids_by_an_access_token(served: House, broker: MqttSettings, join: Join) -> None:
    """A command may have an access token with the scope to bid; with another scope it is refused as over HTTP."""
    ada, gid = served.newcomer(), served.user("seller").auction()
    device = join(broker)
    for scope, status in (("read", 403), ("bid", 201)):
        body = {"label": "Paddle", "scopes": [scope], "days": 1, "password": PASSWORD}
        token = ada.json("POST", "/me/access-tokens", json=body)["accessToken"]
        assert status == device.ask(gid, token, amount="12", id=unique("paddle"))["status"]
    assert [(ada.name, "12.000")] == bids(ada, gid)


def test_an_answer_goes_where_mqtt_5_asks(modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """With a response topic the answer goes there: JSON with the request's correlation data, for five minutes."""
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    device = join(mosquitto.settings, "saleroom/replies/#", version=V5)
    for number, amount in ((b"\x00\xff", "12"), (b"second", "nonsense")):
        command = {"token": ada.token, "id": secrets.token_hex(8), "amount": amount}
        device.send(gid, command, ResponseTopic=RESPONSE, CorrelationData=number)
        device.until(lambda: bool(device.heard), "an answer")
        [heard] = device.heard
        expected = {"ContentType": "application/json", "MessageExpiryInterval": 300, "CorrelationData": number.hex()}
        assert (RESPONSE, expected) == (heard.topic, heard.properties)
        assert (201 if amount == "12" else 400) == json.loads(heard.payload)["status"]
        device.heard.clear()


@pytest.mark.parametrize(
    "topic",
    [
        "saleroom/status",
        "saleroom/auctions/{gid}/state",
        "saleroom/replies/",
        "other/replies/x",
        "saleroom/replies/" + "x" * 257,
    ],
)
def test_an_answer_goes_nowhere_but_below_replies(topic: str, modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """Another response topic is refused on `replies/{id}`, with the other faults, and nothing is published to it."""
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    where = topic.format(gid=gid)
    device = join(mosquitto.settings, "saleroom/replies/#", where, version=V5)
    device.send(gid, {"token": ada.token, "id": "a", "amount": "x"}, ResponseTopic=where, CorrelationData=b"c")
    device.until(lambda: bool(device.on("saleroom/replies/a")), "the refusal")
    [heard] = device.on("saleroom/replies/a")
    answer = json.loads(heard.payload)
    assert (400, {"responseTopic", "amount"}) == (answer["status"], answer["message"].keys())
    device.send(gid, {"token": ada.token, "id": "b", "amount": "12"}, ResponseTopic=where)
    device.until(lambda: bool(device.on("saleroom/replies/b")), "the second refusal")
    assert 400 == json.loads(device.on("saleroom/replies/b")[0].payload)["status"]
    assert [] == bids(ada, gid)
    assert 0 == len([heard for heard in device.on(where) if b'"status":400' in heard.payload])


def test_a_repeat_has_one_effect_over_either_channel(served: House, broker: MqttSettings, join: Join) -> None:
    """The same id again, over MQTT or as HTTP's Idempotency-Key, gets the first answer; for another bid it is refused."""
    gid, ada = served.user("seller").auction(), served.user("ada")
    device = join(broker)
    first = device.ask(gid, ada.token, id="one", maximum="50")
    assert first == device.ask(gid, ada.token, id="one", maximum="50.000")
    repeated = ada.bid(gid, maximum="50", **{"Idempotency-Key": "one"})
    assert first == {"status": repeated.status_code, **repeated.json()}
    other = device.ask(gid, ada.token, id="one", maximum="60")
    assert (422, "idempotency_mismatch") == (other["status"], other["code"])
    over = ada.bid(gid, maximum="70", **{"Idempotency-Key": "two"})
    assert {"status": 201, **over.json()} == device.ask(gid, ada.token, id="two", maximum="70")
    assert 1 == len(bids(ada, gid))


def test_a_command_is_refused_if_the_lot_has_changed_since(served: House, broker: MqttSettings, join: Join) -> None:
    """If the lot has changed since the state that a device showed, its bid is refused with the changes, as over HTTP."""
    seller, ada = served.user("seller"), served.user("ada")
    gid = seller.auction(startingPrice="10")
    seller.patch(f"/auctions/{gid}", json={"startingPrice": "900"})
    device = join(broker)
    answer = device.ask(gid, ada.token, maximum="1000", seenVersion=1)
    assert (409, "terms_changed", 2) == (answer["status"], answer["code"], answer["version"])
    assert [{"member": "startingPrice", "was": "10.000", "now": "900.000"}] == answer["changes"]
    over = ada.post(f"/auctions/{gid}/bids", json={"maximum": "1000", "seenVersion": 1})
    assert answer == {"status": over.status_code, **over.json()}
    assert [] == bids(ada, gid)
    for version in (2, None):
        assert 201 == device.ask(gid, ada.token, maximum="1000" if version else "2000", seenVersion=version)["status"]


def test_commands_are_decided_in_order_of_arrival(modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """Two bidders who outbid each other without a pause are each accepted every time."""
    gid = modern.user("seller").auction()
    people = [modern.user("ada"), modern.user("bob")]
    device = join(mosquitto.settings, "saleroom/replies/#")
    for number in range(70):
        device.send(gid, {"token": people[number % 2].token, "id": f"{number}", "amount": f"{10 + number}"})
    device.until(lambda: len(device.heard) >= 70, "all answers")
    assert {201} == {json.loads(heard.payload)["status"] for heard in device.heard}


@pytest.mark.parametrize(
    "bid",
    [
        {},
        {"amount": "12.5", "maximum": "11"},
        {"amount": "1e3"},
        {"maximum": "-1", "amount": None},
        {"amount": "12", "when": "now"},
        {"amount": "9"},
        {"amount": "10.5"},
    ],
    ids=str,
)
def test_a_refusal_is_that_of_http(bid: dict[str, Any], modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """A refusal has the body of HTTP's; only the list of known members has two more."""
    gid, ada, bob = modern.user("seller").auction(), modern.user("ada"), modern.user("bob")
    bob.bid(gid, 10)
    device = join(mosquitto.settings)
    answer = json.dumps(device.ask(gid, ada.token, **bid)).replace(
        "id, maximum, seenVersion, token", "maximum, seenVersion"
    )
    assert over_http(ada, gid, **bid) == json.loads(answer)


def lasting(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the instants of its decision."""
    return {
        name: value for name, value in answer.items() if name not in ("receivedAt", "decidedAt", "lateMicroseconds")
    }


def test_refusals_by_the_state_of_things(modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """Bids on an unknown, own or closed auction, of its leader, or with a dead token are refused as over HTTP."""
    seller, ada = modern.user("seller"), modern.user("ada")
    leading, over = seller.auction(), seller.auction()
    ada.bid(leading, 10)
    seller.json("POST", f"/auctions/{over}/close", json={})
    device = join(mosquitto.settings)
    for user, gid in ((ada, "unknown"), (ada, "x y"), (ada, "%23"), (seller, leading), (ada, over), (ada, leading)):
        assert lasting(over_http(user, gid, amount="20")) == lasting(device.ask(gid, user.token, amount="20"))
    stranger = modern.client({**modern.headers, "Authorization": "Bearer nobody"})
    unknown = stranger.post(f"/auctions/{leading}/bids", json={"amount": "20"})
    for token in ("nobody", ""):
        assert {"status": 401, **unknown.json()} == device.ask(leading, token, amount="20")


def test_faults_of_a_command_come_at_once(modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """If the id can be read, one answer has all the faults."""
    device = join(mosquitto.settings, "saleroom/replies/#")
    device.send(modern.user("seller").gid(), {"id": "x", "token": 7, "amount": "1,5", "more": 1})
    device.until(lambda: bool(device.heard), "the refusal")
    answer = json.loads(device.heard[0].payload)
    codes = {field: [fault["code"] for fault in faults] for field, faults in answer["message"].items()}
    assert {"token": ["not_a_string"], "amount": ["money_format"], "more": ["unknown"]} == codes
    device.send("x y", {"id": "y"})
    device.until(lambda: len(device.heard) == 2, "the refusal")
    assert (404, "unknown_auction") == tuple(json.loads(device.heard[1].payload)[name] for name in ("status", "code"))


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "empty"),
        (b"\xff\xfe", "nowhere to answer"),
        (b"12.50", "nowhere to answer"),
        (b'{"id": "x"', "nowhere to answer"),
        (b'{"id": "x", "a": ' + b"[" * 3000 + b"}", "nowhere to answer"),
        (b'["id"]', "nowhere to answer"),
        (b'{"token": "t", "amount": "1"}', "nowhere to answer"),
        (b'{"id": 7}', "nowhere to answer"),
        (b'{"id": "' + b"x" * 129 + b'"}', "nowhere to answer"),
        (b'{"id": "#"}', "nowhere to answer"),
        (b'{"id": "a/+/b"}', "nowhere to answer"),
        (b'{"id": "/a"}', "nowhere to answer"),
        (b'{"id": "a//b"}', "nowhere to answer"),
        (b'{"id": "a\\n"}', "nowhere to answer"),
        (b'{"id": "a\\u0000"}', "nowhere to answer"),
        (b'{"id": "\xc3\xa4"}', "nowhere to answer"),
        (b'{"id": "x", "amount": "' + b"1" * 4096 + b'"}', "oversized"),
    ],
    ids=repr,
)
def test_messages_that_cannot_be_answered_are_dropped(
    payload: bytes, reason: str, modern: House, mosquitto: Mosquitto, join: Join, errors_logged: Log
) -> None:
    """Such a message is no bid and gets no answer; it is counted by its reason, and the next message is served."""
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    device = join(mosquitto.settings, "saleroom/replies/#")
    device.send(gid, payload)
    assert 201 == device.ask(gid, ada.token, id="next", amount="10")["status"]
    assert ["saleroom/replies/next"] == [heard.topic for heard in device.heard]
    assert [{reason: 1}] == [line["reasons"] for line in errors_logged if line["event"] == "MQTT commands dropped"]


def test_a_stored_command_is_never_a_bid(
    mosquitto: Mosquitto,
    serve_house: ServeHouse,
    join: Join,
    errors_logged: Log,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command that a broker has stored is dropped when the house connects, and removed from the broker.

    The house then receives its own removal, which does not count as a drop.
    """
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 0.01)
    house = connected(serve_house(**on(mosquitto.settings)))
    gid, ada = house.user("seller").auction(), house.user("ada")
    house.stop()
    command = json.dumps({"token": ada.token, "id": "old", "amount": "12"})
    publish(mosquitto.settings, f"saleroom/auctions/{gid}/bids", command, "-r")
    device = join(mosquitto.settings, "saleroom/replies/#")
    again = House(house.settings)
    again.start()
    try:
        connected(again)
        back = again.log_in("ada")
        assert 201 == device.ask(gid, back.token, id="new", amount="15")["status"]
        assert [("ada", "15.000")] == bids(back, gid)
    finally:
        again.stop()
    assert ["saleroom/replies/new"] == [heard.topic for heard in device.heard]
    assert [{"retained": 1}] == [line["reasons"] for line in errors_logged if line["event"] == "MQTT commands dropped"]
    late = join(mosquitto.settings, f"saleroom/auctions/{gid}/bids", "saleroom/status")
    late.until(lambda: bool(late.on("saleroom/status")), "what is retained")
    assert [] == late.on(f"saleroom/auctions/{gid}/bids")
    assert ada.token not in str(errors_logged)


def test_no_line_of_the_log_has_a_token(modern: House, mosquitto: Mosquitto, join: Join, errors_logged: Log) -> None:
    """No token, valid or forged, gets into the log, whatever happens to the command."""
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    device = join(mosquitto.settings)
    for token in (ada.token, "forged-token"):
        device.send(gid, {"token": token})
        device.send(gid, {"token": token, "id": "x", "amount": "12"}, retain=True)
        assert device.ask(gid, token, amount="12", more="x")["status"] == 400
        device.ask(gid, token, amount="13")
    assert "dropped" in str(errors_logged)
    assert ada.token not in str(errors_logged)
    assert "forged-token" not in str(errors_logged)


def test_a_device_may_have_an_odd_name(served: House, broker: MqttSettings, join: Join) -> None:
    """A client named `#` bids like any other."""
    gid, ada = served.user("seller").auction(), served.user("ada")
    assert 201 == join(broker, name="#").ask(gid, ada.token, amount="12")["status"]


def test_a_bug_is_answered_and_the_connection_goes_on(
    modern: House, mosquitto: Mosquitto, join: Join, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """A bug is 500 without details; the log has all details but the token, and the connection goes on."""
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    device = join(mosquitto.settings)
    with monkeypatch.context() as patch:
        patch.setattr(devices, "digest", lambda *_: 1 / 0)
        answer = device.ask(gid, ada.token, id="x", amount="12")
    assert {
        "status": 500,
        "message": "Something went wrong inside; it has been logged.",
        "code": "internal_error",
    } == answer
    [entry] = [line for line in errors_logged if line["log_level"] == "error"]
    assert ("internal error", f"saleroom/auctions/{gid}/bids", True) == (
        entry["event"],
        entry["topic"],
        entry["exc_info"],
    )
    errors_logged.clear()
    assert 201 == device.ask(gid, ada.token, id="x", amount="12")["status"]
