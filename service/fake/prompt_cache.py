"""The prompt cache of the fake upstream, simple but honest: longer known prefix, more tokens read.

OpenAI's kind finds prefixes by itself, in blocks, above a least length. Anthropic's kind writes
and reads at the marks that the client sets, with a life of 5 minutes or 1 hour.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.fake.answers import tokens

_FIVE_MINUTES_S, _HOUR_S = 300, 3600


@dataclass(frozen=True, slots=True)
class Segment:
    """A block of a prompt; `life_s` is set where the client put a mark behind it."""

    text: str
    life_s: int | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of one prompt; `total` includes what was read and written."""

    total: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0


class PromptCache:
    """Prefixes by owner (model and key), each with the time at which it dies."""

    def __init__(
        self, clock: Callable[[], float], *, least_tokens: int = 1024, block_tokens: int = 128
    ) -> None:
        self._clock = clock
        self._least = least_tokens
        self._block = block_tokens
        self._dies_at: dict[bytes, float] = {}

    def clear(self) -> None:
        """Forget every prefix."""
        self._dies_at.clear()

    def by_itself(self, owner: str, segments: Sequence[Segment]) -> Counted:
        """OpenAI: read the longest known prefix in whole blocks, remember the whole prompt."""
        parts = [token for segment in segments for token in tokens(segment.text)]
        running = hashlib.sha256(owner.encode())
        read = 0
        for end in range(self._block, len(parts) + 1, self._block):
            running.update("\0".join(parts[end - self._block : end]).encode())
            if end < self._least:
                continue
            if self._is_alive(running.digest()) and (read == 0 or read == end - self._block):
                read = end
            self._dies_at[running.digest()] = self._clock() + _FIVE_MINUTES_S
        return Counted(total=len(parts), read=read)

    def at_marks(self, owner: str, segments: Sequence[Segment]) -> Counted:
        """Anthropic: read up to the last known mark, write from there to the last mark."""
        running = hashlib.sha256(owner.encode())
        total, read = 0, 0
        marks: list[tuple[int, int, bytes]] = []
        for segment in segments:
            total += len(tokens(segment.text))
            running.update(segment.text.encode("utf-8", "surrogatepass") + b"\0")
            if segment.life_s is not None and total >= self._least:
                marks.append((total, segment.life_s, running.digest()))
            if total >= self._least and self._is_alive(running.digest()):
                read = total
        written = {_FIVE_MINUTES_S: 0, _HOUR_S: 0}
        done = read
        for end, life_s, digest in marks:
            if end > done:
                written[life_s] += end - done
                done = end
            self._dies_at[digest] = self._clock() + life_s
        return Counted(total, read, written[_FIVE_MINUTES_S], written[_HOUR_S])

    def _is_alive(self, digest: bytes) -> bool:
        return self._dies_at.get(digest, 0.0) > self._clock()
