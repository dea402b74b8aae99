"""The public folder: names, caching, codings, ranges, and files that must stay private."""

from __future__ import annotations

import gzip
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import brotli
import httpx
import pytest
from starlette.routing import Route, Router
from starlette.types import Message

from saleroom.http.problems import NotFound
from saleroom.site.assets import Assets
from saleroom.site.site import FOLDER
from tests.fixtures_house import House
from tests.page_routes import page_areas
from tests.patience import SECONDS_MAX

CSS = b"body { color: black }\n" * 40
PLAIN = "/assets/site.css"
CLASSIC = re.compile(r"""<script src="\{\{ asset\('([\w.]+)'\) \}\}"(?: defer)?>""")
TOP_LEVEL = re.compile(r"^(?:const|let|class|(?:async )?function) (\w+)", re.MULTILINE)
FOLDERS = [folder / "static" for folder in (FOLDER, *(area.folder for area in page_areas()))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A public folder, with a secret beside it and private files in it."""
    public = tmp_path / "public"
    (public / "vendor").mkdir(parents=True)
    (public / "site.css").write_bytes(CSS)
    (public / "vendor" / "lib.js").write_bytes(b"let answer = 42;\n" * 10_000)
    (public / "vendor" / "lib.js.br").write_bytes(b"made by the build")
    (public / "photo.jpg").write_bytes(bytes(range(256)))
    (public / "empty.txt").write_bytes(b"")
    (public / ".hidden").write_bytes(b"private")
    (public / ".git").mkdir()
    (public / ".git" / "config").write_bytes(b"private")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_bytes(b"secret")
    (public / "link.txt").symlink_to(tmp_path / "secret.txt")
    (public / "linked").symlink_to(tmp_path / "elsewhere")
    (public / "inside.css").symlink_to(public / "site.css")
    return public


@pytest.fixture
def assets(folder: Path) -> Assets:
    """The assets of that folder."""
    return Assets(folder)


@pytest.fixture
async def client(assets: Assets) -> AsyncIterator[httpx.AsyncClient]:
    """A client that sends an empty Accept-Encoding by default."""
    transport = httpx.ASGITransport(router(assets))
    async with httpx.AsyncClient(transport=transport, base_url="http://house", headers={"accept-encoding": ""}) as it:
        yield it


def router(assets: Assets) -> Router:
    """Return an application of the assets alone."""
    return Router([Route("/assets/{file:path}", assets.answer)])


async def raw(client: httpx.AsyncClient, url: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """Return the answer and its bytes as they were sent, without decoding."""
    async with client.stream("GET", url, headers={k.replace("_", "-"): v for k, v in headers.items()}) as response:
        return response, b"".join([part async for part in response.aiter_raw()])


async def test_a_hashed_name_lasts_forever(client: httpx.AsyncClient, assets: Assets) -> None:
    """A page links a name with the content's digest, which may be cached for good."""
    url = assets.url("site.css")
    assert re.fullmatch(r"/assets/[0-9a-f]{16}-site\.css", url)
    response = await client.get(url)
    assert 200 == response.status_code
    assert CSS == response.content
    assert "public, max-age=31536000, immutable" == response.headers["cache-control"]
    assert "text/css; charset=utf-8" == response.headers["content-type"]


async def test_a_plain_name_lasts_briefly(client: httpx.AsyncClient) -> None:
    """The plain name answers the same bytes, and is cached only briefly."""
    response = await client.get(PLAIN)
    assert CSS == response.content
    assert "public, max-age=60" == response.headers["cache-control"]


async def test_another_content_gets_another_name(folder: Path, assets: Assets) -> None:
    """New content gets a new hashed name, also in a subfolder."""
    before = assets.url("vendor/lib.js")
    assert before.startswith("/assets/vendor/")
    (folder / "vendor" / "lib.js").write_bytes(b"let answer = 43;\n")
    assert Assets(folder).url("vendor/lib.js") != before


async def test_a_wrong_digest_is_not_found(client: httpx.AsyncClient) -> None:
    """A name with a wrong digest is not found."""
    with pytest.raises(NotFound):
        await client.get(f"/assets/{'0' * 16}-site.css")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", None),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("br;q=0.000, gzip;q=0", None),
        ("*", "br"),
        ("*;q=0", None),
        ("br;q=0, *", "gzip"),
        ("identity", None),
        ("identity;q=1, br;q=0.5", None),
        ("identity;q=0", None),
        ("identity;q=0, br", "br"),
        ("zstd, compress", None),
        ("br;q=nonsense", None),
        (";;;,,=", None),
    ],
)
async def test_the_coding_follows_accept_encoding(client: httpx.AsyncClient, accepted: str, coding: str | None) -> None:
    """The coding is chosen from Accept-Encoding by weight. A weight of 0 refuses a coding."""
    response, body = await raw(client, PLAIN, accept_encoding=accepted)
    assert 200 == response.status_code
    assert coding == response.headers.get("content-encoding")
    assert "Accept-Encoding" == response.headers["vary"]
    decode = {None: bytes, "br": brotli.decompress, "gzip": gzip.decompress}[coding]
    assert CSS == decode(body)
    assert str(len(body)) == response.headers["content-length"]


