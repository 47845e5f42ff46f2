"""The four groups of pairs: what each adds to the agreement, and how sure the model is in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.numerics import entropy, posteriors
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.statistics import Statistic
from shiftmetrics.agreement.scores import ScorePairs

GROUPS = {
    "right": "right before and after",
    "wrong": "wrong and unchanged",
    "misled": "right and then misled",
    "changed": "wrong and then changed",
}
"""The groups in words: by the reference prediction, first where the shift keeps it, then where it changes it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Confidence(Record):
    """Mean posterior of the predicted class, with its standard error.

    Attributes
    ----------
    lack : float or None
        1 less the mean, kept as such because it may be tiny; None where there are no rows.
    standard_error : float or None
        Of the mean; None below two rows.
    """

    lack: float | None
    standard_error: float | None

    @property
    def mean(self) -> float | None:
        """The mean posterior of the predicted class."""
        return None if self.lack is None else 1.0 - self.lack


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupContribution(Record):
    """What one of the four groups of pairs adds to the agreement.

    Attributes
    ----------
    n_samples : int
        Pairs in the group.
    share : float
        Their share of the weight.
    total : float
        Sum of their parts, in nats: the four totals add up to ``n_samples * value``.
    log_pa : float
        The same on the scale of the papers, each pair at most 0: the four add up to ``log_pa``.
    confidence, reference_confidence : Confidence
        In the predicted class at the ``beta`` of the agreement, in either sample.
    plain_confidence, plain_reference_confidence : Confidence
        The same at beta = 1: what the model itself says (the bars of the papers' figures).
    """

    n_samples: int
    share: float
    total: float
    log_pa: float
    confidence: Confidence
    reference_confidence: Confidence
    plain_confidence: Confidence
    plain_reference_confidence: Confidence


