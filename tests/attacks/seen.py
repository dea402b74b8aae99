"""Attacks on what people see: prices that change before the click, and secrets that leave traces."""

import base64
import binascii
import html
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx

from tests.attacks.table import Attack
from tests.attacks.target import Target, TargetUser, request
from tests.patience import SECONDS_MAX

EVENTS = 510
RAISES = 7
AT_ONCE = 40
"""So many bids are sent before their answers are read."""


def bait_by_form(target: Target) -> str | None:
    """A seller raises the price to buy between the confirmation and the click: nothing may be bought."""
    seller, buyer = target.enter(2)
    gid = target.lot(seller, buyNowPrice="50")
    with _browser(target, buyer) as http:
        form = _send(http, f"/lots/{gid}", f"/lots/{gid}/buy")
        _amend(target, seller, gid, buyNowPrice="99999")
        _submit(http, form, f"/lots/{gid}/buy")
    return _bought(target, gid)


def bait_by_limit(target: Target) -> str | None:
    """A seller turns the lot into another between the confirmation of a limit and the click: no bid may be placed."""
    seller, bidder = target.enter(2)
    gid = target.lot(seller, name="Longcase clock")
    with _browser(target, bidder) as http:
        form = _send(http, f"/lots/{gid}", f"/lots/{gid}/bid", amount="", maximum="500")
        _amend(target, seller, gid, name="A brick", startingPrice="490")
        _submit(http, form, f"/lots/{gid}/bid")
    return _bought(target, gid)


def bait_by_program(target: Target) -> str | None:
    """A program that names the price or version at which it buys is refused if that has changed."""
    seller, buyer = target.enter(2)
    for said in ({"price": "50"}, {}):
        gid = target.lot(seller, buyNowPrice="50")
        with target.client(buyer) as http:
            tag = http.get(f"/auctions/{gid}").headers["ETag"]
            _amend(target, seller, gid, buyNowPrice="99999")
            headers = {} if said else {"If-Match": tag}
            answer = http.post(f"/auctions/{gid}/buy", json=said, headers=headers)
        if (found := _bought(target, gid)) or answer.status_code not in (409, 412):
            return f"{said or 'If-Match'}: {answer.status_code} {found or answer.text[:100]}"
    return None


def unprovable_bait(target: Target) -> str | None:
    """Every change of a lot's photos is in its ledger."""
    from tests import pictures

    seller = target.person()
    gid = target.lot(seller)
    with target.client(seller) as http:
        sent = http.post("/photos", content=pictures.plain(), headers={"Content-Type": "image/jpeg"})
        before = len(http.get(f"/auctions/{gid}/ledger").content)
        http.put(f"/auctions/{gid}/photos", json={"photos": [sent.json()["id"]]}).raise_for_status()
        after = len(http.get(f"/auctions/{gid}/ledger").content)
    return None if after > before else "new photos are not in the ledger"


def lost_bid(target: Target) -> str | None:
    """A limit that the database has lost, as after a fail-over to a late standby, must not decide anything."""
    seller, leader, other = target.enter(3)
    gid = target.lot(seller)
    begun = target.rows(gid)
    assert target.bid(leader, gid, maximum="100").status_code == 201
    kept = target.rows(gid)
    target.put_back(begun)
    assert target.bid(leader, gid, maximum="500").status_code == 201
    target.put_back(kept)
    answer = target.bid(other, gid, maximum="200")
    if answer.status_code == 201 and answer.json()["leading"]:
        return None
    return f"a bid of 200 over a limit of 100: {answer.status_code} {answer.text[:200]}"


def marks_in_cursors(target: Target) -> str | None:
    """The cursor of a list tells nothing about hidden events or other internals."""
    seller, bidder = target.enter(2)
    gid = target.lot(seller)
    target.lot(seller)
    target.bid(bidder, gid, maximum="50")
    with target.client() as http:
        for raised, sort in enumerate(("ending", "newest", "price"), 60):
            before = http.get("/auctions", params={"sort": sort, "limit": 1}).json()["next"]
            assert target.bid(bidder, gid, maximum=str(raised)).status_code == 201
            after = http.get("/auctions", params={"sort": sort, "limit": 1}).json()["next"]
            for cursor in (before, after):
                if _plain(cursor):
                    return f"a cursor by {sort} can be read: {_plain(cursor)!r}"
            if len(before) != len(after):
                return f"cursors by {sort} have {len(before)} and {len(after)} characters"
    return None


def marks_in_ledgers(target: Target) -> str | None:
    """The pieces of a streamed ledger do not tell how often a limit was raised."""
    once, often = _pieces(target, 1), _pieces(target, RAISES)
    return None if once == often else f"pieces of {once} lines after one secret raise, of {often} after {RAISES}"


