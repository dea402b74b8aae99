"""Photos over HTTP: sending them, arranging them, and their files."""

import io
import json

import httpx
import pytest
from PIL import Image

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.api import uploads
from saleroom.bidding.domain.photos import Photo, made_widths
from saleroom.bidding.storage import photos
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import faults, raw, refusal
from tests.fixtures_database import unique
from tests.fixtures_house import House, ServeHouse, User
from tests.pictures import plain, told_much

pytestmark = pytest.mark.databases("sqlite")

PICTURE = plain((1000, 500))
JPEG = {"Content-Type": "image/jpeg"}


def send(who: User, data: bytes = PICTURE, **headers: str) -> httpx.Response:
    """Send a picture and return the answer."""
    return who.post("/photos", content=data, headers=JPEG | headers)


def sent(who: User, count: int) -> list[str]:
    """Send `count` pictures and return their ids."""
    return [str(send(who).json()["id"]) for _ in range(count)]


def add_photos(house: House, owner: User, count: int) -> list[str]:
    """Store photos on no auction, without the work of decoding a picture for each, and return their ids."""

    def add(tx: Transaction) -> list[str]:
        account = authenticate(tx, owner.token, Right.SELL)
        ids = [unique("photo").replace(".", "-") for _ in range(count)]
        for one in ids:
            photos.add(tx, account.id, Photo(one, 16, 16, made_widths(16)), dict.fromkeys(made_widths(16), b"a"))
        return ids

    return house.write(add)


def arrange(who: User, gid: str, ids: list[str]) -> httpx.Response:
    """Choose the photos of an auction."""
    return who.request("PUT", f"/auctions/{gid}/photos", json={"photos": ids})


@pytest.mark.usefixtures("confined_process")
def test_a_photo_is_sent_put_on_an_auction_and_seen(house: House) -> None:
    """POST /photos is 201 with the photo's files; an auction with the photo lists it for everyone; each file can be read."""
    ada = house.user("ada")
    answer = send(ada, told_much())
    photo = answer.json()
    assert 201 == answer.status_code
    assert (640, 480, [400, 640]) == (photo["width"], photo["height"], [file["width"] for file in photo["files"]])
    assert f"/photos/{photo['id']}/640.webp" == answer.headers["location"]
    gid = ada.auction()
    assert {"photos": []} == house.anyone.json("GET", f"/auctions/{gid}/photos")
    assert {"photos": [photo]} == arrange(ada, gid, [photo["id"]]).json()
    assert {"photos": [photo]} == house.anyone.json("GET", f"/auctions/{gid}/photos")
    for file in photo["files"]:
        found = house.stranger.get(file["url"])
        image = Image.open(io.BytesIO(found.content))
        assert (200, "WEBP", file["width"]) == (found.status_code, image.format, image.width)


def test_a_file_lasts_for_ever(sqlite_house: House) -> None:
    """A file's headers say that it never changes and what it is; GET, HEAD and 304 agree on its strong entity tag."""
    url = send(sqlite_house.user("ada")).headers["location"]
    anyone = sqlite_house.stranger
    answer, head = anyone.get(url), anyone.head(url)
    assert "public, max-age=31536000, immutable" == answer.headers["cache-control"]
    assert ("image/webp", "inline") == (answer.headers["content-type"], answer.headers["content-disposition"])
    assert "nosniff" == answer.headers["x-content-type-options"]
    assert (200, b"", str(len(answer.content))) == (head.status_code, head.content, head.headers["content-length"])
    assert answer.headers["etag"] == head.headers["etag"]
    assert answer.headers["etag"].startswith('"')
    for known in (answer.headers["etag"], f'"other", W/{answer.headers["etag"]}', "*"):
        again = anyone.get(url, headers={"If-None-Match": known})
        assert (304, b"", answer.headers["etag"]) == (again.status_code, again.content, again.headers["etag"])
    assert 200 == anyone.get(url, headers={"If-None-Match": '"other"'}).status_code
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/photos/{id}/401.webp",
        "/photos/{id}/1600.webp",
        "/photos/{id}/0400.webp",
        "/photos/{id}/+400.webp",
        "/photos/{id}/4\u0660\u0660.webp",
        "/photos/{id}/99999999999999999999.webp",
        "/photos/{id}/400.jpg",
        "/photos/{id}/400.webp/",
        "/photos/{id}/400.webp%0a",
        "/photos/{id}/",
        "/photos/{id}",
        "/photos/nobodys-photo/400.webp",
        "/photos/%00/400.webp",
        "/photos/..%2f{id}/400.webp",
        "/photos//400.webp",
    ],
)
def test_any_other_address_is_404(house: House, path: str) -> None:
    """An address that is not a photo's in one of its widths is 404, however it is written."""
    photo_id = send(house.user("ada")).json()["id"]
    assert 404 == house.plain.get(path.replace("{id}", photo_id)).status_code


def test_a_file_takes_no_other_method(sqlite_house: House) -> None:
    """A photo's address only takes GET and HEAD."""
    url = send(sqlite_house.user("ada")).headers["location"]
    answer = sqlite_house.anyone.delete(url)
    assert (405, "GET, HEAD") == (answer.status_code, answer.headers["allow"])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_an_image"),
        (b"<svg onload=alert(1)>", "not_an_image"),
        (PICTURE[: len(PICTURE) // 2], "image_truncated"),
        (plain((1, 1)), "image_too_small"),
        (plain((4000, 20)), "image_too_narrow"),
    ],
)
def test_pictures_that_cannot_be_used(sqlite_house: House, data: bytes, code: str) -> None:
    """A faulty file is 400 with the fault of the field `photo`."""
    assert {"photo": [code]} == faults(send(sqlite_house.user("ada"), data))


