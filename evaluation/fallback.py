"""Cross-checks a certificate by the textbook: exact binomial tests in a fixed sequence.

For one constant sampling rate only. Several starting points keep it from getting stuck where traps
sit at the very top of the score range, which a single sequence from the strictest threshold does.
"""

import numpy as np
from scipy import stats

from evaluation.certificate import check_levels
from evaluation.evidence import FloatArray, Labels, Lookups, check_thresholds, default_grid, hits_at


def fallback_sequence(
    labels: Labels,
    lookups: Lookups,
    *,
    target_level: float,
    confidence: float,
    floor: float,
    thresholds: FloatArray | None = None,
    starts: int = 3,
) -> float | None:
    """Return the loosest threshold that exact binomial tests in a fixed sequence can pass.

    The error δ is shared among ``starts`` sequences. Each begins where the log expects a given
    number of labels (from the fewest that could pass to all of them, in equal ratios), walks to
    looser thresholds and ends at its first failure. The starts depend on the log and the rates,
    never on a label.

    Parameters
    ----------
    labels, lookups, target_level, confidence, floor, thresholds
        As for `certify`; all labels at or above the floor must have one and the same probability.

    Returns
    -------
    float | None
        A grid point, or ``None`` when nothing passes.

    Raises
    ------
    ValueError
        If rates differ: a binomial test knows no weights.

    References
    ----------
    A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei (2021), Learn then Test:
    calibrating predictive algorithms to achieve risk control.
    """
    check_levels(target_level, confidence)
    grid = check_thresholds(default_grid() if thresholds is None else thresholds)
    grid = grid[grid >= floor]
    usable = labels.where(labels.score >= floor)
    rates = lookups.inclusion_probability[lookups.score >= floor]
    if rates.size == 0 or grid.size == 0 or len(usable) == 0:
        return None
    if np.ptp(rates) > 0.0:
        raise ValueError("the fallback sequence needs one constant inclusion probability")
    error = (1.0 - confidence) / starts
    above = hits_at(usable.score, grid)
    bad = hits_at(usable.score[usable.counts_as_bad], grid)
    passes = stats.binom.cdf(bad, above, target_level) <= error
    expected = hits_at(lookups.score, grid) * float(rates[0])
    fewest = 1.2 * np.log(error) / np.log1p(-target_level)
    if expected[0] < fewest:
        fewest = float(expected[0])
    loosest: float | None = None
    for count in np.geomspace(max(fewest, 1e-9), max(float(expected[0]), 1e-9), starts):
        # The strictest threshold that is expected to have so many labels.
        position = int(np.flatnonzero(expected >= count - 1e-9)[-1]) if count > 1e-9 else 0
        while position >= 0 and passes[position]:
            loosest = float(grid[position]) if loosest is None else min(loosest, grid[position])
            position -= 1
    return None if loosest is None else float(loosest)
