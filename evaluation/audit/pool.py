"""Block reuse as engines of the vLLM kind do it: chained block hashes and a bounded pool of blocks.

A block's hash covers its tokens, the settings inside it and its parent, back to the root (a salt,
or nothing). Only whole blocks are shared; a lookup stops at the first block that is not there; the
last token is always computed, so a prompt never reuses all of itself. Blocks in use are counted by
reference; the others are free, kept in the order in which they were given back, a request's last
block first, and the pool takes the front one when it needs room.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from evaluation.audit.prompt import Prompt


def block_hashes(prompt: Prompt, block_tokens: int, *, salt: bytes = b"") -> list[int]:
    """Chained hashes of the whole blocks of a prompt, first block first."""
    raw = prompt.tokens.tobytes()
    step = block_tokens * prompt.tokens.itemsize
    settings = sorted((prompt.starts[s.before], s.path, s.value) for s in prompt.settings)
    hashes = []
    parent = blake2b(salt, digest_size=8).digest()
    for number in range(len(raw) // step):
        h = blake2b(parent, digest_size=8)
        while settings and settings[0][0] < (number + 1) * block_tokens:
            _, path, value = settings.pop(0)
            h.update(f"\x00{path}\x00{len(value)}\x00".encode() + value)
        h.update(raw[number * step : (number + 1) * step])
        parent = h.digest()
        hashes.append(int.from_bytes(parent, "little"))
    return hashes


@dataclass(slots=True)
class PoolTally:
    """What a pool did so far. `too_large` requests need more blocks than the whole pool has."""

    requests: int = 0
    reused_blocks: int = 0
    requests_with_reuse: int = 0
    evicted_blocks: int = 0
    too_large: int = 0


class BlockPool:
    """A pool of `capacity` blocks, shared by the `running` latest requests, which hold theirs."""

    def __init__(self, capacity: int, *, running: int = 1) -> None:
        self.capacity = capacity
        self.tally = PoolTally()
        self._running_limit = running
        self._references: dict[int, int] = {}
        self._free: OrderedDict[int, None] = OrderedDict()
        self._private = 0  # blocks in use that nobody can share: the tail of a prompt, its answer
        self._running: deque[tuple[Sequence[int], int]] = deque()

    def serve(self, hashes: Sequence[int], *, reusable: int, private_blocks: int = 0) -> int:
        """Run one request and return how many of its first `reusable` blocks were there already."""
        self.tally.requests += 1
        while len(self._running) >= self._running_limit:
            self._finish_oldest()
        if len(hashes) + private_blocks > self.capacity:
            self.tally.too_large += 1
            return 0
        reused = 0
        while reused < reusable and self._has(hashes[reused]):
            self._take(hashes[reused])
            reused += 1
        while self._in_use(hashes[reused:]) + private_blocks > self.capacity:
            self._finish_oldest()
        for h in hashes[reused:]:
            self._take(h)
        self._private += private_blocks
        while len(self._references) + self._private + len(self._free) > self.capacity:
            self._free.popitem(last=False)
            self.tally.evicted_blocks += 1
        self._running.append((hashes, private_blocks))
        self.tally.reused_blocks += reused
        self.tally.requests_with_reuse += reused > 0
        return reused

    def _in_use(self, more: Sequence[int]) -> int:
        """Blocks that could not be evicted if `more` were taken too."""
        return (
            len(self._references)
            + self._private
            + sum(1 for h in more if h not in self._references)
        )

    def _has(self, h: int) -> bool:
        return h in self._references or h in self._free

    def _take(self, h: int) -> None:
        self._free.pop(h, None)
        self._references[h] = self._references.get(h, 0) + 1

    def _finish_oldest(self) -> None:
        hashes, private_blocks = self._running.popleft()
        self._private -= private_blocks
        for h in reversed(hashes):
            left = self._references[h] - 1
            if left:
                self._references[h] = left
            else:
                del self._references[h]
                self._free[h] = None
