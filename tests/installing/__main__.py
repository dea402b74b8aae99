"""`make install-trial`: the package for Debian, installed, used, upgraded, removed and purged on a fresh machine.

It builds the package twice, with two versions, and takes some minutes. tests/installing/machine.py says what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from scripts.deb import build
from tests.installing.machine import PYTHONS, Machine
from tests.process import wait_until

ROOT = Path(__file__).parents[2]
FOLDER = Path(tempfile.gettempdir()) / "saleroom-machines"
HANGING_SECONDS_MAX = 300
"""Longer than the unit's WatchdogSec and a start."""
DATA = "/var/lib/saleroom/saleroom.db"


def say(words: str) -> None:
    """Tell the person who waits."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def visit(machine: Machine, *words: str) -> dict[str, Any]:
    """Visit the house from within the machine's network, with the Python of this machine."""
    command = ("env", f"--chdir={ROOT}", sys.executable, "-m", "tests.installing.visit", *words)
    found: dict[str, Any] = json.loads(machine.do(*command, within="n"))
    return found


def installed(machine: Machine, old: Path) -> dict[str, Any]:
    """Install the package: the house serves under its unit. Use it; return what must stay."""
    machine.do("dpkg", "--install", machine.put(old))
    assert "active" == machine.do("systemctl", "is-active", "saleroom").strip()
    shown = machine.do("systemctl", "show", "saleroom", "--property=StatusText,MainPID,NRestarts")
    assert "saleroom serves on http://127.0.0.1:9000" in shown, shown
    state = machine.do("sh", "-c", "cat /proc/$(systemctl show --value -p MainPID saleroom)/status")
    facts = dict(line.split(":", 1) for line in state.splitlines() if ":" in line)
    confined = {name: facts[name].strip() for name in ("NoNewPrivs", "Seccomp", "CapBnd")}
    assert {"NoNewPrivs": "1", "Seccomp": "2", "CapBnd": "0" * 16} == confined
    say(f"  it serves as its own user, confined: {confined}")
    sold = visit(machine, "sell")
    say(f"  sold, with a photo: {sold}")
    machine.do("saleroom", "users", "role", "ada", "owner")
    say(f"  a catalogue is printed: {visit(machine, 'paper')}")
    doctor = machine.run("saleroom", "doctor", "--json")
    faults = [each for each in json.loads(doctor.stdout)["findings"] if each["level"] == "fault"]
    assert [] == faults, faults
    say("  the doctor finds no fault")
    return sold


def configured(machine: Machine, sold: dict[str, Any]) -> None:
    """A secret is taken from its file, a wrong setting stops the start for good, and a killed house comes back."""
    secret = machine.path("/etc/saleroom/secrets/load_key")
    secret.write_text("a-key-for-load-tests\n")
    machine.do("chown", "root:saleroom", "/etc/saleroom/secrets/load_key")
    secret.chmod(0o640)
    machine.do("systemctl", "restart", "saleroom")
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    assert "saleroom_load_key" in machine.do(
        "sh", "-c", "ls /proc/$(systemctl show --value -p MainPID saleroom)/root/run/credentials/saleroom.service"
    )
    secret.write_text("short")
    assert machine.run("systemctl", "restart", "saleroom").returncode != 0
    assert "failed" == machine.run("systemctl", "is-active", "saleroom").stdout.strip()
    assert "load_key" in machine.do("journalctl", "-u", "saleroom", "-n", "20", "--no-pager")
    secret.unlink()
    machine.do("systemctl", "restart", "saleroom")
    say("  a secret comes from its file; a wrong one stops the start, and the log names its file")
    for signal, restarts in (("KILL", "1"), ("STOP", "2")):
        machine.do("systemctl", "kill", "--kill-whom=main", f"--signal={signal}", "saleroom")
        wait_until(partial(_restarted, machine, restarts), HANGING_SECONDS_MAX)
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    say("  a killed house and one that hangs are started again, with all data")


def _restarted(machine: Machine, times: str) -> bool:
    """Say whether systemd has started the house again so many times, and it serves."""
    shown = machine.do("systemctl", "show", "--value", "-p", "NRestarts,ActiveState", "saleroom").split()
    return sorted(shown) == [times, "active"]


def upgraded(machine: Machine, new: Path, version: str, sold: dict[str, Any]) -> None:
    """Install the next version over it: changed settings and data stay, and a copy of the database is there."""
    settings = machine.path("/etc/saleroom/saleroom.toml")
    settings.write_text(settings.read_text() + 'house_name = "The Clockroom"\n')
    machine.do("dpkg", "--install", machine.put(new))
    assert "active" == machine.do("systemctl", "is-active", "saleroom").strip()
    assert version in machine.do("dpkg-query", "-W", "saleroom")
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    assert "The Clockroom" in settings.read_text()
    assert "root saleroom 640" == machine.do("stat", "-c", "%U %G %a", "/etc/saleroom/saleroom.toml").strip()
    machine.do("saleroom", "verify", "--database", f"sqlite:////var/backups/saleroom/before-{version}.db")
    say("  upgraded: the data and changed settings are there, and so is a copy of the database that verifies")


def rebooted(machine: Machine, sold: dict[str, Any]) -> None:
    """The machine restarts: the house comes back by itself."""
    machine.shut_down()
    machine.boot()
    wait_until(lambda: machine.run("systemctl", "is-active", "saleroom").stdout.strip() == "active")
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    say("  after a restart of the machine the house serves by itself")


def removed(machine: Machine, new: Path, sold: dict[str, Any]) -> None:
    """Remove, install again, purge with "no", then with "yes": data go at the very last step alone."""
    machine.do("dpkg", "--remove", "saleroom")
    assert machine.path(DATA).exists() and not machine.path("/usr/lib/saleroom").exists()
    machine.do("dpkg", "--install", machine.put(new))
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    machine.do("dpkg", "--purge", "saleroom")
    assert machine.path(DATA).exists() and not machine.path("/etc/saleroom").exists()
    machine.do("dpkg", "--install", machine.put(new))
    assert sold["ledger"] == visit(machine, "look", sold["gid"])["ledger"]
    answer = "saleroom saleroom/remove-data boolean true"
    machine.do("sh", "-c", f"echo {answer} | debconf-set-selections && dpkg --purge saleroom")
    assert not machine.path("/var/lib/saleroom").exists() and not machine.path("/var/backups/saleroom").exists()
    say("  removed and purged: the data went only after the question was answered with yes")


def trial(release: str) -> None:
    """Try the package on a fresh machine with this release of Debian. Raises AssertionError with what did not hold."""
    say(f"Building the package for {release}, in two versions")
    packages = FOLDER / "packages"
    old, new = (build(PYTHONS[release], version, packages, quickly=True) for version in ("0.1.0", "0.1.1"))
    say(f"Booting a fresh {release} (the first time it is fetched)")
    with Machine(release, FOLDER) as machine:
        sold = installed(machine, old)
        configured(machine, sold)
        upgraded(machine, new, "0.1.1", sold)
        rebooted(machine, sold)
        removed(machine, new, sold)
    say(f"{release}: all of it holds")


def main() -> None:
    """Read the command line, and try."""
    parser = argparse.ArgumentParser(description="Tries the package for Debian on a fresh machine.")
    parser.add_argument("--on", default="bookworm", choices=PYTHONS, help="release of Debian; bookworm")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("make install-trial needs root, to boot a machine of its own")
    trial(asked.on)


if __name__ == "__main__":
    main()
