"""The proxies of docs/edge.md, with the real programs: streams of everybody go to the edge, all other requests to the house."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from saleroom.feed import streams
from tests.edge.edge import Edge
from tests.edge.test_pages import lot, page
from tests.fixtures_house import NO_TLS, House
from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import ending, wait_until

pytestmark = pytest.mark.databases("sqlite")

DOCUMENT = Path(__file__).parents[2] / "docs" / "edge.md"
_HAPROXY = """
defaults
  mode http
  timeout connect 60s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:{port}
{rules}
backend house
  server a 127.0.0.1:{house}
"""
_NGINX = """
daemon off; pid nginx.pid; error_log nginx.log; {user} events {{}}
http {{
  access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  proxy_http_version 1.1; proxy_set_header Connection "";
  upstream saleroom {{ server 127.0.0.1:{house}; }}
  {before}
  server {{ listen 127.0.0.1:{port}; {rules} location / {{ proxy_pass http://saleroom; }} }}
}}
"""
_CADDY = """{{
\tadmin off
\tstorage file_system storage
}}
http://127.0.0.1:{port} {{
{rules}
\treverse_proxy 127.0.0.1:{house}
}}
"""


def rules(language: str, edge: str) -> str:
    """Return the rules of a proxy in the document, with the address of an edge."""
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert 1 == len(found)
    return str(found[0]).replace("127.0.0.1:9100", edge)


class Proxy:
    """A house and an edge behind a proxy."""

    def __init__(self, port: int) -> None:
        self.plain = httpx.Client(base_url=f"http://127.0.0.1:{port}", verify=NO_TLS, timeout=SECONDS_MAX)

    def answers(self) -> bool:
        """Return whether the house answers."""
        try:
            return self.plain.get("/healthz").status_code == 200
        except httpx.HTTPError:
            return False


@pytest.fixture(params=["haproxy", "nginx", "caddy"])
def proxied(request: pytest.FixtureRequest, house: House, edge: Edge, tmp_path: Path) -> Iterator[Proxy]:
    """Start a proxy before the house and the edge."""
    program, port = need(request.param), free_port()
    found = rules(request.param, edge.base.removeprefix("http://"))
    if request.param == "haproxy":
        front, _, back = found.partition("# The edges")
        text = _HAPROXY.format(
            port=port, house=house.port, rules=f"{front}  default_backend house\n{back.partition(chr(10))[2]}"
        )
        command = [program, "-db", "-f", "proxy"]
    elif request.param == "nginx":
        before, _, inside = found.partition("# In the server")
        user = "user root;" if os.geteuid() == 0 else ""
        text = _NGINX.format(port=port, house=house.port, user=user, before=before, rules=inside.partition("\n")[2])
        command = [program, "-p", str(tmp_path), "-c", "proxy", "-e", "nginx.log"]
    else:
        text = _CADDY.format(port=port, house=house.port, rules=found)
        command = ["env", f"HOME={tmp_path}", program, "run", "--config", "proxy", "--adapter", "caddyfile"]
    (tmp_path / "proxy").write_text(text)
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "log").open("wb"))
        process = stack.enter_context(ending(subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)))
        served = Proxy(port)
        wait_until(lambda: served.answers() or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "log").read_text()
        yield served
        served.plain.close()


def test_streams_of_everybody_go_to_the_edge(
    house: House, edge: Edge, proxied: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams without a session are served by the edge, those with one by the house, and so is all but streams."""
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.2)  # HAProxy sees an end when it sends
    gid = lot(house)

    def readers() -> int:
        return edge.inside(len)

    paths = (f"/auctions/{gid}/events?after=0", "/events?after=0", f"/lots/{gid}/live?after=1", f"/live?lots={gid}")
    for path in (*paths, f"/lots/{gid}/screen/live"):
        with page(proxied, path) as one:
            one.until("screen-state" if "screen" in path else gid)
            assert 1 == readers(), path
        wait_until(lambda: readers() == 0)
    session = {"Cookie": f"a=b; saleroom_session={house.user('bob').token}"}
    for path in paths[2:]:
        with page(proxied, path, **session) as one:
            one.until(gid)
            assert 0 == readers(), path
    for path in ("/", f"/lots/{gid}", f"/auctions/{gid}", "/readyz", "/sales"):
        assert proxied.plain.get(path, follow_redirects=True).status_code == 200, path
    assert 0 == readers()
