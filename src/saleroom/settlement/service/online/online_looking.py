"""Payments by card online with their provider: pages are asked for, callbacks heard, and those that are due looked at.

Callbacks get lost, so each payment is also looked at by itself, by one process of the house at a time. Nothing depends on that:
what is seen is posted under locks, once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec
import structlog

from saleroom.kernel.figures import Figure, counters
from saleroom.settlement.domain.errors import ForgedCallback, ProviderUnavailable
from saleroom.settlement.domain.online.card_payments import PaymentPage, ProviderPayment, back_off
from saleroom.settlement.service.online import online_paying
from saleroom.settlement.service.online.card_provider import CardProvider, ProviderAway, ProviderRefused
from saleroom.settlement.service.online.online_paying import AT_ONCE, Look, Papers
from saleroom.settlement.storage import online
from saleroom.storage.database import Database
from saleroom.storage.duty import Duty
from saleroom.storage.tokens import Tokens

LEASE = "online-payments"
POLL_SECONDS = 2.0
_log = structlog.get_logger()


class OnlineCards:
    """Payments by card online in one process. `papers` returns how receipts are written in a language."""

    def __init__(
        self, database: Database, tokens: Tokens, provider: CardProvider, papers: Papers, currency: str
    ) -> None:
        self._database = database
        self._tokens = tokens
        self._provider = provider
        self._papers = papers
        self._currency = currency
        self._failures = 0
        self._quiet_until = 0.0
        self._callbacks: Counter[str] = Counter()
        self._questions: Counter[str] = Counter()

    @property
    def origin(self) -> str:
        """The origin of the provider's pages."""
        return self._provider.origin

    async def begin(self, token: str, gid: str) -> str:
        """Return the address at which the caller pays what is open of their invoice. No transaction waits for the provider.

        Raises as `online_paying.ask` does, or ProviderUnavailable.
        """
        asked = await self._tokens.write(online_paying.ask, token, gid, self._currency)
        try:
            sheet = await self._provider.open(asked)
        except (ProviderAway, ProviderRefused) as error:
            self._questions["away" if isinstance(error, ProviderAway) else "refused"] += 1
            _log.warning("the card provider made no page", payment=asked.payment, reason=str(error))
            raise ProviderUnavailable from None
        self._questions["answered"] += 1
        await self._database.write(online_paying.note_sheet, asked.payment, sheet.session)
        return sheet.url

    async def hear(self, body: bytes, signature: str) -> None:
        """Take a callback. Raises ForgedCallback; one that is about nothing of this house changes nothing."""
        try:
            said = self._provider.read(body, signature)
        except ForgedCallback:
            self._callbacks["forged"] += 1
            raise
        if said.is_live is not self._provider.is_live:
            self._callbacks["other_mode"] += 1
            return
        known = await self._database.write(online_paying.hear, said)
        self._callbacks["known" if known else "unknown"] += 1

    def duty(self) -> Duty:
        """Return the task that looks at payments; it hears of callbacks from here on."""
        duty = Duty(self._database, LEASE, self.round, online.is_due)
        self._database.after_commit(online.DUE, lambda _: duty.wake())
        return duty

    async def run(self, duty: Duty) -> None:
        """Do the duty until cancelled; end the connections to the provider then."""
        try:
            await duty.run()
        finally:
            await self._provider.close()

    async def round(self) -> float:
        """Look at the payments that are due, and return in how many seconds to look again. Raises DatabaseUnavailable."""
        now = asyncio.get_running_loop().time()
        if now < self._quiet_until:
            return self._quiet_until - now
        looks = await self._database.write(online_paying.claim, self._currency)
        for look in looks:
            try:
                await self._look(look)
            except ProviderAway as away:
                return self._leave_alone(away)
            self._failures = 0
        return 0.0 if len(looks) == AT_ONCE else POLL_SECONDS

    def _leave_alone(self, away: ProviderAway) -> float:
        self._questions["away"] += 1
        seconds = back_off(self._failures, away.retry_after)
        if not self._failures:
            _log.warning("payments online wait for the card provider", reason=str(away))
        self._failures += 1
        self._quiet_until = asyncio.get_running_loop().time() + seconds
        return seconds

    async def _look(self, look: Look) -> None:
        """Ask about one payment, and post what is said. Raises ProviderAway."""
        one = look.payment
        assert one.session is not None, "only what the provider knows is looked at"
        try:
            seen = await self._seen(one.session, closes=look.closes)
        except ProviderRefused as refused:
            self._questions["refused"] += 1
            await self._database.write(online_paying.unknown, one.id, str(refused))
            return
        made, refused_refunds = [*seen.refunds], dict[str, str]()
        for refund in look.refunds:
            if seen.intent is None or any(other.own == refund.gid for other in made):
                continue
            try:
                made.append(await self._provider.refund(refund.gid, seen.intent, refund.amount, one.currency))
            except ProviderRefused as refused:
                refused_refunds[refund.gid] = str(refused)
        self._questions["answered"] += 1
        seen = msgspec.structs.replace(seen, refunds=tuple(made))
        state = await self._database.write(
            online_paying.post_seen, one.id, seen, refused_refunds, self._papers, self._currency
        )
        if state is not one.state:
            _log.info("a payment online has changed", payment=one.gid, state=state.value)

    async def _seen(self, session: str, *, closes: bool) -> ProviderPayment:
        seen = await self._provider.look(session)
        if not closes or seen.sheet is not PaymentPage.OPEN:
            return seen
        try:
            return await self._provider.close_sheet(session)
        except ProviderRefused:
            return await self._provider.look(session)  # it was paid meanwhile

    def figures(self) -> Sequence[Figure]:
        """Return the counts of callbacks and of questions."""
        return (
            counters(
                "saleroom_card_callbacks",
                "Callbacks of the card provider: about a payment (known) or not (unknown), of the other mode, or forged.",
                ("outcome",),
                {(one,): self._callbacks[one] for one in ("known", "unknown", "other_mode", "forged")},
            ),
            counters(
                "saleroom_card_questions",
                "Questions to the card provider: answered, refused, or without an answer (away).",
                ("outcome",),
                {(one,): self._questions[one] for one in ("answered", "refused", "away")},
            ),
        )
