"""The pages of settlement: their addresses, menus and words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from starlette.routing import Route

from saleroom.settlement.domain.bank.payouts import PAYMENT_FILES
from saleroom.settlement.service.money_mails import ACCOUNTS as MY_PAYOUTS
from saleroom.settlement.service.unsold.offering import MINE as MY_OFFERS
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.storage.documents import named
from saleroom.settlement.web.bank import BANK, BankPages
from saleroom.settlement.web.costs import COSTS, CostPages
from saleroom.settlement.web.desk import DESK, DeskPages
from saleroom.settlement.web.documents import ADMIN, MINE, DocumentPages
from saleroom.settlement.web.members import MEMBERS, MemberPages
from saleroom.settlement.web.offers import OfferPages
from saleroom.settlement.web.online import CARDS, OnlinePages
from saleroom.settlement.web.payouts import PAYOUTS, PayoutPages
from saleroom.settlement.web.pickups import PickupPages
from saleroom.settlement.web.rates import RATES, RatePages
from saleroom.settlement.web.reminders import OVERDUE, ReminderPages
from saleroom.settlement.web.reports import TAXES, ReportPages
from saleroom.settlement.web.words import CODES, WORDS
from saleroom.site.site import Address, AreaPages, Site, Thing
from saleroom.storage.database import Transaction


def area_pages(services: SettlementServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=WORDS,
        paths=frozenset({MINE, MY_OFFERS, MY_PAYOUTS}),
        below=(
            f"{RATES.path}/",
            f"{DESK.path}/",
            f"{ADMIN}/",
            f"{TAXES.path}/",
            f"{BANK.path}/",
            f"{OVERDUE.path}/",
            f"{MINE}/",
            f"{MY_OFFERS}/",
            f"{PAYOUTS.path}/",
            f"{MY_PAYOUTS}/",
        ),
        tabs="parts/document_tabs.html",
        tabs_last=True,
        things=_things,
        codes=CODES,
        sections=(DESK, OVERDUE, BANK, PAYOUTS, *(() if services.cards is None else (CARDS,)), TAXES, RATES, MEMBERS),
    )


def _things(tx: Transaction, keys: Collection[str]) -> Mapping[str, Thing]:
    files = {key: Thing(key, PAYOUTS.path) for key in keys if key.startswith(PAYMENT_FILES)}
    return files | {one.key: Thing(one.name, f"/admin/{one.place}") for one in named(tx, keys)}


def _routes(site: Site, services: SettlementServices) -> list[Route]:
    rates, desk, reports = RatePages(site, services), DeskPages(site, services), ReportPages(site, services)
    documents, bank, reminders = DocumentPages(site, services), BankPages(site, services), ReminderPages(site, services)
    pickups, offers, payouts = PickupPages(site, services), OfferPages(site, services), PayoutPages(site, services)
    online, members = OnlinePages(site, services, documents), MemberPages(site, services)
    costs = CostPages(site, services)
    return [
        Route(COSTS, Address(GET=costs.show)),
        Route(MINE, Address(GET=documents.mine)),
        Route(f"{MINE}/{{gid}}", Address(GET=documents.own)),
        Route(f"{MINE}/{{gid}}/paper.pdf", Address(GET=documents.own_paper)),
        Route(f"{MINE}/{{gid}}/invoice.xml", Address(GET=documents.own_xml)),
        Route(f"{ADMIN}/{{gid}}", Address(GET=documents.one)),
        Route(f"{ADMIN}/{{gid}}/credit", Address(POST=documents.credit)),
        Route(f"{ADMIN}/{{gid}}/paper.pdf", Address(GET=documents.paper)),
        Route(f"{ADMIN}/{{gid}}/invoice.xml", Address(GET=documents.xml)),
        Route(f"{DESK.path}/{{gid}}/documents", Address(GET=documents.of_sale, POST=documents.issue)),
        Route(DESK.path, Address(GET=desk.all)),
        Route(f"{DESK.path}/{{gid}}", Address(GET=desk.one)),
        Route(f"{DESK.path}/{{gid}}/payments", Address(POST=desk.pay)),
        Route(f"{DESK.path}/{{gid}}/refund", Address(POST=desk.refund)),
        Route(f"{DESK.path}/{{gid}}/netting", Address(POST=desk.net)),
        Route(f"{DESK.path}/{{gid}}/correction", Address(POST=desk.correct)),
        Route(f"{DESK.path}/{{gid}}/accounts", Address(GET=desk.accounts)),
        Route(f"{DESK.path}/{{gid}}/accounts.csv", Address(GET=desk.export)),
        Route(f"{DESK.path}/{{gid}}/statements/{{code}}", Address(GET=desk.statement, POST=desk.pay_out)),
        Route(MY_OFFERS, Address(GET=offers.mine)),
        Route(f"{MY_OFFERS}/{{gid}}", Address(POST=offers.answer)),
        Route(f"{DESK.path}/{{gid}}/offers", Address(GET=offers.show)),
        Route(f"{DESK.path}/{{gid}}/offers/new", Address(POST=offers.make)),
        Route(f"{DESK.path}/{{gid}}/offers/underbidders", Address(POST=offers.underbidders)),
        Route(f"{DESK.path}/{{gid}}/offers/next-sale", Address(POST=offers.relist)),
        Route(f"{DESK.path}/{{gid}}/offers/return", Address(POST=offers.give_back)),
        Route(f"{DESK.path}/{{gid}}/offers/withdrawal", Address(POST=offers.withdraw)),
        Route(f"{DESK.path}/{{gid}}/pickup", Address(GET=pickups.show)),
        Route(f"{DESK.path}/{{gid}}/pickup/out", Address(POST=pickups.hand_out)),
        Route(f"{DESK.path}/{{gid}}/pickup/undo", Address(POST=pickups.undo)),
        Route(f"{DESK.path}/{{gid}}/report", Address(GET=reports.sale)),
        Route(f"{DESK.path}/{{gid}}/report/{{file}}", Address(GET=reports.sale_file)),
        Route(OVERDUE.path, Address(GET=reminders.show, POST=reminders.remind_all)),
        Route(f"{OVERDUE.path}/{{gid}}", Address(POST=reminders.remind)),
        Route(f"{OVERDUE.path}/{{gid}}/forgiveness", Address(POST=reminders.forgive)),
        Route(CARDS.path, Address(GET=online.show)),
        Route(f"{MINE}/{{gid}}/card", Address(POST=online.pay)),
        Route(BANK.path, Address(GET=bank.show, POST=bank.send)),
        Route(f"{BANK.path}/{{gid}}", Address(POST=bank.decide)),
        Route(PAYOUTS.path, Address(GET=payouts.show, POST=payouts.make)),
        Route(f"{PAYOUTS.path}/accounts/{{code}}", Address(GET=payouts.account, POST=payouts.change_account)),
        Route(f"{PAYOUTS.path}/reports", Address(POST=payouts.send_report)),
        Route(f"{PAYOUTS.path}/{{gid}}", Address(GET=payouts.one, POST=payouts.mark)),
        Route(f"{PAYOUTS.path}/{{gid}}/checks", Address(POST=payouts.check)),
        Route(f"{PAYOUTS.path}/{{gid}}/pain.xml", Address(GET=payouts.download)),
        Route(MY_PAYOUTS, Address(GET=payouts.mine)),
        Route(f"{MY_PAYOUTS}/{{code}}", Address(POST=payouts.change_own)),
        Route(TAXES.path, Address(GET=reports.taxes)),
        Route(f"{TAXES.path}/{{file}}", Address(GET=reports.tax_file)),
        Route(MEMBERS.path, Address(GET=members.show, POST=members.mark)),
        Route(RATES.path, Address(GET=rates.all, POST=rates.make)),
        Route(f"{RATES.path}/choice", Address(POST=rates.choose)),
        Route(f"{RATES.path}/{{gid}}", Address(GET=rates.one)),
        Route(f"{RATES.path}/{{gid}}/terms", Address(POST=rates.change)),
    ]
