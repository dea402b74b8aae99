"""The documents pass the linters: redocly's strictest set of rules, and spectral's."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from saleroom.accounts.api.test_users import ENDPOINTS as TEST_USERS
from saleroom.bidding.api.asyncapi import area_messages
from saleroom.compose import ENDPOINTS, api_document
from saleroom.mqtt import asyncapi
from saleroom.mqtt.topics import MqttSettings
from tests.node import program
from tests.patience import SECONDS_MAX

PUBLIC = "https://bids.example"
PLACES: dict[str, dict[str, Any]] = {
    "embedded": {"broker": MqttSettings("127.0.0.1", 1883), "embedded": True, "websocket_port": 9001},
    "external": {"broker": MqttSettings("broker.example", 8883, tls=True)},
}
BULKY = ("paths", "channels", "operations", "components")
"""The parts of a document that a planted fault in its `info` does not need."""


def found(*files: Path) -> dict[str, list[str]]:
    """Return what the linters find in each document, by its name."""
    done = subprocess.run(
        [*program("lint.mjs"), *files], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert 0 == done.returncode, done.stderr
    lines: dict[str, list[str]] = json.loads(done.stdout)
    return {Path(name).name: of for name, of in lines.items()}


def messages_document(**where: Any) -> bytes:
    """Return the AsyncAPI document of a house with this broker."""
    return asyncapi.document("saleroom/", asyncapi.Brokers(house=PUBLIC, **where), (area_messages,))


def part_of(document: dict[str, Any], channel: str) -> dict[str, Any]:
    """Return a document with one of its channels, and with what this channel uses."""
    named = f"#/channels/{channel}"
    operations = {name: one for name, one in document["operations"].items() if named == one["channel"]["$ref"]}
    part = {**document, "channels": {channel: document["channels"][channel]}, "operations": operations}
    flat = {name: one for kind in document["components"].values() for name, one in kind.items()}
    used = used_of(flat, [part["channels"], part["operations"], part["servers"]])
    kinds = document["components"].items()
    part["components"] = {kind: {name: of[name] for name in of.keys() & used} for kind, of in kinds if of.keys() & used}
    return part


def test_linters_find_nothing(tmp_path: Path) -> None:
    """Linters find no fault in the API's document and in those of every kind of broker, and find a planted one.

    Of a document that differs by its servers alone (below) they read these with one channel.
    """
    documents = {"openapi.json": api_document(), "asyncapi-embedded.json": messages_document(**PLACES["embedded"])}
    external = part_of(json.loads(messages_document(**PLACES["external"])), "status")
    documents["asyncapi-external.json"] = json.dumps(external).encode()
    for name, document in documents.items():
        (tmp_path / name).write_bytes(document)
    files = sorted(tmp_path.glob("*.json"))
    planted = []
    for file in (files[0], files[-1]):
        document = json.loads(file.read_bytes())
        broken = {name: {} if name in BULKY else part for name, part in document.items()}
        del broken["info"]["contact"]
        broken["info"]["licence"] = broken["info"].pop("license")
        planted.append(file.with_name(f"broken-{file.name}"))
        planted[-1].write_text(json.dumps(broken))
    lines = found(*files, *planted)
    assert {file.name: [] for file in files} == {file.name: lines[file.name] for file in files}
    for file in planted:
        told = lines[file.name]
        assert any(line.startswith("redocly struct #/info/licence") for line in told), told
        assert any("info-contact info" in line for line in told), told


def test_documents_of_two_brokers_differ_by_their_servers() -> None:
    """With another broker the AsyncAPI document has other servers and their account, and is the same otherwise."""
    documents = [json.loads(messages_document(**where)) for where in PLACES.values()]
    for document in documents:
        assert document.pop("servers")
        assert "status" in document["channels"]
        document["components"].pop("securitySchemes", None)
        for channel in document["channels"].values():
            channel.pop("servers", None)
    assert documents[0] == documents[1]


def used_of(components: dict[str, Any], by: Any) -> set[str]:
    """Return the names of the components that something refers to, by itself or through others."""
    used, text = set[str](), json.dumps(by)
    while found := set(re.findall(r'"#/components/\w+/([\w.]+)"', text)) & components.keys() - used:
        used |= found
        text = json.dumps([components[name] for name in found])
    return used


def test_nothing_is_left_over_without_a_broker() -> None:
    """Without a broker the AsyncAPI document is a part of the one with a broker, and has only what this part uses.

    So the linters would find no more in it.
    """
    whole, part = (json.loads(messages_document(**where)) for where in (PLACES["embedded"], {"broker": None}))
    parts = [(whole[name], part[name]) for name in ("servers", "channels", "operations")]
    parts += [(whole["components"][name], part["components"][name]) for name in part["components"]]
    assert part["channels"]
    for of_whole, of_part in parts:
        assert all(of_whole[name] == one for name, one in of_part.items())
    components = part["components"]["messages"] | part["components"]["schemas"]
    assert used_of(components, [part["channels"], part["operations"]]) == components.keys()
    assert whole.keys() == part.keys()
    assert whole["info"].keys() == part["info"].keys()


def test_nothing_is_left_over_without_test_users() -> None:
    """Without the endpoints of test users the document is a part of the whole, and has only what this part uses.

    So the linters would find no more in it than in the whole.
    """
    whole = json.loads(api_document())
    part = json.loads(api_document([one for one in ENDPOINTS if one not in TEST_USERS]))
    schemas, paths = part["components"]["schemas"], part["paths"]
    assert used_of(schemas, paths) == schemas.keys()
    assert {tag["name"] for tag in part["tags"]} == {
        tag for methods in paths.values() for one in methods.values() for tag in one["tags"]
    }
    assert {one.path for one in TEST_USERS} == whole["paths"].keys() - paths.keys()
    assert all(whole["paths"][path] == methods for path, methods in paths.items())
    assert all(whole["components"]["schemas"][name] == schema for name, schema in schemas.items())
    assert {**whole, "paths": {}, "components": {}} == {**part, "paths": {}, "components": {}}
    assert {**whole["components"], "schemas": {}} == {**part["components"], "schemas": {}}
