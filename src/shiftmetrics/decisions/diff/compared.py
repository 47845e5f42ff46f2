"""What a comparison keeps of its rows: those whose answer changes, and sums over all of them.

A row whose answer does not change gains nothing, whatever its label: of all such rows counts are enough. So each part
of two tables, wherever it lives, comes down to its changed rows and to `PairTotals`, which add up; the comparison is
solved from these. Two tables in memory are one part. Of outputs, which mostly all change, all rows are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.decisions.labelling.plan import digest_of
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair

LEAST_PROBABILITY = 1e-12
"""Probability that a log loss counts for a class that a model excludes."""

MOST_PAIRS = 20_000
MOST_ENTRIES = 2_000_000
"""Rows, evenly spaced, and probabilities of theirs, whose posterior agreement stands for that of all.

Of 1,000 classes 2,000 rows are left, whose equivalent fraction of flips has a standard error of at most one point.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class LossSums:
    """Sums of log loss and Brier score, in this order.

    Attributes
    ----------
    n : int
        Rows.
    totals : ndarray of shape (2, 2)
        Sums of the losses of the old and of the new model.
    mean, squares : ndarray of shape (2,)
        Mean of the differences new minus old, and the sum of their squared distances from it.
    largest : ndarray of shape (2,)
        Largest loss of either model.
    """

    n: int
    totals: FloatArray
    mean: FloatArray
    squares: FloatArray
    largest: FloatArray

    def __add__(self, other: LossSums) -> LossSums:
        # The law of T. Chan, G. Golub and R. LeVeque (The American Statistician 37, 1983).
        n = max(self.n + other.n, 1)
        apart = other.mean - self.mean
        return LossSums(
            n=self.n + other.n,
            totals=self.totals + other.totals,
            mean=self.mean + apart * (other.n / n),
            squares=self.squares + other.squares + apart**2 * (self.n * other.n / n),
            largest=np.maximum(self.largest, other.largest),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledRows:
    """Probabilities of both models in rows that are evenly spaced over the file of the old one.

    Attributes
    ----------
    positions : ndarray of shape (n_sampled,)
    old, new : ndarray of shape (n_sampled, n_classes)
    """

    positions: IntArray
    old: FloatArray
    new: FloatArray

    def __add__(self, other: SampledRows) -> SampledRows:
        positions = np.concatenate([self.positions, other.positions])
        # The order of the file, however its rows were parted.
        order = np.argsort(positions, kind="stable")
        return SampledRows(
            positions=positions[order],
            old=np.concatenate([self.old, other.old])[order],
            new=np.concatenate([self.new, other.new])[order],
        )


RankedRows = tuple[FloatArray, FloatArray, BoolArray]
"""Probabilities of the second of two classes by both models, and whether the label is this class."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTotals:
    """Sums over all rows, changed or not.

    Attributes
    ----------
    n_samples, n_known : int
        Rows, and those with a label.
    answers : ndarray of shape (2, n_classes)
        Rows in which the old and the new model answer each class.
    labels : ndarray of shape (n_classes,)
        Rows with each label.
    right : ndarray of shape (2, n_classes)
        Of these, rows in which each model is right.
    labelled_answers : ndarray of shape (2, n_classes)
        Rows with a label in which each model answers each class.
    groups : mapping of str to int
        Rows of each group.
    losses : LossSums or None
        Of models with probabilities, where all rows have a label.
    sampled : SampledRows or None
        Of models with probabilities.
    estimate : float
        Of models with probabilities, how many more rows the new model is right in if labels were distributed as the
        mean of both models' probabilities says.
    ranked : tuple of arrays, or None
        Of two classes with probabilities, where all rows have a label.
    """

    n_samples: int
    n_known: int
    answers: IntArray
    labels: IntArray
    right: IntArray
    labelled_answers: IntArray
    groups: Mapping[str, int]
    losses: LossSums | None = None
    sampled: SampledRows | None = None
    estimate: float = 0.0
    ranked: RankedRows | None = None

    @property
    def all_labelled(self) -> bool:
        """Whether each row has a label."""
        return self.n_known == self.n_samples

    def __add__(self, other: PairTotals) -> PairTotals:
        # A sum over some parts would pass for that of all rows: where one lacks it, there is none.
        losses = None
        if self.losses is not None and other.losses is not None:
            losses = self.losses + other.losses
        sampled = None
        if self.sampled is not None and other.sampled is not None:
            sampled = self.sampled + other.sampled
        ranked = None
        if self.ranked is not None and other.ranked is not None:
            ranked = (
                np.concatenate([self.ranked[0], other.ranked[0]]),
                np.concatenate([self.ranked[1], other.ranked[1]]),
                np.concatenate([self.ranked[2], other.ranked[2]]),
            )
        return PairTotals(
            n_samples=self.n_samples + other.n_samples,
            n_known=self.n_known + other.n_known,
            answers=self.answers + other.answers,
            labels=self.labels + other.labels,
            right=self.right + other.right,
            labelled_answers=self.labelled_answers + other.labelled_answers,
            groups=Counter(self.groups) + Counter(other.groups),
            losses=losses,
            sampled=sampled,
            estimate=self.estimate + other.estimate,
            ranked=ranked,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedRows:
    """What a comparison is solved from.

    Attributes
    ----------
    pair : ClassPair or OutputPair
        Of classes, the rows whose answer changes, in the order of the old file, without scores; of outputs, all rows.
    positions : ndarray of shape (n_held,)
        Places of these rows among all that are compared.
    totals : PairTotals
    """

    pair: ClassPair | OutputPair
    positions: IntArray
    totals: PairTotals

    @property
    def n_samples(self) -> int:
        """All rows that are compared."""
        return self.totals.n_samples

    @property
    def digest(self) -> str:
        """SHA-256 of the ids and both predictions of the rows that may be labelled, and of the number of all rows."""
        pair = self.pair
        ids = np.asarray(pair.rows.ids)
        if ids.dtype.kind == "U":
            # Strings as long as the longest of these rows, whatever that of the others.
            ids = np.array(ids.tolist(), dtype=str)
        if isinstance(pair, OutputPair):
            return digest_of(f"{self.n_samples} ", ids, pair.old_outputs, pair.new_outputs)
        return digest_of(f"{self.n_samples} ", ids, pair.old_codes, pair.new_codes)


def compared_rows(pair: ClassPair | OutputPair) -> ComparedRows:
    """Return what a comparison needs of two tables in memory, which are one part."""
    if isinstance(pair, OutputPair):
        n = len(pair.labels)
        return ComparedRows(pair=pair, positions=np.arange(n), totals=_counts(pair))
    rows = np.flatnonzero(pair.changed)
    wanted = sampled_positions(len(pair.old.codes), len(pair.classes))
    own = pair.rows.old_rows
    sampled = wanted if isinstance(own, slice) else np.flatnonzero(np.isin(own, wanted))
    return ComparedRows(
        pair=pair.taken(rows).without_scores(),
        positions=rows,
        totals=totals_of_classes(pair, sampled, sampled, ranks=True),
    )


def sampled_positions(n_rows: int, n_classes: int) -> IntArray:
    """Return the rows of the old file whose posterior agreement stands for that of all."""
    n_sampled = min(n_rows, MOST_PAIRS, max(MOST_ENTRIES // n_classes, 1_000))
    return np.linspace(0, n_rows - 1, n_sampled).astype(np.int64)


def totals_of_classes(
    pair: ClassPair, sampled: IntArray, positions: IntArray, *, ranks: bool
) -> PairTotals:
    """Return the sums of one part: the map step.

    Parameters
    ----------
    pair : ClassPair
        All rows of the part.
    sampled, positions : ndarray of int
        Rows of the part whose posterior agreement is asked for, and their places in the old file.
    ranks : bool
        Whether the probabilities of two classes are kept to rank them.
    """
    totals = _counts(pair)
    if not (pair.old.has_probabilities and pair.new.has_probabilities):
        return totals
    kept = SampledRows(
        positions=positions,
        old=pair.probabilities(pair.old, sampled),
        new=pair.probabilities(pair.new, sampled),
    )
    totals = replace(totals, sampled=kept, estimate=_estimate(pair))
    if not totals.all_labelled:
        return totals
    totals = replace(totals, losses=_loss_sums(pair))
    if len(pair.classes) != 2 or not ranks:
        return totals
    rows = np.arange(len(pair.labels))
    old = pair.probabilities(pair.old, rows)[:, 1]
    new = pair.probabilities(pair.new, rows)[:, 1]
    return replace(totals, ranked=(old, new, pair.labels == 1))


def _counts(pair: ClassPair | OutputPair) -> PairTotals:
    """Return what is counted."""
    known = pair.rows.known
    groups: dict[str, int] = {}
    if pair.rows.group is not None:
        names, counts = np.unique(pair.rows.group, return_counts=True)
        groups = dict(zip(names.tolist(), counts.tolist(), strict=True))
    n_classes = 0 if isinstance(pair, OutputPair) else len(pair.classes)
    answers = np.zeros((2, n_classes), dtype=np.int64)
    right = np.zeros((2, n_classes), dtype=np.int64)
    labelled = np.zeros((2, n_classes), dtype=np.int64)
    labels = np.zeros(n_classes, dtype=np.int64)
    if isinstance(pair, ClassPair):
        for place, codes in enumerate((pair.old_codes, pair.new_codes)):
            answers[place] = np.bincount(codes, minlength=n_classes)
            # A label that is not known is the code of no class.
            labelled[place] = np.bincount(codes[known], minlength=n_classes)
            right[place] = np.bincount(codes[codes == pair.labels], minlength=n_classes)
        labels = np.bincount(pair.labels[known], minlength=n_classes)
    return PairTotals(
        n_samples=len(known),
        n_known=int(np.count_nonzero(known)),
        answers=answers,
        labels=labels,
        right=right,
        labelled_answers=labelled,
        groups=groups,
    )


def _loss_sums(pair: ClassPair) -> LossSums:
    """Return the sums of both losses, a block at a time: the probabilities of all rows would fill the memory."""
    nothing = np.zeros(2)
    parts = [LossSums(n=0, totals=np.zeros((2, 2)), mean=nothing, squares=nothing, largest=nothing)]
    for rows in row_blocks(len(pair.labels), 16 * len(pair.classes)):
        truth = pair.labels[rows]
        old = _losses(pair.probabilities(pair.old, rows), truth)
        new = _losses(pair.probabilities(pair.new, rows), truth)
        differences = new - old
        mean = differences.mean(axis=1)
        part = LossSums(
            n=len(truth),
            totals=np.stack([old.sum(axis=1), new.sum(axis=1)]),
            mean=mean,
            squares=((differences - mean[:, None]) ** 2).sum(axis=1),
            largest=np.maximum(old, new).max(axis=1),
        )
        parts.append(part)
    return reduce(LossSums.__add__, parts)


def _estimate(pair: ClassPair) -> float:
    """Return the difference of right answers under labels that follow the mean of both models' probabilities."""
    # Only rows whose answer changes can differ.
    rows = np.flatnonzero(pair.changed)
    total = 0.0
    for block in row_blocks(len(rows), 16 * len(pair.classes)):
        own = rows[block]
        mean = 0.5 * (pair.probabilities(pair.old, own) + pair.probabilities(pair.new, own))
        places = np.arange(len(mean))
        total += float(mean[places, pair.new_codes[own]].sum())
        total -= float(mean[places, pair.old_codes[own]].sum())
    return total


def _losses(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Return log loss and Brier score of each row."""
    places = np.arange(len(truth))
    right = probabilities[places, truth]
    log_loss = -np.log(np.maximum(right, LEAST_PROBABILITY))
    # sum_k (p_k - y_k)^2 = sum_k p_k^2 - 2 p_y + 1
    brier = np.einsum("ij,ij->i", probabilities, probabilities) - 2.0 * right + 1.0
    return np.stack([log_loss, brier])
