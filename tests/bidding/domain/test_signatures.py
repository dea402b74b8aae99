"""Receipts and their signatures: what the house signs is read again, and nothing else is."""

import base64
import itertools
import re
import string
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.bidding.domain.events import BidPrices
from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.signatures import InvalidReceipt, Key, Keys, _bytes, check
from saleroom.bidding.service.signing import Signer, _base64, _text
from saleroom.kernel.chain import canonical
from saleroom.kernel.merkle import MerkleTree
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


OTHERS = [msgspec.structs.replace(RECEIPT, bidder=f"bidder-{number}").payload() for number in range(5)]
"""The statements of neighbours in a batch."""


def signed() -> str:
    """Return the receipt as the house signs it in a quiet hour."""
    return SIGNER.sign([RECEIPT.payload()])[0]


def signed_together() -> str:
    """Return the receipt as the house signs it with five others: the last of six, whose path has two hashes."""
    return SIGNER.sign([*OTHERS, RECEIPT.payload()])[-1]


def jws(payload: Any, **header: str) -> str:
    """Return a JSON Web Signature of the house."""
    head = {"alg": "EdDSA", "kid": SIGNER.kid, "typ": "saleroom-receipt", **header}
    body = _base64(canonical(head)) + b"." + _base64(canonical(payload))
    return (body + b"." + _base64(SIGNER._private.sign(body))).decode()


def older() -> str:
    """Return the receipt as older houses signed it, by itself."""
    return jws(RECEIPT.payload())


def test_a_receipt_is_read_as_it_was_signed() -> None:
    """Every member comes back, also those that are missing for a raise and for a purchase."""
    raised = msgspec.structs.replace(RECEIPT, asked=None, amount=None, received_at=None, leading=True)
    for receipt in (RECEIPT, raised):
        assert receipt == check(SIGNER.sign([receipt.payload()])[0], KEYS)
        assert receipt == check(SIGNER.sign([*OTHERS, receipt.payload()])[-1], KEYS)
        assert receipt == check(jws(receipt.payload()), KEYS)


def test_receipts_of_a_batch_share_one_signature() -> None:
    """Each of many receipts is verified by itself, and all have the same signed head; none grows by more than log n hashes."""
    for size in (1, 2, 3, 6, 64, 100):
        receipts = [msgspec.structs.replace(RECEIPT, sequence=number) for number in range(1, size + 1)]
        texts = SIGNER.sign([receipt.payload() for receipt in receipts])
        assert receipts == [check(text, KEYS) for text in texts]
        assert 1 == len({text.partition("~")[0] for text in texts})
        assert (size - 1).bit_length() == max(text.rpartition("~")[2].count(".") for text in texts)
    assert signed().endswith("~0")
    assert [] == SIGNER.sign([])


def test_a_receipt_gives_nothing_of_its_neighbours_away() -> None:
    """The hashes beside a receipt are salted, so that no maximum can be guessed from them; no two salts are the same."""
    one, other = SIGNER.sign([RECEIPT.payload(), OTHERS[0]])
    [beside] = one.rpartition("~")[2].split(".")[1:]
    assert _text(MerkleTree([_bytes(other.split("~")[1])]).root) == beside
    assert _text(MerkleTree([canonical(OTHERS[0])]).root) != beside
    signers = [SIGNER, Signer(Ed25519PrivateKey.generate())]
    salts = [salt_of(text) for signer in signers for text in signer.sign([RECEIPT.payload(), *OTHERS])]
    assert {22} == {len(salt) for salt in salts}
    assert 12 == len(set(salts))


def salt_of(text: str) -> str:
    """Return the salt of a receipt."""
    salt, _ = msgspec.json.decode(_bytes(text.split("~")[1]))
    return str(salt)


def test_the_same_statements_give_the_same_receipts() -> None:
    """A receipt that is made again is the same, byte for byte, as long as the tree is."""
    assert signed() == signed()
    assert signed_together() == signed_together()


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


@pytest.mark.parametrize("whole", [(), ("decided_at",), ("received_at",), ("decided_at", "received_at")])
def test_what_is_signed_is_the_payload(whole: tuple[str, ...]) -> None:
    """A receipt is signed with six decimals of each instant, also of those at a whole second, which msgspec writes without."""
    receipt = msgspec.structs.replace(RECEIPT, decided_at=after(2.25), received_at=after(1.5))
    receipt = msgspec.structs.replace(receipt, **{name: getattr(RECEIPT, name) for name in whole})
    others = ({"asked": None}, {"asked": None, "amount": None}, {"received_at": None}, {"leading": True})
    for one in (receipt, *(msgspec.structs.replace(receipt, **members) for members in others)):
        assert canonical(one.payload()) == canonical(one.stated())
        assert SIGNER.sign([one.payload()]) == SIGNER.sign([one.stated()])


def test_the_right_key_is_found_among_others() -> None:
    """A house has a key for each of its ages; the one that the receipt names counts."""
    others = [Key(kty="OKP", crv="Ed25519", x=other.public, kid=other.kid) for other in _signers(3)]
    assert RECEIPT == check(signed(), Keys([*others, *KEYS.keys]))
    renamed = Keys([msgspec.structs.replace(others[0], kid=SIGNER.kid)])
    with pytest.raises(InvalidReceipt, match="it was changed or forged"):
        check(signed(), renamed)


def _signers(count: int) -> list[Signer]:
    return [Signer(Ed25519PrivateKey.generate()) for _ in range(count)]


