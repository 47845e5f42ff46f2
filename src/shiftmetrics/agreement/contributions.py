"""Agreement split by what happened to each pair: what the four groups add, and how sure the model is in them."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, posteriors, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number, format_percent
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
    """Mean entropy of the posteriors of the rows of one sample that are predicted right, in nats.

    Attributes
    ----------
    before, after : float or None
        At beta = 1 and at the ``beta`` of the agreement; None where no row is right.
    """

    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """What a row gains in entropy on average, ``after - before``, in nats: negative when posteriors sharpen."""
        return None if self.before is None or self.after is None else self.after - self.before


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
        Of the posteriors of the rows predicted right, in the shifted and in the reference sample.
    """

    groups: dict[str, GroupContribution]
    per_sample_group: IntArray
    entropy: EntropyChange
    reference_entropy: EntropyChange

    def sentences(self, beta: float) -> list[str]:
        """Return the sentences on the group that costs most, and on the entropy."""
        lost = {name: -group.log_pa for name, group in self.groups.items()}
        # The group that costs most, as a fraction of what is missing.
        total, worst = sum(lost.values()), max(lost, key=lambda name: lost[name])
        texts = ["No pair costs any agreement."]
        if total > 0.0:
            texts = [
                f"{format_percent(lost[worst] / total)} of what is missing to its maximum comes from the "
                f"{self.groups[worst].n_samples} pairs that are {GROUPS[worst]}."
            ]
        change = self.reference_entropy.change
        if change is not None:
            texts.append(
                f"From beta = 1 to beta = {format_number(beta)} the entropy of the posterior of a right reference "
                f"row {'falls' if change < 0 else 'rises'} by {format_number(abs(change))} nats "
                f"({format_number(abs(change) / math.log(2.0))} bits) on average."
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
    from scipy.special import entr

    prior = pairs.prior[pairs.prior > 0.0]

    def kernel(rows: slice) -> FloatArray:
        block = to_float64(pairs.block(rows)[:2, ...])
        top = block.argmax(axis=2)  # ties go to the first class
        found = [top if pairs.classes is None else pairs.classes[top]]
        for factor in (beta / pairs.scale, 1.0 / pairs.scale):
            p = posteriors(block, prior, factor)
            found.append(entr(p).sum(axis=2))
            np.put_along_axis(p, top[:, :, None], 0.0, axis=2)
            found.append(p.sum(axis=2))  # what the predicted class lacks
        return np.stack(found)

    blocks = list(map_blocks(kernel, pairs.slices(), executor=executor))
    predicted, entropy, lack, plain_entropy, plain_lack = np.concatenate(
        blocks, axis=2
    )  # each of (sides, rows)
    right = predicted == labels
    # 0 right, 1 wrong, 2 misled, 3 changed: the order of the names of the groups.
    changed = np.where(predicted[0] == predicted[1], 0, 2)
    places = changed + np.where(right[1], 0, 1)
    weights = np.ones(pairs.n_samples) if pairs.weights is None else pairs.weights
    groups = {}
    # Each group: what its pairs add, and how sure the model is in them.
    for place, name in enumerate(GROUPS):
        rows = places == place
        own = weights[rows]
        total = float(own @ parts[rows])
        groups[name] = GroupContribution(
            n_samples=int(rows.sum()),
            share=float(own.sum() / weights.sum()),
            total=total,
            log_pa=total - float(own.sum()) * math.log(pairs.n_classes),
            confidence=_confidence(lack[0, rows], own),
            reference_confidence=_confidence(lack[1, rows], own),
            plain_confidence=_confidence(plain_lack[0, rows], own),
            plain_reference_confidence=_confidence(plain_lack[1, rows], own),
        )
    # Entropy of the rows that are right, at beta = 1 and at the beta of the agreement.
    changes = []
    for side, rows in enumerate(right):
        before, after = (
            _mean(part[side, rows], weights[rows]) for part in (plain_entropy, entropy)
        )
        changes.append(EntropyChange(before=before, after=after))
    return AgreementContributions(
        groups=groups, per_sample_group=places, entropy=changes[0], reference_entropy=changes[1]
    )


def _confidence(lack: FloatArray, weights: FloatArray) -> Confidence:
    mean, error = _mean(lack, weights), None
    # A weighted standard error, which needs two rows in effect.
    if mean is not None:
        # Rows that equal weights need to be as precise.
        effective = float(weights.sum() ** 2 / (weights**2).sum())
        if effective > 1.0 + 1e-9:
            spread = float(np.linalg.norm(weights * (lack - mean)) / weights.sum())
            error = spread / math.sqrt(1.0 - 1.0 / effective)
    return Confidence(lack=mean, standard_error=error)


def _mean(values: FloatArray, weights: FloatArray) -> float | None:
    """Return the weighted mean; None where nothing has weight."""
    return float(np.average(values, weights=weights)) if weights.sum() > 0.0 else None
