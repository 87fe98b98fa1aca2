"""A verifier as a line's rule: which scores a cross-encoder may raise, and to what. No I/O.

The threshold stays a threshold on one logged score. Of a lookup's candidates the best one that no guard refuses is the
winner; where its score lies in [low, high) the verifier reads both texts, and where it is sure enough the score becomes
`high`. Nothing else moves: what it does not pass, or does not answer for in time, keeps its score.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

FOLDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_MARK = "+verifier-"


class VerifierRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a line's `verifier` holds. Every field changes scores, so each is part of their version."""

    name: Annotated[str, Meta(pattern=FOLDER_NAME)]
    """Folder of the cross-encoder."""
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
    """Of the folder's content when it was chosen; with other content it is not used."""
    low: Annotated[float, Meta(ge=-1.0, le=1.0)]
    """Smallest score that it is asked about."""
    high: Annotated[float, Meta(ge=-1.0, le=1.0)]
    """What a verified candidate scores; from here on it is not asked."""
    accept: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.5
    """Smallest probability that verifies."""

    def asks_about(self, score: float) -> bool:
        """True in the band."""
        return self.low <= score < self.high

    def passes(self, probability: float | None) -> bool:
        """Fails closed: no answer, or no number, verifies nothing."""
        return probability is not None and probability >= self.accept

    def effective(self, score: float, probability: float | None) -> float:
        """The score that the threshold is compared with."""
        return self.high if self.asks_about(score) and self.passes(probability) else score


def suffix(rule: VerifierRule | None) -> str:
    """What a line's verifier adds to the version of its scores; nothing without one."""
    if rule is None:
        return ""
    return f"{_MARK}{rule.digest}-{rule.low!r}-{rule.high!r}-{rule.accept!r}"
