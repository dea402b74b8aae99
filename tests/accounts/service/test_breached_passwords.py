"""Breached passwords: found in a file or a folder of ranges, and refused wherever a password is chosen."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from saleroom.accounts.domain.errors import BreachedPassword
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.breached_passwords import BreachedPasswords
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.throttle import Registrations
from saleroom.kernel.errors import Refusal
from saleroom.storage.database import Database
from tests.bidding.api.answers import refusal
from tests.fixtures_house import PASSWORD, ServeHouse

pytestmark = pytest.mark.databases("sqlite")

STOLEN = [f"stolen {number}" for number in range(300)]
HERE = "192.0.2.1"


def sha1(password: str) -> str:
    """Return the hash of a password as the list has it."""
    return hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()


def listed(path: Path, passwords: list[str] = STOLEN, end: str = "\r\n") -> BreachedPasswords:
    """Write a list into one file, as it is published."""
    lines = sorted(f"{sha1(password)}:{7 ** (place % 20)}" for place, password in enumerate(passwords))
    path.write_bytes(end.join(lines).encode() + (end.encode() if end == "\n" else b""))
    return BreachedPasswords(path)


def ranges(folder: Path) -> BreachedPasswords:
    """Write a list into a folder of ranges; a count of 0 is padding."""
    found: dict[str, list[str]] = {name: ["0" * 34 + "1:3"] for name in ("00000", "7FFFF", "FFFFF")}
    for password in STOLEN:
        found.setdefault(sha1(password)[:5], []).append(f"{sha1(password)[5:]}:2")
    found.setdefault(sha1("padding")[:5], []).append(f"{sha1('padding')[5:]}:0")
    folder.mkdir()
    for name, lines in found.items():
        (folder / f"{name}.txt").write_text("\r\n".join(sorted(lines)))
    return BreachedPasswords(folder)


def is_breached(breached: BreachedPasswords, password: str) -> bool:
    """Return whether the list refuses a password."""
    try:
        breached.refuse(password)
    except BreachedPassword:
        return True
    return False


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 300])
def test_every_line_of_a_file_is_found(tmp_path: Path, end: str, size: int) -> None:
    """Every password of a sorted file is found, the first and the last too, and no other is."""
    breached = listed(tmp_path / "list.txt", STOLEN[:size], end)
    breached.check()
    assert STOLEN[:size] == [password for password in STOLEN if is_breached(breached, password)]
    assert not any(is_breached(breached, f"another {number}") for number in range(300))


def test_every_line_of_the_ranges_is_found(tmp_path: Path) -> None:
    """Every password of the folder is found, and no other: neither padding with the count 0 nor one whose range has no file."""
    breached = ranges(tmp_path / "ranges")
    breached.check()
    assert all(is_breached(breached, password) for password in STOLEN)
    assert not is_breached(breached, "padding")
    assert not any(is_breached(breached, f"another {number}") for number in range(300))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"password\n123456\n", "no SHA-1 hash"),
        (b"8846F7EAEE8FB117AD06BDD830B7586C:9\n", "no SHA-1 hash"),  # the list of NTLM hashes
        (b"F" * 40 + b":1\n" + b"0" * 40 + b":1\n", "not sorted"),
        (b"\x00" * 4096, "no SHA-1 hash"),
        (b"x" * 100_000, "no SHA-1 hash"),
        (None, "No such file"),
    ],
)
def test_a_wrong_list_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    """A file that is no such list is refused at the start, by its name, with what it should be."""
    file = tmp_path / "list.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Refusal, match=f"breached_passwords: .*{said}.*Have I Been Pwned"):
        BreachedPasswords(file).check()


def test_a_wrong_folder_is_said(tmp_path: Path) -> None:
    """A folder without ranges is refused at the start."""
    with pytest.raises(Refusal, match="has no file 00000"):
        BreachedPasswords(tmp_path).check()
    (tmp_path / "00000").write_text("nonsense")
    with pytest.raises(Refusal, match="00000 does not begin"):
        BreachedPasswords(tmp_path).check()


def test_a_list_that_is_gone_stops_nobody(tmp_path: Path) -> None:
    """If the file is taken away while the house serves, passwords can still be chosen."""
    breached = listed(tmp_path / "list.txt")
    (tmp_path / "list.txt").unlink()
    assert not is_breached(breached, STOLEN[0])


@pytest.fixture
def passwords(tmp_path: Path) -> Iterator[Passwords]:
    """The two threads for digests, with a list."""
    passwords = Passwords(listed(tmp_path / "list.txt"))
    yield passwords
    passwords.close()


async def test_nobody_chooses_a_breached_password(database: Database, passwords: Passwords) -> None:
    """Such a password is refused at a registration, a change, and by the command line; one from before still logs in."""
    house = Accounts(database, passwords, Registrations(database, 10))
    for refused in (house.register("ada", STOLEN[0], HERE), house.add("ada", STOLEN[0])):
        with pytest.raises(BreachedPassword):
            await refused
    plain = Passwords()
    await Accounts(database, plain, None).add("ada", STOLEN[1])
    plain.close()
    token = (await house.log_in("ada", STOLEN[1], HERE)).value
    with pytest.raises(BreachedPassword):
        await house.change_password(token, STOLEN[1], STOLEN[2], HERE)
    with pytest.raises(BreachedPassword):
        await house.set_password("ada", STOLEN[2])
    await house.change_password(token, STOLEN[1], "correct horse", HERE)


def test_over_http(serve_house: ServeHouse, tmp_path: Path) -> None:
    """The refusal is 422 `breached_password`, and makes no account."""
    listed(tmp_path / "list.txt", [*STOLEN, "12345678"])
    house = serve_house(breached_passwords=tmp_path / "list.txt")
    account = {"username": "eve", "password": "12345678"}
    assert (422, "breached_password") == refusal(house.anyone.post("/users", json=account))
    assert 201 == house.anyone.post("/users", json={**account, "password": PASSWORD}).status_code
