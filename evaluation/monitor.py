"""Decides whether a threshold in force still keeps its promise, label by label, at any time.

A likelihood-ratio e-process on the labels of served hits. While each served hit is false with
probability at most the target, given the past, the chance that it ever reaches 20 is at most 5 %
(Ville's inequality), however often one looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log, log1p
from typing import Literal

ALARM_AT = 20.0
CAUTION_AT = 5.0
MULTIPLES: tuple[float, ...] = (1.5, 2.0, 3.0, 5.0)

MonitorStatus = Literal[
    "quiet",  # e < 5
    "caution",  # 5 <= e < 20 now: do not loosen
    "alarm",  # e has reached 20 since the decision was applied: tighten at once
]


@dataclass(frozen=True)
class MonitorState:
    """Everything the monitor knows; store it, hand it back with the next labels.

    ``log_capital`` has one entry per alternative, ``highest_e`` is the largest e since the start:
    an alarm stays until another decision starts a new state.
    """

    target_level: float
    alternatives: tuple[float, ...]
    log_capital: tuple[float, ...]
    labels: int
    false_hits: int
    highest_e: float

    @property
    def e(self) -> float:
        """The present e value: mean capital over the alternatives, 1 at the start, finite."""
        return sum(exp(min(c, 690.0)) for c in self.log_capital) / len(self.log_capital)

    @property
    def status(self) -> MonitorStatus:
        """Alarm, caution or quiet."""
        if self.highest_e >= ALARM_AT:
            return "alarm"
        return "caution" if self.e >= CAUTION_AT else "quiet"


def start_monitor(target_level: float) -> MonitorState:
    """Return the state at the moment a decision is applied.

    Parameters
    ----------
    target_level : in (0, 1)
        α. The alternatives are 1.5, 2, 3 and 5 times as high, those at 1 or more moved half way
        between α and 1.
    """
    if not 0.0 < target_level < 1.0:
        raise ValueError(f"target_level must lie in (0, 1), got {target_level}")
    half_way = (1.0 + target_level) / 2.0
    alternatives = tuple(min(m * target_level, half_way) for m in MULTIPLES)
    return MonitorState(target_level, alternatives, (0.0,) * len(alternatives), 0, 0, 1.0)


def update_monitor(
    state: MonitorState,
    bad: Sequence[bool],
    *,
    inclusion_probability: Sequence[float],
    smallest_probability: Sequence[float],
) -> MonitorState:
    """Return the state after more labels of served hits, in the order of their lookups.

    Parameters
    ----------
    state : MonitorState
        Not changed. In one go or in pieces, the result is the same.
    bad : sequence of bool, length n
        False hits, and hits nobody could decide.
    inclusion_probability : sequence of float in (0, 1], length n
        As stored with each lookup.
    smallest_probability : sequence of float, length n, 0 < it <= inclusion_probability
        The least rate that the plan in force at that lookup gave to any servable score; it may
        change from plan to plan but must not depend on the lookup itself.

    Returns
    -------
    MonitorState
        Equal to ``state`` for n = 0.

    Raises
    ------
    ValueError
        For unequal lengths, or a label below its plan's smallest rate.

    References
    ----------
    A. Wald (1945), Sequential tests of statistical hypotheses; I. Waudby-Smith, A. Ramdas (2024),
    Estimating means of bounded random variables by betting.
    """
    capital = list(state.log_capital)
    highest = state.highest_e
    false_hits = state.false_hits
    for is_bad, p, least in zip(bad, inclusion_probability, smallest_probability, strict=True):
        if not 0.0 < least <= p <= 1.0:
            raise ValueError(f"need 0 < smallest_probability <= probability <= 1: {least}, {p}")
        weight = least / p
        for j, q in enumerate(state.alternatives):
            capital[j] += log1p(weight * (_ratio(is_bad, q, state.target_level) - 1.0))
        false_hits += is_bad
        highest = max(highest, sum(exp(min(c, 690.0)) for c in capital) / len(capital))
    return replace(
        state,
        log_capital=tuple(capital),
        labels=state.labels + len(bad),
        false_hits=false_hits,
        highest_e=highest,
    )


def labels_to_alarm(state: MonitorState) -> int:
    """Return how many false hits in a row would raise the alarm from here; 0 when it is raised."""
    if state.highest_e >= ALARM_AT:
        return 0
    count = 0
    capital = list(state.log_capital)
    steps = [log(q / state.target_level) for q in state.alternatives]
    while sum(exp(c) for c in capital) / len(capital) < ALARM_AT:
        capital = [c + step for c, step in zip(capital, steps, strict=True)]
        count += 1
    return count


def _ratio(is_bad: bool, alternative: float, target_level: float) -> float:
    if is_bad:
        return alternative / target_level
    return (1.0 - alternative) / (1.0 - target_level)
