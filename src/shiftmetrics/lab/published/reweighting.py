"""Two measures of reweighting alone: the s-value, and the worst-case subpopulation risk (CVaR)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import binomial_interval, normal_interval
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.result import Interval, Status, format_number, settings_of
from shiftmetrics._core.validation import check_number, check_vector
from shiftmetrics.lab.published.result import PublishedResult
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.problem import Prices, StabilityProblem
from shiftmetrics.stability.sampling import effective_samples

_EPS = float(np.finfo(np.float64).eps)
_FEW_ROWS = 20.0

EXACT = Status("exact", "The mean of the worst part of the rows, ties shared evenly.")
BOUNDARY = Status(
    "boundary",
    "The fraction is no more than the share of the rows with the highest loss, so that the value is that loss.",
    "A larger fraction tells more.",
)


def s_value(
    losses: Any,
    threshold: float,
    *,
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
) -> PublishedResult:
    r"""Return how near the sample is to one whose mean reaches a threshold; lower is more stable.

    .. math:: s = \sup\{\exp(-\mathrm{KL}(Q \Vert P)) : E_Q[\ell] \ge r\}
        = \min_{h \ge 0} E_P[e^{h (\ell - r)}]

    It is ``exp(-R)`` of the stability R with ``theta1 = inf``, ``theta2 = 1`` and KL reweighting.

    Parameters
    ----------
    losses : array_like of shape (n_samples,)
        Loss of each row, or any numbers whose mean is meant, negative ones too. To ask whether a positive mean effect
        may vanish, give ``-effects`` and threshold 0.
    threshold : float
        What the mean must reach.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample, in any scale.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and groups of rows; see `stability_criterion`.

    Returns
    -------
    PublishedResult
        ``value`` lies between 0 (no reweighting reaches the threshold) and 1 (the sample does as it is). ``parts``
        holds ``kl``, the least divergence of a reweighting that does (nats); ``tilt``, whose weights grow as
        ``exp(tilt * loss)``; ``base_risk``, the mean of the sample; and ``effective_sample_fraction``.

    Raises
    ------
    TypeError
        If ``losses`` holds no numbers.
    ValueError
        If a loss is not finite, a number is out of its range, or the weights or groups do not match the rows.

    See Also
    --------
    stability_criterion : With prices, other divergences, and rows that may move.

    References
    ----------
    S. Gupta and D. Rothenhaeusler, "The s-value: evaluating stability with respect to distributional shifts", NeurIPS
    2023, arXiv:2105.03067.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.lab.published import s_value
    >>> errors = np.arange(1000) < 100  # an error rate of 0.1
    >>> result = s_value(errors, 0.3)
    >>> round(result.value, 6), round(float(np.exp(-(0.3 * np.log(3) + 0.7 * np.log(7 / 9)))), 6)
    (0.85756, 0.85756)
    """
    threshold = check_number(threshold, "threshold")
    values = check_vector(losses, "losses")
    # The unit and the zero do not matter to a reweighting; powers of two leave all digits as they are.
    scale = _power_of_two(max(float(np.abs(values).max()), abs(threshold)))
    low = min(float(values.min()), threshold) / scale
    solved = stability_criterion(
        FixedLoss(values / scale - low),
        threshold / scale - low,
        theta1=math.inf,
        theta2=1.0,
        divergence="kl",
        sample_weight=sample_weight,
        resampling=resampling,
        computing=Computing(progress=False),
    )
    value = math.exp(-solved.value)
    base_risk = scale * (solved.base_risk + low)
    interval, warnings = None, solved.warnings
    if solved.interval is not None:
        ends = solved.interval
        interval = Interval(
            low=math.exp(-ends.high),
            high=math.exp(-ends.low),
            confidence_level=ends.confidence_level,
            method=ends.method,
        )
        if solved.standard_error is None:
            warnings = (
                f"None of the {len(values)} rows is an error, so no reweighting of them makes one; with the error "
                f"rates that they do not rule out, the s-value lies in {interval}.",
            )
    return PublishedResult(
        measure="s_value",
        title="s-value",
        higher_is_better=False,
        value=value,
        error_bound=value * math.expm1(solved.error_bound)
        if math.isfinite(solved.error_bound)
        else value,
        interval=interval,
        status=solved.status,
        n_samples=solved.n_samples,
        settings=settings_of(
            threshold=threshold,
            sample_weight=solved.settings["sample_weight"],
            resampling=solved.settings["resampling"],
        ),
        warnings=warnings,
        sentence=_s_value_in_words(value, threshold, base_risk, solved),
        standard_error=None if solved.standard_error is None else value * solved.standard_error,
        weights=solved.weights,
        influence=None if solved.influence is None else -value * solved.influence,
        parts={
            "kl": solved.value,
            "tilt": solved.dual / scale,
            "base_risk": base_risk,
            "effective_sample_fraction": solved.effective_sample_fraction,
        },
    )


def _s_value_in_words(value: float, threshold: float, base_risk: float, solved: Any) -> str:
    start = f"s-value {format_number(value)} at threshold {format_number(threshold)}"
    if str(solved.status) == "already_at_risk":
        return f"{start}: the mean is {format_number(base_risk)} already."
    if str(solved.status) == "unattainable":
        return f"{start}: no reweighting of these rows reaches it."
    return (
        f"{start}: reweighting by {format_number(solved.value)} nats moves the mean from {format_number(base_risk)} "
        f"there, and leaves {100 * solved.effective_sample_fraction:.3g} % of the effective sample size."
    )


def worst_subpopulation_risk(
    losses: Any,
    fraction: float,
    *,
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
) -> PublishedResult:
    r"""Return the highest mean loss of any part of the sample that holds a given share of it; lower is better.

    The conditional value at risk (CVaR) of the loss at that share,

    .. math:: \max\{E[W \ell] : 0 \le W \le 1/\alpha,\ E[W] = 1\}
        = \min_t\ t + E[(\ell - t)_+] / \alpha .

    Parameters
    ----------
    losses : array_like of shape (n_samples,)
        Loss of each row; booleans are errors.
    fraction : float
        Least share of the sample that a subpopulation holds, between 0 and 1; 1 is the mean of all rows.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample, in any scale.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and groups of rows; see `stability_criterion`.

    Returns
    -------
    PublishedResult
        Exact, ties shared; ``weights`` are at most ``1 / fraction``. ``parts`` holds ``fraction``; ``base_risk``, the
        mean of all rows; ``cutoff``, the loss from which on rows belong to the subpopulation (rows that have it share
        what is left); and ``effective_sample_fraction``. The interval is normal, from the influence function; where
        all losses are 0 or 1 it is the binomial one of the error rate, carried over.

    Raises
    ------
    TypeError
        If ``losses`` holds no numbers.
    ValueError
        If a loss is not finite, a number is out of its range, or the weights or groups do not match the rows.

    See Also
    --------
    worst_case_risk : The same with prices in place of a share, and rows that may move.

    References
    ----------
    R. T. Rockafellar and S. Uryasev, "Optimization of conditional value-at-risk", Journal of Risk 2 (2000),
    doi:10.21314/JOR.2000.038. M. Li, H. Namkoong, S. Xia, "Evaluating model performance under worst-case
    subpopulations", NeurIPS 2021, arXiv:2407.01316.

    Examples
    --------
    >>> from shiftmetrics.lab.published import worst_subpopulation_risk
    >>> result = worst_subpopulation_risk([0.1, 0.4, 0.2, 0.9, 0.3], fraction=0.4)
    >>> round(result.value, 3), result.weights.round(3).tolist()
    (0.65, [0.0, 2.5, 0.0, 2.5, 0.0])
    """
    fraction = check_number(fraction, "fraction", low=0.0, high=1.0, open_low=True)
    values = check_vector(losses, "losses")
    scale = _power_of_two(float(np.abs(values).max()))  # leaves all digits as they are
    values = values / scale
    binary = bool(np.isin(values * scale, (0.0, 1.0)).all())
    errors = values * scale if binary else np.zeros_like(values)  # an error rate, where it is one
    problem = StabilityProblem.of(
        FixedLoss(errors), sample_weight, Prices(math.inf, 1.0, "kl"), resampling
    )
    present = values if problem.kept is None else values[problem.kept]
    share = problem.weights if problem.weights is not None else np.ones(len(present))
    share = share / share.sum()
    cutoff, above = _cutoff(present, share, fraction)
    tied = float(share[present == cutoff].sum())
    at_cutoff = min(
        (fraction - above) / tied, 1.0
    )  # the part of the tied rows that belongs to the worst
    weights = ((present > cutoff) + at_cutoff * (present == cutoff)) / fraction
    value = cutoff + float(share @ np.maximum(present - cutoff, 0.0)) / fraction
    influence = problem.unit_sums(np.maximum(present - cutoff, 0.0) / fraction + cutoff - value)
    standard_error: float | None = scale * float(np.linalg.norm(influence))
    highest = float(present.max())
    interval = None
    if binary:
        standard_error = standard_error if highest > 0.0 else None
    if problem.confidence_level is not None and binary:
        rates = binomial_interval(
            problem.dual.baseline.risk, effective_samples(problem), problem.confidence_level
        )
        low, high = (min(rate / fraction, 1.0) for rate in rates)
        exact = problem.weights is None and problem.units is None
        method = "exact binomial" if exact else "binomial with the effective sample size"
        interval = Interval(
            low=low, high=high, confidence_level=problem.confidence_level, method=method
        )
    elif problem.confidence_level is not None and standard_error is not None:
        interval = normal_interval(
            scale * value, standard_error, problem.confidence_level, "influence function"
        )
    units = problem.unit_sums(np.ones(len(present)))
    independent = fraction / float(units @ units)
    warnings = []
    if independent < _FEW_ROWS and not binary:
        warnings.append(
            f"The worst {100 * fraction:.3g} % are about {independent:.2g} independent rows: the interval is rough. "
            "Choose a larger fraction."
        )
    all_weights = np.zeros(problem.whole.n_samples)
    all_weights[slice(None) if problem.kept is None else problem.kept] = weights
    base_risk = scale * float(share @ present)
    return PublishedResult(
        measure="worst_subpopulation_risk",
        title="Worst-subpopulation risk",
        higher_is_better=False,
        value=scale * value,
        error_bound=4.0 * _EPS * math.log2(len(present) + 1) * scale * float(np.abs(present).max()),
        interval=interval,
        status=BOUNDARY if value >= highest > float(present.min()) else EXACT,
        n_samples=problem.whole.n_samples,
        settings=settings_of(
            fraction=fraction,
            sample_weight=None if sample_weight is None else "given",
            resampling=problem.settings()["resampling"],
        ),
        warnings=tuple(warnings),
        sentence=(
            f"The worst {100 * fraction:.3g} % of the rows have a mean loss of {format_number(scale * value)}, "
            f"against {format_number(base_risk)} of all; their losses start at {format_number(scale * cutoff)}."
        ),
        standard_error=standard_error,
        weights=all_weights,
        influence=None if standard_error is None else scale * influence,
        parts={
            "fraction": fraction,
            "base_risk": base_risk,
            "cutoff": scale * cutoff,
            "effective_sample_fraction": min(1.0 / float(share @ (weights * weights)), 1.0),
        },
    )


def _power_of_two(size: float) -> float:
    """Return the power of two next below a size, or 1 for sizes that need no scaling."""
    return 1.0 if size == 0.0 or 1e-100 < size < 1e100 else math.ldexp(1.0, math.frexp(size)[1] - 1)


def _cutoff(values: FloatArray, share: FloatArray, fraction: float) -> tuple[float, float]:
    """Return the highest loss at or above which at least ``fraction`` of the rows lie, and the share above it."""
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(share[order])
    last = min(int(np.searchsorted(reached, fraction * (1.0 - 4.0 * _EPS))), len(values) - 1)
    cutoff = float(values[order[last]])
    return cutoff, float(share[values > cutoff].sum())
