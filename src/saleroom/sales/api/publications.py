"""What the house publishes of sales over MQTT: their events and states."""

from __future__ import annotations

from saleroom.mqtt.outbox import Publications
from saleroom.sales.service.publishing import states
from saleroom.sales.storage.sales import LOG, running_numbers

TOPICS = "sales"
"""The level of the topics of sales, after the prefix."""
PUBLICATIONS = Publications(LOG, states, running_numbers, topics=TOPICS)
"""The events and states of sales, as the relay reads them."""
