"""Decides how far two windows' scores lie apart, by the population stability index."""

import numpy as np

from evaluation.evidence import FloatArray

DRIFTED_ABOVE = 0.2  # the customary mark; a certificate expires above it


def population_stability_index(
    reference: FloatArray, current: FloatArray, *, bins: int = 10
) -> float:
    """Return ``sum((c - r) * ln(c / r))`` over bins of equal mass in the reference.

    Parameters
    ----------
    reference, current : float64, shapes (N,) and (M,)
        Scores of all lookups of two windows; -inf (guarded, no candidate) is a bin of its own.
    bins : int >= 2
        For the finite scores; fewer where many of them are equal.

    Returns
    -------
    float >= 0
        0 for equal shares; 0 when either window is empty (nothing is known). Symmetric in shares,
        not in arguments, since the bins come from the reference. Half a count is added to every
        bin, so that it stays finite.

    References
    ----------
    B. Yurdakul (2018), Statistical properties of the population stability index: pure noise has
    mean about ``(bins - 1) * (1/N + 1/M)``.
    """
    if bins < 2:
        raise ValueError(f"bins must be at least 2, got {bins}")
    if reference.size == 0 or current.size == 0:
        return 0.0
    finite = reference[np.isfinite(reference)]
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    edges = np.unique(np.quantile(finite, inner)) if finite.size else np.empty(0)
    r = _shares(reference, edges)
    c = _shares(current, edges)
    return float(((c - r) * np.log(c / r)).sum())


def _shares(score: FloatArray, edges: FloatArray) -> FloatArray:
    finite = np.isfinite(score)
    bin_of = np.where(finite, np.searchsorted(edges, score, side="right") + 1, 0)
    counts = np.bincount(bin_of, minlength=edges.size + 2) + 0.5
    return np.asarray(counts / counts.sum(), dtype=np.float64)
