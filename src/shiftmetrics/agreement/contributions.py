"""Agreement split by what happened to each pair: what the four groups add, and how sure the model is in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, posteriors, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.agreement.scores import ScorePairs

if TYPE_CHECKING:
    from concurrent.futures import Executor

GROUPS = {
    "right": "right before and after",
    "wrong": "wrong and unchanged",
    "misled": "right and then misled",
    "changed": "wrong and then changed",
}
"""The groups in words: by the reference prediction, first where the shift keeps it, then where it changes it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupContribution(Record):
    """What one of the four groups of pairs adds to the agreement; means are None where it has no pair.

    Attributes
    ----------
    n_samples : int
        Pairs in the group.
    fraction : float
        Their fraction of the weight.
    log_pa : float
        Sum of their parts in nats, on the scale of the papers: the four add up to ``log_pa``. Each part is at most 0
        where the prior is uniform.
    confidence, reference_confidence : float or None
        Mean posterior of the predicted class at beta = 1, in either sample: what the model itself says.
    lack, reference_lack : float or None
        1 less the same mean at the ``beta`` of the agreement, kept as such because it may be tiny.
    """

    n_samples: int
    fraction: float
    log_pa: float
    confidence: float | None
    reference_confidence: float | None
    lack: float | None
    reference_lack: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class AgreementContributions(Record):
    """Posterior agreement, split by what happened to each pair.

    Attributes
    ----------
    groups : dict of str to GroupContribution
        By what happened: ``right`` before and after, ``wrong`` and unchanged, right and then ``misled``, wrong and
        then ``changed``.
    per_sample_group : ndarray of shape (n_samples,)
        The position in ``groups`` of each pair.
    """

    groups: dict[str, GroupContribution]
    per_sample_group: IntArray

    def sentence(self) -> str:
        """Return the sentence on the group that costs most; it holds where the prior is uniform.

        At another prior the maximum is not log K, and what a group lacks to its own is not told.
        """
        lost = {name: -group.log_pa for name, group in self.groups.items()}
        total = sum(lost.values())
        if total <= 0.0:
            return "No pair costs any agreement."
        worst = max(lost, key=lambda name: lost[name])
        return (
            f"{format_percent(lost[worst] / total)} of what is missing to its maximum comes from the "
            f"{self.groups[worst].n_samples} pairs that are {GROUPS[worst]}."
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each group."""
        import pandas as pd

        return pd.DataFrame([{"group": name, **vars(part)} for name, part in self.groups.items()])


def split_agreement(
    pairs: ScorePairs,
    beta: float,
    labels: IntArray,
    parts: FloatArray,
    *,
    executor: Executor | None = None,
) -> AgreementContributions:
    """Return the split of the contributions f of all pairs.

    ``beta`` is in the units of the scores as given, ``labels`` are columns and ``parts`` the contributions f.
    """
    prior = pairs.prior[pairs.prior > 0.0]

    def kernel(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows)[:2, ...])
        top = block.argmax(axis=2)  # ties go to the first class
        found = [top if pairs.classes is None else pairs.classes[top]]
        # What the predicted class lacks to 1: the sum over all others, which does not cancel.
        # Blocks are in the scale of the pairs, and both betas in that of the scores as given.
        for factor in (beta / pairs.scale, 1.0 / pairs.scale):
            p = posteriors(block, prior, factor)
            np.put_along_axis(p, top[:, :, None], 0.0, axis=2)
            found.append(p.sum(axis=2))
        return np.stack(found)

    blocks = list(map_blocks(kernel, pairs.slices(), executor=executor))
    # Each of shape (2 samples, n_samples).
    predicted, lack, plain_lack = np.concatenate(blocks, axis=2)
    # 0 right, 1 wrong, 2 misled, 3 changed: the order of the names of the groups.
    changed = np.where(predicted[0] == predicted[1], 0, 2)
    places = changed + np.where(predicted[1] == labels, 0, 1)
    weights = np.ones(pairs.n_samples) if pairs.weights is None else pairs.weights
    groups = {}
    # Each group: what its pairs add, and how sure the model is in them.
    for place, name in enumerate(GROUPS):
        rows = places == place
        own = weights[rows]
        means: list[float | None] = [None] * 4
        if own.sum() > 0.0:
            sides = (1.0 - plain_lack[0], 1.0 - plain_lack[1], lack[0], lack[1])
            means = [float(np.average(side[rows], weights=own)) for side in sides]
        groups[name] = GroupContribution(
            n_samples=int(rows.sum()),
            fraction=float(own.sum() / weights.sum()),
            # The papers leave out log K: at their uniform prior, the sum of log sum_k p(k) q(k) over the pairs.
            log_pa=float(own @ parts[rows]) - float(own.sum()) * math.log(pairs.n_classes),
            confidence=means[0],
            reference_confidence=means[1],
            lack=means[2],
            reference_lack=means[3],
        )
    return AgreementContributions(groups=groups, per_sample_group=places)
