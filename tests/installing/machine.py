"""A fresh Debian with systemd as its first process, in namespaces of its own: for trials of what is installed there.

Needs root, debootstrap, systemd-nspawn and nsenter, and a mirror of Debian.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from tests.needs import need
from tests.process import wait_until

MIRROR = "http://deb.debian.org/debian"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
"""Release of Debian -> its version of Python."""
SYSTEM = ("systemd", "systemd-sysv", "dbus", "adduser", "ca-certificates", "debconf", "procps")


class Machine:
    """A machine with the release `release`, whose disk is a folder below `folder`; it has no network but its own."""

    def __init__(self, release: str, folder: Path) -> None:
        self._base, self._disk = folder / f"{release}-base", folder / f"{release}-disk"
        self.release = release
        self._first: psutil.Process | None = None

    def __enter__(self) -> Self:
        """Make its disk, and boot it."""
        for program in ("debootstrap", "systemd-nspawn", "nsenter", "chroot"):
            need(program)
        if not self._base.exists():
            self._make_base()
        shutil.rmtree(self._disk, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(self._base), str(self._disk)], check=True)
        self.boot()
        return self

    def __exit__(self, *_: object) -> None:
        """Switch it off. Its disk stays, to look at."""
        self.shut_down()

    def boot(self) -> None:
        """Start it, until systemd is up."""
        command = ["systemd-nspawn", "-b", "-D", str(self._disk), "--private-network", "--register=no", "--keep-unit"]
        with (self._disk.parent / f"{self.release}.log").open("ab") as log:
            self._nspawn = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self._nspawn.poll() is not None or self._up())
        assert self._nspawn.poll() is None, f"{self._disk.parent}/{self.release}.log says why it does not boot"

    def shut_down(self) -> None:
        """Stop it as `halt` does."""
        if self._first is not None:
            self._first.send_signal(34 + 4)  # SIGRTMIN+4, as systemd(1) says
            self._nspawn.wait(120)
            self._first = None

    def put(self, file: Path) -> str:
        """Copy a file into its folder /root, and return its name there."""
        shutil.copy(file, self._disk / "root" / file.name)
        return f"/root/{file.name}"

    def path(self, name: str) -> Path:
        """Return a file of its disk, as this machine sees it."""
        return self._disk / name.lstrip("/")

    def run(self, *command: str, within: str = "mpniu") -> subprocess.CompletedProcess[str]:
        """Run a command in its namespaces (`nsenter`), and return what came of it."""
        assert self._first is not None
        spaces = [f"-{letter}" for letter in within]
        plain = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        entered = ["nsenter", "-t", str(self._first.pid), *spaces, "--", *command]
        return subprocess.run(entered, env=plain, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def do(self, *command: str, within: str = "mpniu") -> str:
        """Run a command that must succeed, and return its output."""
        done = self.run(*command, within=within)
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _up(self) -> bool:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self._nspawn.pid).children():
                self._first = child
                state = self.run("systemctl", "is-system-running").stdout.strip()
                return state in ("running", "degraded")
        return False

    def _make_base(self) -> None:
        making = self._base.with_suffix(".part")
        shutil.rmtree(making, ignore_errors=True)
        making.parent.mkdir(parents=True, exist_ok=True)
        with (self._base.parent / f"{self.release}.log").open("ab") as log:
            begun = time.monotonic()
            packages = ",".join((*SYSTEM, f"python{PYTHONS[self.release]}"))
            include = ["debootstrap", "--variant=minbase", f"--include={packages}"]
            subprocess.run([*include, self.release, str(making), MIRROR], check=True, stdout=log, stderr=log)
            log.write(f"made in {time.monotonic() - begun:.0f} s\n".encode())
        making.rename(self._base)