@dataclass(frozen=True, eq=False, kw_only=True)
class EntropyChange(Record):
    """Entropy of the mean posterior over the rows of one sample that are predicted right, in nats.

    Attributes
    ----------
    before, after : float or None
        At beta = 1 and at the ``beta`` of the agreement; None where no row is right.
    """

    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """What the posteriors gain in entropy, ``after - before``, in nats: negative when they sharpen."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def change_bits(self) -> float | None:
        """The same in bits."""
        return None if self.change is None else self.change / math.log(2.0)


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
    entropy, reference_entropy : EntropyChange
        Of the mean posterior of the rows predicted right, in the shifted and in the reference sample.
    """

    groups: dict[str, GroupContribution]
    per_sample_group: IntArray
    entropy: EntropyChange
    reference_entropy: EntropyChange

    def sentences(self, beta: float) -> list[str]:
        """Return the sentences on the group that costs most, and on the entropy."""
        lost = {name: -group.log_pa for name, group in self.groups.items()}
        total, worst = sum(lost.values()), max(lost, key=lambda name: lost[name])
        texts = ["No pair costs any agreement."]
        if total > 0.0:
            texts = [
                f"{100 * lost[worst] / total:.3g} % of what is missing to its maximum comes from the "
                f"{self.groups[worst].n_samples} pairs that are {GROUPS[worst]}."
            ]
        change, bits = self.reference_entropy.change, self.reference_entropy.change_bits
        if change is not None and bits is not None:
            texts.append(
                f"From beta = 1 to beta = {format_number(beta)} the posteriors of right reference rows "
                f"{'fall' if change < 0 else 'rise'} in entropy by {format_number(abs(change))} nats "
                f"({format_number(abs(bits))} bits)."
            )
        return texts

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each group."""
        import pandas as pd

        rows = []
        for name, group in self.groups.items():
            row: dict[str, Any] = {"group": name}
            for key in GroupContribution.__dataclass_fields__:
                part = getattr(group, key)
                if isinstance(part, Confidence):
                    row[key], row[f"{key}_error"] = part.mean, part.standard_error
                else:
                    row[key] = part
            rows.append(row)
        return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class GroupSums(Statistic):
    """Weighted sums over groups of pairs; sides are the shifted and the reference sample, betas that of PA and 1.

    A lack of confidence is 1 minus the posterior of the predicted class.

    Attributes
    ----------
    count, weight, weight_square : ndarray of shape (4,)
        Rows of each group, sums of their weights and of squared weights.
    total : ndarray of shape (4,)
        Sums of the contributions f.
    lack, lack_weighted, lack_square : ndarray of shape (2 betas, 2 sides, 4)
        Sums of w d, w^2 d and w^2 d^2, with d the lack of confidence.
    right : ndarray of shape (2 sides,)
        Weight of the rows predicted right.
    posterior : ndarray of shape (2 betas, 2 sides, n_classes)
        Sums of their posteriors.
    """

    count: FloatArray
    weight: FloatArray
    weight_square: FloatArray
    total: FloatArray
    lack: FloatArray
    lack_weighted: FloatArray
    lack_square: FloatArray
    right: FloatArray
    posterior: FloatArray

    def contributions(self, places: IntArray, n_classes: int) -> AgreementContributions:
        """Return the split that these sums of all pairs give."""
        groups = {
            name: GroupContribution(
                n_samples=int(self.count[k]),
                share=float(self.weight[k] / self.weight.sum()),
                total=float(self.total[k]),
                log_pa=float(self.total[k] - self.weight[k] * math.log(n_classes)),
                confidence=self._confidence(0, 0, k),
                reference_confidence=self._confidence(0, 1, k),
                plain_confidence=self._confidence(1, 0, k),
                plain_reference_confidence=self._confidence(1, 1, k),
            )
            for k, name in enumerate(GROUPS)
        }
        return AgreementContributions(
            groups=groups,
            per_sample_group=places,
            entropy=self._entropy_change(0),
            reference_entropy=self._entropy_change(1),
        )

    def _confidence(self, beta: int, side: int, group: int) -> Confidence:
        weight, square = float(self.weight[group]), float(self.weight_square[group])
        if weight == 0.0:
            return Confidence(lack=None, standard_error=None)
        place = (beta, side, group)
        mean = float(self.lack[place]) / weight
        error = None
        effective = weight**2 / square  # rows that equal weights would need for the same precision
        if effective > 1.0 + 1e-9:
            spread = float(self.lack_square[place] - 2.0 * mean * self.lack_weighted[place])
            spread += mean**2 * square
            error = math.sqrt(max(spread, 0.0) / (1.0 - 1.0 / effective)) / weight
        return Confidence(lack=mean, standard_error=error)

    def _entropy_change(self, side: int) -> EntropyChange:
        if self.right[side] == 0.0:
            return EntropyChange(before=None, after=None)
        after, before = (entropy(part / part.sum()) for part in self.posterior[:, side])
        return EntropyChange(before=before, after=after)


def group_sums(
    pairs: ScorePairs, rows: slice, beta: float, labels: IntArray, parts: FloatArray
) -> tuple[GroupSums, IntArray]:
    """Return the sums of a slice of pairs, and the group of each pair.

    ``beta`` is in the units of the scores as given, ``labels`` are columns and ``parts`` the contributions f.
    """
    block = to_float64(pairs.block(rows)[:2, ...])
    weights = np.ones(len(labels)) if pairs.weights is None else pairs.weights[rows]
    prior = pairs.prior[pairs.prior > 0.0]
    top = block.argmax(axis=2)  # ties go to the first class
    predicted = top if pairs.classes is None else pairs.classes[top]
    right = predicted == labels
    group = np.where(predicted[0] == predicted[1], 0, 2) + np.where(right[1], 0, 1)
    member = (group == np.arange(4)[:, None]).astype(np.float64)
    lacks, sums = [], []
    for factor in (beta / pairs.scale, 1.0 / pairs.scale):
        p = posteriors(block, prior, factor)
        sums.append(np.einsum("srk,sr->sk", p, right * weights))
        np.put_along_axis(p, top[:, :, None], 0.0, axis=2)
        lacks.append(p.sum(axis=2))
    lack = np.stack(lacks)  # (betas, sides, rows)
    posterior = np.zeros((2, 2, pairs.n_classes))
    posterior[..., pairs.prior > 0.0] = np.stack(sums)
    found = GroupSums(
        count=member.sum(axis=1),
        weight=member @ weights,
        weight_square=member @ weights**2,
        total=member @ (weights * parts),
        lack=(lack * weights) @ member.T,
        lack_weighted=(lack * weights**2) @ member.T,
        lack_square=(lack**2 * weights**2) @ member.T,
        right=right @ weights,
        posterior=posterior,
    )
    return found, group
