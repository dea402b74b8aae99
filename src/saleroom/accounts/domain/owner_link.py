"""The owner link: it makes the first owner of a house. It is derived from the house's secret, and stored nowhere."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

PATH = "/owner"
"""The page that the link leads to. The code stands in the fragment, which browsers send to no server."""
LIFETIME = timedelta(hours=24)
_CODE = re.compile(r"([1-9][0-9]{0,10})\.[A-Za-z0-9_-]{22}")

Sign = Callable[[str], str]
"""Returns what only the house can compute of a text."""


def owner_code(now: datetime, sign: Sign) -> str:
    """Return the code of a link that is made at `now`."""
    return _code(int((now + LIFETIME).timestamp()), sign)


def is_owner_code(code: str, now: datetime, sign: Sign) -> bool:
    """Return whether the house has made this code and it has not ended. The time it takes does not depend on the difference."""
    found = _CODE.fullmatch(code.strip())
    if found is None:
        return False
    ends = int(found[1])
    return hmac.compare_digest(_code(ends, sign).encode(), code.strip().encode()) and now < datetime.fromtimestamp(
        ends, UTC
    )


def _code(ends: int, sign: Sign) -> str:
    return f"{ends}.{sign(f'owner {ends}')}"
