"""Why a house or a broker cannot be reached, in words for a terminal."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    import aiomqtt

BROKEN_OFF = "the connection broke off"
_BROKEN_OFF = (BROKEN_OFF, "isconnected", os.strerror(errno.ECONNRESET), os.strerror(errno.EPIPE))
"""In the words of aiomqtt and of the system."""
UNHEARD = logging.getLogger("saleroom.unheard")
UNHEARD.setLevel(logging.CRITICAL)
"""For the lines of aiomqtt and paho about a lost connection, which a command says itself, in one line."""


def leave_unheard(loop: asyncio.AbstractEventLoop) -> None:
    """Let asyncio print nothing of a connection that is lost: aiomqtt keeps its error where nobody asks for it."""
    from aiomqtt import MqttError

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), MqttError):
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)


def why(error: Exception) -> str:
    """Return in a few words why a request of aiohttp got no answer."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            text = "there is no such host"
        case aiohttp.ClientConnectorCertificateError():
            text = f"its certificate is not trusted ({getattr(error.certificate_error, 'verify_message', '')})"
        case aiohttp.ClientConnectorError() if error.errno:
            text = os.strerror(error.errno).lower()
        case TimeoutError():
            text = "no answer in time"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            text = BROKEN_OFF
        case _:
            text = type(error).__name__
    return text


def why_mqtt(error: aiomqtt.MqttError) -> str:
    """Return in a few words why there is no connection to a broker."""
    from aiomqtt import MqttCodeError
    from paho.mqtt.reasoncodes import ReasonCode

    if isinstance(error, MqttCodeError):
        # A refused connection has a ReasonCode; a lost connection has one of the library's own numbers.
        return str(error.rc).lower() if isinstance(error.rc, ReasonCode) else BROKEN_OFF
    if any(words in str(error) for words in _BROKEN_OFF):
        return BROKEN_OFF
    return re.sub(r"^\[[^\]]*\] | \(_ssl.*\)$", "", str(error)).lower() or "no connection"
