"""HMAC with SHA-256 by two plain hashes: the same as the standard library's."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.hmac_key import HmacKey


@given(key=st.binary(max_size=140), message=st.binary(max_size=300))
def test_it_is_what_the_library_makes(key: bytes, message: bytes) -> None:
    """Keys shorter than a block of the hash, as long and longer give what `hmac.digest` gives."""
    assert hmac.digest(key, message, "sha256") == HmacKey(key).digest(message)


@pytest.mark.parametrize("size", [0, 63, 64, 65])
def test_the_length_of_a_key_around_a_block(size: int) -> None:
    """A key of exactly a block is not hashed, a longer one is."""
    key = bytes(range(size))
    assert hmac.digest(key, b"message", "sha256") == HmacKey(key).digest(b"message")


def test_a_key_serves_many_messages() -> None:
    """A message leaves nothing in the key."""
    key = HmacKey(b"Jefe")
    first = key.digest(b"what do ya want for nothing?")
    key.digest(b"another")
    assert "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" == first.hex()  # RFC 4231, 4.3
    assert first == key.digest(b"what do ya want for nothing?")
