"""The house whose pages are shown: the demo's lots, with a history that is the same each time."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx

from saleroom.settings import Settings
from saleroom.tools.demo.catalogue import VIEWS, Piece, pieces
from tests.process import PASSWORD
from tests.screenshots.evening import CONSIGNOR, LiveEvening
from tests.screenshots.settled import SettledEvening

SEED = 1
LOTS = 22
OWNER = "e.brandt"
SELLER, READER, RIVAL = "harbour.club", "marta.k", "lindqvist"
"""The seller and the reader whose pages are shown, and the user they bid against."""
OTHERS = ("j.okafor", "yuki.t", "rosalind")
LATE = "yuki.t"
"""One who pays late."""
AGENT = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0"
AGENTS = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/604.1",
)
"""The reader's other devices that are logged in."""


class FurnishedHouse:
    """A house at `url` with lots in every state; `gids` has them by a word for each."""

    def __init__(self, url: str) -> None:
        self.gids: dict[str, str] = {}
        self._http = httpx.Client(
            base_url=url, headers={"X-Requested-With": "screenshots", "User-Agent": AGENT}, timeout=60
        )
        self._tokens = {name: self._enter(name) for name in (SELLER, READER, RIVAL, *OTHERS)}
        self._pieces = list(itertools.islice(pieces(SEED), LOTS))
        self._clock = self._now()
        self._names: set[str] = set()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def furnish(self) -> None:
        """Put up all lots, and bid on them."""
        self._put_up("sold", "teapot")
        self._put_up("unsold", "chair", reservePrice="250")
        self._put_up("seller", "violin", ends=timedelta(hours=7, minutes=20), reservePrice="1400")
        self._put_up("leading", "clock", ends=timedelta(hours=2, minutes=11), reservePrice="1500")
        self._put_up("outbid", "camera", ends=timedelta(minutes=48))
        soft = {"window": 1800, "extension": 1740, "cap": None}
        self._put_up("soft", "globe", ends=timedelta(minutes=12), softClose=soft)
        self._put_up("fresh", "painting", ends=timedelta(days=1, hours=4), buyNowPrice="1900")
        self._put_up("scheduled", "ring", starts=timedelta(days=1), ends=timedelta(days=3), reservePrice="1200")
        self._put_up("open", "books")
        self._put_up("won", "lamp")
        others = [piece for piece in self._pieces if piece.name not in self._names]
        for number, piece in enumerate(others):
            ends = timedelta(hours=9 + 5 * number, minutes=7 * number)
            self._put_up(f"other{number}", piece.thing, ends=ends, views=1)
            self._duel(f"other{number}", number % 4, OTHERS)
        self._bid_everywhere()

    def staff(self) -> None:
        """Do what staff does, as the owner: clerks, warnings and bans, an invitation."""
        token = self._tokens[OWNER] = self.log_in(OWNER)
        self._ask(
            "PUT", f"/staff/users/{OTHERS[0]}/role", token, {"role": "clerk", "reason": "At the desk on Saturdays."}
        )
        self._ask("PUT", f"/staff/users/{SELLER}/seller", token, {"approved": True})
        for kind, reason in (("warning", "Be polite to sellers."), ("suspension", "Two lots were not paid for.")):
            sanction = {"kind": kind, "reason": reason}
            if kind == "suspension":
                sanction["until"] = (self._clock + timedelta(days=30)).isoformat()
            self._ask("POST", f"/staff/users/{LATE}/sanctions", token, sanction)
        self._ask("POST", "/staff/invitations", token, {"role": "cataloguer", "mailAddress": None})

    def evening(self) -> None:
        """Have two live sales run: one with a lot on the block, `evening`, and one with a fund-a-need there, `giving`."""
        self._ask("POST", "/consignors", self._tokens[OWNER], CONSIGNOR)
        live = LiveEvening(self._ask, self._tokens, OWNER)
        starts = (self._clock + timedelta(hours=2)).isoformat()
        self.gids["evening"] = live.make("Harbour Club evening sale", starts, self._pieces[:10], (READER, RIVAL))
        live.sell_three(self.gids["evening"], READER, RIVAL)
        self.gids["giving"] = live.make("Boathouse benefit", starts, self._pieces[10:14], (READER,))
        live.give(self.gids["giving"], READER)

    def settled(self, settings: Settings) -> None:
        """Sell the sample catalogue in a live sale, and settle a part of it; `settings` are those of the house."""
        evening = SettledEvening(self._ask, self._http, self._tokens[OWNER], settings)
        starts = (self._clock + timedelta(hours=2)).isoformat()
        evening.sell(starts, {name: self._tokens[name] for name in (READER, RIVAL)})
        evening.settle()
        self.gids |= {**evening.names, "today": self._clock.date().isoformat()}

    def log_in(self, name: str, agent: str = AGENT) -> str:
        """Log in once more, and return the token."""
        account = {"username": name, "password": PASSWORD}
        return str(self._ask("POST", "/login", body=account, **{"User-Agent": agent})["token"])

    def bid(self, lot: str, name: str, **bid: str) -> None:
        """Bid on a lot as a given user."""
        self._ask("POST", f"/auctions/{self.gids[lot]}/bids", self._tokens[name], bid)

    def _bid_everywhere(self) -> None:
        self._duel("leading", 7, (RIVAL, *OTHERS))
        self.bid("leading", READER, maximum="2200")
        self._duel("leading", 3, OTHERS)
        self._duel("outbid", 6, (READER, *OTHERS))
        self.bid("outbid", READER, maximum="350")
        self.bid("outbid", RIVAL, maximum="600")
        self._duel("soft", 9, (RIVAL, READER, *OTHERS))
        self._duel("seller", 11, (RIVAL, READER, *OTHERS))
        self._duel("open", 4, (RIVAL, *OTHERS))
        for lot, bids, winner in (("sold", 9, RIVAL), ("unsold", 5, RIVAL), ("won", 6, READER)):
            self._duel(lot, bids, (RIVAL, READER, *OTHERS) if lot == "sold" else (RIVAL, *OTHERS))
            self.bid(lot, winner, maximum="190")
            self._ask("POST", f"/auctions/{self.gids[lot]}/close", self._tokens[SELLER], {})
        for lot in ("fresh", "scheduled", "other3"):
            self._ask("PUT", f"/auctions/{self.gids[lot]}/watch", self._tokens[READER])
        for agent in AGENTS:
            self.log_in(READER, agent)

    def _put_up(
        self,
        word: str,
        thing: str,
        *,
        starts: timedelta | None = None,
        ends: timedelta | None = None,
        views: int = len(VIEWS),
        **terms: Any,
    ) -> None:
        piece = self._take(thing)
        token = self._tokens[SELLER]
        photos = [self._ask("POST", "/photos", token, piece.picture(view))["id"] for view in range(views)]
        draft = {
            "name": piece.name,
            "description": piece.description,
            "startingPrice": str(Decimal(piece.estimate[0]) * 4 // 10),
            **({} if starts is None else {"startsAt": (self._clock + starts).isoformat()}),
            **({} if ends is None else {"endsAt": (self._clock + ends).isoformat()}),
            **terms,
        }
        self.gids[word] = gid = self._ask("POST", "/auctions", token, draft)["gid"]
        self._ask("PUT", f"/auctions/{gid}/photos", token, {"photos": photos})

    def _take(self, thing: str) -> Piece:
        """Return the first piece of a kind that is not for sale yet."""
        found = next(piece for piece in self._pieces if piece.thing == thing and piece.name not in self._names)
        self._names.add(found.name)
        return found

    def _duel(self, lot: str, bids: int, bidders: tuple[str, ...]) -> None:
        """Have several people bid the least next bid in turn."""
        gid = self.gids[lot]
        for name in itertools.islice(itertools.cycle(bidders), bids):
            shown = self._ask("GET", f"/auctions/{gid}")
            if shown["currentBidder"] != name:
                self.bid(lot, name, amount=shown["minimumBid"])

    def _enter(self, name: str) -> str:
        self._ask("POST", "/users", body={"username": name, "password": PASSWORD})
        return self.log_in(name)

    def _now(self) -> datetime:
        created = self._ask("GET", "/me", self._tokens[OTHERS[-1]])["createdAt"]
        return datetime.fromisoformat(created)

    def _ask(self, method: str, path: str, token: str | None = None, body: Any = None, **headers: str) -> Any:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if isinstance(body, bytes):
            answer = self._http.request(method, path, content=body, headers=headers | {"Content-Type": "image/webp"})
        else:
            answer = self._http.request(method, path, json=body, headers=headers)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None
