"""The private parts of libraries that the house uses: a new version that moves them is noticed here first.

Those of uvicorn and Starlette under `http/` are in `tests/http/test_internals.py`.
"""

import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiomqtt
import asyncpg
import pytest
from amqtt.broker import Broker
from openpyxl.worksheet._read_only import ReadOnlyWorksheet
from packaging.requirements import Requirement

from saleroom import mqtt_client
from saleroom.broker import amqtt_fixes
from saleroom.mqtt import connection
from saleroom.runtime import serving
from saleroom.sales.service.files import sheets
from saleroom.storage import postgresql

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


@pytest.mark.parametrize(
    ("module", "kind"), [(connection, connection.Connection), (mqtt_client, mqtt_client.MqttClient)]
)
async def test_aiomqtt_has_the_parts_that_its_clients_use(module: Any, kind: type[aiomqtt.Client]) -> None:
    """Each client overrides and uses private parts that the installed aiomqtt has, and names all that it overrides."""
    client = aiomqtt.Client("localhost")
    missing = [part for part in module.PRIVATE_PARTS + module.PRIVATE_METHODS if not hasattr(client, part)]
    assert [] == missing, f"aiomqtt {version('aiomqtt')} has moved these; adapt {module.__name__}, then raise its bound"
    overridden = {name for name in vars(kind) if _is_private(name) and hasattr(aiomqtt.Client, name)}
    assert set(module.PRIVATE_METHODS) == overridden


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


def test_asyncpg_has_the_parts_that_the_pool_uses() -> None:
    """The connections of the installed asyncpg have the private parts that `postgresql` uses."""
    missing = [part for part in postgresql.PRIVATE_PARTS if not hasattr(asyncpg.Connection, part)]
    assert [] == missing, (
        f"asyncpg {version('asyncpg')} has moved these; adapt storage/postgresql.py, then raise its bound"
    )


def test_openpyxl_has_the_part_that_opens_a_sheet() -> None:
    """The sheets of the installed openpyxl that are read in pieces have the private part that `sheets` uses."""
    assert hasattr(ReadOnlyWorksheet, sheets.PRIVATE_PART), (
        f"openpyxl {version('openpyxl')} has moved it; adapt sales/service/files/sheets.py, then raise its bound"
    )


@pytest.mark.parametrize(("kind", "parts"), serving.INNER_PARTS.items())
def test_uvicorn_has_the_parts_that_serving_uses(kind: type[Any], parts: tuple[str, ...]) -> None:
    """`serving` overrides and uses inner parts that the installed uvicorn has, and names all that it overrides."""
    source = inspect.getsource(kind)
    missing = [part for part in parts if not hasattr(kind, part) and f"self.{part}" not in source]
    assert [] == missing, f"uvicorn {version('uvicorn')} has moved these; adapt serving.py, then raise its bound"
    derived = [one for one in vars(serving).values() if isinstance(one, type) and kind in one.__bases__]
    overridden = {name for one in derived for name in vars(one) if hasattr(kind, name) and not name.startswith("__")}
    assert overridden, "nothing is overridden"
    assert overridden <= set(parts)


@pytest.mark.parametrize("name", ["aiomqtt", "amqtt", "asyncpg", "openpyxl", "starlette", "uvicorn"])
def test_a_library_whose_private_parts_are_used_is_bounded(name: str) -> None:
    """pyproject.toml takes the installed version of the library, and no version that nobody has tried yet."""
    needed = map(Requirement, tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"])
    (bound,) = (one.specifier for one in needed if one.name == name)
    assert (True, False) == (bound.contains(version(name)), bound.contains("999")), f"bound {name} in pyproject.toml"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
