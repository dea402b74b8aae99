"""The areas of the house: each that is left out is gone, and the others do without it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from saleroom.accounts.area import ACCOUNTS
from saleroom.accounts.settings import AccountSettings
from saleroom.areas import TABLES
from saleroom.bidding.area import BIDDING
from saleroom.bidding.settings import BiddingSettings
from saleroom.http.endpoints import Endpoint
from saleroom.http.health import HEALTH
from saleroom.notices.settings import NoticeSettings
from saleroom.platform_settings import PlatformSettings
from saleroom.settings import Settings
from saleroom.settlement.settings import SettlementSettings
from saleroom.storage.areas import HouseTables
from saleroom.storage.database import Database
from saleroom.storage.transfer import Heads, heads
from tests.fixtures_house import PASSWORD, House, settings_for
from tests.process import wait_until
from tests.site.visitor import Visitor


@pytest.fixture(scope="module")
def accounts_alone(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A running house with accounts as its only area."""
    file = tmp_path_factory.mktemp("house") / "saleroom.db"
    shutil.copy(sqlite_template, file)
    house = House(settings_for(f"sqlite:///{file}"), areas=(ACCOUNTS,))
    house.start()
    yield house
    house.stop()


def test_accounts_alone_serve_their_users(accounts_alone: House) -> None:
    """Without bidding, people register, log in and see their account, and the service is ready."""
    anyone = accounts_alone.anyone
    anyone.json("POST", "/users", json={"username": "grace", "password": PASSWORD})
    assert "grace" == accounts_alone.log_in("grace").json("GET", "/me")["username"]
    assert {"status": "ok", "database": "ok", "mqtt": "off", "owed": 0} == anyone.json("GET", "/readyz")


def test_accounts_alone_sweep_their_tables(sqlite_template: Path, tmp_path: Path) -> None:
    """Without bidding, expired tokens are deleted all the same."""
    file = tmp_path / "saleroom.db"
    shutil.copy(sqlite_template, file)
    house = House(settings_for(f"sqlite:///{file}"), areas=(ACCOUNTS,))
    house.start()
    house.user()
    house.stop()
    with closing(sqlite3.connect(file, isolation_level=None)) as rows:
        rows.execute("UPDATE auth_tokens SET expires_at = created_at")
        again = House(settings_for(f"sqlite:///{file}"), areas=(ACCOUNTS,))
        again.start()
        wait_until(lambda: (0,) == rows.execute("SELECT count(*) FROM auth_tokens").fetchone())
        again.stop()


def test_accounts_alone_have_their_own_documents(accounts_alone: House) -> None:
    """Without bidding, both documents of the API hold nothing of bidding."""
    document = accounts_alone.plain.get("/openapi.json").json()
    paths = {row.path for row in (*ACCOUNTS.endpoints, *HEALTH)}
    assert paths | {"/assets/{file}"} == document["paths"].keys()
    assert {"accounts", "staff", "service", "pages"} == {tag["name"] for tag in document["tags"]}
    messages = accounts_alone.plain.get("/asyncapi.json").json()
    assert ({}, {}) == (messages["channels"], messages["operations"])


def test_accounts_alone_name_no_broker(sqlite_template: Path, tmp_path: Path) -> None:
    """Without bidding nothing is sent over MQTT, so the AsyncAPI document has no broker, whatever the setting."""
    shutil.copy(sqlite_template, tmp_path / "saleroom.db")
    house = House(settings_for(f"sqlite:///{tmp_path}/saleroom.db", mqtt="mqtt://127.0.0.1"), areas=(ACCOUNTS,))
    house.start()
    messages = house.plain.get("/asyncapi.json").json()
    house.stop()
    assert (["house"], {}) == ([*messages["servers"]], messages["channels"])


def test_accounts_alone_show_their_own_pages(accounts_alone: House) -> None:
    """Without bidding, the pages of accounts are shown, and no menu or tab leads to a page that is gone."""
    stranger, user = Visitor(accounts_alone), Visitor(accounts_alone, accounts_alone.user())
    for visitor, path in (
        (stranger, "/"),
        (stranger, "/login"),
        (stranger, "/register"),
        (user, "/mine/sessions"),
        (user, "/mine/security"),
        (user, "/mine/access-tokens"),
        (user, "/mine/password"),
    ):
        page = visitor.page(path)
        links = {link["href"].partition("?")[0] for link in page.all("a")} - {"#main"}
        assert [] == [link for link in links if visitor.http.get(link).status_code >= 400], path


@pytest.mark.parametrize("row", BIDDING.endpoints, ids=lambda row: row.name)
def test_bidding_left_out_is_gone(accounts_alone: House, row: Endpoint[Any]) -> None:
    """Every address of bidding's endpoints is unknown to a house without it."""
    path = row.path.replace("{gid}", "x").replace("{id}", "x")
    answer = accounts_alone.plain.request(row.method, path, headers=accounts_alone.headers)
    assert (404, "not_found") == (answer.status_code, answer.json()["code"])


async def test_tables_without_ledgers(database: Database) -> None:
    """The tables of accounts alone can be exported: they have no ledger to compare."""
    assert Heads.of([]) == await database.read(heads, HouseTables((ACCOUNTS.tables,)))
    assert set(ACCOUNTS.tables.tables) < set(TABLES.tables)


def test_every_setting_belongs_to_one_area_or_the_platform() -> None:
    """No setting is declared twice; those of the log lines belong to the process."""
    platform = PlatformSettings.model_fields.keys()
    kinds = (AccountSettings, BiddingSettings, SettlementSettings, NoticeSettings)
    own = [kind.model_fields.keys() - platform for kind in kinds]
    assert set(kinds) == set(Settings.__bases__)
    assert sum(map(len, own)) == len(set().union(*own))
    assert {"log_level", "log_format"} == Settings.model_fields.keys() - platform - set().union(*own)
