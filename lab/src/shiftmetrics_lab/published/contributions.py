"""The thesis's approximations of the contributions of groups of pairs, from mean confidences."""

from __future__ import annotations

import math
from typing import NamedTuple

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.agreement.result import PosteriorAgreementResult


class ApproximateContribution(NamedTuple):
    """What a group of pairs adds to log PA, approximately; compare ``log_pa`` of the exact group.

    Attributes
    ----------
    paper_log_pa : float or None
        From the lack of confidence d (in the reference where the prediction stays, in the shifted sample where it is
        misled), with products of rates for the fractions of the groups: ``log(1 - 2d)`` for each pair that stays,
        ``log d`` for each misled one, nothing for the fourth group. None where d is at least 1/2.
    overlap_log_pa : float
        Before the last simplifications, with the groups' own sizes: ``log((1 - d)^2 + d^2)`` for pairs that stay,
        ``log((1 - e) d + e (1 - d))`` for others, e the lack of confidence in the reference.
    """

    paper_log_pa: float | None
    overlap_log_pa: float


def approximate_contributions(
    result: PosteriorAgreementResult,
) -> dict[str, ApproximateContribution]:
    """Approximate what each group of pairs adds to log PA, as the thesis does [1]_.

    Parameters
    ----------
    result : PosteriorAgreementResult
        From `agreement_contributions`, with a uniform prior.

    Returns
    -------
    dict of str to ApproximateContribution
        By the group's name, in nats.

    Raises
    ------
    ValueError
        If the result has no contributions, or another prior.

    References
    ----------
    .. [1] V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, theorem B.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_contributions
    >>> from shiftmetrics_lab.published import approximate_contributions
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    >>> split = agreement_contributions(shifted, np.ones(1000), np.ones(1000, dtype=int))
    >>> round(approximate_contributions(split)["misled"].overlap_log_pa, 2)
    -361.19
    """
    if result.contributions is None or result.settings.get("prior") != "uniform":
        remedy = "Call agreement_contributions with prior=None."
        raise ArgumentValueError(
            "result", "contributions with a uniform prior", "another result", remedy
        )
    groups = result.contributions.groups
    weight = float(result.n_samples)
    # AFR_T before the shift: right in the reference; AFR_P: kept.
    right, kept = (
        groups["right"].fraction + groups["misled"].fraction,
        groups["right"].fraction + groups["wrong"].fraction,
    )
    fractions = {
        "right": right * kept,
        "wrong": (1 - right) * kept,
        "misled": right * (1 - kept),
        "changed": 0.0,
    }
    found = {}
    for name, group in groups.items():
        lack, reference_lack = group.lack, group.reference_lack
        if lack is None or reference_lack is None:  # no rows
            found[name] = ApproximateContribution(0.0, 0.0)
            continue
        term = _paper_term(name, lack, reference_lack)
        paper = None if term is None else weight * fractions[name] * term
        found[name] = ApproximateContribution(
            paper, weight * group.fraction * _overlap_term(name, lack, reference_lack)
        )
    return found


def _paper_term(name: str, lack: float, reference_lack: float) -> float | None:
    """Return log(1 - 2 d) where the prediction stays, log d where it is misled."""
    if name == "changed":
        return 0.0
    if name == "misled":
        return _log(lack)
    return math.log1p(-2.0 * reference_lack) if reference_lack < 0.5 else None


def _overlap_term(name: str, lack: float, reference_lack: float) -> float:
    """Return the overlap of two posteriors that put all mass outside the predicted class on one other class."""
    d, e = lack, reference_lack
    if name in ("right", "wrong"):
        return math.log((1.0 - e) ** 2 + e**2)
    return _log((1.0 - e) * d + e * (1.0 - d))


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
