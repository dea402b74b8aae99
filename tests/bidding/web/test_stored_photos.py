"""A house that keeps its photos in a store: uploads and files over HTTP, also while the store is away, and its settings."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.admin import person_export
from saleroom.bidding.storage.photo_store import PHOTO_STORE
from saleroom.settings import SettingsError, load
from tests.bidding.api.test_photos import send
from tests.fixtures_database import unique
from tests.fixtures_house import PASSWORD, ServeHouse
from tests.object_store import SECRET_KEY, ObjectStore
from tests.pictures import plain
from tests.process import wait_until
from tests.sales.api.evening import with_lots
from tests.sales.api.test_importing import zipped
from tests.site.markup import Page
from tests.site.visitor import Visitor, picture

AWAY = "The house cannot reach its photos just now. Nothing was changed; try again shortly."


def test_a_stored_photo_is_served_as_any_other(object_store: ObjectStore, serve_house: ServeHouse) -> None:
    """Its file has the fixed type and lasts for ever; the archive of its owner has it; other bytes are nothing."""
    bucket = unique("bucket").replace(".", "-")
    object_store.bucket(bucket)
    house = serve_house(**object_store.settings(bucket))
    ada = house.user("ada")
    photo = send(ada, plain((900, 450))).json()
    kept = {key: data for key, data in object_store.objects(bucket).items() if key.startswith("photos/")}
    assert {f"photos/{photo['id']}/{width}.webp" for width in (400, 800, 900)} == set(kept)
    wide, narrow = f"/photos/{photo['id']}/900.webp", f"/photos/{photo['id']}/400.webp"
    found = house.plain.get(wide)
    assert (200, "image/webp", "nosniff") == (
        found.status_code,
        found.headers["content-type"],
        found.headers["x-content-type-options"],
    )
    assert "immutable" in found.headers["cache-control"]
    assert found.content == kept[wide.removeprefix("/")]
    archive = io.BytesIO()
    person_export.export(house.settings, "ada", archive, force=False)
    with zipfile.ZipFile(archive) as written:
        assert written.read(f"photos/{photo['id']}.webp") == found.content
    (object_store.folder(bucket) / narrow.removeprefix("/")).write_bytes(b"<script>alert(1)</script>")
    refused = house.plain.get(narrow)
    assert (404, False) == (refused.status_code, "immutable" in refused.headers.get("cache-control", ""))
    assert b"script" not in refused.content


def test_a_house_goes_on_without_its_store(tmp_path: Path, serve_house: ServeHouse) -> None:
    """Photos are answered 503 with Retry-After and kept by no cache; pages, bids and readiness need no photo."""
    (store := ObjectStore(tmp_path)).start()
    store.bucket("bucket")
    house = serve_house(**store.settings("bucket"))
    ada, bob = house.user("ada"), house.user("bob")
    photo, gid = send(ada, plain((20, 16))).json(), ada.auction()
    ada.json("PUT", f"/auctions/{gid}/photos", json={"photos": [photo["id"]]})
    store.kill()
    for answer in (send(ada, plain((20, 16))), house.plain.get(f"/photos/{photo['id']}/20.webp")):
        assert (503, "photos_unavailable") == (answer.status_code, answer.json()["code"])
        assert int(answer.headers["retry-after"]) >= 1
        assert "immutable" not in answer.headers.get("cache-control", "")
        assert SECRET_KEY not in answer.text
    assert house.plain.get(f"/lots/{gid}").status_code == 200
    assert house.plain.get("/readyz").status_code == 200
    assert bob.bid(gid, "10").is_success
    store.start()
    try:
        assert house.plain.get(f"/photos/{photo['id']}/20.webp").status_code == 200
    finally:
        store.kill()


def test_the_sell_page_says_that_the_store_is_away(tmp_path: Path, serve_house: ServeHouse) -> None:
    """The form comes back with 503, its texts and each file by name; a script's upload is 503 too. One file asks the store."""
    (store := ObjectStore(tmp_path)).start()
    store.bucket("bucket")
    house = serve_house(**store.settings("bucket"))
    visitor = Visitor(house, house.user("ada"))
    form = visitor.page("/sell")
    outcomes = house.provided(PHOTO_STORE).objects.outcomes
    wait_until(lambda: outcomes["put", "done"] == 1)  # the mark of the sweep, which comes once the house has started
    store.kill()
    tried = outcomes["put", "failed"]
    files = [("bad.jpg", b"nothing"), ("one.jpg", picture()), ("two.jpg", picture())]
    answer = visitor.send(form, "/sell", "preview", files, name="Clock", startingPrice="100")
    shown = Page(answer)
    assert 503 == answer.status_code
    assert int(answer.headers["retry-after"]) >= 1
    assert [
        "bad.jpg: This is not a picture. Choose a JPEG, PNG, WebP, GIF or AVIF file.",
        *(f"{name}.jpg: {AWAY}" for name in ("one", "two")),
    ] == [e.text for e in shown.all("li", class_="refused")]
    assert "Clock" == shown.one("input", name="name")["value"]
    assert tried + 1 == outcomes["put", "failed"]
    token = form.all("input", name="csrfToken")[0]["value"]
    parts: list[Any] = [("csrfToken", (None, token)), ("files", ("one.jpg", picture(), "image/jpeg"))]
    refused = visitor.http.post("/sell/photos", files=parts)
    assert (503, f"one.jpg: {AWAY}") == (refused.status_code, Page(refused).one("li", class_="refused").text)