def _pieces(target: Target, raises: int) -> list[int]:
    """Return how many lines each piece of a ledger has after the first leader has raised the limit in so many steps."""
    seller, one, two = target.enter(3)
    gid = target.lot(seller)

    def bid(bidder: TargetUser, **asked: str) -> bytes:
        return request("POST", f"/auctions/{gid}/bids", bidder.token, asked)

    raised = (bid(one, maximum=f"10.{last:03}") for last in range(RAISES - raises + 1, RAISES + 1))
    bids = [bid(one, amount="10"), *raised, *(bid((one, two)[n % 2], amount=str(10 + n)) for n in range(1, EVENTS))]
    with target.raw() as raw:
        for start in range(0, len(bids), AT_ONCE):
            several = bids[start : start + AT_ONCE]
            raw.send(b"".join(several))
            for _ in several:
                answer = raw.answer()
                assert answer is not None and answer.status == 201, answer
    return _chunks(target, gid)


def guessed_forgery_token(target: Target) -> str | None:
    """An attacker who can set a cookie must not know the form token that belongs to it."""
    import hashlib
    import hmac

    bound = "chosen-by-somebody-else"
    token = hmac.digest(bound.encode(), b"saleroom forgery token", hashlib.sha256)
    sent = (bytes(len(token)) + token).hex()
    with httpx.Client(base_url=target.url, cookies={"saleroom_csrf": bound}) as http:
        answer = http.post("/session", data={"csrfToken": sent, "username": "nobody", "password": "correct horse"})
    return None if answer.status_code == 403 else f"a form with a computed token: {answer.status_code}"


def _chunks(target: Target, gid: str) -> list[int]:
    with target.raw() as raw:
        raw.send(f"GET /auctions/{gid}/ledger HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := raw.socket.recv(65536):
            data += part
    lines, body = [], data.partition(b"\r\n\r\n")[2]
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        lines.append(rest[:length].count(b"\n"))
        body = rest[length + 2 :]
    return lines


def _plain(cursor: str) -> Any:
    """Return the decoded content of a cursor, None if it cannot be decoded."""
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        data = base64.urlsafe_b64decode(padded)
        return json.loads(data)
    except (binascii.Error, ValueError):
        return None


def _browser(target: Target, person: TargetUser) -> httpx.Client:
    return httpx.Client(base_url=target.url, cookies={"saleroom_session": person.token}, timeout=SECONDS_MAX)


def _send(http: httpx.Client, page: str, action: str, **typed: str) -> dict[str, str]:
    """Open a page, send one of its forms, and return the fields of the confirmation."""
    first = _fields(http.get(page).text, action)
    answer = http.post(action, data=first | typed)
    assert answer.status_code == 200, answer.text
    return _fields(answer.text, action)


def _submit(http: httpx.Client, form: dict[str, str], action: str) -> httpx.Response:
    assert "confirmed" in form, "the page asks for a confirmation"
    return http.post(action, data=form)


def _fields(page: str, action: str) -> dict[str, str]:
    """Return the fields of the form that goes to `action`, as a browser would send them."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', page, re.DOTALL)
    assert form is not None, f"no form for {action}"
    return dict(_inputs(form[0]))


def _inputs(form: str) -> Iterator[tuple[str, str]]:
    for tag in re.findall(r"<(?:input|button)[^>]*>", form):
        name, value = (re.search(rf'\b{word}="([^"]*)"', tag) for word in ("name", "value"))
        if name is not None:
            yield name[1], html.unescape(value[1]) if value is not None else ""


def _amend(target: Target, seller: TargetUser, gid: str, **terms: str) -> None:
    with target.client(seller) as http:
        http.patch(f"/auctions/{gid}", json=terms).raise_for_status()


def _bought(target: Target, gid: str) -> str | None:
    with target.client() as http:
        lot = http.get(f"/auctions/{gid}").json()
    return None if lot["bidCount"] == 0 else f"{lot['name']} went at {lot['currentBid']}, and nobody saw that"


ATTACKS = (
    Attack("2", "another price behind a confirmation", bait_by_form),
    Attack("2", "another lot behind a confirmed limit", bait_by_limit),
    Attack("2", "another price behind a program's request", bait_by_program),
    Attack("2", "photos changed without a trace", unprovable_bait),
    Attack("3", "a bid that the database has lost", lost_bid),
    Attack("11", "a secret raise in a cursor", marks_in_cursors),
    Attack("11", "a secret raise in a ledger's pieces", marks_in_ledgers),
    Attack("14", "a forgery token made from its cookie", guessed_forgery_token),
)
