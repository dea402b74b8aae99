"""What a hammer price costs and brings: examples from public sources, and what holds of every bill (docs/settlement.md)."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.journal import in_cash
from saleroom.settlement.domain.rates.bills import Bearer, Bill, Charge, Hammer, Item, RateCard, bill
from saleroom.settlement.domain.rates.scales import Scale, Tier
from saleroom.settlement.domain.rates.tax import LAWS, MARGIN, Country, Goods
from tests.settlement.domain.rates.test_scales import PERCENTS, PRICES, scales

DAY = date(2026, 11, 25)
FEES = st.decimals(0, 100, places=3)
FEES_ONCE = (Item.ENTRY, Item.PHOTO, Item.UNSOLD)


def flat(percent: str) -> Scale:
    """Return a scale of one percentage."""
    return Scale((Tier(ZERO, Decimal(percent)),))


def sold(price: str, card: RateCard, **more: Any) -> Bill:
    """Return the bill of a lot that was sold at a price, in cents."""
    return bill(card, Hammer(price=Decimal(price), on=more.pop("on", DAY), **more), 2)


def shown(lines: tuple[Charge, ...]) -> list[tuple[str, str, str]]:
    """Return lines with their amounts and taxes."""
    return [(str(line.item), str(line.amount), str(line.tax)) for line in lines]


cards = st.builds(
    RateCard,
    premium=scales(),
    commission=scales(),
    member_premium=scales() | st.none(),
    member_commission=scales() | st.none(),
    surcharges=st.dictionaries(st.sampled_from(Channel), PERCENTS),
    entry=FEES,
    photo=FEES,
    unsold=FEES,
    insurance=PERCENTS,
    donation=PERCENTS,
    resale_right=st.sampled_from(Bearer),
    country=st.sampled_from(Country),
    goods=st.sampled_from(Goods),
    scheme=st.sampled_from(TaxScheme),
)
hammers = st.builds(
    Hammer,
    price=PRICES | st.none(),
    on=st.dates(date(2018, 1, 1), date(2030, 1, 1)),
    channel=st.sampled_from(Channel),
    buyer_member=st.booleans(),
    seller_member=st.booleans(),
    left_out=st.sampled_from([(), FEES_ONCE, FEES_ONCE[:1]]),
    scheme=st.sampled_from(TaxScheme) | st.none(),
)


def test_the_margin_scheme_as_the_british_tax_office_calculates_it() -> None:
    """At a hammer price of £10,000 and 12 % from either side the margin is £2,400, and the tax inside it £400.

    HM Revenue & Customs, VATMARG04150, "The auctioneers' scheme", read on 2026-11-25.
    """
    card = RateCard(
        premium=flat("12"), commission=flat("12"), country=Country.UK, goods=Goods.ANTIQUES, scheme=TaxScheme.MARGIN
    )
    found = sold("10000", card)
    assert (Decimal(11_200), Decimal(8_800)) == (found.due, found.proceeds)
    assert Decimal(400) == sum(line.hidden_tax for line in (*found.buyer, *found.consignor))
    assert {ZERO} == {line.tax for line in (*found.buyer, *found.consignor)}
    assert "Margin scheme - collectors' items and antiques" == found.words


@pytest.mark.parametrize(
    ("price", "share"),
    [
        ("999.99", "0"),
        ("1000", "40"),
        ("50000", "2000"),
        ("200000", "6500"),  # £2,000 + £4,500
        ("350000", "8000"),
        ("500000", "8750"),
        ("2000000", "12500"),
        ("9000000", "12500"),
    ],
)
def test_the_artists_resale_right_in_pounds(price: str, share: str) -> None:
    """£200,000 give the artist £6,500; the right begins at £1,000 and ends at £12,500.

    The Design Right, Artist's Resale Right and Copyright (Amendment) Regulations 2023; the example of £200,000 is that of a
    public guidance on it, read on 2026-11-25. The cap is reached at 2,000,000 (Bild-Kunst, questions on the Folgerecht).
    """
    card = RateCard(country=Country.UK, scheme=TaxScheme.RESALE_RIGHT, resale_right=Bearer.BUYER)
    assert Decimal(share) == sold(price, card).due - Decimal(price)


@pytest.mark.parametrize(
    ("price", "share"), [("399.99", "0"), ("400", "16"), ("80000.01", "2900"), ("2500000", "12500")]
)
def test_the_resale_right_of_germany(price: str, share: str) -> None:
    """From 400 euros on: 4 % up to 50,000, then 3 %, and so on; the consignor bears it (§ 26 UrhG, read on 2026-11-25)."""
    card = RateCard(country=Country.DE, scheme=TaxScheme.RESALE_RIGHT)
    assert Decimal(share) == Decimal(price) - sold(price, card).proceeds


def test_the_standard_scheme_taxes_hammer_premium_and_services() -> None:
    """In Germany 1,000 euros with 25 % and 15 %: 19 % on the hammer price and on what the house takes (§ 12 UStG).

    1000 + 190 + 250 + 47.50 = 1487.50 from the buyer; 1000 - 150 - 28.50 - 5 - 0.95 = 815.55 to the consignor.
    """
    card = RateCard(
        premium=flat("25"), commission=flat("15"), entry=Decimal(5), country=Country.DE, scheme=TaxScheme.STANDARD
    )
    found = sold("1000", card)
    assert [("hammer", "1000.000", "190.000"), ("premium", "250.000", "47.500")] == shown(found.buyer)
    assert [
        ("hammer", "1000.000", "0.000"),
        ("commission", "-150.000", "-28.500"),
        ("entry", "-5.000", "-0.950"),
    ] == shown(found.consignor)
    assert (Decimal("1487.50"), Decimal("815.55")) == (found.due, found.proceeds)


def test_germany_taxes_art_at_the_lower_rate_since_2025() -> None:
    """Art is taxed at 7 % from 2025-01-01 on, the commission for it at 19 % (§ 12 (2) UStG; JStG 2024)."""
    card = RateCard(
        premium=flat("25"), commission=flat("10"), country=Country.DE, scheme=TaxScheme.STANDARD, goods=Goods.ART
    )
    before, after = sold("100", card, on=date(2024, 12, 31)), sold("100", card, on=date(2025, 1, 1))
    assert [Decimal(19)] * 2 == [line.rate for line in before.buyer]
    assert [Decimal(7)] * 2 == [line.rate for line in after.buyer]
    assert Decimal("-1.90") == after.consignor[1].tax


def test_switzerland_raised_its_rate_in_2024() -> None:
    """7.7 % until 2023-12-31, 8.1 % from then on (Art. 25 MWSTG, as of 2024-01-01)."""
    card = RateCard(premium=flat("20"), country=Country.CH, scheme=TaxScheme.STANDARD)
    due = [sold("100", card, on=day).due for day in (date(2023, 12, 31), date(2024, 1, 1))]
    assert [Decimal("129.24"), Decimal("129.72")] == due


def test_the_margin_scheme_as_the_swiss_tax_administration_calculates_it() -> None:
    """An antique cupboard of 15,000 francs is sold for 17,000: 2,000 are taxed at 7.7 % (107.7 %).

    The office says 143.00, as it rounds to the smallest coin; to the centime it is 142.99. Swiss Federal Tax Administration,
    MWST-Info (publication 1007607), on margin taxation, example 1; Art. 24a MWSTG, as of 2024-01-01. Both read on 2026-11-26.
    """
    card = RateCard(
        premium=Scale(minimum=Decimal(2_000)), country=Country.CH, goods=Goods.ANTIQUES, scheme=TaxScheme.MARGIN
    )
    found = sold("15000", card, on=date(2018, 1, 1))
    tax = sum((line.hidden_tax for line in found.buyer), ZERO)
    assert (Decimal(17_000), Decimal("142.99"), Decimal("143.00")) == (found.due, tax, in_cash(tax, "CHF"))


def test_the_margin_scheme_as_the_austrian_ministry_calculates_it() -> None:
    """What was bought for 80,000 is sold for 104,000: the turnover is 24,000 / 1.2 = 20,000, so the tax is 4,000.

    Order of the Federal Ministry of Finance of 2009-09-01 (BMF-010219/0220-VI/4/2009), ARD 5988/7/2009; read on 2026-11-26.
    """
    card = RateCard(premium=flat("30"), country=Country.AT, goods=Goods.SECOND_HAND, scheme=TaxScheme.MARGIN)
    found = sold("80000", card)
    assert (Decimal(104_000), Decimal(4_000)) == (found.due, sum((line.hidden_tax for line in found.buyer), ZERO))


@pytest.mark.parametrize(
    ("price", "share"),
    [
        ("2499.99", "0"),
        ("2500", "100"),
        ("50000", "2000"),
        ("200000", "6500"),
        ("350000", "8000"),
        ("500000", "8750"),
        ("2000000", "12500"),
        ("9000000", "12500"),
    ],
)
def test_the_resale_right_of_austria(price: str, share: str) -> None:
    """From 2,500 euros on: 4 % of the first 50,000, 3, 1 and 0.5 % of 150,000 more each, 0.25 % of the rest; 12,500 at most.

    § 16b (1) and (2) UrhG, and the chamber of commerce on it ("Folgerecht", WKO); both read on 2026-11-26.
    """
    card = RateCard(country=Country.AT, scheme=TaxScheme.RESALE_RIGHT)
    assert Decimal(share) == Decimal(price) - sold(price, card).proceeds


def test_reverse_charge_leaves_the_tax_to_the_buyer() -> None:
    """No tax on what the buyer pays, the words of § 14a (5) UStG, and tax on the commission as ever."""
    card = RateCard(premium=flat("25"), commission=flat("10"), country=Country.DE, scheme=TaxScheme.STANDARD)
    found = sold("100", card, scheme=TaxScheme.REVERSE_CHARGE)
    assert (Decimal(125), Decimal("88.10")) == (found.due, found.proceeds)
    assert "Steuerschuldnerschaft des Leistungsempfängers" == found.words


def test_a_lot_without_a_buyer_costs_its_consignor_the_fees() -> None:
    """An unsold lot has no line of a buyer; its consignor owes the fees of entry, photo and an unsold lot, with tax."""
    card = RateCard(
        premium=flat("25"), entry=Decimal(2), photo=Decimal(3), unsold=Decimal(10), country=Country.AT,
        scheme=TaxScheme.MARGIN,
    )  # fmt: skip
    found = bill(card, Hammer(price=None, on=DAY), 2)
    assert () == found.buyer
    assert ["unsold", "entry", "photo"] == [str(line.item) for line in found.consignor]
    assert Decimal("-18.00") == found.proceeds


def test_surcharges_insurance_and_donations() -> None:
    """A surcharge is for its channel alone; a donation is a share of the hammer price without tax."""
    card = RateCard(
        premium=flat("20"),
        surcharges={Channel.ONLINE: Decimal(3)},
        insurance=Decimal("1.5"),
        donation=Decimal(10),
        country=Country.UK,
        scheme=TaxScheme.STANDARD,
    )
    online, floor = sold("100", card), sold("100", card, channel=Channel.FLOOR)
    assert (Decimal("147.60"), Decimal("144.00")) == (online.due, floor.due)
    assert [
        ("hammer", "100.000", "0.000"),
        ("insurance", "-1.500", "-0.300"),
        ("donation", "-10.000", "0.000"),
    ] == shown(online.consignor)


def test_a_member_pays_the_premium_of_members() -> None:
    """Calculated by hand: 20 % of 1,000 and 15 % of 500 are 275.00; 19 % of 1,500 and of 275 are 285.00 and 52.25.

    All others pay 25 % of 1,000 and 20 % of 500, which is 350.00 with 66.50.
    """
    card = RateCard(
        premium=Scale((Tier(ZERO, Decimal(25)), Tier(Decimal(1_000), Decimal(20))), cumulative=True),
        member_premium=Scale((Tier(ZERO, Decimal(20)), Tier(Decimal(1_000), Decimal(15))), cumulative=True),
        commission=flat("10"),
        country=Country.DE,
        scheme=TaxScheme.STANDARD,
    )
    other, member = sold("1500", card), sold("1500", card, buyer_member=True)
    assert [("hammer", "1500.000", "285.000"), ("premium", "275.000", "52.250")] == shown(member.buyer)
    assert (Decimal("2112.250"), Decimal("2201.500")) == (member.due, other.due)
    assert [False, True] == [line.member for line in member.buyer]
    assert other.consignor == member.consignor == sold("1500", card, seller_member=True).consignor


def test_a_consignor_who_is_a_member_bears_the_commission_of_members() -> None:
    """Calculated by hand, in the margin scheme of the UK: 18 % of 100 are below the least of 20.00, with 20 / 6 = 3.33 inside.

    10 % of 100 are 10.00, with 10 / 6 = 1.67 inside; all others bear 15.00, with 2.50.
    """
    card = RateCard(
        premium=flat("25"),
        member_premium=Scale((Tier(ZERO, Decimal(18)),), minimum=Decimal(20)),
        commission=flat("15"),
        member_commission=flat("10"),
        country=Country.UK,
        scheme=TaxScheme.MARGIN,
    )
    found = sold("100", card, buyer_member=True, seller_member=True)
    assert (Decimal("120.000"), Decimal("90.000")) == (found.due, found.proceeds)
    assert [Decimal("3.330"), Decimal("1.670")] == [found.buyer[1].hidden_tax, found.consignor[1].hidden_tax]
    assert (True, True) == (found.buyer[1].member, found.consignor[1].member)
    other = sold("100", card)
    assert (Decimal("125.000"), Decimal("85.000"), Decimal("2.500")) == (
        other.due,
        other.proceeds,
        other.consignor[1].hidden_tax,
    )


@given(cards, hammers, st.integers(0, 3))
def test_members_change_their_own_line_alone(card: RateCard, hammer: Hammer, places: int) -> None:
    """A membership changes the premium or the commission and no other line; without a scale of members it changes nothing."""
    found = bill(card, structs.replace(hammer, buyer_member=True, seller_member=True), places)
    other = bill(card, structs.replace(hammer, buyer_member=False, seller_member=False), places)
    for side, item, scale in (
        ("buyer", Item.PREMIUM, card.member_premium),
        ("consignor", Item.COMMISSION, card.member_commission),
    ):
        mine, theirs = getattr(found, side), getattr(other, side)
        assert [one for one in mine if one.item is not item] == [one for one in theirs if one.item is not item]
        assert [one.member for one in mine if one.item is item] in ([], [scale is not None])
        assert scale is not None or mine == theirs


@given(cards, hammers, st.integers(0, 3))
def test_every_line_is_rounded_once_and_the_total_is_their_sum(card: RateCard, hammer: Hammer, places: int) -> None:
    """Amounts and taxes are whole coins; the total is the sum of the lines; tax on top and tax inside exclude each other."""
    found, coin = bill(card, hammer, places), Decimal(1).scaleb(-places)
    for lines, total in ((found.buyer, found.due), (found.consignor, found.proceeds)):
        assert total == sum((line.amount + line.tax for line in lines), ZERO)
        assert all(part % coin == 0 for line in lines for part in (line.amount, line.tax, line.hidden_tax))
        assert not [line for line in lines if line.tax and line.hidden_tax]
        assert len({line.item for line in lines}) == len(lines)


@given(cards, hammers, st.integers(0, 3))
def test_what_a_scheme_forbids_is_on_no_line(card: RateCard, hammer: Hammer, places: int) -> None:
    """No tax in a house without it, none shown to a buyer but by the standard scheme, no artist's share without the right."""
    found = bill(card, hammer, places)
    lines = (*found.buyer, *found.consignor)
    if card.country is Country.NONE or found.scheme is TaxScheme.NONE:
        assert not [line for line in lines if line.tax or line.hidden_tax]
    if found.scheme is not TaxScheme.STANDARD:
        assert not [line for line in found.buyer if line.tax]
    if found.scheme not in MARGIN:
        assert not [line for line in lines if line.hidden_tax]
    if found.scheme is not TaxScheme.RESALE_RIGHT:
        assert Item.RESALE_RIGHT not in {line.item for line in lines}
    assert (hammer.price is None) <= (found.buyer == ())


@pytest.mark.parametrize("country", Country)
def test_presets_are_in_the_order_of_their_dates(country: Country) -> None:
    """The rates and resale rights of a law begin with the oldest, so that the last one which has begun holds."""
    law = LAWS[country]
    for dated in (law.rates, law.resale_rights):
        days = [one.since for one in dated]
        assert sorted(set(days)) == days


@pytest.mark.parametrize(
    ("country", "vat_id", "law", "scheme"),
    [
        ("DE", "DE136695976", Country.DE, TaxScheme.STANDARD),
        ("GB", "GB123456789", Country.UK, TaxScheme.STANDARD),
        ("DE", "", Country.NONE, TaxScheme.NONE),
        ("FR", "FR40303265045", Country.NONE, TaxScheme.NONE),
        ("", "", Country.NONE, TaxScheme.NONE),
    ],
)
def test_the_first_card_of_a_house_is_taxed_where_the_house_is(
    country: str, vat_id: str, law: Country, scheme: TaxScheme
) -> None:
    """A house with a VAT number does not lose its tax because nobody chose a law; a country without a preset has none."""
    card = RateCard.first_of(country, vat_id)
    assert (law, scheme) == (card.country, card.scheme)
