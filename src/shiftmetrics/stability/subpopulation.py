"""Worst-case subpopulation risk: the mean loss of the worst part of the sample, also called CVaR."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Interval, Result, format_number, settings_of
from shiftmetrics._core.validation import check_number, check_vector
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.problem import Problem
from shiftmetrics.stability.sampling import effective_samples, normal_interval

_EPS = float(np.finfo(np.float64).eps)
_FEW_ROWS = 20.0


class SubpopulationStatus(Status):
    """How large the worst part is."""

    EXACT = ("exact", True, "The mean of the worst part of the rows, ties shared evenly.")
    BOUNDARY = (
        "boundary",
        True,
        "The fraction is no more than the share of the rows with the highest loss, so that the value is that loss. "
        "A larger fraction tells more.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SubpopulationRisk(Drawn, Result):
    """The mean loss of the worst part of a sample.

    Attributes
    ----------
    value : float
        The highest mean loss of any subpopulation that holds at least ``fraction`` of the rows.
    fraction : float
        Size of the subpopulation, as a share of the sample.
    base_risk : float
        Mean loss of all rows.
    cutoff : float
        The loss from which on rows belong to the subpopulation; rows that have it share what is left.
    standard_error : float or None
        Sampling error of ``value`` from its influence function; None where no row is an error.
    effective_sample_fraction : float
        ``1 / mean(W^2)``: the fraction itself, but for ties.
    weights : array of shape (n_samples,) or None
        Weight of each row in the subpopulation, relative to its sample weight; mean 1, at most ``1 / fraction``. None
        with ``keep_rows=False``.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more row (or group) like each would add to ``value``, to first order; see `StabilityResult`.
    """

    measure: ClassVar[str] = "worst_subpopulation_risk"
    title: ClassVar[str] = "Worst-subpopulation risk"
    higher_is_better: ClassVar[bool] = False

    status: SubpopulationStatus
    fraction: float
    base_risk: float
    cutoff: float
    standard_error: float | None
    effective_sample_fraction: float
    weights: FloatArray | None = None
    influence: FloatArray | None = None

    def headline(self) -> str:
        """Say what the value means."""
        return (
            f"The worst {100 * self.fraction:.3g} % of the rows have a mean loss of {format_number(self.value)}, "
            f"against {format_number(self.base_risk)} of all; their losses start at {format_number(self.cutoff)}."
        )


def worst_subpopulation_risk(
    losses: Any,
    fraction: float,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    level: float = 0.95,
    keep_rows: bool = True,
) -> SubpopulationRisk:
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
    groups : array_like of shape (n_samples,), optional
        Labels of rows that belong together: the interval is then that of a sample of groups.
    level : float, default 0.95
        Confidence level of the interval.
    keep_rows : bool, default True
        Whether the result holds the weight of each row.

    Returns
    -------
    SubpopulationRisk
        Exact, ties shared. The interval is normal, from the influence function; where all losses are 0 or 1 it is the
        binomial one of the error rate, carried over.

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
    >>> from shiftmetrics.stability import worst_subpopulation_risk
    >>> result = worst_subpopulation_risk([0.1, 0.4, 0.2, 0.9, 0.3], fraction=0.4)
    >>> round(result.value, 3), result.weights.round(3).tolist()
    (0.65, [0.0, 2.5, 0.0, 2.5, 0.0])
    """
    fraction = check_number(fraction, "fraction", low=0.0, high=1.0, open_low=True)
    values = check_vector(losses, "losses")
    scale = power_of_two(float(np.abs(values).max()))  # leaves all digits as they are
    values = values / scale
    binary = bool(np.isin(values * scale, (0.0, 1.0)).all())
    options = Options(
        theta1=math.inf, theta2=1.0, divergence="kl", rtol=0.0, max_iter=1, initial_dual=None, level=level,
        keep_rows=keep_rows, executor=None, progress=False, groups=groups,
    )  # fmt: skip
    errors = values * scale if binary else np.zeros_like(values)  # an error rate, where it is one
    problem = Problem.of(FixedLoss(errors), sample_weight, options)
    present = values if problem.kept is None else values[problem.kept]
    share = problem.weights if problem.weights is not None else np.ones(len(present))
    share = share / share.sum()
    cutoff, above = _cutoff(present, share, fraction)
    tied = float(share[present == cutoff].sum())
    at_cutoff = min((fraction - above) / tied, 1.0)  # the part of the tied rows that belongs to the worst
    weights = ((present > cutoff) + at_cutoff * (present == cutoff)) / fraction
    value = cutoff + float(share @ np.maximum(present - cutoff, 0.0)) / fraction
    influence = problem.unit_sums(np.maximum(present - cutoff, 0.0) / fraction + cutoff - value)
    spread = scale * float(np.linalg.norm(influence))
    standard_error: float | None = spread
    highest = float(present.max())
    if binary:
        interval = _error_rate_interval(problem, fraction)
        standard_error = standard_error if highest > 0.0 else None
    else:
        interval = normal_interval(scale * value, spread, options.level, least=-math.inf)
    warnings = []
    units = problem.unit_sums(np.ones(len(present)))
    independent = fraction / float(units @ units)
    if independent < _FEW_ROWS and not binary:
        warnings.append(
            f"The worst {100 * fraction:.3g} % are about {independent:.2g} independent rows: the interval is rough. "
            "Choose a larger fraction."
        )
    kept = None
    if keep_rows:
        kept = np.zeros(problem.n_samples)
        kept[slice(None) if problem.kept is None else problem.kept] = weights
    return SubpopulationRisk(
        value=scale * value,
        error_bound=4.0 * _EPS * math.log2(len(present) + 1) * scale * float(np.abs(present).max()),
        interval=interval,
        status=SubpopulationStatus.BOUNDARY
        if value >= highest > float(present.min())
        else SubpopulationStatus.EXACT,
        n_samples=problem.n_samples,
        settings=settings_of(
            fraction=fraction,
            sample_weight=None if sample_weight is None else "given",
            groups=groups is not None,
            level=options.level,
            keep_rows=keep_rows,
        ),
        warnings=tuple(warnings),
        fraction=fraction,
        base_risk=scale * float(share @ present),
        cutoff=scale * cutoff,
        standard_error=standard_error,
        effective_sample_fraction=min(1.0 / float(share @ (weights * weights)), 1.0),
        weights=kept,
        influence=None if standard_error is None else scale * influence,
    )