def test_every_other_door_says_that_the_store_is_away(tmp_path: Path, serve_house: ServeHouse) -> None:
    """Paper, an import of photos and somebody's own data are 503 with Retry-After, for programs and as pages."""
    (store := ObjectStore(tmp_path)).start()
    store.bucket("bucket")
    house = serve_house(**store.settings("bucket"))
    staff = house.staff(Role.MANAGER)
    gid = with_lots(staff, 1)
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"photos": [send(staff, plain((20, 16))).json()["id"]]})
    visitor = Visitor(house, staff)
    data = visitor.page("/mine/data")
    store.kill()
    archive = zipped({"1-2.jpg": picture()})
    for answer in (
        staff.get(f"/sales/{gid}/paper/catalogue.pdf"),
        staff.post(f"/sales/{gid}/import", files={"photos": ("photos.zip", archive)}),
        visitor.http.get(f"/admin/sales/{gid}/paper/catalogue.pdf"),
        visitor.send(data, "/mine/data/export", password=PASSWORD),
    ):
        assert 503 == answer.status_code, answer.text
        assert int(answer.headers["retry-after"]) >= 1
        is_page = "text/html" in answer.headers["content-type"]
        assert AWAY in Page(answer).one("main").text if is_page else answer.json()["code"] == "photos_unavailable"


GOOD = {
    "photo_store": "s3://bucket/folder",
    "photo_store_endpoint": "https://s3.example",
    "photo_store_access_key_id": "name",
    "photo_store_secret_access_key": "secret of the key",
}


def test_settings_name_the_place_of_photos() -> None:
    """The place has the bucket, the folder and the key; no text of the settings has the secret."""
    settings = load(GOOD, {})
    place = settings.photo_place
    assert place is not None
    assert ("bucket", "folder", "https://s3.example/bucket") == (place.bucket, place.prefix, place.url)
    assert "secret of the key" not in repr(settings) + repr(place)
    assert load({}, {}).photo_place is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"photo_store": "https://bucket"}, "write s3://bucket"),
        ({"photo_store": "s3://name:secret@bucket"}, "write s3://bucket"),
        ({"photo_store": "s3://bucket/../other"}, "write s3://bucket"),
        ({"photo_store_secret_access_key": None}, "it needs photo_store_secret_access_key too"),
        ({"photo_store_endpoint": "http://store.example"}, "use https://, or set this to true"),
        ({"photo_store_endpoint": "https://name:secret@store.example"}, "without a key"),
        ({"photo_store_endpoint": "https://store.example/bucket"}, "leave out what follows the host"),
        ({"photo_store_region": "a b"}, "name of a region"),
    ],
)
def test_settings_that_name_no_place_are_refused(changed: dict[str, str | None], words: str) -> None:
    """Each line names the setting and the remedy, and never the secret."""
    with pytest.raises(SettingsError) as refused:
        load({name: value for name, value in (GOOD | changed).items() if value is not None}, {})
    assert words in str(refused.value)
    assert "secret of the key" not in str(refused.value)
    assert "name:secret" not in str(refused.value)


def test_http_is_for_this_machine_or_allowed() -> None:
    """An address without encryption is taken on this machine, and elsewhere only by a setting of its own."""
    for endpoint in ("http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"):
        assert load(GOOD | {"photo_store_endpoint": endpoint}, {}).photo_place is not None
    elsewhere = GOOD | {"photo_store_endpoint": "http://store:8333"}
    assert load(elsewhere | {"photo_store_plain_http": "true"}, {}).photo_place is not None
