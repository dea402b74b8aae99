"""Litestream as operators run it, in a process of its own, with its replica in a folder."""

import json
import signal
import subprocess
import sys
from pathlib import Path

LITESTREAM = Path(sys.executable).with_name("litestream")


class LitestreamProcess:
    """`litestream replicate` of one database, with its control socket. It can be frozen, killed and started again."""

    def __init__(self, folder: Path, database: Path, socket: Path | None = None) -> None:
        """Its configuration, replica and log are in `folder`."""
        self.socket = socket or folder / "litestream.sock"
        self.database = database
        self._config = folder / "litestream.yml"
        self._log = folder / "litestream.log"
        replica = {"type": "file", "path": str(folder / "replica")}
        config = {
            "socket": {"enabled": True, "path": str(self.socket)},
            "dbs": [{"path": str(database), "replica": replica}],
        }
        self._config.write_text(json.dumps(config))  # JSON is YAML
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its socket comes a little later."""
        with self._log.open("ab") as log:
            command = [str(LITESTREAM), "replicate", "-config", str(self._config)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def restore(self, output: Path | None = None) -> None:
        """Write the database from the replica, if there is one."""
        place = [] if output is None else ["-o", str(output)]
        command = [str(LITESTREAM), "restore", "-config", str(self._config), "-if-replica-exists", *place]
        subprocess.run([*command, str(self.database)], check=True, capture_output=True)

    def freeze(self) -> None:
        """Make it stand still, with its socket open."""
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
