"""The s-value: how likely, on an exponential scale, is the reweighting of the sample that reaches a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Interval, Result, format_number, settings_of
from shiftmetrics._core.validation import check_number, check_vector
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.result import StabilityStatus
from shiftmetrics.stability.subpopulation import power_of_two


@dataclass(frozen=True, eq=False, kw_only=True)
class SValue(Drawn, Result):
    """How near the sample is to one whose mean reaches a threshold: ``exp(-kl)``.

    Attributes
    ----------
    value : float
        Between 0 (no reweighting reaches the threshold) and 1 (the sample does as it is).
    kl : float
        The least Kullback-Leibler divergence from the sample of a reweighting that does, in nats.
    tilt : float
        Its weights grow as ``exp(tilt * loss)``.
    base_risk : float
        Mean of the sample.
    standard_error : float or None
        Sampling error of ``value`` from its influence function; None where there is none.
    effective_sample_fraction : float
        ``1 / mean(W^2)``.
    weights : array of shape (n_samples,) or None
        Weight of each row, relative to its sample weight; mean 1. None with ``keep_rows=False``.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more row (or group) like each would add to ``value``, to first order; see `StabilityResult`.
    """

    measure: ClassVar[str] = "s_value"
    title: ClassVar[str] = "s-value"
    higher_is_better: ClassVar[bool] = False

    status: StabilityStatus
    kl: float
    tilt: float
    base_risk: float
    standard_error: float | None
    effective_sample_fraction: float
    weights: FloatArray | None = None
    influence: FloatArray | None = None

    def headline(self) -> str:
        """Say what the value means."""
        threshold = format_number(self.settings["threshold"])
        start = f"s-value {format_number(self.value)} at threshold {threshold}"
        if self.status is StabilityStatus.ALREADY_AT_RISK:
            return f"{start}: the mean is {format_number(self.base_risk)} already."
        if self.status is StabilityStatus.UNATTAINABLE:
            return f"{start}: no reweighting of these rows reaches it."
        return (
            f"{start}: reweighting by {format_number(self.kl)} nats moves the mean from "
            f"{format_number(self.base_risk)} there, and leaves {100 * self.effective_sample_fraction:.3g} % of the "
            "effective sample size."
        )


def s_value(
    losses: Any,
    threshold: float,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    rtol: float = 1e-10,
    level: float = 0.95,
    keep_rows: bool = True,
) -> SValue:
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
    groups : array_like of shape (n_samples,), optional
        Labels of rows that belong together: the interval is then that of a sample of groups.
    rtol : float, default 1e-10
        Relative precision of the divergence.
    level : float, default 0.95
        Confidence level of the interval.
    keep_rows : bool, default True
        Whether the result holds the weight of each row.

    Returns
    -------
    SValue
        With the reweighting, and an interval that is normal on the scale of the divergence.

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
    >>> from shiftmetrics.stability import s_value
    >>> errors = np.arange(1000) < 100  # an error rate of 0.1
    >>> result = s_value(errors, 0.3)
    >>> round(result.value, 6), round(float(np.exp(-(0.3 * np.log(3) + 0.7 * np.log(7 / 9)))), 6)
    (0.85756, 0.85756)
    """
    threshold = check_number(threshold, "threshold")
    values = check_vector(losses, "losses")
    # A reweighting minds neither the unit nor where zero is; powers of two leave all digits as they are.
    scale = power_of_two(max(float(np.abs(values).max()), abs(threshold)))
    low = min(float(values.min()), threshold) / scale
    stability = stability_criterion(
        FixedLoss(values / scale - low),
        threshold / scale - low,
        theta1=math.inf,
        theta2=1.0,
        divergence="kl",
        sample_weight=sample_weight,
        groups=groups,
        rtol=rtol,
        level=level,
        keep_rows=keep_rows,
        progress=False,
    )
    value = math.exp(-stability.value)
    interval, notes = None, stability.warnings
    if stability.interval is not None:
        ends = stability.interval
        interval = Interval(
            low=math.exp(-ends.high), high=math.exp(-ends.low), level=ends.level, method=ends.method
        )
        if stability.standard_error is None:
            notes = (
                f"None of the {len(values)} rows is an error, so no reweighting of them makes one; with the error "
                f"rates that they do not rule out, the s-value lies in {interval}.",
            )
    return SValue(
        value=value,
        error_bound=value * math.expm1(stability.error_bound)
        if math.isfinite(stability.error_bound)
        else value,
        interval=interval,
        status=stability.status,
        n_samples=stability.n_samples,
        settings=settings_of(
            threshold=threshold,
            sample_weight=stability.settings["sample_weight"],
            groups=stability.settings["groups"],
            rtol=stability.settings["rtol"],
            level=stability.settings["level"],
            keep_rows=keep_rows,
        ),
        warnings=notes,
        kl=stability.value,
        tilt=stability.dual / scale,
        base_risk=scale * (stability.base_risk + low),
        standard_error=None if stability.standard_error is None else value * stability.standard_error,
        effective_sample_fraction=stability.effective_sample_fraction,
        weights=stability.weights,
        influence=None if stability.influence is None else -value * stability.influence,
    )
