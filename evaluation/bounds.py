"""Intervals for a rate of false hits, weighted and not: one formula and one reference per function.

All bounds are one-sided at the stated confidence; take both at 0.975 for a two-sided 95 % interval.
None of them may be read off at a threshold that was chosen by looking at the same labels; that is
the certificate's job.
"""

import numpy as np
import numpy.typing as npt
from scipy import stats

from evaluation.evidence import FloatArray


def clopper_pearson_upper(
    bad: npt.ArrayLike, labels: npt.ArrayLike, *, confidence: float
) -> FloatArray:
    """Return the exact binomial upper bound.

    The largest p with ``P(Binomial(labels, p) <= bad) >= 1 - confidence``, which is the quantile
    ``Beta(bad + 1, labels - bad).ppf(confidence)``.

    Parameters
    ----------
    bad, labels : real, any shapes that broadcast, 0 <= bad <= labels
        Counts; fractions are allowed, so that effective counts can be used.
    confidence : in (0, 1)

    Returns
    -------
    float64 in [0, 1], broadcast shape; 1 where ``labels`` is 0 or all are bad.

    References
    ----------
    C. J. Clopper, E. S. Pearson (1934), The use of confidence or fiducial limits illustrated in the
    case of the binomial.
    """
    k, n = _counts(bad, labels, confidence)
    quantile = stats.beta.ppf(confidence, k + 1.0, np.maximum(n - k, 1e-12))
    return np.where(n - k <= 0.0, 1.0, quantile)


def clopper_pearson_lower(
    bad: npt.ArrayLike, labels: npt.ArrayLike, *, confidence: float
) -> FloatArray:
    """Return the exact binomial lower bound, ``Beta(bad, labels - bad + 1).ppf(1 - confidence)``.

    Same arguments and reference as `clopper_pearson_upper`; 0 where nothing is bad.
    """
    k, n = _counts(bad, labels, confidence)
    quantile = stats.beta.ppf(1.0 - confidence, np.maximum(k, 1e-12), n - k + 1.0)
    return np.where(k <= 0.0, 0.0, quantile)


