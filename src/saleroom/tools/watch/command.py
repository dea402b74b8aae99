"""The command: from its arguments to options, and from a watch to an exit code."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from contextlib import suppress
from urllib.parse import SplitResult, unquote

from saleroom.kernel.identifiers import GID, GID_BYTES
from saleroom.tools.amounts import in_currency
from saleroom.tools.arguments import bare, find_auction, find_sale, first_line, split
from saleroom.tools.errors import WrongUsage
from saleroom.tools.watch.channel import WatchOptions
from saleroom.tools.watch.display import Lines, LiveView, OutputClosed, display
from saleroom.tools.watch.evening import EveningWatch
from saleroom.tools.watch.http import HttpWatch
from saleroom.tools.watch.mqtt import MqttWatch
from saleroom.tools.watch.sale import Sale

_FORM = "write http://host:port, https://host, or mqtt://user:password@host:port"
GID_LENGTH = GID_BYTES * 4 // 3
"""A gid may begin with hyphens like an option; its length tells it from a misspelt option."""


def read_options(
    url: str,
    gid: str | None,
    *,
    sale: str | None = None,
    after: str | None = None,
    states: bool = True,
    prefix: str | None = None,
    ca_file: str | None = None,
    password_file: str | None = None,
    currency: str | None = None,
) -> WatchOptions:
    """Return the options that the arguments stand for; the address may be that of a lot's page. Raises WrongUsage."""
    parts = split(url, _FORM, ("http", "https", "mqtt", "mqtts"))
    by_mqtt = parts.scheme.startswith("mqtt")
    if by_mqtt and (parts.path.strip("/") or parts.query or parts.fragment):
        raise WrongUsage(f"the address of a broker is its host alone; {_FORM}")
    house = bare(parts)
    lot = find_auction(parts)
    if lot is not None and len(lot.gid) == GID_LENGTH:
        if gid not in (None, lot.gid):
            raise WrongUsage(f"the address is that of the lot {lot.gid}, but {gid} is to be watched; leave one out")
        house, gid = lot.base, lot.gid
    if gid is not None and gid.startswith("--") and len(gid) != GID_LENGTH:
        raise WrongUsage(f"no such option: {gid}")
    if gid is not None and not GID.fullmatch(gid):
        raise WrongUsage(f"{gid!r} is no gid: those are letters, digits, - and _")
    house, sale = _find_sale(parts, house, sale)
    if sale is not None and gid is not None:
        raise WrongUsage("watch one lot or one sale, not both")
    if sale is not None and after is not None:
        raise WrongUsage("--after is for a house or a lot: a sale has two streams, its own and that of its lots")
    if not by_mqtt and (prefix is not None or password_file is not None):
        raise WrongUsage("--prefix and --password-file are for mqtt:// and mqtts:// only")
    if by_mqtt and after is not None:
        raise WrongUsage("--after is for http:// and https:// only: a broker keeps no events")
    if ca_file is not None and not parts.scheme.endswith("s"):
        raise WrongUsage("--ca-file is for https:// and mqtts:// only")
    in_currency(currency)
    prefix = "saleroom/" if prefix is None else prefix
    if not prefix.endswith("/") or re.search(r"[+#\0]", prefix):
        raise WrongUsage("a prefix ends with / and holds no +, # or NUL")
    password = _decoded(parts.password) if password_file is None else first_line(password_file, "password")
    return WatchOptions(
        url=house,
        gid=gid,
        evening=sale,
        after=after,
        states=states,
        prefix=prefix,
        user=_decoded(parts.username),
        password=password,
        ca_file=ca_file,
        currency=currency,
    )


def run(options: WatchOptions, *, json: bool, screen: bool) -> int:
    """Watch until the end or until Ctrl-C; return the exit code. Raises ToolError."""
    try:
        asyncio.run(watch(options, display(json=json, screen=screen)))
    except OutputClosed:
        # Otherwise Python reports the closed output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


async def watch(options: WatchOptions, shown: Lines | LiveView) -> None:
    """Show the sale until it or its lot is over, or until SIGINT or SIGTERM. Raises ToolError."""
    sale = Sale(options.gid, shown, options.evening)
    sale.write_money(options.currency)
    over_http = HttpWatch if options.evening is None else EveningWatch
    channel = MqttWatch(options, sale) if options.url.startswith("mqtt") else over_http(options, sale)
    with shown:
        duties = [asyncio.ensure_future(channel.run()), asyncio.ensure_future(shown.run(sale))]
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, duties[0].cancel)
        try:
            with suppress(asyncio.CancelledError):
                done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
                for duty in done:
                    duty.result()
                sale.conclude()
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)


def _find_sale(parts: SplitResult, house: str, sale: str | None) -> tuple[str, str | None]:
    """Return the address of the house and the gid of the sale; the address may be that of its page. Raises WrongUsage."""
    found = find_sale(parts)
    if found is not None:
        if sale not in (None, found.gid):
            raise WrongUsage(f"the address is that of the sale {found.gid}, but {sale} is to be watched; leave one out")
        house, sale = found.base, found.gid
    if sale is not None and not GID.fullmatch(sale):
        raise WrongUsage(f"{sale!r} is no gid: those are letters, digits, - and _")
    return house, sale


def _decoded(text: str | None) -> str | None:
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError:
        raise WrongUsage("user and password in the URL must be percent-encoded UTF-8") from None