async def test_two_accept_encoding_headers_count_as_one(client: httpx.AsyncClient) -> None:
    """Two Accept-Encoding headers count as one list."""
    headers = [("accept-encoding", "identity"), ("accept-encoding", "br;q=1")]
    async with client.stream("GET", PLAIN, headers=headers) as response:
        assert "br" == response.headers["content-encoding"]


async def test_each_representation_has_its_own_strong_tag(client: httpx.AsyncClient) -> None:
    """Identity, gzip and br have three different strong entity tags."""
    tags = [(await raw(client, PLAIN, accept_encoding=coding))[0].headers["etag"] for coding in ("", "gzip", "br")]
    assert 3 == len(set(tags))
    assert all(re.fullmatch(r'"[^"]+"', tag) for tag in tags)


async def test_an_image_is_not_compressed(client: httpx.AsyncClient) -> None:
    """A file in a compressed format is sent as it is."""
    response = await client.get("/assets/photo.jpg", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in response.headers
    assert "image/jpeg" == response.headers["content-type"]


async def test_the_build_compresses_large_files(client: httpx.AsyncClient) -> None:
    """A compressed twin from the build is served as it is, and has no separate address."""
    response, body = await raw(client, "/assets/vendor/lib.js", accept_encoding="br")
    assert "br" == response.headers["content-encoding"]
    assert b"made by the build" == body
    with pytest.raises(NotFound):
        await client.get("/assets/vendor/lib.js.br")


@pytest.mark.parametrize("coding", ["", "gzip", "br"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"other",W/{} , "third"', "*"])
async def test_a_known_representation_is_not_sent_again(client: httpx.AsyncClient, coding: str, form: str) -> None:
    """If-None-Match as a tag, a weak tag, a list or `*` gets 304 without a body, but with what a cache needs."""
    first, _ = await raw(client, PLAIN, accept_encoding=coding)
    again, body = await raw(client, PLAIN, accept_encoding=coding, if_none_match=form.format(first.headers["etag"]))
    assert (304, b"") == (again.status_code, body)
    for name in ("etag", "cache-control", "vary"):
        assert first.headers[name] == again.headers[name]


async def test_the_tag_of_another_representation_is_not_known(client: httpx.AsyncClient) -> None:
    """A client that holds the plain bytes and accepts br gets the br bytes."""
    plain, _ = await raw(client, PLAIN)
    response, _ = await raw(client, PLAIN, accept_encoding="br", if_none_match=plain.headers["etag"])
    assert 200 == response.status_code
    assert "br" == response.headers["content-encoding"]


@pytest.mark.parametrize("value", ["nonsense", '"other"', "", '"'])
async def test_an_unknown_tag_gets_the_content(client: httpx.AsyncClient, value: str) -> None:
    """Any other If-None-Match changes nothing."""
    assert 200 == (await client.get(PLAIN, headers={"if-none-match": value})).status_code


@pytest.mark.parametrize(
    ("header", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=250-", 250, 256),
        ("bytes=-6", 250, 256),
        ("bytes=250-9999", 250, 256),
        ("bytes=-9999", 0, 256),
        ("BYTES=0-1", 0, 2),
    ],
)
async def test_a_range_is_sent_alone(client: httpx.AsyncClient, header: str, start: int, stop: int) -> None:
    """One range gets 206 and those bytes."""
    response = await client.get("/assets/photo.jpg", headers={"range": header})
    assert 206 == response.status_code
    assert bytes(range(start, stop)) == response.content
    assert f"bytes {start}-{stop - 1}/256" == response.headers["content-range"]
    assert str(stop - start) == response.headers["content-length"]


async def test_a_range_is_of_the_chosen_representation(client: httpx.AsyncClient) -> None:
    """With br accepted, a range counts br bytes."""
    _, whole = await raw(client, PLAIN, accept_encoding="br")
    response, part = await raw(client, PLAIN, accept_encoding="br", range="bytes=2-5")
    assert 206 == response.status_code
    assert whole[2:6] == part
    assert f"bytes 2-5/{len(whole)}" == response.headers["content-range"]


@pytest.mark.parametrize("header", ["bytes=256-", "bytes=999-1000", "bytes=-0"])
async def test_a_range_beyond_the_end_is_refused(client: httpx.AsyncClient, header: str) -> None:
    """A range without a byte in the file gets 416 and the file's size."""
    response = await client.get("/assets/photo.jpg", headers={"range": header})
    assert 416 == response.status_code
    assert "bytes */256" == response.headers["content-range"]


async def test_an_empty_file_has_no_range(client: httpx.AsyncClient) -> None:
    """An empty file is served, and any range of it is beyond its end."""
    assert b"" == (await client.get("/assets/empty.txt")).content
    assert 416 == (await client.get("/assets/empty.txt", headers={"range": "bytes=0-"})).status_code


@pytest.mark.parametrize(
    "header", ["bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=a-b", "bytes=-", "bytes=٣-٤", f"bytes=0-{'9' * 5000}"]
)
async def test_a_range_that_cannot_be_used_is_ignored(client: httpx.AsyncClient, header: str) -> None:
    """A malformed range, or several ranges, get the whole file."""
    response = await client.get("/assets/photo.jpg", headers=[(b"range", header.encode())])
    assert 200 == response.status_code
    assert 256 == len(response.content)


async def test_if_range_guards_a_range(client: httpx.AsyncClient) -> None:
    """A range is sent only if the client holds this very representation."""
    etag = (await client.get("/assets/photo.jpg")).headers["etag"]
    for value, status in [(etag, 206), ('"old"', 200), (f"W/{etag}", 200), ("Sat, 21 Nov 2026 12:00:00 GMT", 200)]:
        headers = {"range": "bytes=0-9", "if-range": value}
        assert status == (await client.get("/assets/photo.jpg", headers=headers)).status_code


async def test_head_tells_what_get_would_send(client: httpx.AsyncClient) -> None:
    """HEAD has GET's headers and no body, and ignores a range."""
    got = await client.get(PLAIN)
    head = await client.head(PLAIN, headers={"range": "bytes=0-1"})
    assert (200, b"") == (head.status_code, head.content)
    assert dict(got.headers) == dict(head.headers)


SPELLINGS = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "%2e%2e%2fsecret.txt",
    "%2E%2E%2Fsecret.txt",
    "..%5csecret.txt",
    "..\\secret.txt",
    "%252e%252e%252fsecret.txt",
    "..%c0%afsecret.txt",
    "..%00/secret.txt",
    "vendor/../../secret.txt",
    "vendor/..%2f..%2fsecret.txt",
    "vendor/../site.css",
    "./site.css",
    "/site.css",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:///etc/passwd",
    "C:%5cwin.ini",
    "link.txt",
    "linked/secret.txt",
    "linked",
    "inside.css",
    "site.css%00",
    "site.css%00.jpg",
    "%00",
    "site.css%0a",
    "site.css/",
    "SITE.CSS",
    ".",
    "..",
    "vendor",
    "vendor/",
    ".hidden",
    ".git/config",
    "none.css",
]


@pytest.mark.parametrize("file", ["", *SPELLINGS, "a" * 5000])
async def test_only_public_files_are_served(assets: Assets, file: str) -> None:
    """A path to anything but a public file is not found, however it is spelled."""

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        pytest.fail(f"an answer was sent: {message}")

    path = unquote(f"/assets/{file}")  # as the server does
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    with pytest.raises(NotFound):
        await router(assets)(scope, receive, send)


@pytest.mark.parametrize(
    "file", ["", "../pages.py", *SPELLINGS[1:11], "vendor/../site.css", "/etc/passwd", "site.css%0a"]
)
def test_only_public_files_are_served_over_the_wire(sqlite_house: House, file: str) -> None:
    """Over the wire too, an address outside the folder gets the API's 404, in JSON."""
    with socket.create_connection(("127.0.0.1", sqlite_house.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(f"GET /assets/{file} HTTP/1.1\r\nHost: house\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'"code":"not_found"' in answer


def test_other_methods_are_not_allowed(sqlite_house: House) -> None:
    """Only GET and HEAD are allowed for an asset, and the refusal is the API's."""
    response = sqlite_house.anyone.delete("/assets/site.css")
    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])
    assert "method_not_allowed" == response.json()["code"]


async def test_every_file_of_the_public_folder_is_served() -> None:
    """Each file of the real folders answers under both names, and a compressed twin unpacks to its file."""
    real = Assets(*FOLDERS)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(router(real)), base_url="http://house") as client:
        found = {file.relative_to(folder).as_posix(): file for folder in FOLDERS for file in folder.rglob("*.*")}
        assert {"site.css", "lot.css", "password.js", "vendor/htmx.min.js"} < found.keys()
        for name, file in found.items():
            if file.suffix in (".br", ".gz"):
                continue
            expected = file.read_bytes()
            for url in (real.url(name), f"/assets/{name}"):
                for coding in ("identity", "gzip", "br"):
                    response = await client.get(url, headers={"accept-encoding": coding})
                    assert expected == response.content, (url, coding)


async def test_no_style_sheet_names_another_file() -> None:
    """A style sheet refers to no file, so none of its references can go stale."""
    for sheet in (file for folder in FOLDERS for file in folder.rglob("*.css")):
        named = re.findall(r"(?:url\(\s*['\"]?|@import\s+['\"])(?!data:|#)([^)'\"]+)", sheet.read_text())
        assert [] == named, sheet.name


def test_no_two_scripts_of_a_page_use_one_name() -> None:
    """Classic scripts share their top-level names, so the later one of two would replace a function of the earlier one."""
    templates = [path for folder in FOLDERS for path in (folder.parent / "templates").rglob("*.html")]
    scripts = {path: CLASSIC.findall(path.read_text()) for path in templates}
    files = {file.name: file.read_text() for folder in FOLDERS for file in folder.glob("*.js")}
    everywhere = {
        name for path in templates if path.name in ("base.html", "account_menu.html") for name in scripts[path]
    }
    assert "site.js" in everywhere
    for path in templates:
        names = [name for script in {*scripts[path], *everywhere} for name in TOP_LEVEL.findall(files[script])]
        assert [] == sorted(name for name in set(names) if names.count(name) > 1), path.name
