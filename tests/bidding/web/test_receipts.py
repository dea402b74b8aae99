"""The receipts of a lot: a page and files for their bidder only, and a check by one click, all without scripts."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from saleroom.bidding.service.signing import _base64, _raw
from saleroom.bidding.storage import signing_keys
from saleroom.kernel.chain import canonical
from saleroom.tools.verify.command import read_options, run
from tests.bidding.web.seller import Come
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")


def test_a_receipt_is_kept_and_checked(come: Come, house: House, seller: User, tmp_path: Path) -> None:
    """The file is the receipt that the bid was answered with; one click checks it, and `saleroom verify` agrees."""
    gid, bidder = seller.auction(startingPrice="10", name="Chair <b>"), house.newcomer()
    first = bidder.json("POST", f"/auctions/{gid}/bids", json={"amount": "10", "maximum": "30"})["receipt"]
    bidder.json("POST", f"/auctions/{gid}/bids", json={"maximum": "40.50"})
    visitor = come(bidder)
    page = visitor.page(f"/lots/{gid}/receipts")
    assert "You bid €10.00, with a limit of €30.00" in page.main
    assert "You raised your limit to €40.50" in page.main
    links = [link for link in page.links if link.endswith(".txt")]
    assert [f"/lots/{gid}/receipts/2.txt", f"/lots/{gid}/receipts/1.txt"] == links
    file = visitor.http.get(links[1])
    assert f"{first}\n" == file.text
    assert f'attachment; filename="receipt-{gid}-1.txt"' == file.headers["content-disposition"]
    assert "private, no-store" == file.headers["cache-control"]
    for kept in (first, f" {first[:40]}\n{first[40:]} "):
        checked = visitor.send(page, f"/lots/{gid}/receipts", receipt=kept)
        assert "This receipt is right." in checked.text
        assert "at event 2" in checked.text
    (tmp_path / "receipt.txt").write_text(visitor.http.get(links[0]).text)
    assert 0 == run(read_options(f"{house.base}/lots/{gid}", str(tmp_path / "receipt.txt"), None), json=True)


@pytest.mark.databases("sqlite", "postgresql")
def test_a_receipt_of_an_older_house_is_checked(come: Come, house: House, seller: User) -> None:
    """A receipt that was signed by itself, before there were trees, stands as before."""
    gid, bidder = seller.auction(), house.newcomer()
    leaf = bidder.bid(gid, "100").json()["receipt"].split("~")[1]
    statement = json.loads(base64.urlsafe_b64decode(leaf + "=="))[1]
    [row] = house.read(signing_keys.all_keys)
    assert row.private is not None
    header = {"alg": "EdDSA", "kid": row.kid, "typ": "saleroom-receipt"}
    signed = b".".join(_base64(canonical(part)) for part in (header, statement))
    signature = Ed25519PrivateKey.from_private_bytes(_raw(row.private)).sign(signed)
    visitor = come(bidder)
    page = visitor.page(f"/lots/{gid}/receipts")
    for text, words in [(signature, "This receipt is right."), (bytes(64), "The house has not signed this.")]:
        receipt = (signed + b"." + _base64(text)).decode()
        assert words in visitor.send(page, f"/lots/{gid}/receipts", receipt=receipt).text


def test_a_wrong_receipt_is_told(come: Come, house: House, seller: User) -> None:
    """The page says of what is no receipt, of a forged one and of one for another lot what it is."""
    gid, other, bidder = seller.auction(), seller.auction(), house.newcomer()
    receipt = bidder.bid(other, "100").json()["receipt"]
    visitor = come(bidder)
    page = visitor.page(f"/lots/{gid}/receipts")
    assert "You have no receipts for this lot." in page.main
    forged = receipt[:-30] + ("A" if receipt[-30] != "A" else "B") + receipt[-29:]
    for text, words in [
        ("", "The house has not signed this."),
        ("<script>", "The house has not signed this."),
        (forged, "The house has not signed this."),
        (receipt.partition("~")[0], "The house has not signed this."),
        (receipt.replace("~0", "~1"), "The house has not signed this."),
        (receipt, "This receipt is for another lot."),
    ]:
        answer = visitor.send(page, f"/lots/{gid}/receipts", receipt=text)
        assert (200, True) == (answer.status_code, words in answer.text)


def test_receipts_are_for_their_bidder_only(come: Come, house: House, seller: User) -> None:
    """Another user, the seller and a stranger see none of them, and find no file."""
    gid = seller.auction()
    house.newcomer().bid(gid, "100")
    for user in (seller, house.newcomer()):
        visitor = come(user)
        assert "You have no receipts for this lot." in visitor.page(f"/lots/{gid}/receipts").main
        for number in ("1", "0", "2", "-1", "x", "9" * 30):
            assert 404 == visitor.http.get(f"/lots/{gid}/receipts/{number}.txt").status_code
    for path in (f"/lots/{gid}/receipts", f"/lots/{gid}/receipts/1.txt"):
        answer = come(None).http.get(path)
        assert (303, f"/login?next={path}") == (answer.status_code, answer.headers["location"])
    assert 404 == come(seller).http.get("/lots/nowhere/receipts").status_code


def test_receipts_come_by_page(come: Come, house: House, seller: User) -> None:
    """Many receipts come 20 at a time, the newest first, and each can be checked."""
    gid, bidder = seller.auction(), house.newcomer()
    for limit in range(100, 121):
        bidder.json("POST", f"/auctions/{gid}/bids", json={"maximum": str(limit)})
    visitor = come(bidder)
    page = visitor.page(f"/lots/{gid}/receipts")
    assert 20 == len([link for link in page.links if link.endswith(".txt")])
    texts = [e["value"] for e in page.all("input", name="receipt")]
    assert (20, 1) == (len(set(texts)), len({text.partition("~")[0] for text in texts}))  # one signature for a page
    for text in (texts[0], texts[13]):
        assert "This receipt is right." in visitor.send(page, f"/lots/{gid}/receipts", receipt=text).text
    [older] = [e["href"] for e in page.all("a", rel="next")]
    assert "with a limit of €100.00" in visitor.page(older).main


def test_receipts_are_linked_where_bidders_look(come: Come, house: House, seller: User) -> None:
    """My saleroom and the bid box lead a bidder to their receipts, and nobody else."""
    gid, bidder = seller.auction(), house.newcomer()
    bidder.bid(gid, "100")
    link = f"/lots/{gid}/receipts"
    for path in ("/mine", f"/lots/{gid}"):
        assert link in come(bidder).page(path).links
    assert link not in come(house.newcomer()).page(f"/lots/{gid}").links
