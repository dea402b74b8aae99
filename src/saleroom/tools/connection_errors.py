"""Why there is no answer over HTTP, in words for a terminal."""

from __future__ import annotations

import os

import aiohttp

from saleroom.tools.http_client import TooMuch


def why(error: Exception) -> str:
    """Say in a few words why a request of aiohttp had no answer."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            text = "there is no such host"
        case aiohttp.ClientConnectorCertificateError():
            text = f"its certificate is not trusted ({getattr(error.certificate_error, 'verify_message', '')})"
        case aiohttp.ClientConnectorError() if error.errno:
            text = os.strerror(error.errno).lower()
        case TimeoutError():
            text = "no answer in time"
        case TooMuch():
            text = f"its answer is {error}, which no house's is"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            text = "the connection broke off"
        case _:
            text = type(error).__name__
    return text
