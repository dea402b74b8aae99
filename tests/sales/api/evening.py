"""Sales as staff make them over HTTP."""

from typing import Any

from tests.fixtures_house import User

LATER = "2099-05-01T12:00:00Z"


def made(staff: User, **terms: Any) -> str:
    """Make the draft of a timed sale, and return its gid."""
    gid: str = staff.json("POST", "/sales", json={"title": "An evening", "kind": "timed", "startsAt": LATER, **terms})[
        "gid"
    ]
    return gid


def with_lots(staff: User, count: int, **terms: Any) -> str:
    """Make a draft with so many lots, and return its gid."""
    gid = made(staff, **terms)
    for number in range(1, count + 1):
        lot = {"name": f"Lot {number}", "startingPrice": "10", "reservePrice": "15"}
        staff.json("POST", f"/sales/{gid}/lots", json=lot)
    return gid
