"""The prefix layer: prompt tokens whose keys and values an engine could reuse from earlier
requests.

Each request runs through several pools at once: every size, with and without a salt per tenant.
Without the salt, tenants share blocks, and the time to the first token tells one tenant what
another has asked; with it, nothing crosses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.audit.exact import MAX_LINES, OTHER_LINES
from evaluation.audit.pool import BlockPool, block_hashes
from evaluation.audit.prompt import Prompt
from evaluation.audit.records import Record

DEFAULT_BLOCK_TOKENS = 16
MAX_TENANTS = 100_000  # tenants are only counted, up to here
DEFAULT_POOL_BLOCKS = (4_096, 32_768, 262_144)


@dataclass(frozen=True, slots=True)
class PoolResult:
    """Reuse of one pool over the log. Shares are of all prompt tokens, whole blocks or not."""

    capacity_blocks: int
    salt_per_tenant: bool
    requests: int
    reused_tokens: int
    reused_share: float
    requests_with_reuse: int
    evicted_blocks: int
    too_large: int


@dataclass(frozen=True, slots=True)
class LineReuse:
    """Reuse of one business line in the largest pool that keeps tenants apart."""

    line: str
    requests: int
    prompt_tokens: int
    reused_tokens: int

    @property
    def reused_share(self) -> float:
        """Reused tokens of this line's prompt tokens; 0 without any."""
        return self.reused_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


@dataclass(frozen=True, slots=True)
class PrefixReport:
    """What the prefix layer found. `tenants` is how many tenants the log has."""

    block_tokens: int
    requests: int
    prompt_tokens: int
    tenants: int
    pools: tuple[PoolResult, ...]
    lines: tuple[LineReuse, ...]

    @property
    def best(self) -> PoolResult | None:
        """The largest pool that keeps tenants apart; None before any request."""
        safe = [p for p in self.pools if p.salt_per_tenant]
        return max(safe, key=lambda p: p.capacity_blocks, default=None)


class PrefixLayer:
    """Simulates pools of blocks over a stream of prompts; memory is bounded by the pools' sizes."""

    def __init__(
        self,
        *,
        pool_blocks: Sequence[int] = DEFAULT_POOL_BLOCKS,
        block_tokens: int = DEFAULT_BLOCK_TOKENS,
        running: int = 1,
    ) -> None:
        self._block_tokens = block_tokens
        self._salted = [BlockPool(n, running=running) for n in sorted(pool_blocks)]
        self._shared = [BlockPool(n, running=running) for n in sorted(pool_blocks)]
        self._tenants: set[str] = set()
        self._requests = 0
        self._prompt_tokens = 0
        self._lines: dict[str, list[int]] = {}

    def add(self, record: Record, prompt: Prompt | None) -> int:
        """Run one request; returns its reused tokens in the largest pool that keeps tenants apart.

        `prompt` is None for a row of a trace, which must then bring its own block ids.
        """
        if prompt is not None:
            tokens = len(prompt.tokens)
            salted = block_hashes(prompt, self._block_tokens, salt=record.tenant.encode())
            shared = block_hashes(prompt, self._block_tokens) if record.tenant else salted
        elif record.block_ids is not None and record.usage is not None:
            self._block_tokens = record.block_tokens
            tokens = record.usage.input_tokens
            salted = list(record.block_ids[: tokens // self._block_tokens])
            shared = salted
        else:
            return 0
        if len(self._tenants) < MAX_TENANTS:
            self._tenants.add(record.tenant)
        answer_tokens = record.usage.output_tokens if record.usage else 0
        # what follows the whole blocks of the prompt is never shared: its tail, then the answer
        rest = tokens - len(salted) * self._block_tokens + answer_tokens
        private = -(-rest // self._block_tokens)
        reusable = max(0, tokens - 1) // self._block_tokens
        reused = 0
        for pool in self._salted:
            reused = pool.serve(salted, reusable=reusable, private_blocks=private)
        for pool in self._shared:
            pool.serve(shared, reusable=reusable, private_blocks=private)
        self._requests += 1
        self._prompt_tokens += tokens
        full = len(self._lines) >= MAX_LINES and record.line not in self._lines
        line = self._lines.setdefault(OTHER_LINES if full else record.line, [0, 0, 0])
        for at, amount in enumerate((1, tokens, reused * self._block_tokens)):
            line[at] += amount
        return reused * self._block_tokens

    def report(self) -> PrefixReport:
        """The result so far. Pools without a salt are left out when the log has one tenant."""
        pools = [*self._results(self._salted, salt_per_tenant=True)]
        if len(self._tenants) > 1:
            pools += self._results(self._shared, salt_per_tenant=False)
        lines = sorted(self._lines.items(), key=lambda item: -item[1][1])
        return PrefixReport(
            self._block_tokens,
            self._requests,
            self._prompt_tokens,
            len(self._tenants),
            tuple(pools),
            tuple(LineReuse(name, *counts) for name, counts in lines),
        )

    def _results(
        self, pools: Iterable[BlockPool], *, salt_per_tenant: bool
    ) -> Iterable[PoolResult]:
        for pool in pools:
            tokens = pool.tally.reused_blocks * self._block_tokens
            yield PoolResult(
                pool.capacity,
                salt_per_tenant,
                pool.tally.requests,
                tokens,
                tokens / self._prompt_tokens if self._prompt_tokens else 0.0,
                pool.tally.requests_with_reuse,
                pool.tally.evicted_blocks,
                pool.tally.too_large,
            )
