"""The inner parts of uvicorn and Starlette that the house builds on: they may move with any version.

`tests/http/test_internals.py` finds those that have moved, and pyproject.toml bounds the versions.
"""

from __future__ import annotations

from typing import Any

from starlette.formparsers import MultiPartParser
from uvicorn.config import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

__all__ = [
    "HIGH_WATER_LIMIT",
    "Config",
    "FlowControl",
    "MultiPartParser",
    "ProxyHeadersMiddleware",
    "ServerState",
    "get_local_addr",
    "get_remote_addr",
    "unused",
]


async def unused(scope: Any, receive: Any, send: Any) -> None:
    """Stand for the application that an ASGI middleware asks for, if only its rules are used."""