def wilson(
    bad: npt.ArrayLike, labels: npt.ArrayLike, *, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return the Wilson score bounds, lower and upper, each one-sided at ``confidence``.

    With ``z`` the normal quantile, the roots of ``(p - bad/labels)^2 = z^2 p (1-p) / labels``.
    Approximate: for display of large counts, never for a promise.

    Returns
    -------
    lower, upper : float64 in [0, 1], broadcast shape; (0, 1) where ``labels`` is 0.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    k, n = _counts(bad, labels, confidence)
    z = stats.norm.ppf(confidence)
    safe = np.maximum(n, 1e-300)
    rate = k / safe
    with np.errstate(over="ignore", invalid="ignore"):  # only where n is 0, replaced below
        shrink = 1.0 + z * z / safe
        centre = (rate + z * z / (2.0 * safe)) / shrink
        half = abs(z) / shrink * np.sqrt(rate * (1.0 - rate) / safe + (z / (2.0 * safe)) ** 2)
    lower = np.where(n > 0.0, np.clip(centre - half, 0.0, 1.0), 0.0)
    upper = np.where(n > 0.0, np.clip(centre + half, 0.0, 1.0), 1.0)
    return lower, upper


def hajek_rate(bad: npt.ArrayLike, weight: npt.ArrayLike) -> float:
    """Return the weighted share of bad labels, ``sum(weight * bad) / sum(weight)``.

    Parameters
    ----------
    bad : bool, shape (n,)
    weight : real >= 0, shape (n,)
        ``1 / inclusion_probability``, or any multiple of it.

    Returns
    -------
    float in [0, 1]; 1.0 when the weights sum to 0 (nothing known counts as the worst).

    References
    ----------
    J. Hajek (1971), comment on "An essay on the logical foundations of survey sampling".
    """
    z, w = _weighted(bad, weight)
    total = float(w.sum())
    return float(np.clip((w * z).sum() / total, 0.0, 1.0)) if total > 0.0 else 1.0


def effective_labels(weight: npt.ArrayLike) -> float:
    """Return Kish's effective sample size ``sum(w)^2 / sum(w^2)``: float in [0, n], 0 when empty.

    How many equally weighted labels would be worth as much.

    References
    ----------
    L. Kish (1965), Survey Sampling, section 8.2.
    """
    w = np.asarray(weight, dtype=np.float64)
    largest = float(w.max(initial=0.0))
    if largest <= 0.0:
        return 0.0
    w = w / largest  # squares of huge weights must not overflow
    return float(w.sum() ** 2 / (w * w).sum())


def korn_graubard(
    bad: npt.ArrayLike, weight: npt.ArrayLike, *, confidence: float
) -> tuple[float, float]:
    """Return lower and upper bound for a weighted rate, each one-sided at ``confidence``.

    The exact binomial interval at an effective size ``n* = p (1-p) / var(p)``, times the squared
    ratio of the t quantiles with n-1 and infinitely many degrees of freedom as the survey
    literature has it, and never more than n. The variance is that of the Hajek rate by
    linearisation. Where no label or every label is bad the variance says nothing, and Kish's size
    stands in.

    Parameters
    ----------
    bad : bool, shape (n,)
    weight : real >= 0, shape (n,)
        Rows of weight 0 count as absent.
    confidence : in (0, 1)

    Returns
    -------
    lower, upper : float in [0, 1]; (0, 1) when no row has weight.

    References
    ----------
    E. L. Korn, B. I. Graubard (1998), Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data.
    """
    z, w = _weighted(bad, weight)
    z, w = z[w > 0.0], w[w > 0.0]
    if w.size == 0:
        return 0.0, 1.0
    size = effective_size(z > 0.5, w, confidence=confidence)
    rate = hajek_rate(z, w)
    lower = clopper_pearson_lower(rate * size, size, confidence=confidence)
    upper = clopper_pearson_upper(rate * size, size, confidence=confidence)
    return float(lower), float(upper)


def effective_size(bad: npt.ArrayLike, weight: npt.ArrayLike, *, confidence: float) -> float:
    """Return the effective size ``n*`` that `korn_graubard` uses: float in (0, n], 0 when empty."""
    z, w = _weighted(bad, weight)
    z, w = z[w > 0.0], w[w > 0.0]
    n = w.size
    if n == 0:
        return 0.0
    kish = min(effective_labels(w), float(n))
    rate = hajek_rate(z, w)
    if n == 1 or rate <= 0.0 or rate >= 1.0:
        return kish
    share = w / w.sum()
    variance = n / (n - 1.0) * float(((share * (z - rate)) ** 2).sum())
    normal, student = stats.norm.ppf(confidence), stats.t.ppf(confidence, n - 1)
    shrink = (normal / student) ** 2 if student != 0.0 else 1.0
    return float(min(rate * (1.0 - rate) / variance * shrink, n))


def _counts(
    bad: npt.ArrayLike, labels: npt.ArrayLike, confidence: float
) -> tuple[FloatArray, FloatArray]:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence}")
    k, n = np.broadcast_arrays(
        np.asarray(bad, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    )
    if not np.all((k >= 0.0) & (k <= n)):
        raise ValueError("counts must satisfy 0 <= bad <= labels")
    return k, n


def _weighted(bad: npt.ArrayLike, weight: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    z = np.asarray(bad, dtype=np.float64)
    w = np.asarray(weight, dtype=np.float64)
    if z.shape != w.shape:
        raise ValueError(f"bad has shape {z.shape}, weight has {w.shape}")
    if not np.all(np.isfinite(w) & (w >= 0.0)):
        raise ValueError("weight must be finite and at least 0")
    return z, w
