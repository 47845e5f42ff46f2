"""Where disagreement comes from: posterior agreement split by what happened to each pair."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement.groups import GroupSums, group_sums
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.predictions import label_columns
from shiftmetrics.agreement.result import PosteriorAgreementResult
from shiftmetrics.agreement.scores import align_rows, prepare_pairs
from shiftmetrics.agreement.statistic import survey


def agreement_contributions(
    scores: Any,
    reference_scores: Any,
    labels: Any,
    *,
    kind: str = "auto",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    computing: Computing | None = None,
) -> PosteriorAgreementResult:
    """Split posterior agreement by what happened to each pair: kept right, kept wrong, misled or changed.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, computing
        As in `posterior_agreement`.
    labels : array of shape (n_samples,)
        True classes: column positions, or column names where ``scores`` is a DataFrame. The predicted class is
        that of the largest score (ties: the first).
    pairing : {"labels", "position"}, default "labels"
        Whether tables are matched by row and column labels or as they stand.

    Returns
    -------
    PosteriorAgreementResult
        Value in nats per sample; higher is better. Its ``contributions`` hold the four groups, whose parts add up to
        the agreement exactly.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if a label is missing or no class of the scores.

    References
    ----------
    V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section B.1.2 and theorem B.1.1; Carvalho et al.,
    arXiv:2503.16271, section 4.1. The fourth group, wrong pairs that change, is left out there: with it the parts
    add up.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_contributions
    >>> reference = np.repeat(1.0, 1000)  # margins of the second class, 300 of which change sign
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    >>> split = agreement_contributions(shifted, reference, np.ones(1000, dtype=int)).contributions
    >>> [(name, group.n_samples, round(group.log_pa, 2)) for name, group in split.groups.items()]
    [('right', 700, -249.67), ('wrong', 0, 0.0), ('misled', 300, -361.19), ('changed', 0, 0.0)]
    """
    options: dict[str, Any] = {
        "kind": kind, "sample_weight": sample_weight, "floor": floor, "pairing": pairing
    }  # fmt: skip
    result = posterior_agreement(scores, reference_scores, prior=prior, computing=computing, **options)
    if result.per_sample is None:
        raise TypeError("scores must be in memory for a split of their agreement. Convert them to arrays.")
    parts = result.per_sample
    labels = align_rows(scores, labels, "labels", pairing)
    columns = label_columns(labels, "labels", scores, result.n_classes, result.n_samples)
    executor = computing_of(computing, atol=None, max_iter=None).executor
    pairs = prepare_pairs(scores, reference_scores, prior=result.prior, **options)
    pairs, _ = survey(pairs, executor=executor)
    places = np.empty(result.n_samples, dtype=np.int64)

    def kernel(rows: slice) -> GroupSums:
        sums, places[rows] = group_sums(pairs, rows, result.beta, columns[rows], parts[rows])
        return sums

    sums: GroupSums = map_reduce(kernel, pairs.slices(), executor=executor)
    return dataclasses.replace(result, contributions=sums.contributions(places, result.n_classes))
