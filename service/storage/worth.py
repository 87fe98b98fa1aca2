"""What an entry is worth: how often it is wanted, times what it costs to make again, per byte where bytes are short.

The rule is GreedyDual-Size-Frequency (Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency
Caching Policy", 1998) with another clock. There a rising number, shared by all, ages what is no longer asked for; here
each use counts more the later it is (forward decay: Cormode, Shkapenyuk, Srivastava, Xu, "Forward Decay", 2009), so
that the order of two entries never changes while neither is used, and no writer waits for a shared number.
"""

from __future__ import annotations

_EPOCH_MS = 1_767_225_600_000  # 2026-01-01T00:00Z
_HALF_LIFE_MS = 7 * 86_400_000
_LARGEST = 1000.0
"""Powers of two: a float holds 1023. Reached after 19 years; from then on uses count alike."""

OUTPUT_COST = 5
"""A byte of an answer costs as much to make as so many of a request: what providers ask for output against input."""


def weight(now_ms: int) -> float:
    """What one use at a time adds to an entry's heat: twice as much each week."""
    return float(2.0 ** min((now_ms - _EPOCH_MS) / _HALF_LIFE_MS, _LARGEST))
