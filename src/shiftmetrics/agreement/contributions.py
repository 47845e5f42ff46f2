"""Where disagreement comes from: who contributes what to posterior agreement, and how sure the model is of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.blocks import map_reduce
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.numerics import entropy
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result, format_number
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics.agreement.breakdown import GROUPS, Breakdown, block_breakdown
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.predictions import label_columns
from shiftmetrics.agreement.result import AgreementStatus, PosteriorAgreementResult
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.statistic import survey


@dataclass(frozen=True, eq=False, kw_only=True)
class Confidence(Record):
    """Mean posterior of the predicted class, with its standard error.

    Attributes
    ----------
    mean : float or None
        None where there are no rows.
    standard_error : float or None
        Of that mean; None below two rows.
    """

    mean: float | None
    standard_error: float | None


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
    paper_log_pa : float or None
        The papers' approximation of ``log_pa`` from the lack of confidence d (in the reference where the prediction
        stays, in the shifted sample where it is misled), with products of rates for the shares of the groups:
        ``log(1 - 2d)`` for each pair that stays, ``log d`` for each misled one, nothing for the fourth group. None
        where d is at least 1/2, or with a class prior.
    overlap_log_pa : float or None
        The same before its last simplifications, with the groups' own sizes: ``log((1 - d)^2 + d^2)`` for pairs that
        stay, ``log((1 - e) d + e (1 - d))`` for others, e the lack of confidence in the reference.
    confidence, reference_confidence : Confidence
        In the predicted class at the ``beta`` of the agreement, in either sample.
    plain_confidence, plain_reference_confidence : Confidence
        The same at beta = 1: what the model itself says (the bars of the papers' figures).
    """

    n_samples: int
    share: float
    total: float
    log_pa: float
    paper_log_pa: float | None
    overlap_log_pa: float | None
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
class AgreementContributionsResult(Drawn, Result):
    """Posterior agreement, split by what happened to each pair.

    Attributes
    ----------
    value : float
        Posterior agreement in nats per sample. Higher is better.
    error_bound : float
        Of the agreement; the split itself is exact up to rounding.
    status : AgreementStatus
        How the search for beta ended.
    agreement : PosteriorAgreementResult
        The agreement itself, with each pair's part (``per_sample``) and the curve over beta with its bound.
    groups : dict of str to GroupContribution
        By what happened: ``right`` before and after, ``wrong`` and unchanged, right and then ``misled``, wrong and
        then ``changed``.
    per_sample_group : ndarray of shape (n_samples,)
        The position in ``groups`` of each pair.
    entropy, reference_entropy : EntropyChange
        Of the mean posterior of the rows predicted right, in the shifted and in the reference sample.
    paper_log_pa : float or None
        The papers' approximation of ``log_pa`` (thesis, theorem B.1.1); None where it is undefined.
    overlap_log_pa : float or None
        The same before its last simplification.
    """

    measure: ClassVar[str] = "agreement_contributions"
    title: ClassVar[str] = "Contributions to posterior agreement"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: AgreementStatus
    agreement: PosteriorAgreementResult
    groups: dict[str, GroupContribution]
    per_sample_group: IntArray
    entropy: EntropyChange
    reference_entropy: EntropyChange
    paper_log_pa: float | None
    overlap_log_pa: float | None

    def headline(self) -> str:
        """Return one sentence with the agreement and the group that costs most of it."""
        lost = {name: -group.log_pa for name, group in self.groups.items()}
        total = sum(lost.values())
        text = f"Posterior agreement {format_number(self.value)} nats"
        if total <= 0.0:
            return f"{text}: no pair costs any of it."
        worst = max(lost, key=lambda name: lost[name])
        group = self.groups[worst]
        return (
            f"{text}; {100 * lost[worst] / total:.3g} % of what is missing to its maximum comes from the "
            f"{group.n_samples} pairs that are {PHRASES[worst]}."
        )

    def notes(self) -> list[str]:
        """Return the sentences on the entropy, and those of every measure."""
        change = self.reference_entropy.change
        if change is None or self.reference_entropy.change_bits is None:
            return super().notes()
        verb = "fall" if change < 0 else "rise"
        return [
            f"From beta = 1 to beta = {format_number(self.agreement.beta)} the posteriors of right reference rows "
            f"{verb} in entropy by {format_number(abs(change))} nats "
            f"({format_number(abs(self.reference_entropy.change_bits))} bits).",
            *super().notes(),
        ]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each group."""
        import pandas as pd

        rows = []
        for name, group in self.groups.items():
            row: dict[str, Any] = {"group": name}
            for key, part in group.to_dict().items():
                if isinstance(part, dict):
                    row[key], row[f"{key}_error"] = part["mean"], part["standard_error"]
                else:
                    row[key] = part
            rows.append(row)
        return pd.DataFrame(rows)


PHRASES = {
    "right": "right before and after",
    "wrong": "wrong and unchanged",
    "misled": "right and then misled",
    "changed": "wrong and then changed",
}
"""What happened to the pairs of each group, in words."""


def agreement_contributions(
    scores: Any,
    reference_scores: Any,
    labels: Any,
    *,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-6,
    max_iter: int = 200,
    executor: Executor | None = None,
) -> AgreementContributionsResult:
    """Split posterior agreement by what happened to each pair: kept right, kept wrong, misled or changed.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, align, atol, max_iter, executor
        As in `posterior_agreement`.
    labels : array of shape (n_samples,)
        True classes: column positions, or column names where ``scores`` is a DataFrame. The predicted class is
        that of the largest score (ties: the first).

    Returns
    -------
    AgreementContributionsResult
        Value in nats per sample; higher is better. The parts of its four groups add up to it exactly.

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
    >>> split = agreement_contributions(shifted, reference, np.ones(1000, dtype=int))
    >>> [(name, group.n_samples, round(group.log_pa, 2)) for name, group in split.groups.items()]
    [('right', 700, -249.67), ('wrong', 0, 0.0), ('misled', 300, -361.19), ('changed', 0, 0.0)]
    """
    agreement = posterior_agreement(
        scores,
        reference_scores,
        kind=kind,
        prior=prior,
        sample_weight=sample_weight,
        floor=floor,
        align=align,
        atol=atol,
        max_iter=max_iter,
        executor=executor,
    )
    _, labels = align_tables(scores, labels, "scores", "labels", align=align)
    columns = label_columns(labels, "labels", scores, agreement.n_classes, agreement.n_samples)
    pairs = prepare_pairs(
        scores,
        reference_scores,
        kind=kind,
        prior=agreement.prior,
        sample_weight=sample_weight,
        floor=floor,
        align=align,
    )
    pairs, _ = survey(pairs, executor=executor)
    parts = agreement.per_sample
    assert parts is not None  # keep_rows is on
    places = np.empty(agreement.n_samples, dtype=np.int64)

    def kernel(rows: slice) -> Breakdown:
        breakdown, places[rows] = block_breakdown(pairs, rows, agreement.beta, columns[rows], parts[rows])
        return breakdown

    sums: Breakdown = map_reduce(kernel, pairs.slices(), executor=executor)
    groups = _group_contributions(sums, agreement.n_classes, uniform=prior is None)
    return AgreementContributionsResult(
        value=agreement.value,
        error_bound=agreement.error_bound,
        status=agreement.status,
        n_samples=agreement.n_samples,
        agreement=agreement,
        groups=groups,
        per_sample_group=places,
        entropy=_entropy_change(sums, 0),
        reference_entropy=_entropy_change(sums, 1),
        paper_log_pa=_sum(group.paper_log_pa for group in groups.values()),
        overlap_log_pa=_sum(group.overlap_log_pa for group in groups.values()),
        settings=agreement.settings,
        warnings=(*agreement.warnings, *_undefined_warning(groups, uniform=prior is None)),
    )


def _group_contributions(sums: Breakdown, n_classes: int, *, uniform: bool) -> dict[str, GroupContribution]:
    weight = float(sums.weight.sum())
    # AFR_T before the shift: right in the reference; AFR_P: kept.
    afr_t, afr_p = (sums.weight[0] + sums.weight[2]) / weight, (sums.weight[0] + sums.weight[1]) / weight
    shares = (afr_t * afr_p, (1.0 - afr_t) * afr_p, afr_t * (1.0 - afr_p), 0.0)
    found = {}
    for k, name in enumerate(GROUPS):
        mean_lack = [float(side) for side in sums.lack[0, :, k] / max(float(sums.weight[k]), 1e-300)]
        empty = sums.weight[k] == 0.0
        paper = overlap = 0.0 if uniform else None
        if uniform and not empty:
            paper = _scaled(weight * shares[k], _paper_term(name, *mean_lack))
            overlap = _scaled(float(sums.weight[k]), _overlap_term(name, *mean_lack))
        found[name] = GroupContribution(
            n_samples=int(sums.count[k]),
            share=float(sums.weight[k]) / weight,
            total=float(sums.total[k]),
            log_pa=float(sums.total[k]) - float(sums.weight[k]) * math.log(n_classes),
            paper_log_pa=paper,
            overlap_log_pa=overlap,
            confidence=_confidence(sums, 0, 0, k),
            reference_confidence=_confidence(sums, 0, 1, k),
            plain_confidence=_confidence(sums, 1, 0, k),
            plain_reference_confidence=_confidence(sums, 1, 1, k),
        )
    return found


def _paper_term(name: str, lack: float, reference_lack: float) -> float | None:
    """Thesis, theorem B.1.1: log(1 - 2 d) where the prediction stays, log d where it is misled."""
    if name == "changed":
        return 0.0
    if name == "misled":
        return _log(lack)
    return math.log1p(-2.0 * reference_lack) if reference_lack < 0.5 else None


def _overlap_term(name: str, lack: float, reference_lack: float) -> float:
    """Overlap of two posteriors that share their mass d outside the predicted class with one other class."""
    d, e = lack, reference_lack
    if name in ("right", "wrong"):
        return math.log((1.0 - e) ** 2 + e**2)
    return _log((1.0 - e) * d + e * (1.0 - d))


def _confidence(sums: Breakdown, beta: int, side: int, group: int) -> Confidence:
    weight, square = float(sums.weight[group]), float(sums.weight_square[group])
    if weight == 0.0:
        return Confidence(mean=None, standard_error=None)
    place = (beta, side, group)
    mean = float(sums.lack[place]) / weight
    error = None
    effective = weight**2 / square  # rows that equal weights would need for the same precision
    if effective > 1.0 + 1e-9:
        spread = float(sums.lack_square[place] - 2.0 * mean * sums.lack_weighted[place]) + mean**2 * square
        error = math.sqrt(max(spread, 0.0) / (1.0 - 1.0 / effective)) / weight
    return Confidence(mean=1.0 - mean, standard_error=error)


def _entropy_change(sums: Breakdown, side: int) -> EntropyChange:
    if sums.right[side] == 0.0:
        return EntropyChange(before=None, after=None)
    after, before = (entropy(part / part.sum()) for part in sums.posterior[:, side])
    return EntropyChange(before=before, after=after)


def _undefined_warning(groups: dict[str, GroupContribution], *, uniform: bool) -> Iterator[str]:
    undefined = [name for name, group in groups.items() if uniform and group.paper_log_pa is None]
    if undefined:
        yield (
            f"The papers' approximation is undefined: in group {undefined[0]!r} the mean posterior of the predicted "
            "class is at most 1/2. Read log_pa, which is exact, or overlap_log_pa."
        )


def _scaled(factor: float, term: float | None) -> float | None:
    return None if term is None else factor * term


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _sum(parts: Iterable[float | None]) -> float | None:
    known = list(parts)
    return None if any(part is None for part in known) else sum(part for part in known if part is not None)
