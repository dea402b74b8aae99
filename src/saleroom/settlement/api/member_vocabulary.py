"""The words of the API's document that are about members."""

from __future__ import annotations

from saleroom.http.schemas import INSTANT, Schema

MEMBERS: dict[str, tuple[Schema, str]] = {
    "isMember": ({}, "Whether they are a member now: who pays and bears the rates of members."),
    "memberSince": (INSTANT, "Since when they have this mark; null if they are no member."),
    "memberUntil": (INSTANT, "The first instant at which they are no member any more; null without an end."),
    "members": ({}, "The present members, the one who was marked last first."),
    "membership": ({}, "Whether the buyer is a member now."),
    "memberRate": ({}, "Whether it is by the scale of members."),
    "memberBill": (
        {},
        "What it would be if buyer and consignor are members; null if members have no rates of their own.",
    ),
    "memberPremium": ({}, "The buyer's premium of members; null if they pay that of all."),
    "memberCommission": ({}, "The seller's commission of members; null if they bear that of all."),
}
