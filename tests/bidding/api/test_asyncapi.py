"""The AsyncAPI document describes all messages of auctions and sales, over MQTT and in the streams, and no secret."""

from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT7

from saleroom.bidding.api.devices import CommandHandler
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.views import auction_view, cloud_event, event_parts
from saleroom.compose import ENDPOINTS
from saleroom.kernel.chain import ZERO
from saleroom.mqtt.topics import MqttSettings
from saleroom.sales.domain.events import EVENTS as SALE_EVENTS
from tests.bidding.domain.playing import play
from tests.histories import History, histories
from tests.mqtt.test_asyncapi import DOCUMENT, on

MESSAGES: dict[str, Any] = DOCUMENT["components"]["messages"]
PUBLIC = [kind for kind in EVENTS.values() if kind.PUBLIC]
_ROOT = "urn:asyncapi"
_REGISTRY: Any = Registry().with_resource(_ROOT, DRAFT7.create_resource(DOCUMENT))


def faults(message: str, payload: Any, part: str = "payload") -> list[str]:
    """Return the faults of `payload` by the document's schema of `message`."""
    schema = {"$ref": f"{_ROOT}#/components/messages/{message}/{part}"}
    validator = Draft7Validator(schema, registry=_REGISTRY, format_checker=FormatChecker())
    return [error.message for error in validator.iter_errors(payload)]


@pytest.mark.parametrize("name", MESSAGES)
def test_examples_are_what_they_exemplify(name: str) -> None:
    """Each message has examples, and each of them fits the message's schema."""
    examples = MESSAGES[name]["examples"]
    assert examples
    for example in examples:
        for part, shown in example.items():
            assert [] == faults(name, shown, part), shown


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.TYPE)
def test_an_event_has_its_public_members_and_no_others(kind: Any) -> None:
    """Each event's `data` is described member by member, without private members, and no other event fits its schema."""
    data = MESSAGES[kind.TYPE]["payload"]["properties"]["data"]
    members = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    public = {wire for name, wire in members if name != "at" and name not in kind.PRIVATE}
    names = {"salts"} if public & {"author", "bidder", "currentBidder", "winner"} else set()
    assert public | names == data["properties"].keys() == set(data["required"]) | names | kind.OPTIONAL - kind.PRIVATE
    assert [] == [name for name, member in data["properties"].items() if not member["description"]]
    others = [one for one in PUBLIC if one is not kind]
    assert all(faults(kind.TYPE, MESSAGES[one.TYPE]["examples"][0]["payload"]) for one in others)


@pytest.mark.parametrize("kind", SALE_EVENTS.values(), ids=lambda kind: kind.TYPE)
def test_an_event_of_a_sale_has_its_members_and_no_others(kind: Any) -> None:
    """Each event's `data` is described member by member, each member has an example, and no other event fits its schema."""
    shown = MESSAGES[kind.TYPE]
    data = shown["payload"]["properties"]["data"]
    names = set(kind.__struct_encode_fields__) - {"at"}
    assert names == data["properties"].keys() == set(data["required"])
    assert names == shown["examples"][0]["payload"]["data"].keys()
    assert shown["summary"] and all(member["description"] for member in data["properties"].values())
    others: list[Any] = [one for one in (*PUBLIC, *SALE_EVENTS.values()) if one is not kind]
    assert all(faults(kind.TYPE, MESSAGES[one.TYPE]["examples"][0]["payload"]) for one in others)


def test_the_document_has_no_private_event_or_member() -> None:
    """No private event is a message, and no message has limits, reserves or users' numbers."""
    assert {kind.TYPE for kind in PUBLIC} == MESSAGES.keys() & EVENTS.keys()
    private = {wire for kind in PUBLIC for wire in event_parts_names(kind)}
    assert {
        "reservePrice",
        "authorId",
        "bidderId",
        "leaderId",
        "maximum",
        "asked",
        "seed",
        "category",
        "hiddenFor",
    } == private
    events = str([MESSAGES[kind.TYPE] for kind in PUBLIC])
    assert [] == [name for name in private if f"'{name}'" in events]


def event_parts_names(kind: Any) -> set[str]:
    """Return the wire names of an event's private members."""
    members = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return {wire for name, wire in members if name in kind.PRIVATE}


@given(history=histories())
@settings(max_examples=60)
def test_every_event_and_state_of_a_sale_is_as_described(history: History) -> None:
    """Every event of a sale fits the message of its type, and so does the state after it."""
    game = play(history)
    version = 0
    for event in game.log:
        if event.PUBLIC:
            version += 1
            sent = msgspec.to_builtins(cloud_event("gid", version, event, event_parts(event)[0], ZERO)) | {"hash": ZERO}
            assert [] == faults(event.TYPE, sent), sent
    assert [] == faults("state", msgspec.to_builtins(auction_view(game.auction)))


@pytest.mark.parametrize(
    ("change", "value"),
    [("amount", 112.5), ("amount", "112.5"), ("bidder", None), ("leading", "yes"), ("endsAt", "2026-11-21T12:00:00Z")],
)
def test_a_member_of_another_form_is_no_event(change: str, value: Any) -> None:
    """The schema refuses money without three decimals, an instant without microseconds, and a missing bidder."""
    shown = msgspec.json.decode(msgspec.json.encode(MESSAGES["bid.placed"]["examples"][0]["payload"]))
    shown["data"][change] = value
    assert faults("bid.placed", shown)


def test_every_refusal_of_a_command_is_told() -> None:
    """The document has every refusal of a command: those of a bid over HTTP, too many commands, and a house in trouble."""
    [bid] = [endpoint for endpoint in ENDPOINTS if endpoint.name == "placeBid"]
    codes = {refused.code for refused in bid.refusals} | {"too_many_requests", "busy", "unavailable", "internal_error"}
    assert codes == {example["payload"]["code"] for example in MESSAGES["refused"]["examples"]}


def test_the_streams_are_endpoints_of_the_api() -> None:
    """The channels on the house are exactly the streams in the table of routes."""
    streams = {one.path for one in ENDPOINTS if one.stream}
    assert streams == {channel["address"] for channel in on("house")}


def test_the_topics_are_those_that_the_house_uses() -> None:
    """The channels on a broker are exactly the topics of the house's MQTT client."""
    topics = MqttSettings("", 0, prefix="{prefix}/")
    used = {topics.status_topic, topics.state_topic("{gid}"), topics.events_topic("{gid}")}
    used |= {topics.state_topic("{gid}", "sales"), topics.events_topic("{gid}", "sales")}
    used |= {
        topics.commands_filter.replace("+", "{gid}"),
        CommandHandler(cast("Any", None), topics.prefix)._replies + "{id}",
    }
    assert used | {None} == {channel.get("address") for channel in on("broker")}
