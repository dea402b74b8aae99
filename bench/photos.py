"""Photos: rows that the house serves, beside the same bytes as files that nginx serves."""

from __future__ import annotations

import base64
import hashlib
import os
import random
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert

from bench import bidding, data
from bench.bidding import Interval
from bench.results import Reading
from bench.servers import House, Program, free_port, program
from bench.stage import Stage
from bench.wrk import Load
from saleroom.bidding.storage import tables

PHOTOS = 100
WIDTH = 480
BYTES = 30_000
"""As many as a card of a list has in its usual width."""
CONNECTIONS = 64


class Nginx(Program):
    """nginx with one process, which serves the files of a folder as its own documentation advises (sendfile)."""

    def __init__(self, folder: Path, root: Path) -> None:
        port = free_port()
        config = folder / "nginx.conf"
        config.write_text(
            "daemon off; worker_processes 1; error_log stderr; pid nginx.pid;"
            + ("user root;" if os.geteuid() == 0 else "")
            + "events { worker_connections 1024; }"
            "http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;"
            "types { image/webp webp; } open_file_cache max=1000;"
            f"server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n"
        )
        super().__init__([program("nginx"), "-p", str(folder), "-c", str(config)], folder / "nginx.log")
        self.url = f"http://127.0.0.1:{port}"
        self.until_it_answers(port)


def served(stage: Stage, kind: str) -> Reading:
    """Return the photos per second that a house serves from the rows of a database of `kind`."""
    with stage.database(kind) as url:
        data.on(url, _insert)
        with House(stage.folder, url) as house:
            return _answers(stage, house, stage.server_pid(kind))


def files(stage: Stage) -> Reading:
    """Return the same of nginx, for the same bytes as files. Raises BenchError if nginx is missing."""
    root = stage.folder / "files"
    for path, found in _files().items():
        file = root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(found)
    stage.folder.chmod(0o755)
    with Nginx(stage.folder, root) as nginx:
        return _answers(stage, nginx, None)


def _answers(stage: Stage, server: Program, database: int | None) -> Reading:
    paths = stage.folder / "photos.txt"
    paths.write_text("".join(f"{path}\n" for path in _files()))
    load = Load(script="paths.lua", tokens=stage.tokens, gids=paths, connections=CONNECTIONS)
    interval = Interval(server.pid, database)
    _, summary = bidding.run_load(stage, server, load, interval)
    rate = summary.per_second
    return Reading(value=rate, figures=bidding.figures(summary, interval, round(rate * interval.seconds)))


def _files() -> dict[str, bytes]:
    """Return the files by their addresses, the same each time."""
    chance = random.Random(1)
    names = [base64.urlsafe_b64encode(chance.randbytes(12)).decode() for _ in range(PHOTOS)]
    return {f"/photos/{name}/{WIDTH}.webp": chance.randbytes(BYTES) for name in names}


def _insert(connection: Connection) -> None:
    now = datetime.now(UTC)
    for number, (path, found) in enumerate(_files().items(), 1):
        row = {"id": number, "gid": path.split("/")[2], "owner_id": 1, "width": WIDTH, "height": WIDTH}
        connection.execute(insert(tables.photos), row | {"created_at": now, "unplaced_at": now})
        file = {"photo_id": number, "width": WIDTH, "digest": hashlib.sha256(found).hexdigest(), "bytes": found}
        connection.execute(insert(tables.photo_files), file)
