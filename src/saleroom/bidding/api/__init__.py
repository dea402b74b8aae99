"""Auctions and bids over the HTTP API, and bids from devices over MQTT.

`STREAMS` are the endpoints of the feed, `ENDPOINTS` all others.
"""

from __future__ import annotations

from saleroom.bidding.api import (
    auctions,
    bids,
    calendars,
    evidence,
    moderation,
    photos,
    questions,
    remarks,
    streams,
    watching,
)

ENDPOINTS = (
    *auctions.ENDPOINTS,
    *photos.ENDPOINTS,
    *bids.ENDPOINTS,
    *watching.ENDPOINTS,
    *calendars.ENDPOINTS,
    *evidence.ENDPOINTS,
    *remarks.ENDPOINTS,
    *questions.ENDPOINTS,
    *moderation.ENDPOINTS,
)
STREAMS = streams.ENDPOINTS
