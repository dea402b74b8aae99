"""A client of any broker that notices at once when the connection is lost, in whichever moment."""

from __future__ import annotations

from typing import Any

import aiomqtt
from paho.mqtt.client import Client, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from saleroom.tools.connection_errors import BROKEN_OFF

PRIVATE_PARTS = ("_connected", "_disconnected", "_loop")
PRIVATE_METHODS = ("_on_disconnect", "_on_socket_register_write")


class WatchClient(aiomqtt.Client):
    """A client that waits for no timeout once the broker has hung up, and prints nothing of it."""

    def _on_disconnect(
        self,
        client: Client,
        userdata: Any,
        flags: DisconnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
        # aiomqtt would wait for its timeout. This may be paho's own thread, in which the connection begins.
        self._loop.call_soon_threadsafe(self._dropped)

    def _dropped(self) -> None:
        if not self._connected.done():
            self._connected.set_exception(aiomqtt.MqttError(BROKEN_OFF))
            self._connected.exception()  # nothing may be waiting for it

    def _on_socket_register_write(self, client: Client, userdata: Any, sock: Any) -> None:
        """Write when there is room. aiomqtt fails if the socket is closed by then, and asyncio prints that."""

        def write() -> None:
            try:
                client.loop_write()
            except Exception as error:  # noqa: BLE001  # any fault breaks the connection
                if not self._disconnected.done():
                    self._disconnected.set_exception(error)

        def watch() -> None:
            if sock.fileno() >= 0:  # otherwise it is closed, and paho has reported it
                self._loop.add_writer(sock.fileno(), write)

        self._loop.call_soon_threadsafe(watch)
