"""Sales over the HTTP API. `ENDPOINTS` are those of every house."""

from __future__ import annotations

from typing import Any

from saleroom.http.endpoints import Endpoint

ENDPOINTS: tuple[Endpoint[Any], ...] = ()
