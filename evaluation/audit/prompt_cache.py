"""A provider's prompt cache, simulated: what it reads and writes by its rules, and what it could at
best.

By its rules: an explicit breakpoint writes the prefix in front of it; a lookup goes from each
breakpoint back over at most 20 content blocks and reads the longest prefix that is alive; an
automatic cache works in steps of tokens without breakpoints. Prefixes below the minimum are not
cached. A read renews the lifetime.

At best: every piece of a prompt that comes again within the lifetime is written once and read
after, and nothing else is written. It ignores the limits on breakpoints and look-back, so no
placement can do better.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from evaluation.audit.pool import block_hashes
from evaluation.audit.prices import ModelPrice
from evaluation.audit.prompt import Prompt, Segment

MAX_ENTRIES = 200_000
"""Prefixes remembered at a time; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The end of a content block: tokens and chained hash of the prefix up to there."""

    tokens: int
    key: int
    place: str
    breakpoint_ttl_s: float | None


@dataclass(frozen=True, slots=True)
class Billed:
    """Input tokens of one request by how they are billed; the rest is at the full price."""

    read: int
    written_5m: int = 0
    written_1h: int = 0


def boundaries(prompt: Prompt, *, salt: bytes = b"") -> list[Boundary]:
    """The ends of all content blocks, with the markup that follows a block counted to the next.

    `place` is `tools`, `system` or `history` where that part ends, else empty.
    """
    key = blake2b(salt, digest_size=8).digest()
    found = []
    settings = sorted((s.before, s.path, s.value) for s in prompt.settings)
    last_message = max((s.message for s in prompt.segments if s.message is not None), default=0)
    for at, segment in enumerate(prompt.segments):
        h = blake2b(key, digest_size=8)
        while settings and settings[0][0] <= at:
            _, path, value = settings.pop(0)
            h.update(f"\x00{path}\x00{len(value)}\x00".encode() + value)
        h.update(segment.text.encode())
        key = h.digest()
        if not segment.is_markup:
            place = _place(prompt.segments, at, last_message)
            number = int.from_bytes(key, "little")
            found.append(Boundary(prompt.starts[at + 1], number, place, segment.breakpoint_ttl_s))
    return found


class RuledCache:
    """The cache as the provider's rules have it, over a stream of requests."""

    def __init__(self) -> None:
        self._alive: OrderedDict[int, tuple[float, float]] = OrderedDict()  # key: (until, ttl)

    def serve(
        self,
        prompt: Prompt,
        blocks: Sequence[Boundary],
        price: ModelPrice,
        now_s: float,
        salt: bytes,
    ) -> Billed:
        """Tokens read and written by one request."""
        if price.automatic:
            return self._serve_automatic(prompt, price, now_s, salt)
        marks = [at for at, b in enumerate(blocks) if b.breakpoint_ttl_s is not None]
        marks = [
            at for at in marks[: price.max_breakpoints] if blocks[at].tokens >= price.min_tokens
        ]
        read = 0
        for mark in reversed(marks):
            for at in range(mark, max(-1, mark - price.lookback_blocks), -1):
                if blocks[at].tokens <= read:
                    break
                if self._read(blocks[at].key, now_s):
                    read = blocks[at].tokens
                    break
        written = {300.0: 0, 3600.0: 0}
        done = read
        for mark in marks:
            ttl_s = blocks[mark].breakpoint_ttl_s or 300.0
            if blocks[mark].tokens > done:
                written[ttl_s] += blocks[mark].tokens - done
                done = blocks[mark].tokens
            self._write(blocks[mark].key, now_s, ttl_s)
        return Billed(read, written[300.0], written[3600.0])

    def _serve_automatic(
        self, prompt: Prompt, price: ModelPrice, now_s: float, salt: bytes
    ) -> Billed:
        step = price.step_tokens
        keys = block_hashes(prompt, step, salt=salt)
        first = -(-price.min_tokens // step)
        read = 0
        for number in range(len(keys), first - 1, -1):
            if self._read(keys[number - 1], now_s):
                read = number
                break
        for number in range(first, len(keys) + 1):
            self._write(keys[number - 1], now_s, 300.0)
        written = len(keys) - read if len(keys) >= first else 0
        return Billed(read * step, written * step)

    def _read(self, key: int, now_s: float) -> bool:
        until, ttl_s = self._alive.get(key, (float("-inf"), 0.0))
        if until < now_s:
            return False
        self._write(key, now_s, ttl_s)
        return True

    def _write(self, key: int, now_s: float, ttl_s: float) -> None:
        self._alive.pop(key, None)
        self._alive[key] = (now_s + ttl_s, ttl_s)
        while len(self._alive) > MAX_ENTRIES:
            self._alive.popitem(last=False)


@dataclass(slots=True)
class _Life:
    """One piece of a prompt from its writing to its expiry."""

    tokens: float
    until: float
    reads: int
    input_price: float
    write: float
    read: float

    def cost(self) -> float:
        """The cheaper of caching it and of sending it anew each time."""
        plain = 1.0 + self.reads
        cached = self.write + self.read * self.reads
        return self.tokens * self.input_price * (min(plain, cached) if self.reads else 1.0)


class BestCache:
    """What the best placement of breakpoints would have cost, for one lifetime."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._lives: OrderedDict[int, _Life] = OrderedDict()
        self._ended_cost = 0.0

    def serve(
        self,
        blocks: Sequence[Boundary],
        price: ModelPrice,
        write: float,
        now_s: float,
        scale: float,
    ) -> list[bool]:
        """Note one request; returns per block whether it would have been read.

        `scale` turns counted tokens into billed ones.
        """
        alive = 0
        for block in blocks:
            life = self._lives.get(block.key)
            if life is None or life.until < now_s:
                break
            alive += 1
        if alive and blocks[alive - 1].tokens < price.min_tokens:
            alive = 0
        start = 0
        for at, block in enumerate(blocks):
            if at < alive:
                life = self._lives.pop(block.key)
                life.reads += 1
                life.until = now_s + self._ttl_s
                self._lives[block.key] = life
            else:
                self._end(block.key)
                self._lives[block.key] = _Life(
                    (block.tokens - start) * scale,
                    now_s + self._ttl_s,
                    0,
                    price.input,
                    write,
                    price.read,
                )
            start = block.tokens
        while self._lives and (
            len(self._lives) > MAX_ENTRIES or next(iter(self._lives.values())).until < now_s
        ):
            self._ended_cost += self._lives.popitem(last=False)[1].cost()
        return [at < alive for at in range(len(blocks))]

    def add_plain(self, cost_per_million: float) -> None:
        """Add what can never be cached: the end of a prompt behind its last block."""
        self._ended_cost += cost_per_million

    def cost_per_million(self) -> float:
        """Cost so far in millionths of the table's currency: tokens x price per million tokens."""
        return self._ended_cost + sum(life.cost() for life in self._lives.values())

    def _end(self, key: int) -> None:
        life = self._lives.pop(key, None)
        if life is not None:
            self._ended_cost += life.cost()


def _place(segments: Sequence[Segment], at: int, last_message: int) -> str:
    here = segments[at]
    following = next((s for s in segments[at + 1 :] if not s.is_markup), None)
    if here.part != "messages":
        return here.part if following is None or following.part != here.part else ""
    ends_history = following is not None and following.message == last_message
    return "history" if ends_history and here.message != last_message else ""
