"""The command: an edge is served until SIGTERM or Ctrl-C."""

from __future__ import annotations

from saleroom import logs
from saleroom.edge.application import application
from saleroom.edge.house import House
from saleroom.edge.hub import Hub
from saleroom.http.protocol import Http
from saleroom.kernel.errors import Refusal
from saleroom.kernel.server_urls import authority
from saleroom.runtime import metering, serving
from saleroom.settings import Settings


def serve(settings: Settings) -> int:
    """Serve an edge, and return the exit code. Raises Refusal or OSError, with a message for people, if it cannot start."""
    if not settings.house:
        raise Refusal("an edge needs a house: give its address with --house, such as --house http://127.0.0.1:9000")
    logs.configure(settings.log_level, settings.log_format)
    listener = serving.listen(settings.host, settings.port)
    shown = metering.shown(settings, None)
    lines = [
        f"saleroom edge serves on http://{authority(*listener.getsockname()[:2])}",
        f"  house     {', '.join(settings.house)}",
    ]
    if shown is not None:
        lines.append(f"  metrics   http://{authority(*shown[1])}/metrics")
    hub = Hub(House(settings.house), settings.followers_max)
    app = application(settings, hub, None if shown is None else shown[0])
    try:
        return serving.serve_one(app, Http, listener, lines)
    finally:
        listener.close()
