"""Receipts and their signatures: what the house signs is read again, and nothing else is."""

import string

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.bidding.domain.events import BidPrices
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.signatures import InvalidReceipt, Key, Keys, check
from saleroom.bidding.service.signing import Signer, _base64
from saleroom.kernel.chain import canonical
from tests.bidding.domain.examples import after, eur

SIGNER = Signer(Ed25519PrivateKey.generate())
KEYS = Keys([Key(kty="OKP", crv="Ed25519", x=SIGNER.public, kid=SIGNER.kid)])
RECEIPT = Receipt(
    gid="gid",
    sequence=4,
    hash="0f" * 32,
    bidder="cyd",
    asked=BidPrices(eur("110"), None),
    amount=eur("110"),
    maximum=eur("110"),
    leading=False,
    received_at=after(1),
    decided_at=after(2),
)


def signed() -> str:
    """Return the receipt as the house signs it."""
    return SIGNER.sign(RECEIPT.payload())


def test_a_receipt_is_read_as_it_was_signed() -> None:
    """Every member comes back, also those that are missing for a raise and for a purchase."""
    raised = msgspec.structs.replace(RECEIPT, asked=None, amount=None, received_at=None, leading=True)
    for receipt in (RECEIPT, raised):
        assert receipt == check(SIGNER.sign(receipt.payload()), KEYS)


def test_a_receipt_has_the_names_and_forms_of_the_document() -> None:
    """The payload is that of docs/ledger.md."""
    assert {
        "gid": "gid",
        "sequence": 4,
        "hash": "0f" * 32,
        "bidder": "cyd",
        "asked": {"amount": "110.000", "maximum": None},
        "amount": "110.000",
        "maximum": "110.000",
        "leading": False,
        "receivedAt": "2026-11-21T12:00:01.000000Z",
        "decidedAt": "2026-11-21T12:00:02.000000Z",
    } == msgspec.json.decode(canonical(RECEIPT.payload()))


def test_the_right_key_is_found_among_others() -> None:
    """A house has a key for each of its ages; the one that the receipt names counts."""
    others = [Key(kty="OKP", crv="Ed25519", x=other.public, kid=other.kid) for other in _signers(3)]
    assert RECEIPT == check(signed(), Keys([*others, *KEYS.keys]))
    renamed = Keys([msgspec.structs.replace(others[0], kid=SIGNER.kid)])
    with pytest.raises(InvalidReceipt, match="it was changed or forged"):
        check(signed(), renamed)


def _signers(count: int) -> list[Signer]:
    return [Signer(Ed25519PrivateKey.generate()) for _ in range(count)]


def test_every_byte_of_a_receipt_counts() -> None:
    """No character of a receipt can be changed."""
    receipt = signed()
    for place in range(len(receipt)):
        # The last one has four unused bits.
        others = {"A", "b", "9", "-", "."} if place < len(receipt) - 1 else set(string.ascii_letters + string.digits)
        for other in others - {receipt[place]}:
            with pytest.raises(InvalidReceipt):
                check(receipt[:place] + other + receipt[place + 1 :], KEYS)


def header(**members: str) -> str:
    """Return a signed receipt with another header."""
    head = _base64(canonical({"alg": "EdDSA", "kid": SIGNER.kid, "typ": "saleroom-receipt", **members}))
    body = head + b"." + signed().split(".")[1].encode()
    return (body + b"." + _base64(SIGNER._private.sign(body))).decode()


@pytest.mark.parametrize(
    ("receipt", "why"),
    [
        (header(alg="none"), "does not say alg EdDSA"),
        (header(alg="HS256"), "does not say alg EdDSA"),
        (header(typ="JWT"), "does not say alg EdDSA and typ saleroom-receipt"),
        (header(kid="other"), "which the house does not have"),
        (Signer(Ed25519PrivateKey.generate()).sign({}), "which the house does not have"),
        (SIGNER.sign({"gid": "gid"}), "this is no receipt"),
        ("a.b.c", "three parts of base64url"),
        ("", "three parts of base64url"),
        (signed() + "\n", "three parts of base64url"),
        (signed() + "=", "three parts of base64url"),
    ],
)
def test_what_is_no_receipt_is_refused(receipt: str, why: str) -> None:
    """Anything but a receipt in the form that the house signs is refused."""
    with pytest.raises(InvalidReceipt) as refuted:
        check(receipt, KEYS)
    assert why in str(refuted.value)


NO_KEY, NO_BASE64 = "the key is no Ed25519 key", "a part of it is not base64url (RFC 7515)"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ({"x": "AAAA"}, NO_KEY),
        ({"x": ""}, NO_KEY),
        ({"x": "A"}, NO_BASE64),
        ({"x": "é"}, NO_BASE64),
        ({"x": SIGNER.public + "="}, NO_BASE64),
        ({"x": f" {SIGNER.public}"}, NO_BASE64),
        (
            {"kty": "RSA"},
            f"it is signed with the key {SIGNER.kid!r}, which the house does not have: is this its house?",
        ),
        (
            {"crv": "X25519"},
            f"it is signed with the key {SIGNER.kid!r}, which the house does not have: is this its house?",
        ),
    ],
)
def test_a_key_that_is_none_verifies_nothing(key: dict[str, str], why: str) -> None:
    """A key of another kind, or one that is damaged, is refused."""
    keys = Keys([msgspec.structs.replace(KEYS.keys[0], **key)])
    with pytest.raises(InvalidReceipt) as refused:
        check(signed(), keys)
    assert why == str(refused.value)


def test_refusals_say_what_is_wrong() -> None:
    """What is no receipt is told from a receipt that was changed."""
    form = "this is no receipt: a receipt is three parts of base64url with dots between them"
    changed = "its signature is not that of the house: it was changed or forged"
    for text, why in (("a.b.c", form), (signed()[:-86] + "A" * 86, changed)):
        with pytest.raises(InvalidReceipt) as refused:
            check(text, KEYS)
        assert why == str(refused.value)
