"""A sale of many lots watched as users do it: over HTTP despite a cut line, and over MQTT by the lot on the block."""

import json
from collections.abc import Callable
from typing import Any

from saleroom.accounts.domain.rights import Role
from saleroom.tools.amounts import in_currency
from saleroom.tools.watch.sale import Sale
from saleroom.tools.watch.words import words
from tests.fixtures_house import House
from tests.line import Line
from tests.mqtt.equipment import Mosquitto, publish
from tests.patience import SECONDS_MAX
from tests.sales.api.evening import with_lots
from tests.tools.watch.test_shown import MemoryDisplay, event
from tests.tools.watch.watching import Watcher

Watch = Callable[..., Watcher]
SALE, FIRST, SECOND = "Nq7_sT3wXy0Z", "k3X9mQ2vTa1_", "m4Y8nR1uSb2-"


def test_a_sale_is_watched_with_its_lots_until_it_is_over(
    sqlite_house: House, watch: Watch, line: Callable[[str], Line]
) -> None:
    """Events of the sale and of its lots come once and in order despite a cut line, those of other lots do not."""
    house, staff = sqlite_house, sqlite_house.staff(Role.OWNER)
    gid = with_lots(staff, 2)
    staff.json("POST", f"/sales/{gid}/publish", json={})
    lots = [lot["gid"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    other = house.user("ada").auction()
    way = line(house.base)
    watcher = watch(f"{way.url}/catalogues/{gid}", "--json")
    watcher.until_live(2)
    assert 201 == house.user("ben").bid(lots[0], amount=20).status_code
    house.user("ben").bid(other, amount=20)
    staff.json("POST", f"/sales/{gid}/pause")
    watcher.until_shown(3)
    way.cut()
    staff.json("POST", f"/sales/{gid}/resume")
    way.mend()
    watcher.until_shown(6)
    for label in ("1", "2"):
        staff.json("POST", f"/sales/{gid}/lots/{label}/withdraw", json={"reason": "Not here."})
    assert 0 == watcher.process.wait(SECONDS_MAX), watcher.errors
    came = [json.loads(text) for text in watcher.lines]
    by_source: dict[str, list[int]] = {}
    for one in came:
        by_source.setdefault(one["source"], []).append(one["sequence"])
    for source, numbers in by_source.items():
        assert list(range(numbers[0], numbers[0] + len(numbers))) == numbers, source
    assert {f"/sales/{gid}", *(f"/auctions/{lot}" for lot in lots)} == by_source.keys()
    kinds = [one["type"] for one in came if one["source"] == f"/sales/{gid}"]
    assert ["sale.paused", "sale.resumed", "lot.withdrawn", "lot.withdrawn", "sale.closed"] == kinds
    assert f"{gid} (An evening) is over: closed" in watcher.errors and "Traceback" not in watcher.errors


def test_a_sale_that_does_not_exist_is_told_in_one_line(sqlite_house: House, watch: Watch) -> None:
    """Nothing is said to be live before the sale is known."""
    watcher = watch(sqlite_house.base, "--sale", SALE)
    assert 1 == watcher.process.wait(SECONDS_MAX)
    assert f"saleroom: there is no sale {SALE} in {sqlite_house.base}\n" == watcher.errors


def test_over_mqtt_the_lot_on_the_block_is_followed(mosquitto: Mosquitto, watch: Watch) -> None:
    """The retained state names the lot on the block, and `lot.called` the next one: each lot is followed from then on."""
    settings = mosquitto.settings

    def state(kind: str, gid: str, **members: Any) -> None:
        shown = json.dumps({"gid": gid, **members})
        assert 0 == publish(settings, f"saleroom/{kind}/{gid}/state", shown, "-r").returncode

    def happens(kind: str, gid: str, sequence: int, what: str, **data: Any) -> None:
        told = {"id": f"{gid}/{sequence}", "source": f"/{kind}/{gid}", "type": what, "sequence": sequence, "data": data}
        publish(settings, f"saleroom/{kind}/{gid}/events", json.dumps({**told, "time": "2026-11-27T19:30:00.000001Z"}))

    def shows(text: str) -> None:
        watcher.until(lambda: any(text in one for one in watcher.lines), text)

    lot = {"status": "open", "version": 4, "minimumBid": "100.000", "bidCount": 0}
    state("auctions", FIRST, name="Clock", **lot)
    state("auctions", SECOND, name="Rug", **lot)
    state("sales", SALE, title="An evening", status="running", version=7, called=FIRST)
    watcher = watch(f"mqtt://127.0.0.1:{mosquitto.port}", "--sale", SALE, "--currency", "EUR")
    watcher.until_live()
    happens("sales", SALE, 8, "lot.skipped", lot=FIRST, label="1")
    shows("lot 1 is left for later")
    happens("sales", SALE, 9, "lot.called", lot=SECOND, label="12A")
    shows("lot 12A is on the block")
    # It has subscribed to the lot once it knows the lot: an earlier event would be before its state.
    for number in range(5, 5 + int(SECONDS_MAX)):
        happens("auctions", SECOND, number, "auction.warned", stage="fair_warning")
        if any("12A Rug: fair warning" in one for one in watcher.lines):
            break
    shows("12A Rug: fair warning")
    happens("sales", SALE, 10, "sale.closed")
    assert 0 == watcher.process.wait(SECONDS_MAX), watcher.errors
    assert f"{SALE} (An evening) is over: closed" in watcher.errors


def test_acts_of_the_clerk_are_told_in_words_and_change_the_lot() -> None:
    """A lot is called, warned, sold, reopened and skipped: the words say so, and the lot is what the events make of it."""
    shown = MemoryDisplay()
    watched = Sale(None, shown, SALE)
    watched.called(FIRST, "7")
    standing = {"currentBid": None, "currentBidder": None, "minimumBid": "100.000", "stage": "called"}
    told = []
    acts: list[tuple[str, dict[str, Any]]] = [
        ("auction.created", {"name": "Clock", "status": "open", "startingPrice": "100.000", "minimumBid": "100.000"}),
        ("auction.called", {"minimumBid": "100.000"}),
        ("ask.set", {"minimumBid": "80.000"}),
        ("bid.placed", {"bidder": "#floor", "amount": "80.000", "leading": True, "minimumBid": "90.000"}),
        ("bidder.named", {"bidder": "#12", "amount": "80.000"}),
        ("auction.warned", {"stage": "final_call"}),
        ("auction.closed", {"outcome": "sold", "winner": "#12", "price": "80.000"}),
        ("act.undone", {"since": 6, **standing}),
        ("bid.retracted", {"bidder": "#12", "amount": "80.000", "minimumBid": "90.000"}),
        ("auction.skipped", {}),
        ("auction.reopened", {"reason": "A late bid"}),
    ]
    stages = []
    for number, (kind, data) in enumerate(acts, 1):
        one = event(kind, number, FIRST, **data)
        watched.event("", one)
        told.append(words(one, in_currency("EUR")))
        lot = watched.lots[FIRST]
        stages.append((lot.stage, lot.status, lot.current_bidder))
    assert "on the block, €100.00 is asked" == told[1]
    assert ["€80.00 is asked", "#12 leads at €80.00", "final call"] == [told[2], told[4], told[5]]
    assert "the last act is undone; no bid stands" == told[7]
    assert "the hammer is taken back (A late bid)" == told[10]
    assert [("called", "open", "#12"), ("final_call", "open", "#12"), (None, "closed", "#12")] == stages[4:7]
    assert [("called", "open", None), (None, "open", None), (None, "open", None)] == [
        stages[7],
        stages[9],
        stages[10],
    ]
    assert "7" == watched.lots[FIRST].label
