"""The share of a sample that is new, as a comparison of samples ranks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.result import Result

if TYPE_CHECKING:
    from shiftmetrics.novelty.result import NoveltyResult


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedShare(Result):
    """The share of one sample that is new, with the influence of each row on it: the score is not monotone in it.

    Attributes
    ----------
    influence : ndarray of shape (n_samples,)
        Of the rows of the sample.
    reference_influence : ndarray of shape (n_reference,)
        Of the rows of the reference, which all samples share.
    novelty, p_value, share_low : float
        The score in nats, the p-value of anything new, and the lower bound of the share.
    shared : dict
        What results must share to be compared.
    """

    measure = "novelty.share"
    title = "Share that is new"
    higher_is_better = True
    ranked_as = ("samples", "most novel", "more novel")

    influence: FloatArray
    reference_influence: FloatArray
    novelty: float
    p_value: float
    share_low: float
    shared: dict[str, tuple[Any, str]]

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what results must share to be compared."""
        return self.shared

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the share."""
        return {"p_value": self.p_value, "share_low": self.share_low, "novelty": self.novelty}


def ranked_share(result: NoveltyResult, confidence_level: float) -> RankedShare:
    """Return the share of a result with its influence function.

    The share is ``(a - b) / (1 - b)``, where a and b are the fractions of the sample and of the reference that are
    members of a mode. A row adds its own part of the mean, times the derivative of the share by a or by b.
    """
    members = _members(result, result.n_samples, "test")
    others = _members(result, result.n_reference, "reference")
    influence = np.zeros(len(members))
    reference_influence = np.zeros(len(others))
    if result.share > 0.0:
        a = members.mean()
        b = others.mean()
        influence = (members - a) / (1.0 - b) / len(members)
        reference_influence = -(1.0 - a) / (1.0 - b) ** 2 * (others - b) / len(others)
    error = float(np.hypot(np.linalg.norm(influence), np.linalg.norm(reference_influence)))
    return RankedShare(
        value=result.share,
        error_bound=0.0,
        interval=normal_interval(
            result.share, error, confidence_level, "influence of rows", least=0.0
        ),
        status=result.status,
        n_samples=result.n_samples,
        settings=result.settings,
        warnings=result.warnings,
        influence=influence,
        reference_influence=reference_influence,
        novelty=result.value,
        p_value=result.p_value,
        share_low=result.share_interval.low,
        shared=result.comparable,
    )


def _members(result: NoveltyResult, n_rows: int, of: Any) -> FloatArray:
    """Return 1.0 for the rows of a sample that are members of any mode."""
    found = np.zeros(n_rows)
    for mode in result.modes:
        found[mode.members(of=of)] = 1.0
    return found
