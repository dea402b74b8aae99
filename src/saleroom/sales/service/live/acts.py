"""Acts on the block as clerks send them, counted for the operator by kind and outcome, with the time that each took."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from saleroom.kernel.errors import Refusal
from saleroom.kernel.figures import Distribution, Figure, counters
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.block import Act, BlockAct
from saleroom.sales.service.live import block
from saleroom.storage.tokens import Tokens

DONE, FAILED = "done", "failed"
_SECONDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Acts:
    """The acts on blocks in one process, over HTTP and from the console alike."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        # A counter that begins above 0 has not grown for Prometheus: the first failure would be no alert.
        self._outcomes: Counter[tuple[str, ...]] = Counter({(act.value, FAILED): 0 for act in Act})
        self._times = Distribution(_SECONDS)

    async def do(self, token: str, gid: str, asked: BlockAct, key: IdempotencyKey | None) -> bytes:
        """Do an act in a transaction, as `block.act` does. Raises as that, Unauthenticated or DatabaseUnavailable."""
        begun, outcome = time.monotonic(), FAILED
        try:
            answer = await self._tokens.write(block.act, token, gid, asked, key)
            outcome = DONE
        except Refusal as refused:
            outcome = refused.code
            raise
        else:
            self._times.count(time.monotonic() - begun)
            return answer
        finally:
            self._outcomes[asked.act.value, outcome] += 1

    def figures(self) -> Sequence[Figure]:
        """Return what was counted."""
        return (
            counters(
                "saleroom_block_acts", "Acts on the block, by outcome: done, or why not.", ("act", "outcome"),
                self._outcomes,
            ),
            self._times.figure("saleroom_block_act_seconds", "How long an act took, to the end of its commit."),
        )  # fmt: skip
