"""Decides in which state a line's promise is, and when a certificate has run out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from evaluation.drift import DRIFTED_ABOVE

CERTIFICATE_LIFE = timedelta(days=30)

State = Literal[
    "off",  # nothing is sampled and nothing is certified
    "collecting",  # labels are coming in, none or not enough yet
    "certified",  # a certificate stands behind the threshold in force
    "expired",  # it did, until the reason given
    "alarm",  # the monitor has seen too many false hits under it
]

ExpiryReason = Literal[
    "score_version",  # another embedder, scorer or guard set: other scores, other candidates
    "age",  # older than 30 days
    "drift",  # the scores of present traffic are no longer those of the window
]


@dataclass(frozen=True)
class InForce:
    """What is known of the certified decision in force.

    ``stability_index`` compares the scores of its window with the newest closed window; ``None``
    before there is one.
    """

    decided_at: datetime
    score_version: str
    stability_index: float | None
    alarmed: bool


@dataclass(frozen=True)
class LineState:
    """A state with what a person needs beside it: ``collecting (n of about m)``, the reason."""

    state: State
    labels: int
    labels_needed: int | None
    expiry_reason: ExpiryReason | None

    def __str__(self) -> str:
        if self.state == "collecting" and self.labels_needed is not None:
            if self.labels >= self.labels_needed:
                return f"collecting ({self.labels}, perhaps enough: tune)"
            return f"collecting ({self.labels} of about {self.labels_needed})"
        return f"expired ({self.expiry_reason})" if self.state == "expired" else self.state


def line_state(
    decision: InForce | None,
    *,
    now: datetime,
    score_version: str,
    is_sampling: bool,
    labels: int,
    labels_needed: int | None,
) -> LineState:
    """Return the state of a line.

    A decision of another score version is void, whatever else is true of it; an alarm comes before
    age and drift, since it is the one that asks for action at once.

    Parameters
    ----------
    decision : InForce | None
        ``None`` when no certified decision is in force.
    now : aware datetime
    score_version : str
        The one that the line serves by at present.
    is_sampling : bool
    labels, labels_needed
        Of the evidence being collected; ``labels_needed`` is ``None`` when not known.
    """
    if decision is None:
        return LineState("collecting" if is_sampling else "off", labels, labels_needed, None)
    expiry = expiry_reason(decision, now=now, score_version=score_version)
    if decision.alarmed and expiry != "score_version":
        return LineState("alarm", labels, labels_needed, None)
    return LineState("expired" if expiry else "certified", labels, labels_needed, expiry)


def expiry_reason(decision: InForce, *, now: datetime, score_version: str) -> ExpiryReason | None:
    """Return why a certificate no longer holds, ``None`` while it does."""
    if decision.score_version != score_version:
        return "score_version"
    if now - decision.decided_at >= CERTIFICATE_LIFE:
        return "age"
    if decision.stability_index is not None and decision.stability_index > DRIFTED_ABOVE:
        return "drift"
    return None