@pytest.mark.parametrize("receipt", [signed(), signed_together(), older()], ids=["alone", "together", "older"])
def test_every_byte_of_a_receipt_counts(receipt: str) -> None:
    """No character of a receipt can be changed, added or left out."""
    check(receipt, KEYS)
    ends = {len(part) for part in itertools.accumulate(re.split(r"(?=[.~])", receipt))}
    for place in range(len(receipt)):
        # The last one of a part has unused bits.
        alphabet = string.ascii_letters + string.digits + "-_.~" if place + 1 in ends else "Ab9-.~"
        for other in {"", receipt[place] + "A", *alphabet} - {receipt[place]}:
            changed = receipt[:place] + other + receipt[place + 1 :]
            if changed != receipt:
                with pytest.raises(InvalidReceipt):
                    check(changed, KEYS)


def in_tree(receipt: str = "", *, index: object = None, path: str | None = None, **head: Any) -> str:
    """Return `signed_together` with another place, or with another signed head."""
    whole, leaf, place = signed_together().split("~")
    number, _, hashes = place.partition(".")
    if head:
        whole = jws({"root": _text(MerkleTree([_bytes(leaf)]).root), "size": 1, **head}, typ="saleroom-receipt-tree")
        number, hashes = "0", ""
    hashes = hashes if path is None else path
    return f"{whole}~{receipt or leaf}~{number if index is None else index}{hashes and '.'}{hashes}"


LEAF, PATH = signed_together().split("~")[1], signed_together().partition(".")[2].rpartition("~")[2].partition(".")[2]
FORM = (
    "this is no receipt: a receipt is three parts of base64url with dots between them, then the bid and its place in the "
    "batch, each after a ~ (older ones are only the three parts)"
)
CUT = "it was cut off: the bid and its place in the batch are missing after the signature"
PLACE = "its place in the batch does not lead to the signed root: it was changed or forged"


@pytest.mark.parametrize(
    ("receipt", "why"),
    [
        (signed_together().partition("~")[0], CUT),
        (signed_together().rpartition("~")[0], FORM),
        (f"{older()}~{LEAF}~0", "this is no receipt: its header does not say alg EdDSA and typ saleroom-receipt-tree"),
        (in_tree(index=4), PLACE),
        (in_tree(index=6), PLACE),
        (in_tree(index=7), PLACE),
        (in_tree(index=10**18), PLACE),
        (in_tree(index=10**19), FORM),
        (in_tree(index="05"), FORM),
        (in_tree(index="-1"), FORM),
        (in_tree(index=""), FORM),
        (in_tree(path=""), PLACE),
        (in_tree(path=PATH[:43]), PLACE),
        (in_tree(path=PATH[44:]), PLACE),
        (in_tree(path=f"{PATH[44:]}.{PATH[:43]}"), PLACE),
        (in_tree(path=f"{PATH}.{PATH[:43]}"), PLACE),
        (in_tree(path=".".join([PATH[:43]] * 64)), PLACE),
        (in_tree(path=".".join([PATH[:43]] * 65)), FORM),
        (in_tree(path=PATH[:-1]), FORM),
        (in_tree(receipt="A" * 16385), FORM),
        (in_tree(receipt="AAAA"), PLACE),
        (in_tree(size=2), PLACE),
        (in_tree(size=0), PLACE),
        (in_tree(size=-1), PLACE),
        (in_tree(size=10**30), PLACE),
        (in_tree(root="AAAA"), PLACE),
        (in_tree(root="A"), "a part of it is not base64url (RFC 7515)"),
        (in_tree(size="1"), "this is no receipt: Expected `int`, got `str` - at `$.size`"),
        (SIGNER.sign([{"gid": "gid"}])[0], "this is no receipt: Object missing required field `sequence` - at `$[1]`"),
    ],
)
def test_a_place_that_is_not_the_one_in_the_tree_is_refused(receipt: str, why: str) -> None:
    """A receipt leads to the signed root from exactly its place, by a path of exactly the length that it demands."""
    assert RECEIPT == check(in_tree(), KEYS) == check(in_tree(size=1), KEYS)
    with pytest.raises(InvalidReceipt) as refuted:
        check(receipt, KEYS)
    assert why == str(refuted.value)


def header(**members: str) -> str:
    """Return a signed receipt of an older house with another header."""
    return jws(RECEIPT.payload(), **members)


@pytest.mark.parametrize(
    ("receipt", "why"),
    [
        (header(alg="none"), "does not say alg EdDSA"),
        (header(alg="HS256"), "does not say alg EdDSA"),
        (header(typ="JWT"), "does not say alg EdDSA and typ saleroom-receipt"),
        (header(kid="other"), "which the house does not have"),
        (Signer(Ed25519PrivateKey.generate()).sign([{}])[0], "which the house does not have"),
        (jws({"gid": "gid"}), "this is no receipt"),
        (
            base64.urlsafe_b64encode(b'{"x":' + b"[" * 2998).decode() + ".AAAA." + "A" * 86,
            "this is no receipt: maximum recursion depth",
        ),
        ("a.b.c", "three parts of base64url"),
        ("", "three parts of base64url"),
        (signed() + "\n", "three parts of base64url"),
        (signed() + "=", "three parts of base64url"),
    ],
)
def test_other_texts_are_no_receipts(receipt: str, why: str) -> None:
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
    changed = "its signature is not that of the house: it was changed or forged"
    for text, why in (("a.b.c", FORM), (older()[:-86] + "A" * 86, changed)):
        with pytest.raises(InvalidReceipt) as refused:
            check(text, KEYS)
        assert why == str(refused.value)
