"""Decides which lookups a person will see, and with which probability each was chosen.

Two independent streams of keyed-hash draws, one number each per lookup:

* ``certify``: one rate for every unguarded lookup with ``score >= certify_floor``; the certificate
  needs all of them to have had a chance.
* ``explore``: a rate per score bin from the floor up, guarded lookups in a bin of their own; the
  curve needs labels where nothing is served yet.

A draw depends on the key, the stream and the lookup id, and on nothing else: it can be repeated by
whoever holds the key and predicted by nobody who does not. Rates may depend on the lookup (score,
guard) and on earlier windows, never on the draws or labels of the window they are used in; the
proof in docs/certificate.md needs that. Only the standard library is imported, since this runs once
per lookup.
"""

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from math import isfinite
from typing import Literal, NamedTuple

Stream = Literal["certify", "explore"]

_BITS = 53  # what a float holds exactly, so that every draw is < 1
_SHIFT = 64 - _BITS
_SCALE = 2.0**-_BITS


@dataclass(frozen=True)
class SamplingPlan:
    """The rates of one line in one window. Change them by making another plan, between windows.

    Attributes
    ----------
    certify_rate : in [0, 1]
        For unguarded lookups with ``score >= certify_floor``.
    certify_floor : finite
        t_lo, the loosest threshold that this plan can certify.
    bin_edges : ascending, at least one
        Lower edges of the explore bins; the first is the floor below which nothing is sampled, the
        last bin is open above. ``score >= edge`` belongs to the bin.
    explore_rates : each in [0, 1], one per edge
        For unguarded lookups.
    guarded_rate : in [0, 1]
        For guarded lookups from the first edge up, so that each guard's refusals can be judged.
    """

    certify_rate: float
    certify_floor: float
    bin_edges: tuple[float, ...]
    explore_rates: tuple[float, ...]
    guarded_rate: float

    def __post_init__(self) -> None:
        rates = (self.certify_rate, self.guarded_rate, *self.explore_rates)
        if not all(0.0 <= rate <= 1.0 for rate in rates):
            raise ValueError(f"every rate must lie in [0, 1], got {rates}")
        if not self.bin_edges or len(self.bin_edges) != len(self.explore_rates):
            raise ValueError("bin_edges and explore_rates must have equal length, at least 1")
        if not all(isfinite(edge) for edge in (self.certify_floor, *self.bin_edges)):
            raise ValueError("certify_floor and bin_edges must be finite")
        if any(a >= b for a, b in zip(self.bin_edges, self.bin_edges[1:], strict=False)):
            raise ValueError("bin_edges must be strictly ascending")
        if self.certify_floor < self.bin_edges[0]:
            raise ValueError("certify_floor lies below the lowest bin edge")

    @property
    def floor(self) -> float:
        """Lowest score that is ever sampled; below it nothing is claimed."""
        return self.bin_edges[0]


class Draw(NamedTuple):
    """The outcome of sampling one lookup; store it with the lookup and never recompute it."""

    included: bool
    """Whether a person should see the lookup."""
    streams: tuple[Stream, ...]
    """The streams that drew it; empty when not included."""
    inclusion_probability: float
    """Of being drawn by at least one stream."""
    certify_probability: float
    """Of being drawn by the certify stream; 0 below its floor and for guarded lookups."""
    certify_draw: float
    """The certify stream's number in [0, 1); drawn when it is below the probability."""
    explore_draw: float
    """The explore stream's number in [0, 1)."""


def draw(key: bytes, stream: str, lookup_id: str) -> float:
    """Return a number in [0, 1), fixed by its arguments and uniform to whoever lacks the key.

    Keyed BLAKE2b (RFC 7693); the streams are independent of each other and lookups of each other.

    Raises
    ------
    ValueError
        If ``key`` is empty (anyone could predict the draws) or longer than 64 bytes.
    """
    if not key:
        raise ValueError("the sampling key is empty: draws would be predictable")
    # A stream name holds no NUL, so no two pairs give the same message.
    digest = blake2b(f"{stream}\0{lookup_id}".encode(), digest_size=8, key=key).digest()
    return (int.from_bytes(digest) >> _SHIFT) * _SCALE


def sample(plan: SamplingPlan, key: bytes, *, lookup_id: str, score: float, guarded: bool) -> Draw:
    """Draw one lookup under the plan in force.

    ``score`` is the candidate's score before guards, ``-inf`` without a candidate. The same
    arguments always give the same draw.
    """
    certify = certify_probability(plan, score, guarded=guarded)
    explore = explore_probability(plan, score, guarded=guarded)
    certify_draw = draw(key, "certify", lookup_id)
    explore_draw = draw(key, "explore", lookup_id)
    if certify_draw < certify:
        streams: tuple[Stream, ...] = (
            ("certify", "explore") if explore_draw < explore else ("certify",)
        )
    else:
        streams = ("explore",) if explore_draw < explore else ()
    either = _either(certify, explore)
    return Draw(bool(streams), streams, either, certify, certify_draw, explore_draw)


def inclusion_probability(plan: SamplingPlan, score: float, *, guarded: bool) -> float:
    """Return the probability in [0, 1] of being drawn by at least one stream."""
    return _either(
        certify_probability(plan, score, guarded=guarded),
        explore_probability(plan, score, guarded=guarded),
    )


def certify_probability(plan: SamplingPlan, score: float, *, guarded: bool) -> float:
    """Return the certify stream's rate; 0 below its floor, for guarded lookups and for NaN."""
    return plan.certify_rate if not guarded and score >= plan.certify_floor else 0.0


def explore_probability(plan: SamplingPlan, score: float, *, guarded: bool) -> float:
    """Return the explore stream's rate; 0 below the lowest edge and for NaN."""
    if not score >= plan.bin_edges[0]:
        return 0.0
    if guarded:
        return plan.guarded_rate
    return plan.explore_rates[bisect_right(plan.bin_edges, score) - 1]


def thin(key: bytes, lookup_id: str, *, inclusion_probability: float, share: float) -> float | None:
    """Give up part of a queue that cannot be finished, without bending the sample.

    Keeps an item with probability ``share``, by a draw of its own, and returns the probability that
    it then had from the start (``inclusion_probability * share``); ``None`` when it is given up.
    ``share`` is set once per window, from the calendar and the length of the queue, not from its
    labels. All lookups' probabilities, sampled or not, are multiplied by the same share.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share must lie in (0, 1], got {share}")
    return inclusion_probability * share if draw(key, "thin", lookup_id) < share else None


def _either(certify: float, explore: float) -> float:
    # With one stream silent the other's rate comes back as the very same float: labels of one
    # constant rate then weigh exactly 1 in the certificate.
    return 1.0 - (1.0 - certify) * (1.0 - explore) if certify and explore else certify or explore
