"""Why it breaks, over a whole log: tokens lost per cause, with an example and the change that mends
it."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.audit.breaks import Break, find_breaks
from evaluation.audit.causes import MENDING, Cause
from evaluation.audit.linking import Predecessors
from evaluation.audit.prompt import Prompt
from evaluation.audit.records import Record
from evaluation.audit.tokens import Tokenizer

DEFAULT_MAX_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """One cause over the log. `example` is between the rows `example_rows` (line numbers)."""

    cause: Cause
    times: int
    lost_tokens: int
    mending: str
    example: Break
    example_rows: tuple[int, int]
    sorted_tokens: int
    chunk_tokens: int
    by_line: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class WhyReport:
    """Causes, dearest first. `pairs` is how many requests had a predecessor and were compared."""

    pairs: int
    pairs_left_out: int
    causes: tuple[CauseTotal, ...]

    @property
    def lost_tokens(self) -> int:
        """Tokens lost to all causes together."""
        return sum(c.lost_tokens for c in self.causes)


class WhyLayer:
    """Compares each request with its predecessor; at most `max_pairs` of them, the first ones."""

    def __init__(self, tokenizer: Tokenizer, *, max_pairs: int = DEFAULT_MAX_PAIRS) -> None:
        self._tokenizer = tokenizer
        self._max_pairs = max_pairs
        self._predecessors = Predecessors()
        self._pairs = 0
        self._left_out = 0
        self._totals: dict[Cause, _Total] = {}

    def add(self, record: Record, prompt: Prompt) -> None:
        """Compare one request with its predecessor, if it has one."""
        if self._pairs >= self._max_pairs:
            self._left_out += 1
            return
        earlier = self._predecessors.exchange(record, prompt)
        if earlier is None:
            return
        self._pairs += 1
        for found in find_breaks(
            earlier.prompt,
            prompt,
            self._tokenizer,
            same_conversation=earlier.same_conversation,
        ):
            rows = (earlier.record.number, record.number)
            total = self._totals.setdefault(found.cause, _Total(found, rows))
            total.add(found, record.line)

    def report(self) -> WhyReport:
        """The totals so far."""
        totals = sorted(self._totals.items(), key=lambda item: -item[1].lost)
        return WhyReport(
            self._pairs,
            self._left_out,
            tuple(
                CauseTotal(
                    cause,
                    t.times,
                    t.lost,
                    MENDING[cause],
                    t.example,
                    t.rows,
                    t.sorted,
                    t.chunks,
                    tuple(sorted(t.lines.items(), key=lambda item: -item[1])[:20]),
                )
                for cause, t in totals
            ),
        )


class _Total:
    def __init__(self, example: Break, rows: tuple[int, int]) -> None:
        self.example, self.rows = example, rows
        self.times = self.lost = self.sorted = self.chunks = 0
        self.lines: dict[str, int] = {}

    def add(self, found: Break, line: str) -> None:
        self.times += 1
        self.lost += found.lost_tokens
        self.sorted += found.sorted_tokens or 0
        self.chunks += found.chunk_tokens or 0
        self.lines[line] = self.lines.get(line, 0) + found.lost_tokens
