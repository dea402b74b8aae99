"""Categories of the house, and the category of an auction, which is in no ledger."""

from __future__ import annotations

import pytest

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import begin
from saleroom.bidding.domain.categories import Category, read_categories, refuse_unknown, shown_name
from saleroom.bidding.domain.events import AuctionAmended, PhotosArranged, ShownFile, ShownPhoto
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.preconditions import changes
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.views import event_parts
from saleroom.kernel.errors import Change, Contradiction, Fault
from tests.bidding.domain.examples import ADA, after, eur
from tests.bidding.domain.playing import T0

PHOTO = ShownPhoto("one", (ShownFile(400, "5a" * 32),))
CLOCK = Draft(name="Clock", starting_price=eur("100"), category="Clocks")


def test_categories_as_the_owner_writes_them() -> None:
    """A category is a name, with names in other languages behind it; readers of another language see the first."""
    found = read_categories(["Clocks; de=Uhren", "Silver & Gold"])
    assert (Category("Clocks", {"de": "Uhren"}), Category("Silver & Gold", {})) == found
    assert ["Uhren", "Clocks", "Silver & Gold", "Given up"] == [
        shown_name(found, name, language)
        for name, language in (("Clocks", "de"), ("Clocks", "en"), ("Silver & Gold", "de"), ("Given up", "de"))
    ]


def test_the_most_categories_and_the_longest() -> None:
    """A name has 1 to 60 characters, and a house up to 100 categories, each once."""
    assert ["x", "y" * 60] == [one.name for one in read_categories(["x", "y" * 60])]
    assert 100 == len(read_categories([f"{number}" for number in range(100)]))
    with pytest.raises(ValueError, match=r"^write each category once$"):
        read_categories(["Clocks", "Clocks"])


@pytest.mark.parametrize(
    ("known", "message"),
    [(["Clocks", "Silver"], "must be one of: Clocks, Silver"), ([], "must be null: this house has no categories")],
)
def test_an_unknown_category_is_refused_with_the_known_ones(known: list[str], message: str) -> None:
    """The refusal names the field, and what would be right."""
    with pytest.raises(Contradiction) as refused:
        refuse_unknown("Chairs", known)
    assert {"category": [Fault("unknown_category", message)]} == refused.value.faults


@pytest.mark.parametrize(
    "texts",
    [
        [""],
        ["x" * 61],
        ["Clocks; de"],
        ["Clocks; de="],
        ["Clocks; deutsch=Uhren"],
        ["Clocks; Uhren; de=Uhren"],
        ["Clocks\u202e"],
        ["Clocks\nSilver"],
        ["Clocks", "Clocks; de=Uhren"],
        [f"{number}" for number in range(101)],
    ],
)
def test_categories_that_are_none(texts: list[str]) -> None:
    """What cannot be shown, has no end, or is there twice is no list of categories."""
    with pytest.raises(ValueError, match="write"):
        read_categories(texts)


def test_an_auction_has_a_category_of_the_house_or_the_one_that_it_has() -> None:
    """Another one is refused, and the fault names those that there are."""
    for category, was in ((None, None), ("Clocks", None), ("Given up", "Given up"), (None, "Given up")):
        refuse_unknown(category, ["Clocks", "Silver"], was)
    for known, told in ((["Clocks", "Silver"], "must be one of: Clocks, Silver"), ([], "this house has no categories")):
        with pytest.raises(Contradiction, match=told):
            refuse_unknown("Stamps", known)


def test_events_without_a_category_are_as_before() -> None:
    """No event has a category in public. In private it has one only if there is one."""
    plain = selling.create("gid", ADA, Draft(name="Clock", starting_price=eur("100")), T0)
    clock = selling.create("gid", ADA, CLOCK, T0)
    [arranged] = selling.arrange(begin(7, clock), ADA, [PHOTO], T0)
    [without] = selling.arrange(begin(7, plain), ADA, [PHOTO], T0)
    assert event_parts(plain)[0] == event_parts(clock)[0]
    assert event_parts(without) == (event_parts(arranged)[0], {})
    assert {"authorId", "reservePrice", "seed"} == set(event_parts(plain)[1])
    assert ["Clocks", "Clocks"] == [event_parts(event)[1]["category"] for event in (clock, arranged)]


def test_a_change_of_the_category_alone_arranges_the_photos_as_they_are() -> None:
    """A verifier that knows no categories refuses an amendment without a change, but not the same photos once more."""
    created = selling.create("gid", ADA, CLOCK, T0)
    [arranged] = selling.arrange(begin(7, created), ADA, [PHOTO], after(1))
    log = [created, arranged]
    for category, more, kind in (
        ("Silver", {}, PhotosArranged),
        (None, {}, PhotosArranged),
        ("Clocks", {"name": "Watch"}, AuctionAmended),
    ):
        asked = {"category": category, **more}
        [event] = selling.amend(replay(7, log), ADA, asked, after(2), photos=[PHOTO])
        assert (kind, category) == (type(event), event.category)  # type: ignore[attr-defined]  # both have one
        log.append(event)
        assert category == replay(7, log).category
        assert [] == selling.amend(replay(7, log), ADA, asked, after(3), photos=[PHOTO])
    assert {(PHOTO,)} == {event.photos for event in log if isinstance(event, PhotosArranged)}
    assert "Clocks" == retrace(log).auction.category
    told = changes(created, replay(7, log[:3]), ([], []))
    assert (Change("category", "Clocks", "Silver"),) == told
    alone = selling._amended(replay(7, log), {"category": "Silver"}, after(4))
    with pytest.raises(RuleViolation, match=r"but by the rules photos\.arranged comes next"):
        retrace([*log, alone])
