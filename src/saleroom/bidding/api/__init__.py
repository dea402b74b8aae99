"""Auctions and bids over the HTTP API, and bids from devices over MQTT."""
