"""A client of any MQTT broker that notices at once when its connection is lost.

aiomqtt waits for its timeout if the broker hangs up before it has answered, and does not notice a socket that is closed when it
begins to watch it.
"""

from __future__ import annotations

from typing import Any

import aiomqtt
from paho.mqtt.client import Client, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

PRIVATE_PARTS = ("_connected", "_disconnected", "_loop")
PRIVATE_METHODS = ("_on_disconnect", "_on_socket_register_write")
"""The private parts of aiomqtt's Client that `MqttClient` uses, and the private methods that it overrides."""


class MqttClient(aiomqtt.Client):
    """A client that waits for no timeout once the broker has hung up."""

    def hung_up(self) -> aiomqtt.MqttError:
        """Return the error of a broker that hangs up before it has answered."""
        return aiomqtt.MqttError("the broker closed the connection before it answered")

    def write(self, client: Client) -> None:
        """Write what waits, as there is room. Whatever it raises breaks the connection."""
        client.loop_write()

    def _on_disconnect(
        self,
        client: Client,
        userdata: Any,
        flags: DisconnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
        # This may be paho's own thread, in which the connection begins.
        self._loop.call_soon_threadsafe(self._dropped)

    def _dropped(self) -> None:
        if not self._connected.done():
            self._connected.set_exception(self.hung_up())
            self._connected.exception()  # nothing may be waiting for it

    def _on_socket_register_write(self, client: Client, userdata: Any, sock: Any) -> None:
        def lost(error: Exception) -> None:
            if not self._disconnected.done():
                self._disconnected.set_exception(error)

        def write() -> None:
            try:
                self.write(client)
            except Exception as error:  # noqa: BLE001  # any fault breaks the connection, and who waits for it gets it
                lost(error)

        def watch() -> None:
            if sock.fileno() < 0:
                return  # closed, and paho has reported it
            try:
                self._loop.add_writer(sock.fileno(), write)
            except (OSError, RuntimeError) as error:  # the broker reset it, and uvloop no longer watches it
                write()  # so that paho closes it
                lost(error)

        self._loop.call_soon_threadsafe(watch)
