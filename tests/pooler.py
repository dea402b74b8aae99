"""A real PgBouncer in transaction mode: each transaction may get another connection to the server than the one before."""

import os
import socket
import subprocess
import time
from pathlib import Path

from sqlalchemy import URL, make_url

from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX


class PgBouncer:
    """PgBouncer before the server of `database_url`, on a separate port, with at most `connections` to the server."""

    def __init__(self, folder: Path, database_url: str, connections: int = 8) -> None:
        self._behind = make_url(database_url)
        self._port = free_port()
        self._log = folder / f"pgbouncer-{self._port}.log"
        self._config = folder / f"pgbouncer-{self._port}.ini"
        self._config.write_text(
            f"[databases]\n* = {_address(self._behind)}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self._port}\nunix_socket_dir =\n"
            f"pool_mode = transaction\nauth_type = any\nmax_client_conn = 500\ndefault_pool_size = {connections}\n"
            # How long it waits before it tries an unreachable server again; 15 s by default.
            "server_login_retry = 0.2\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The database's URL through the pooler."""
        through = URL.create(
            "postgresql", "saleroom", host="127.0.0.1", port=self._port, database=self._behind.database
        )
        return through.render_as_string(hide_password=False)

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [need("pgbouncer"), str(self._config)]
        if os.geteuid() == 0:
            command[1:1] = ["--user", _harmless(self._behind)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
                return
            except OSError:
                told = self._log.read_text()
                assert self._process.poll() is None and time.monotonic() < deadline, f"PgBouncer did not start: {told}"
                time.sleep(0.02)

    def kill(self) -> None:
        """Kill it, and with it every connection."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _address(url: URL) -> str:
    """PgBouncer's address of the server, in its own syntax; every client is admitted as the user of `url`."""
    host = url.host or url.query.get("host")
    parts = {"host": host, "port": url.port, "user": url.username, "password": url.password}
    return " ".join(f"{key}='{value}'" for key, value in parts.items() if value)


def _harmless(url: URL) -> str:
    """The user to run it as, since it refuses to be root: one that can open the server's socket."""
    socket_folder = url.query.get("host")
    return Path(str(socket_folder)).owner() if socket_folder else "nobody"
