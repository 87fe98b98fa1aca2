"""Prometheus metrics, each with the words for when it moves.

A tenant's key sees that tenant's series only, without the tenant's name; the operator (the metrics token, or loopback
where no key is configured) sees every tenant. No label comes from prompts, users, scopes or API keys.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest

from service.outcome import OutcomeKey

MAX_SERIES = 10_000
"""Outcome series kept; the lines beyond them are counted as `other`."""

_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
)


@dataclass
class Metrics:
    """All series of this process."""

    version: str
    outcomes: Tally[OutcomeKey] = field(default_factory=Tally)
    evicted: Tally[tuple[str, str]] = field(default_factory=Tally)
    """Entries dropped for a size limit, by tenant and line."""
    gauges: dict[str, float] = field(default_factory=lambda: {"alarms_raised": 0.0})
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self._durations = _Durations()
        self.registry.register(self._durations)

    def count(self, outcome: OutcomeKey, n: int = 1) -> None:
        """Lookups or stores came to an end."""
        if outcome not in self.outcomes and len(self.outcomes) >= MAX_SERIES:
            tenant, _, tier, came_to, reason = outcome
            outcome = (tenant, "other", tier, came_to, reason)
        self.outcomes[outcome] += n

    def evict(self, tenant: str, line: str) -> None:
        """An entry was dropped for a size limit."""
        if (tenant, line) not in self.evicted and len(self.evicted) >= MAX_SERIES:
            line = "other"
        self.evicted[tenant, line] += 1

    def time(self, kind: str, seconds: float) -> None:
        """One request took so long."""
        self._durations.observe(kind, seconds)

    def render(self, *, tenant: str | None) -> bytes:
        """The text format: one tenant's series, or with None all of them and the process's own."""
        registry = CollectorRegistry()
        registry.register(_Outcomes(self, tenant))
        text = generate_latest(registry)
        if tenant is not None:
            return text
        return text + generate_latest(_WithoutCreated(self.registry))


class _Durations:
    """A histogram for the event loop's thread alone: the library's own locks cost a tenth of an exact hit."""

    def __init__(self) -> None:
        kinds = ("exact_hit", "semantic_hit", "miss", "store")
        self._counts = {kind: [0] * (len(_BUCKETS) + 1) for kind in kinds}
        self._sums = dict.fromkeys(kinds, 0.0)

    def observe(self, kind: str, seconds: float) -> None:
        self._counts[kind][bisect_left(_BUCKETS, seconds)] += 1
        self._sums[kind] += seconds

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        found = HistogramMetricFamily(
            "surehit_request_duration_seconds",
            "Time from a whole request body to its reply, for lookups that hit the exact tier, hit the "
            "semantic tier, missed, and for stores.",
            labels=["kind"],
        )
        bounds = [*(str(float(bound)) for bound in _BUCKETS), "+Inf"]
        for kind, counts in self._counts.items():
            found.add_metric(
                [kind], list(zip(bounds, accumulate(counts), strict=True)), self._sums[kind]
            )
        yield found


@dataclass(eq=False)
class _Outcomes:
    metrics: Metrics
    tenant: str | None

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        names = [] if self.tenant is not None else ["tenant"]
        lookups = CounterMetricFamily(
            "surehit_lookups",
            "Lookups by what they came to. One is counted per lookup: a hit of the exact or of the semantic "
            "tier, or a miss with its reason; tier `none` did not reach the semantic tier.",
            labels=[*names, "line", "tier", "outcome", "reason"],
        )
        stores = CounterMetricFamily(
            "surehit_stores", "Answers stored, replaced ones included.", labels=[*names, "line"]
        )
        for (tenant, line, tier, outcome, reason), n in sorted(self.metrics.outcomes.items()):
            if self.tenant not in (None, tenant):
                continue
            lead = [] if self.tenant is not None else [tenant]
            if outcome == "store":
                stores.add_metric([*lead, line], n)
            else:
                lookups.add_metric([*lead, line, tier, outcome, reason], n)
        yield lookups
        yield stores
        evicted = CounterMetricFamily(
            "surehit_evicted_entries",
            "Entries that this worker dropped because a limit of their line or tenant was reached, the least "
            "valuable first. Expired and invalidated ones are not counted.",
            labels=[*names, "line"],
        )
        for (tenant, line), n in sorted(self.metrics.evicted.items()):
            if self.tenant in (None, tenant):
                evicted.add_metric([line] if self.tenant is not None else [tenant, line], n)
        yield evicted
        if self.tenant is None:
            info = GaugeMetricFamily("surehit_build_info", "Always 1.", labels=["version"])
            info.add_metric([self.metrics.version], 1)
            yield info
            for name, value in sorted(self.metrics.gauges.items()):
                family = CounterMetricFamily if name in _COUNTERS else GaugeMetricFamily
                yield family(f"surehit_{name}", _WORDS.get(name, name), value=value)


@dataclass(eq=False)
class _WithoutCreated:
    """A registry without the `_created` series, which double the number of series and which nobody here reads."""

    registry: CollectorRegistry

    def collect(self) -> Iterator[Metric]:
        for metric in self.registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric


_COUNTERS = frozenset(
    {
        "alarms_raised",
        "journal_dropped",
        "embedded_texts",
        "embedding_remembered",
        "embedding_timeouts",
        "embedding_refused",
        "embedding_failures",
    }
)
"""Figures that only grow while the process lives; their series end in `_total`."""

_WORDS = {
    "alarms_raised": "Alarms of the monitor in this process: a promise did not hold, so its line was tightened.",
    "index_partitions": "Partitions whose index is in memory.",
    "index_bytes": "Bytes of the vector indexes in memory.",
    "journal_dropped": "Log records dropped because the database was down or the buffer full.",
    "embedding_queue": "Texts waiting for a model at this moment; steadily over 0: more cores, or embed elsewhere.",
    "embedded_texts": "Texts that a model has embedded.",
    "embedding_remembered": "Texts answered by a vector of an earlier or concurrent request.",
    "embedding_timeouts": "Texts whose time budget ended first; their lookups were misses (degraded).",
    "embedding_refused": "Texts turned away because the queue was full; their lookups were misses (degraded).",
    "embedding_failures": "Texts whose model call failed.",
}
