"""The archive of all that a house holds about one person."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.storage.tables import users
from saleroom.admin import person_export
from saleroom.admin.person_export import archive, parts
from saleroom.areas import TABLES
from saleroom.compose import ENDPOINTS
from saleroom.storage.database import Transaction
from tests import fixtures_house
from tests.admin.furnished import TOKENS, asked, furnish
from tests.fixtures_house import settings_for
from tests.page_routes import page_routes

NOT_PERSONAL = {
    "idempotency",
    "recovery_codes",
    "book_lines",
    "rate_card_versions",
    "rate_choices",
    "journal_entries",
} | {"bank_payments", "payment_files", "after_sale"}
"""Tables that refer to users and hold nothing but digests, answers that are in other files, and what staff enters for others
or for the house: the absentee bids of others are their secret, and are in their own archives as bids."""


def read(url: str, name: str) -> dict[str, Any]:
    """The files of a user's archive, JSON decoded."""

    def write(tx: Transaction) -> bytes:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archived:
            archive(tx, name, archived)
        return target.getvalue()

    with zipfile.ZipFile(io.BytesIO(asked(url, write))) as found:
        assert found.testzip() is None
        return {
            one: json.loads(found.read(one)) if one.endswith(".json") else found.read(one) for one in found.namelist()
        }


@pytest.fixture(scope="module")
def furnished_url(
    house_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a furnished house on each database, which no test changes."""
    for url in fixtures_house._urls(house_kind, request, tmp_path_factory.mktemp("furnished")):
        furnish(url)
        yield url


def test_a_person_gets_all_that_is_theirs(furnished_url: str) -> None:
    """The archive has lots, bids with their limits, photos, questions, lists and notices of its person."""
    ada, ben, cyd = (read(furnished_url, name) for name in ("ada", "ben", "cyd"))
    assert [("ada", "member")] == [(one["username"], one["role"]) for one in ada["account.json"]]
    assert len(ada["lots.json"]) > 3
    assert {"1000.000", "300.000"} <= {one["maximum"] for one in ben["bids.json"]}
    assert {"400.000"} <= {one["maximum"] for one in ben["limits.json"]}
    assert {frozenset({"gid", "maximum"})} == {frozenset(one) for one in ben["limits.json"]}
    assert 3 == len(cyd["questions.json"]) == len(ada["answers.json"])
    assert ["cyd@xn--bcher-kva.example"] == [one["address"] for one in cyd["mail_address.json"]]
    assert ["Cyd, 0171 123"] == [one["contact"] for one in cyd["contact.json"]]
    assert 1 == len(cyd["watch_list.json"]) == len(ada["drafts.json"])
    assert [{"created_at"}] == [{*one} for one in cyd["calendar_link.json"]]
    assert 3 == len(cyd["notices.json"])  # one of them says what staff did, another is for browsers
    assert {"Firefox", None} == {one["agent"] for one in ada["logins.json"]}
    assert b"RIFF" == next(data for name, data in ada.items() if name.startswith("photos/"))[:4]
    for name in ada:
        if name.endswith(".json"):
            assert name in ada["README.txt"].decode(), name


def test_it_has_no_secret_and_nobody_else(furnished_url: str) -> None:
    """No digest, token, seed or limit of another is in an archive, and no name of another person."""
    ada = read(furnished_url, "ada")
    text = json.dumps({name: value for name, value in ada.items() if name.endswith(".json")})
    for secret in (*TOKENS.values(), "password_digest", '"token"', '"seed"', "ben", "0171 123", "xn--bcher"):
        assert secret not in text, secret


def test_what_it_says_of_pages_and_addresses_is_so() -> None:
    """Each address that its README names is one of the house."""
    found = re.findall(r"(?:GET )?(/[a-z]+/GID/[a-z]+)", person_export.README)
    paths = [endpoint.path for endpoint in ENDPOINTS] + [route.path for route in page_routes()]
    assert 2 == len(found)
    assert {*found} <= {path.replace("{gid}", "GID") for path in paths}


def test_every_table_about_people_is_in_it(furnished_url: str) -> None:
    """Each table that refers to a user is in the archive, or named here with the reason why not."""
    inside = {part.key.table.name for part in asked(furnished_url, lambda tx: parts(tx, 1))}
    referring = {
        key.parent.table.name for table in TABLES.tables for key in table.foreign_keys if key.references(users)
    }
    assert referring - NOT_PERSONAL <= inside | {"mail_links"}


def test_many_rows_come_by_pages(furnished_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are the same, and each is there once, however few are read at a time."""
    whole = read(furnished_url, "ada")
    monkeypatch.setattr(person_export, "ROWS_AT_ONCE", 1)
    paged = read(furnished_url, "ada")
    assert whole.keys() == paged.keys()
    assert all(whole[name] == paged[name] for name in whole if name.endswith(".json"))


def test_the_command_writes_a_file_that_only_its_owner_reads(furnished_url: str, tmp_path: Path) -> None:
    """The file appears whole and private, is not replaced unasked, and there is none for nobody."""
    settings = settings_for(furnished_url)
    file = tmp_path / "ada.zip"
    assert person_export.export(settings, "ADA", file, force=False).startswith("Exported ada: ")
    assert 0o600 == file.stat().st_mode & 0o777
    assert zipfile.is_zipfile(file)
    with pytest.raises(Exception, match="already exists"):
        person_export.export(settings, "ada", file, force=False)
    for nobody in ("nobody", "no body"):
        with pytest.raises(UnknownUser):
            person_export.export(settings, nobody, tmp_path / "nobody.zip", force=False)
    assert ["ada.zip"] == [one.name for one in tmp_path.iterdir() if one.suffix == ".zip"]
