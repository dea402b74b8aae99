"""A live sale in the middle of its evening, and one whose fund-a-need is on the block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from saleroom.tools.demo.catalogue import Piece

Ask = Callable[..., Any]
CONSIGNOR = {"code": "K7", "name": "The Harbour Collection", "contact": "0421 1234"}
GUESTS = (("Anna Ahrens", 12), ("Bernd Boehm", 45), ("Clara Okonkwo", 46))
LEVELS, GOAL = ["1000", "500", "250", "100", "50"], "5000"


class LiveEvening:
    """Two live sales, made by the owner over HTTP; `tokens` are those of users by name."""

    def __init__(self, ask: Ask, tokens: Mapping[str, str], owner: str) -> None:
        self._ask = ask
        self._tokens = tokens
        self._owner = owner
        self._token = tokens[owner]

    def make(self, title: str, starts: str, pieces: list[Piece], online: tuple[str, ...]) -> str:
        """Publish a sale with a lot for each piece and a fund-a-need after the second one, and return its gid."""
        terms = {"title": title, "venue": "Harbour Hall, Quay 4", "kind": "live", "names": "paddles"}
        made = self._ask("POST", "/sales", self._token, {**terms, "registration": "open", "startsAt": starts})
        gid = str(made["gid"])
        for number, piece in enumerate(pieces, 1):
            self._ask("POST", f"/sales/{gid}/lots", self._token, self._lot(piece, has_reserve=number % 3 == 0))
            if number == 2:
                need = {"name": "A new roof for the boathouse", "levels": LEVELS, "goal": GOAL}
                self._ask("POST", f"/sales/{gid}/lots", self._token, need)
        self._ask("POST", f"/sales/{gid}/publish", self._token)
        for name, paddle in GUESTS:
            guest = {"personName": name, "contact": "in the hall", "paddle": paddle}
            self._ask("POST", f"/sales/{gid}/participants", self._token, guest)
        for user in online:
            self._ask("PUT", f"/sales/{gid}/registration", self._tokens[user])
        return gid

    def sell_three(self, gid: str, reader: str, rival: str) -> None:
        """Sell two lots, take pledges, and leave the next lot on the block at its fair warning: `reader` is outbid."""
        for label, paddle, times in (("5", 45, 6), ("6", 46, 3)):
            maximum = str(self._ask_of(gid, label) * times)
            self._ask("POST", f"/sales/{gid}/book", self._token, {"paddle": paddle, "label": label, "maximum": maximum})
        self._act(gid, "call")
        self._floor(gid, 12)
        self._floor(gid, 46)
        self._act(gid, "sell")
        self._act(gid, "call")
        self._floor(gid, 45)
        self._online(gid, reader)
        self._act(gid, "sell")
        self._give(gid, reader)
        self._act(gid, "sell")
        self._act(gid, "call")
        self._floor(gid, 12)
        self._online(gid, reader)
        self._floor(gid, 46)
        self._online(gid, rival)
        self._act(gid, "warn")

    def give(self, gid: str, reader: str) -> None:
        """Pass what comes before the fund-a-need, and take its first pledges."""
        for _ in range(2):
            self._act(gid, "call")
            self._act(gid, "pass")
        self._give(gid, reader)

    def _give(self, gid: str, reader: str) -> None:
        self._act(gid, "call")
        self._pledge(gid, 12, "1000")
        self._act(gid, "level")
        self._pledge(gid, 46, "500")
        self._act(gid, "level")
        for paddle in (12, 45, 46):
            self._pledge(gid, paddle, "250")
        self._ask("POST", f"/sales/{gid}/pledges", self._tokens[reader], {"amount": "250"})

    def _lot(self, piece: Piece, *, has_reserve: bool) -> dict[str, Any]:
        low, high = piece.estimate
        photo = self._ask("POST", "/photos", self._token, piece.picture(0))["id"]
        return {
            "name": piece.name,
            "description": piece.description,
            "startingPrice": str(Decimal(low) * 4 // 10),
            "reservePrice": str(low) if has_reserve else None,
            "estimateFrom": str(low),
            "estimateTo": str(high),
            "consignor": CONSIGNOR["code"],
            "photos": [photo],
        }

    def _ask_of(self, gid: str, label: str) -> Decimal:
        lots = self._ask("GET", f"/sales/{gid}/lots", self._token)["lots"]
        return Decimal(next(lot["auction"]["minimumBid"] for lot in lots if lot["label"] == label))

    def _block(self, gid: str) -> Any:
        return self._ask("GET", f"/sales/{gid}/block", self._token)

    def _act(self, gid: str, act: str, **said: Any) -> None:
        self._ask("POST", f"/sales/{gid}/block", self._token, {"act": act, "seen": self._block(gid)["tag"], **said})

    def _floor(self, gid: str, paddle: int) -> None:
        self._act(gid, "bid", amount=self._block(gid)["onBlock"]["auction"]["minimumBid"], paddle=paddle)

    def _online(self, gid: str, user: str) -> None:
        lot = self._block(gid)["onBlock"]
        bid = {"amount": lot["auction"]["minimumBid"]}
        self._ask("POST", f"/auctions/{lot['gid']}/bids", self._tokens[user], bid)

    def _pledge(self, gid: str, paddle: int, amount: str) -> None:
        self._act(gid, "pledge", paddle=paddle, amount=amount)
