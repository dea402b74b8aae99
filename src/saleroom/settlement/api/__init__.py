"""Settlement over the HTTP API. `ENDPOINTS` are those of every house."""

from __future__ import annotations

from saleroom.settlement.api import (
    bank,
    costs,
    desk,
    documents,
    members,
    offers,
    online,
    payout_accounts,
    payout_reports,
    payouts,
    pickups,
    rates,
    reminders,
    reports,
    underbidders,
)

ENDPOINTS = (
    *rates.ENDPOINTS,
    *costs.ENDPOINTS,
    *members.ENDPOINTS,
    *desk.ENDPOINTS,
    *documents.ENDPOINTS,
    *reports.ENDPOINTS,
    *bank.ENDPOINTS,
    *reminders.ENDPOINTS,
    *pickups.ENDPOINTS,
    *offers.ENDPOINTS,
    *underbidders.ENDPOINTS,
    *payouts.ENDPOINTS,
    *payout_reports.ENDPOINTS,
    *payout_accounts.ENDPOINTS,
    *online.ENDPOINTS,
)
