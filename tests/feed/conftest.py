"""The fixtures of the feed's tests."""

from tests.mqtt.conftest import sales

__all__ = ["sales"]
