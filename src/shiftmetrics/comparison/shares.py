"""Novelty ranked by the share of a sample that is new: the score in nats is not monotone in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.result import Result
from shiftmetrics.novelty import NoveltyResult


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedShare(Result):
    """The share of one sample that is new, with the influence of each row on it.

    Attributes
    ----------
    influence : ndarray of shape (n_rows,)
        Of the rows of all samples that are compared, one after the other, and of the reference.
    novelty, p_value, share_low : float
        The score in nats, the p-value of anything new, and the lower bound of the share.
    comparable : dict
        What results must share to be compared.
    """

    measure: ClassVar[str] = "novelty.share"
    title: ClassVar[str] = "Share that is new"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True
    ranked_as: ClassVar[tuple[str, str, str]] = ("samples", "most novel", "more novel")

    influence: FloatArray
    novelty: float
    p_value: float
    share_low: float
    comparable: dict[str, Any]


def ranked_shares(results: Mapping[str, Any], level: float) -> dict[str, RankedShare]:
    """Return the shares of results that are all of novelty, paired by the rows of their common reference.

    The share (a - b) / (1 - b) moves with each row that is a member or not; samples are independent.
    """
    sizes = [result.n_samples for result in results.values()]
    starts, found = np.cumsum([0, *sizes]), {}
    n_reference = max(result.n_reference for result in results.values())
    for place, (name, result) in enumerate(results.items()):
        influence = np.zeros(starts[-1] + n_reference)
        members, others = _members(result)
        a, b = members.mean(), others.mean()
        if result.share > 0.0:
            influence[starts[place] : starts[place + 1]] = (members - a) / (1.0 - b) / len(members)
            influence[starts[-1] :][: len(others)] = -(1.0 - a) / (1.0 - b) ** 2 * (others - b) / len(others)
        error = float(np.linalg.norm(influence))
        found[name] = RankedShare(
            value=result.share,
            error_bound=0.0,
            interval=normal_interval(result.share, error, level, "influence of rows", least=0.0),
            status=result.status,
            n_samples=result.n_samples,
            settings=result.settings,
            warnings=result.warnings,
            influence=influence,
            novelty=result.value,
            p_value=result.p_value,
            share_low=result.share_interval.low,
            comparable=result.comparable,
        )
    return found


def are_novelty(results: Mapping[str, Any]) -> bool:
    """Tell whether all results are of novelty."""
    return all(isinstance(result, NoveltyResult) for result in results.values())


def _members(result: NoveltyResult) -> tuple[FloatArray, FloatArray]:
    """Return 1.0 for the rows of the sample, and of the reference, that are members of any mode."""
    sides = np.zeros(result.n_samples), np.zeros(result.n_reference)
    for mode in result.modes:
        sides[0][mode.members()] = 1.0
        sides[1][mode.members(of="reference")] = 1.0
    return sides
