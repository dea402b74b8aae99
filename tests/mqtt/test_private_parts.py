"""The private parts of libraries that MQTT relies on: a new version that moves them is noticed here first."""

import inspect
from importlib.metadata import version
from typing import Any

import aiomqtt
import pytest
from amqtt.broker import Broker

from saleroom.broker import amqtt_fixes
from saleroom.mqtt import connection


async def test_aiomqtt_has_the_parts_that_the_connection_uses() -> None:
    """`Connection` overrides and uses private parts that the installed aiomqtt has, and names all that it overrides."""
    client = aiomqtt.Client("localhost")
    missing = [part for part in connection.PRIVATE_PARTS + connection.PRIVATE_METHODS if not hasattr(client, part)]
    assert [] == missing, (
        f"aiomqtt {version('aiomqtt')} has moved these; adapt mqtt/connection.py, then raise its bound"
    )
    overridden = {name for name in vars(connection.Connection) if _is_private(name) and hasattr(aiomqtt.Client, name)}
    assert set(connection.PRIVATE_METHODS) == overridden


@pytest.mark.parametrize(("kind", "parts"), amqtt_fixes.PRIVATE_PARTS.items())
def test_amqtt_has_the_parts_that_the_fixes_use(kind: type[Any], parts: tuple[str, ...]) -> None:
    """`amqtt_fixes` overrides and uses private parts that the installed amqtt has, and names all that it overrides."""
    source = inspect.getsource(inspect.getmodule(kind) or kind) + "".join(
        inspect.getsource(base) for base in kind.__mro__[:-1]
    )
    missing = [part for part in parts if part not in source]
    assert [] == missing, f"amqtt {version('amqtt')} has moved these; adapt broker/amqtt_fixes.py, then raise its bound"
    if kind is Broker:
        own = {name for name in vars(amqtt_fixes.FixedBroker) if _is_private(name) and hasattr(Broker, name)}
        assert own <= set(parts)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
