"""Web push: messages are encrypted as the standards say, and signed by a key that follows from the secret of the house."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from saleroom.outbox import web_push
from saleroom.outbox.web_push import PAD_BYTES, PAYLOAD_BYTES_MAX, HouseKey
from tests.node import program
from tests.notices.push_service import Browser, b64, unb64

SAID = b"When I grow up, I want to be a watermelon"


def test_the_example_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the keys and the salt of RFC 8291, appendix A, and without filling up, the message is the one that it shows."""
    monkeypatch.setattr(web_push, "PAD_BYTES", 1)
    own = ec.derive_private_key(int.from_bytes(unb64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), ec.SECP256R1())
    point = unb64("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
    made = web_push.encrypt_with(SAID, point, unb64("BTBZMqHH6r4Tts7J_aSIgg"), own, unb64("DGv6ra1nlYgDCS1FRnbzlw"))
    assert (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    ) == b64(made)


def test_another_program_reads_a_message() -> None:
    """npm's http_ece, which many push senders use, reads what the house has encrypted; no two messages are alike."""
    browser = Browser("ben")
    made = [web_push.encrypt(SAID, browser.point, browser.auth) for _ in range(2)]
    assert made[0] != made[1]
    key = b64(browser.private.private_numbers().private_value.to_bytes(32))
    command = [*program("decrypt.mjs"), key, b64(browser.auth), b64(made[0])]
    assert SAID == subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


@pytest.mark.parametrize("size", [0, 1, PAD_BYTES - 1, PAD_BYTES, PAYLOAD_BYTES_MAX])
def test_a_message_is_filled_up(size: int) -> None:
    """Its length tells little, and push services take the longest."""
    browser = Browser("ben")
    made = web_push.encrypt(b"x" * size, browser.point, browser.auth)
    assert b"x" * size == browser.read(made)
    assert 0 == (len(made) - 86 - 16) % PAD_BYTES
    assert len(made) <= 4096


def test_the_key_follows_from_the_secret() -> None:
    """The same secret gives the same key, another one another; keys of any bits are of the curve."""
    assert HouseKey(b"\x01" * 32).public == HouseKey(b"\x01" * 32).public
    assert 3 == len({HouseKey(bytes([byte]) * 32).public for byte in (0, 1, 255)})
    assert all(web_push.is_point(unb64(HouseKey(bytes([byte]) * 32).public)) for byte in (0, 1, 255))


def test_the_signature_names_the_push_service() -> None:
    """It is for the origin of the push service alone, ends within a day, and holds nothing of the rest of the address."""
    at = datetime.fromtimestamp(1000.5, UTC)
    header = HouseKey(b"\x01" * 32).authorization("https://push.example:8443/send/secret?x=1", "mailto:a@b.example", at)
    token = header.removeprefix("vapid t=").split(",")[0]
    claims = json.loads(unb64(token.split(".")[1]))
    assert {"aud": "https://push.example:8443", "exp": 1000 + 12 * 3600, "sub": "mailto:a@b.example"} == claims
    assert "secret" not in header


@pytest.mark.parametrize("wrong", [b"", b"\x04" * 65, b"\x05" + bytes(64), b"\x02" + bytes(32)])
def test_what_is_no_point_is_refused(wrong: bytes) -> None:
    """A browser's key must be a point of the curve, written in full."""
    assert not web_push.is_point(wrong)


@pytest.mark.parametrize("wrong", ["a b", "ä", "a+b", "", "="])
def test_what_is_no_base64url_is_refused(wrong: str) -> None:
    """Only the letters of base64url are read."""
    with pytest.raises(ValueError, match="base64url"):
        web_push.raw(wrong)
