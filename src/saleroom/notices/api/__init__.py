"""Notices over the HTTP API. `ENDPOINTS` are those of every house."""

from __future__ import annotations

from saleroom.notices.api import choices, outbox, pushes, webhooks

ENDPOINTS = (*choices.ENDPOINTS, *outbox.ENDPOINTS, *pushes.ENDPOINTS, *webhooks.ENDPOINTS)
