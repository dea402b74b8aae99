"""The rules that must hold in the database after any load, counted from its rows.

For bids of plain amounts, as the bench sends them: there the recorded amounts strictly rise.
"""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import Connection, text


class SearchStart(Struct, frozen=True):
    """The start of a search: the bids with this number, and the rows after `bids_after` and `events_after`.

    Millions of rows that a bench has written itself need not be read again after every round.
    """

    number: int = 1
    bids_after: int = 0
    events_after: int = 0

    @property
    def position(self) -> int:
        """The first event's position: that of the creation, or of the bid `number`."""
        return 1 if self.number == 1 else self.number + 1


EVERYTHING = SearchStart()

_RISING = """
SELECT count(*) FROM (
  SELECT amount, lag(amount) OVER (PARTITION BY auction_id ORDER BY number) AS before
  FROM bids WHERE id > :bids_after
) AS history WHERE amount <= before"""

_NUMBERS = """
SELECT count(*) FROM (
  SELECT auction_id FROM bids WHERE id > :bids_after GROUP BY auction_id
  HAVING min(number) <> :number OR max(number) <> count(*) + :number - 1 OR count(DISTINCT number) <> count(*)
) AS gaps"""

# The leading bid is the highest, and of two at one price the earlier.
_LEADER = """
SELECT count(*) FROM auctions AS a LEFT JOIN (
  SELECT auction_id, amount, bidder_id, placed_at,
    row_number() OVER (PARTITION BY auction_id ORDER BY amount DESC, number) AS place,
    count(*) OVER (PARTITION BY auction_id) AS bids
  FROM bids WHERE id > :bids_after
) AS b ON b.auction_id = a.id AND b.place = 1
WHERE a.bid_count <> coalesce(b.bids, 0) + :number - 1
  OR a.current_bid IS DISTINCT FROM b.amount
  OR a.current_bidder_id IS DISTINCT FROM b.bidder_id
  OR a.current_bid_at IS DISTINCT FROM b.placed_at"""

_POSITIONS = """
SELECT count(*) FROM auctions AS a LEFT JOIN (
  SELECT auction_id, min(position) AS first, max(position) AS last, count(DISTINCT position) AS positions,
    min(version) AS oldest, max(version) AS newest, count(DISTINCT version) AS versions, count(version) AS public
  FROM events WHERE id > :events_after GROUP BY auction_id
) AS e ON e.auction_id = a.id
WHERE e.auction_id IS NULL OR e.first <> :position OR e.last <> e.positions + :position - 1 OR e.last <> a.position
  OR e.oldest <> :position OR e.newest <> e.versions + :position - 1 OR e.public <> e.versions
  OR e.newest <> a.version"""

_ORDER = """
SELECT count(*) FROM (
  SELECT version, lag(version) OVER (PARTITION BY auction_id ORDER BY position) AS before
  FROM events WHERE version IS NOT NULL AND id > :events_after
) AS log WHERE version <= before"""

# There is no foreign key for this, because it would cost as much as the rows.
_ORPHANS = """
SELECT (SELECT count(*) FROM bids WHERE id > :bids_after AND auction_id NOT IN (SELECT id FROM auctions))
  + (SELECT count(*) FROM events WHERE id > :events_after AND auction_id NOT IN (SELECT id FROM auctions))"""

_ONE_TO_ONE = """
SELECT count(*) FROM (
  SELECT auction_id, place, at, amount, sum(side) AS balance FROM (
    SELECT auction_id, number AS place, placed_at AS at, amount, 1 AS side FROM bids WHERE id > :bids_after
    UNION ALL
    SELECT auction_id, row_number() OVER (PARTITION BY auction_id ORDER BY position) + :number - 1, at, {amount}, -1
    FROM events WHERE type = 'bid.placed' AND id > :events_after
  ) AS both_sides GROUP BY auction_id, place, at, amount HAVING sum(side) <> 0
) AS unmatched"""

_LATE = """
SELECT count(*) FROM bids AS b JOIN auctions AS a ON a.id = b.auction_id LEFT JOIN (
  SELECT auction_id, max(at) AS at FROM events WHERE type = 'auction.closed' AND id > :events_after GROUP BY auction_id
) AS closed ON closed.auction_id = a.id
WHERE b.id > :bids_after AND (b.placed_at >= a.ends_at OR b.placed_at > closed.at)"""

_OWN = """
SELECT count(*) FROM bids AS b JOIN auctions AS a ON a.id = b.auction_id
WHERE b.id > :bids_after AND b.bidder_id = a.author_id"""

_CLOSED = """
SELECT count(*) FROM auctions AS a LEFT JOIN (
  SELECT auction_id, count(*) AS times FROM events
  WHERE type = 'auction.closed' AND id > :events_after GROUP BY auction_id
) AS e ON e.auction_id = a.id
WHERE coalesce(e.times, 0) <> CASE WHEN a.status = 'closed' THEN 1 ELSE 0 END"""

_QUESTIONS = {
    "amounts that do not rise": _RISING,
    "numbers with gaps": _NUMBERS,
    "auctions that contradict their leading bid": _LEADER,
    "events with gaps": _POSITIONS,
    "events whose versions do not rise": _ORDER,
    "bids and events without their auction": _ORPHANS,
    "bids and events without each other": _ONE_TO_ONE,
    "bids after the end": _LATE,
    "bids on one's own auction": _OWN,
    "closed other than once": _CLOSED,
}
KINDS = (*_QUESTIONS, "accepted and not recorded", "recorded and never asked for")

_AMOUNT_OF_EVENT = {
    "postgresql": "CAST(CAST(convert_from(payload, 'UTF8') AS jsonb) -> 'data' ->> 'amount' AS numeric)",
    "sqlite": "substr('000000000000000000000' || json_extract(CAST(payload AS TEXT), '$.data.amount'), -21)",
}


def find(connection: Connection, since: SearchStart = EVERYTHING) -> dict[str, int]:
    """Return the violations in all auctions of a house's database, by kind.

    `since` must be such that every auction has exactly one bid with its number, or be EVERYTHING.
    """
    amount = _AMOUNT_OF_EVENT[connection.dialect.name]
    known = {name: getattr(since, name) for name in ("number", "position", "bids_after", "events_after")}
    counts = {}
    for kind, question in _QUESTIONS.items():
        statement = text(question.replace("{amount}", amount))
        wanted = {name: value for name, value in known.items() if f":{name}" in question}
        counts[kind] = int(connection.execute(statement, wanted).scalar_one())
    return {kind: count for kind, count in counts.items() if count}


def between_client_and_database(succeeded: int, recorded: int, connections: int) -> dict[str, int]:
    """Compare the answers that a client got with the bids that were `recorded` for it, as `find` counts the rest.

    Of each of its connections one answer may have been on its way when the client stopped.
    """
    lost, doubled = succeeded - recorded, recorded - succeeded - connections
    found = {"accepted and not recorded": lost, "recorded and never asked for": doubled}
    return {kind: count for kind, count in found.items() if count > 0}
