"""Rate cards over HTTP: made, changed, tried out, and chosen."""

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.settlement.domain.rates import cards
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import made, with_lots

TERMS: dict[str, Any] = {
    "premium": {"tiers": [{"above": "0", "percent": "25"}, {"above": "1000", "percent": "20"}], "cumulative": True},
    "commission": {"tiers": [{"above": "0", "percent": "15"}], "minimum": "5"},
    "surcharges": {"online": "3"},
    "entryFee": "2",
    "country": "DE",
    "taxScheme": "standard",
}


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite."""
    return sqlite_house


@pytest.fixture
def manager(house: House) -> User:
    """A manager."""
    return house.staff(Role.MANAGER)


def card_of(manager: User, name: str, **terms: Any) -> str:
    """Make a rate card, and return its gid."""
    return str(manager.json("POST", "/rate-cards", json={"name": name, **TERMS, **terms})["card"])


def test_a_rate_card_is_made_and_changed(manager: User) -> None:
    """A card has the terms of its form; a change is another version with all terms, and the same terms make none."""
    key = {"Idempotency-Key": "once-for-this-card"}
    sent = {"name": "Evening", **TERMS}
    first = manager.json("POST", "/rate-cards", json=sent, headers=key)
    assert first == manager.json("POST", "/rate-cards", json=sent, headers=key)
    gid = first["card"]
    assert ["Evening", 1, "DE", "2.000", {"online": "3.000"}] == [
        first[name] for name in ("cardName", "cardVersion", "country", "entryFee", "surcharges")
    ]
    assert {
        "tiers": [{"above": "0.000", "percent": "25.000"}, {"above": "1000.000", "percent": "20.000"}],
        "cumulative": True,
        "minimum": "0.000",
    } == first["premium"]
    assert (409, "rate_card_taken") == refusal(manager.post("/rate-cards", json={"name": "Evening"}))
    assert (409, "rate_card_taken") == refusal(manager.post("/rate-cards", json={"name": "Eve\u200bning"}))
    manager.json("POST", "/rate-cards", json={"name": "Caf\u00e9"})
    assert (409, "rate_card_taken") == refusal(manager.post("/rate-cards", json={"name": "Cafe\u0301"})), (
        "it looks the same"
    )
    assert first == manager.json("PUT", f"/rate-cards/{gid}", json=TERMS)
    changed = manager.json("PUT", f"/rate-cards/{gid}", json={"entryFee": "3"})
    assert (2, "3.000", "none") == tuple(changed[name] for name in ("cardVersion", "entryFee", "country"))
    assert changed == manager.json("GET", f"/rate-cards/{gid}")
    assert changed in manager.json("GET", "/rate-cards")["rateCards"]
    for method, path, body in (("GET", "", None), ("PUT", "", {}), ("GET", "/preview", None)):
        assert (404, "unknown_rate_card") == refusal(manager.request(method, f"/rate-cards/nowhere{path}", json=body))


@pytest.mark.parametrize(
    ("terms", "field", "code"),
    [
        ({"premium": {"tiers": [{"above": "1", "percent": "25"}]}}, "premium", "first_tier"),
        ({"premium": {"tiers": [{"above": "0", "percent": "101"}]}}, "premium", "percent_too_high"),
        ({"premium": {"tiers": [{"above": "0", "percent": "1"}] * 2}}, "premium", "tiers_rise"),
        ({"premium": {"tiers": [{"above": "0", "percent": "1"}] * 21}}, "premium", "too_many_tiers"),
        ({"premium": {"tiers": [{"above": "0"}]}}, "premium", "required"),
        ({"premium": {"tiers": [7]}}, "premium", "not_an_object"),
        ({"premium": {"tiers": {}}}, "premium", "not_a_list"),
        ({"premium": {"tier": []}}, "premium", "unknown"),
        ({"premium": 25}, "premium", "not_an_object"),
        ({"surcharges": {"mail": "3"}}, "surcharges", "unknown"),
        ({"surcharges": []}, "surcharges", "not_an_object"),
        ({"insurance": "100.001"}, "insurance", "percent_too_high"),
        ({"entryFee": "-1"}, "entryFee", "money_negative"),
        ({"country": "FR"}, "country", "not_a_choice"),
    ],
)
def test_faults_of_terms_are_named(manager: User, terms: dict[str, Any], field: str, code: str) -> None:
    """What cannot be a term is refused by its field, and no card is made."""
    answer = manager.post("/rate-cards", json={"name": f"Faulty {code} {field}", **terms})
    assert {field: [code]} == faults(answer)
    assert f"Faulty {code} {field}" not in {one["cardName"] for one in manager.json("GET", "/rate-cards")["rateCards"]}


def test_faults_inside_a_scale_say_where_they_are(manager: User) -> None:
    """Each fault of each tier has the number of the tier and the name of the member."""
    tiers = [{"above": "0", "percent": "101"}, {"from": "5", "percent": "1"}, 7]
    answer = manager.post("/rate-cards", json={"name": "Nested", "premium": {"tiers": tiers, "step": 1}})
    assert [
        "tiers 1: percent must be at most 100",
        "tiers 2: above is required",
        "tiers 2: from is not known here; known are: above, percent",
        'tiers 3: must be an object with "above" and "percent"',
        "step is not known here; known are: cumulative, minimum, tiers",
    ] == [fault["message"] for fault in answer.json()["message"]["premium"]]


def test_a_preview_says_what_a_price_costs_and_brings(manager: User) -> None:
    """3,000 euros cost 25 % and 20 % by parts, a surcharge and 19 % tax; a lot that is not sold costs its consignor the fee."""
    gid = card_of(manager, "Preview")
    found = manager.json("GET", f"/rate-cards/{gid}/preview?price=3000")
    assert [
        ("hammer", "3000.000", "570.000"),
        ("premium", "650.000", "123.500"),
        ("surcharge", "90.000", "17.100"),
    ] == [(line["item"], line["lineAmount"], line["lineTax"]) for line in found["buyerLines"]]
    assert ("4450.600", "2462.120", None) == tuple(found[name] for name in ("due", "proceeds", "legalWords"))
    floor = manager.json("GET", f"/rate-cards/{gid}/preview?price=3000&channel=floor&taxScheme=margin")
    assert ("3650.000", "margin") == (floor["due"], floor["taxScheme"])
    assert "103.780" == floor["buyerLines"][1]["hiddenTax"]
    unsold = manager.json("GET", f"/rate-cards/{gid}/preview")
    assert ([], "0.000", "-2.380") == tuple(unsold[name] for name in ("buyerLines", "due", "proceeds"))
    assert 400 <= manager.get(f"/rate-cards/{gid}/preview?price=much").status_code < 500


def test_a_card_is_chosen_for_a_sale_a_lot_and_a_consignor(house: House, manager: User) -> None:
    """Each has the card that was chosen last, or none of its own; the audit log notes each choice once."""
    card, gid = card_of(manager, "Chosen"), with_lots(manager, 1)
    manager.json("POST", "/consignors", json={"code": "R1", "name": "Erben"})
    for path in (f"/sales/{gid}/rates", f"/sales/{gid}/lots/1/rates", "/consignors/R1/rates"):
        assert {"card": None} == manager.json("GET", path)
        for _ in range(2):
            assert {"card": card} == manager.json("PUT", path, json={"card": card})
        assert {"card": card} == manager.json("GET", path)
        assert (404, "unknown_rate_card") == refusal(manager.request("PUT", path, json={"card": "nowhere"}))
        assert {"card": None} == manager.json("PUT", path, json={"card": None})
        assert {"card": None} == manager.json("GET", path)
    entries = house.staff(Role.OWNER).json("GET", "/staff/audit?act=rates.chosen")["entries"]
    assert 6 == len([one for one in entries if one["by"] == manager.name])
    other = made(manager)
    for path, code in (
        (f"/sales/{other}/lots/9/rates", "unknown_lot"),
        ("/sales/nowhere/rates", "unknown_sale"),
        ("/consignors/NOBODY/rates", "unknown_consignor"),
    ):
        assert (404, code) == refusal(manager.request("PUT", path, json={"card": card})) == refusal(manager.get(path))


def test_a_house_has_so_many_rate_cards(manager: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The house refuses more cards, and more versions of one, than it can have."""
    gid = card_of(manager, "The last one")
    monkeypatch.setattr(cards, "CARDS_MAX", 1)
    monkeypatch.setattr(cards, "VERSIONS_MAX", 1)
    assert (409, "too_many_rate_cards") == refusal(manager.post("/rate-cards", json={"name": "One more"}))
    assert (409, "too_many_rate_cards") == refusal(manager.request("PUT", f"/rate-cards/{gid}", json={}))
