"""The choices of rows are scanned block by block: the nearest that errs, or what each of them costs, is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_ASKED = 100_000  # points of ties that the model predicts at once

Place = Callable[[IntArray, IntArray], FloatArray]
"""From rows and their choices to the points where they then stand."""


class NotTheModel(Exception):  # noqa: N818 - no error of the caller: another route answers
    """The forest and the model disagree beyond rounding."""


@dataclass
class ChoiceScan:
    """Scans the choices of each row, and keeps its nearest error, or the choices that are worth their distance.

    Attributes
    ----------
    problem : ModelProblem
        The rows.
    grid : Grid
        Their forest.
    place : callable
        The points of choices.
    wrong : array of shape (n_samples,)
        The rows that are errors where they stand, for the 0/1 loss.
    ties : dict
        What the model predicted where sums tie, by the sums; see `ChoiceScan.labels_at_ties`.
    kept : list
        Squared distances, losses and choices of each block of rows so far, each of shape (n_rows, n_kept).
    weights : array of shape (n_parts, n_samples) or None
        Weights of the rows in parts of them whose risks at each choice are of interest.
    fractions : array of shape (n_choices,) or None
        How often each choice is taken.
    risks : array of shape (n_parts, n_choices) or float
        These risks, so far.
    expected : list of arrays
        The mean loss of each row over the choices, by block.
    """

    problem: ModelProblem
    grid: Grid
    place: Place
    wrong: BoolArray
    ties: dict[bytes, int] = field(default_factory=dict)
    kept: list[tuple[FloatArray, FloatArray, IntArray]] = field(default_factory=list)
    weights: FloatArray | None = None
    fractions: FloatArray | None = None
    risks: FloatArray | float = 0.0
    expected: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        problem: ModelProblem,
        grid: Grid,
        place: Place,
    ) -> ChoiceScan:
        """Begin, with the rows that are errors where they stand."""
        wrong = np.zeros(problem.n_samples, dtype=np.bool_)
        if problem.loss == "zero_one":
            wrong = problem.is_wrong(problem.codes, slice(None))
        return cls(problem, grid, place, wrong)

    def add(
        self,
        rows: slice,
        squared: FloatArray,
        outputs: FloatArray,
        stay: IntArray,
    ) -> None:
        """Scan the choices of the next block of rows.

        Parameters
        ----------
        rows : slice
            The rows.
        squared : array of shape (n_rows, n_choices)
            Squared distance of each choice; inf where a row cannot go.
        outputs : array of shape (n_rows, n_choices, n_outputs)
            Outputs there.
        stay : array of shape (n_rows,)
            The choice that is the row where it stands.
        """
        forest = self.grid.forest
        y = self.problem.y[rows]
        if self.problem.loss == "zero_one":
            margins = forest.margins(outputs, y)
            losses = np.asarray(margins <= forest.tolerance, dtype=np.float64)
            # What is an error already is so at no distance, whatever the choices: see `result`.
            squared[self.wrong[rows]] = np.inf
            squared[np.arange(len(stay)), stay] = np.inf  # known to be right there
            nearest, choice = self._nearest(rows, squared, margins, outputs)
            choice = np.where(np.isfinite(nearest), choice, stay)
            ones = np.ones((len(stay), 1))
            self.kept.append((nearest[:, None], ones, choice[:, None]))
        else:
            losses = forest.losses(outputs, y, self.problem.loss)
            self.kept.append(worthwhile(squared, losses, stay))
        if self.weights is not None and self.fractions is not None:
            if self.problem.loss == "zero_one":
                self._break_ties(rows, margins, outputs, losses)
            self.risks = self.risks + self.weights[:, rows] @ losses
            self.expected.append(losses @ self.fractions)

    def _break_ties(
        self, rows: slice, margins: FloatArray, outputs: FloatArray, losses: FloatArray
    ) -> None:
        """Put the errors at ties into ``losses`` as the model breaks them, for the choices that are ever taken.

        The nearest error asks the model only where that matters; risks count every choice. Of ten fully grown trees
        a tenth of the pairs are ties, and half of them no errors.
        """
        assert self.fractions is not None
        is_tied = np.abs(margins) <= self.grid.forest.tolerance
        row, choice = np.nonzero(is_tied & (self.fractions > 0.0))
        if not row.size:
            return
        number = row + rows.start
        labels = self.labels_at_ties(
            outputs[row, choice],
            lambda which: self.place(number[which], choice[which]),
        )
        losses[row, choice] = labels != self.problem.y[number]

    def _nearest(
        self,
        rows: slice,
        squared: FloatArray,
        margins: FloatArray,
        outputs: FloatArray,
    ) -> tuple[FloatArray, IntArray]:
        """Return the least squared distance to an error of each row, and the choice that leads there."""
        tolerance = self.grid.forest.tolerance
        errors = np.where(margins < -tolerance, squared, np.inf)
        # Of ties the model decides; only those nearer than any clear error matter.
        nearest = errors.min(axis=1)
        nearer = squared < nearest[:, None]
        row, choice = np.nonzero((margins <= tolerance) & nearer)
        if row.size:
            number = row + rows.start
            labels = self.labels_at_ties(
                outputs[row, choice],
                lambda which: self.place(number[which], choice[which]),
            )
            falls = labels != self.problem.y[number]
            row = row[falls]
            choice = choice[falls]
            errors[row, choice] = squared[row, choice]
        return errors.min(axis=1), errors.argmin(axis=1)

    # Two classes get 50 of 100 votes each at many points. Votes add up without rounding, so the model decides by the
    # sums alone: it is asked once for each different sum. Other sums round, so it is asked at each point.
    def labels_at_ties(
        self, outputs: FloatArray, place: Callable[[IntArray], FloatArray]
    ) -> IntArray:
        """Return what the model predicts where the outputs of the trees tie.

        Parameters
        ----------
        outputs : array of shape (n_ties, n_outputs)
            The outputs.
        place : callable
            From positions among the ties to their points.
        """
        predict = self.problem.predict
        if not self.grid.forest.adds_exactly:
            parts = []
            for block in row_blocks(len(outputs), 1, block_bytes=_ASKED):
                which = np.arange(block.start, block.stop)
                points = place(which)
                parts.append(predict(points))
            return np.concatenate(parts)
        _, first, which = np.unique(outputs, axis=0, return_index=True, return_inverse=True)
        sums = [outputs[k].tobytes() for k in first]
        new = [k for k, key in enumerate(sums) if key not in self.ties]
        if new:
            points = place(first[new])
            asked = predict(points)
            for k, label in zip(new, asked.tolist(), strict=True):
                self.ties[sums[k]] = label
        labels = np.array([self.ties[key] for key in sums])
        return labels[which.ravel()]

    def result(self) -> WorstCase:
        """Return the worst case from what was kept, once all rows are added."""
        problem = self.problem
        squared = _stacked([part[0] for part in self.kept], np.inf)
        losses = _stacked([part[1] for part in self.kept], 0.0)
        chosen = _stacked([part[2] for part in self.kept], 0)

        def points(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
            if problem.loss == "zero_one":
                choices = np.zeros(len(rows), dtype=np.int64)
            held = chosen[rows, choices]
            return self.place(rows, held)

        if problem.loss != "zero_one":
            apart = np.sqrt(squared)
            candidates = CandidateLoss(losses, apart, kind="exact")
            return WorstCase(candidates, points)
        # Distances of errors are those of their places, in the precision of these.
        moved = np.flatnonzero(np.isfinite(squared[:, 0]))
        distances = np.where(self.wrong, 0.0, np.inf)
        places = self.place(moved, chosen[moved, 0])
        distances[moved] = problem.domain.distances(places, problem.codes[moved])
        return WorstCase(ZeroOneLoss(distances), points)


def worthwhile(
    squared: FloatArray, losses: FloatArray, stay: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Keep of each row the choices that raise its loss above all nearer ones; the row itself comes first.

    Parameters
    ----------
    squared, losses : array of shape (n_rows, n_choices)
        Squared distance and loss of each choice; inf where a row cannot go.
    stay : array of shape (n_rows,)
        The choice that is the row where it stands.

    Returns
    -------
    squared, losses, choice : array of shape (n_rows, n_kept)
        Sorted by distance; padded with inf, 0 and the row itself.
    """
    n_rows = len(squared)
    key = squared.copy()
    key[np.arange(n_rows), stay] = -1.0
    # By distance, and among equals by loss, the highest first.
    order = np.lexsort((-losses, key), axis=1)
    near = np.take_along_axis(squared, order, axis=1)
    high = np.take_along_axis(losses, order, axis=1)
    high = np.where(np.isfinite(near), high, -np.inf)
    # A choice is kept if its loss is above all before it, and moves up to the place after the last one kept.
    before = np.maximum.accumulate(high, axis=1)
    keep = np.ones(high.shape, dtype=np.bool_)
    keep[:, 1:] = high[:, 1:] > before[:, :-1]
    place = np.cumsum(keep, axis=1) - 1
    last = place[:, -1].max(initial=0)
    width = int(last) + 1
    row, column = np.nonzero(keep)
    kept = place[row, column]
    kept_squared = np.full((n_rows, width), np.inf)
    kept_losses = np.zeros((n_rows, width))
    choice = np.repeat(stay[:, None], width, axis=1)
    kept_squared[row, kept] = near[row, column]
    kept_losses[row, kept] = high[row, column]
    choice[row, kept] = order[row, column]
    return kept_squared, kept_losses, choice


def _stacked(parts: Sequence[Array], fill: float) -> Array:
    """Return blocks of rows below each other, as wide as the widest."""
    width = max(part.shape[1] for part in parts)
    padded = []
    for part in parts:
        more = width - part.shape[1]
        padded.append(np.pad(part, ((0, 0), (0, more)), constant_values=fill))
    return np.concatenate(padded)