def test_the_bytes_of_a_picture_decide_its_type(sqlite_house: House) -> None:
    """The declared type may be of any image, or octets; any other is 415."""
    ada = sqlite_house.user("ada")
    for declared in ("image/png", "IMAGE/heic", "image/svg+xml; charset=utf-8", "application/octet-stream"):
        assert 201 == send(ada, PICTURE, **{"Content-Type": declared}).status_code
    for declared in ("application/json", "multipart/form-data; boundary=x", "", "imagery"):
        assert (415, "image_expected") == refusal(send(ada, PICTURE, **{"Content-Type": declared}))


def test_a_refusal_comes_before_the_file_is_read(sqlite_house: House) -> None:
    """A dead token, and a declared size that is too large, are refused before the file comes."""

    def begun(token: str, length: int) -> bytes:
        lines = [
            "POST /photos HTTP/1.1",
            "Host: x",
            "X-Requested-With: x",
            f"Authorization: Bearer {token}",
            "Content-Type: image/jpeg",
            f"Content-Length: {length}",
            "Connection: close",
        ]
        return raw(sqlite_house, "\r\n".join([*lines, "", ""]).encode())

    assert begun("AAAAAAAAAAAAAA==", 1000).startswith(b"HTTP/1.1 401 ")
    refused = begun(sqlite_house.user("ada").token, 20_000_001)
    assert refused.startswith(b"HTTP/1.1 413 ") and b'"limit":20000000' in refused


def test_the_size_of_a_photo_is_a_setting(serve_house: ServeHouse) -> None:
    """`photo_bytes_max` is the limit of a photo, whatever the limit of other bodies; nothing beyond it is read."""
    house = serve_house(photo_bytes_max=100_000)
    ada = house.user("ada")
    for size, status in ((100_000, 201), (100_001, 413)):
        data = PICTURE + b"\0" * (size - len(PICTURE))
        assert status == send(ada, data).status_code
        pieces = (data[start : start + 1000] for start in range(0, size, 1000))
        assert status == ada.post("/photos", content=pieces, headers=JPEG).status_code


def test_a_photo_that_does_not_arrive_is_408(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that stalls in the middle of a photo gets 408."""
    monkeypatch.setattr(uploads, "UPLOAD_SECONDS_MAX", 0.2)
    token = sqlite_house.user("ada").token
    head = f"POST /photos HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nAuthorization: Bearer {token}\r\n"
    answer = raw(sqlite_house, f"{head}Content-Type: image/jpeg\r\nContent-Length: 100\r\n\r\nhalf".encode())
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"code":"request_timeout"' in answer


def test_too_many_photos_on_no_auction(sqlite_house: House) -> None:
    """The sixty-first photo that is on no auction is 409 with the limit."""
    ada = sqlite_house.newcomer()
    small = plain((16, 16))
    add_photos(sqlite_house, ada, 59)
    assert 201 == send(ada, small).status_code
    answer = send(ada, small)
    assert ((409, "too_many_photos"), 60) == (refusal(answer), answer.json()["limit"])


def test_arranging(house: House) -> None:
    """An auction has exactly the photos of the last list, in its order, and none after an empty list."""
    ada = house.user("ada")
    gid, (a, b, c) = ada.auction(), sent(ada, 3)
    for wanted in ([a, b, c], [c, a], [], [b]):
        assert wanted == [one["id"] for one in arrange(ada, gid, wanted).json()["photos"]]
        listed = house.anyone.json("GET", f"/auctions/{gid}/photos")["photos"]
        assert wanted == [one["id"] for one in listed]


def test_arranging_is_refused_as_amending_is(house: House) -> None:
    """An auction of another user is 403, one with bids 409, one that is over 409, an unknown one 404."""
    ada, bob = house.user("ada"), house.user("bob")
    open_one, bid_on, cancelled = ada.auction(), ada.auction(), ada.auction()
    assert 201 == bob.bid(bid_on, 10).status_code
    ada.delete(f"/auctions/{cancelled}")
    for who, gid in ((bob, open_one), (ada, bid_on), (ada, cancelled), (ada, "unknown")):
        assert refusal(who.patch(f"/auctions/{gid}", json={"name": "x"})) == refusal(arrange(who, gid, []))
    assert (403, "not_author") == refusal(arrange(bob, open_one, []))
    assert (409, "has_bids") == refusal(arrange(ada, bid_on, []))


def test_photos_that_an_auction_cannot_have(house: House) -> None:
    """A photo of another user or of another auction, one that is named twice, and a thirteenth are faults of `photos`."""
    ada, bob = house.newcomer(), house.newcomer()
    gid, other = ada.auction(), ada.auction()
    mine, his = add_photos(house, ada, 13), add_photos(house, bob, 1)
    arrange(ada, other, mine[:1])
    expected = [(his, "unknown_photo"), (mine[:1], "photo_in_use"), (mine[1:2] * 2, "repeated")]
    for wanted, code in [*expected, (mine[1:] + his, "too_many_photos"), (["a b"], "photo_id")]:
        assert {"photos": [code]} == faults(arrange(ada, gid, wanted))
    assert 200 == arrange(ada, gid, mine[1:]).status_code


@pytest.mark.parametrize("photos", ["x", 1, None, [1], [None], [["x"]], {"x": 1}])
def test_other_values_are_no_list_of_photos(sqlite_house: House, photos: object) -> None:
    """Anything but a list of strings is a fault of `photos`."""
    ada = sqlite_house.user("ada")
    body = json.dumps({"photos": photos}).encode()
    headers = {"Content-Type": "application/json"}
    answer = ada.request("PUT", f"/auctions/{ada.gid()}/photos", content=body, headers=headers)
    assert {"photos": ["not_a_list"]} == faults(answer)
