"""Metrics of the proxy, in the process's own registry."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600)


class Measures:
    """Series about proxied requests and upstream calls. No label comes from a caller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "surehit_proxy_requests",
            "Requests on the proxy's cached routes by what the caller got. One is counted per request: "
            "a hit of either tier, a stale answer, a miss (the upstream's answer), a bypass (likewise, the "
            "cache had no part in it), an error of ours, or a client that left before.",
            ["route", "outcome"],
            registry=registry,
        )
        self.upstream_seconds = Histogram(
            "surehit_upstream_duration_seconds",
            "From sending a request upstream to the end of its answer, good or bad.",
            ["provider", "stream"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.upstream_errors = Counter(
            "surehit_upstream_errors",
            "Upstream calls that failed: by status from 400 on, or `unreachable`, `timeout`, `cut`.",
            ["provider", "code"],
            registry=registry,
        )
        self.collapsed = Counter(
            "surehit_collapsed_requests",
            "Requests answered by an upstream call that another request had begun.",
            registry=registry,
        )
        self.not_stored = Counter(
            "surehit_proxy_not_stored",
            "Good answers of an upstream that were not stored, by reason.",
            ["reason"],
            registry=registry,
        )