def power_of_two(size: float) -> float:
    """Return the power of two next below a size, or 1 for sizes that need no scaling."""
    return 1.0 if size == 0.0 or 1e-100 < size < 1e100 else math.ldexp(1.0, math.frexp(size)[1] - 1)


def _cutoff(values: FloatArray, share: FloatArray, fraction: float) -> tuple[float, float]:
    """Return the highest loss at or above which at least ``fraction`` of the rows lie, and the share above it."""
    order = np.argsort(-values, kind="stable")
    reached = np.cumsum(share[order])
    last = min(int(np.searchsorted(reached, fraction * (1.0 - 4.0 * _EPS))), len(values) - 1)
    cutoff = float(values[order[last]])
    return cutoff, float(share[values > cutoff].sum())


def _error_rate_interval(problem: Problem, fraction: float) -> Interval:
    """Carry the binomial interval of the error rate p over to ``min(p / fraction, 1)``."""
    level, rate = problem.options.level, problem.dual.baseline.risk
    edges = [min(p / fraction, 1.0) for p in binomial_interval(rate, effective_samples(problem), level)]
    exact = problem.weights is None and problem.units is None
    method = "exact binomial" if exact else "binomial with the effective sample size"
    return Interval(low=edges[0], high=edges[1], level=level, method=method)
