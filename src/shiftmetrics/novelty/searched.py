"""The samples that are searched, and what is asked of them: the gate, gradual changes, modes, members, dependence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics.novelty.dependence import duplicate_warnings, order_warnings
from shiftmetrics.novelty.modes.changed_columns import changes_of_columns, is_gradual, matched
from shiftmetrics.novelty.modes.changed_correlations import correlated, correlation_changes
from shiftmetrics.novelty.modes.fraction_bound import N_FOLDS, CrossFitted, crossfitted
from shiftmetrics.novelty.modes.gate import Gate, side_p_values
from shiftmetrics.novelty.modes.membership import ModeFunction
from shiftmetrics.novelty.modes.permutations import make_units, near_level, permuted_labels
from shiftmetrics.novelty.modes.search import LEAST_ROWS, find_modes
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.result_parts import NoveltyChanges
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.solution import NoveltyProblem

# Heuristic. Undoing gradual changes of columns left 4 to 37 % of the statistic, and of correlations at most 35 % in
# all but four small ones of 86; undoing those that came with withheld classes left 44 % or more (docs/novelty.md). A
# mode that overlaps the known samples can pass for a gradual change.
GRADUAL = 0.42
"""A change is gradual where undoing it leaves at most so much of the gate's statistic."""

MORE_RESAMPLES = 5
"""Times as many permutations where a p-value is near the level."""

_FIRST_ROWS = 10
"""Samples to look at first where something is new and no mode is clear."""


class SearchedSamples:
    """The rows that are searched, with what all steps of the search use."""

    def __init__(
        self,
        gram: Gram,
        *,
        weights: FloatArray,
        together: IntArray | None,
        problem: NoveltyProblem,
        options: NoveltyResampling,
        rng: np.random.Generator,
    ) -> None:
        self._weights = weights
        self._together = together
        self._options = options
        self._problem = problem
        self._rng = rng
        self._alpha = 1.0 - options.confidence_level
        # What is permuted together in the first round of a search for modes.
        everything = np.ones(gram.n_rows, bool)
        self._units = make_units(everything, gram.in_test, together, rng, paired=options.paired)
        self.space = self._space_of(gram)
        self._gate = Gate(self.space, weights, rng)

    def _space_of(self, gram: Gram) -> SearchSpace:
        return SearchSpace(
            gram,
            rng=self._rng,
            memory_limit=self._problem.memory_limit,
            executor=self._problem.executor,
        )

    def gated(self) -> tuple[FloatArray, int]:
        """Return the statistics of the gate, and the number of permutations: more where it is close."""
        in_test = self.space.gram.in_test
        n_resamples = self._options.n_resamples
        self._labels = np.vstack([in_test, self._permuted(n_resamples)])
        tested = self._gate.statistics(self._labels)
        # Near the level a verdict would depend on the seed: more permutations settle it.
        if any(near_level(p, n_resamples, self._alpha) for p in side_p_values(tested)):
            # With the true labels among them, 200 labellings become 1,000.
            more = self._permuted((MORE_RESAMPLES - 1) * (n_resamples + 1))
            self._labels = np.vstack([self._labels, more])
            tested = self._gate.statistics(self._labels)
        return tested, len(self._labels) - 1

    def gated_without(self, members: BoolArray) -> tuple[float, float]:
        """Return the p-values of both sides among the rows that are no members."""
        gram = self.space.gram
        kept = np.flatnonzero(~members)
        in_test = gram.in_test[kept]
        if min(in_test.sum(), (~in_test).sum()) < LEAST_ROWS:
            return 1.0, 1.0
        # A space of its own: that of all rows was made with the members.
        space = self._space_of(gram.subset(kept))
        left = Gate(space, self._weights[kept], self._rng)
        permuted = self._permuted(self._options.n_resamples, kept)
        return side_p_values(left.statistics(np.vstack([in_test, permuted])))

    def _permuted(self, n_resamples: int, rows: IntArray | None = None) -> BoolArray:
        """Return permuted labels of some rows, by default of all: pairs are swapped, groups stay together."""
        rows = np.arange(self.space.gram.n_rows) if rows is None else rows
        in_test = self.space.gram.in_test[rows]
        if self._together is None:
            return permuted_labels(in_test, None, n_resamples, self._rng)
        together = np.unique(self._together[rows], return_inverse=True)[1]
        if self._options.paired:
            return permuted_labels(in_test, together, n_resamples, self._rng)
        # Groups lie within one sample: their labels are permuted, and each row takes that of its group.
        of_group = np.zeros(int(together.max()) + 1, bool)
        of_group[together] = in_test
        return permuted_labels(of_group, None, n_resamples, self._rng)[:, together]

    def gradual_changes(self, tested: FloatArray, columns: tuple[str, ...]) -> NoveltyChanges:
        """Return the columns, and pairs of them, that changed gradually where the gate sees nothing else."""
        gram = self.space.gram
        in_test = gram.in_test
        # What weighs differently has other medians; and a user's kernel knows no columns.
        if not gram.kernel.knows_columns or np.ptp(self._weights) > 0.0:
            return NoveltyChanges()
        features = to_float64(gram.take(np.arange(gram.n_rows)))
        sides = features[in_test], features[~in_test]
        changes = changes_of_columns(*sides, columns, self._alpha)
        if changes and not is_gradual(*sides, columns, changes):
            return NoveltyChanges()
        # Undo the changes in the reference, and ask the gate again with the same labels.
        undone = matched(features, in_test, columns, changes, self._rng)
        before = tested[:, 0].max()
        if changes and self._gated_with(undone)[:, 0].max() <= GRADUAL * before:
            return NoveltyChanges(columns=changes)
        pairs = correlation_changes(*sides, columns, self._alpha)
        if pairs:
            left = self._gated_with(correlated(undone, in_test, columns, pairs))
            # A linear map undoes more than shifts and spreads do: nothing may be left that is significant.
            if left[:, 0].max() <= GRADUAL * before and min(side_p_values(left)) > self._alpha:
                return NoveltyChanges(columns=changes, correlations=pairs)
        return NoveltyChanges()

    def _gated_with(self, features: FloatArray) -> FloatArray:
        """Return the statistics of the gate with other features of the same samples."""
        in_test = self.space.gram.in_test
        space = self._space_of(Gram(features[in_test], features[~in_test], self.space.gram.kernel))
        return Gate(space, self._weights, self._rng).statistics(self._labels)

    def modes(self, report: Callable[[], Any]) -> list[list[ModeFunction]]:
        """Return the modes that one side has in excess, round by round; ``report`` is called after each."""
        return find_modes(
            self.space,
            self._units,
            self._weights,
            self._together,
            alpha=self._alpha,
            n_resamples=self._options.n_resamples,
            rng=self._rng,
            executor=self._problem.executor,
            report=report,
        )

    def crossfitted(self, *, missing: bool) -> CrossFitted:
        """Return which samples are new, or missing, and their scores, which they had no part in."""
        # For what is missing the reference plays the part of the sample.
        own = self.space.gram.in_test != missing
        # Whole groups go to one fold, so that no sample has a copy in the fold whose classifier scores it.
        folds = np.empty(len(own), dtype=np.int64)
        if self._together is None:
            for side in (own, ~own):
                folds[side] = self._rng.permutation(np.arange(side.sum()) % N_FOLDS)
        else:
            n_groups = int(self._together.max()) + 1
            folds[:] = self._rng.permutation(np.arange(n_groups) % N_FOLDS)[self._together]
        return crossfitted(
            self._gate.fitted, own, folds, self._weights, self._options.confidence_level
        )

    def independent(self, side: int) -> float:
        """Return how many samples of a side count as independent, as a fraction: groups count once."""
        if self._together is None or self._options.paired:
            return 1.0
        groups = self._together[self.space.gram.in_test != bool(side)]
        return len(np.unique(groups)) / len(groups)

    def first_rows(self) -> IntArray:
        """Return the positions of the test samples that look most new by the gate's classifiers."""
        scores = self._gate.row_scores()[self.space.gram.in_test]
        return np.argsort(-scores, kind="stable")[:_FIRST_ROWS]

    def dependence(self, members: BoolArray) -> tuple[str, ...]:
        """Return why samples may not be independent, unless groups or pairs say how they belong together."""
        if self._together is not None:
            return ()
        gram = self.space.gram
        in_test = gram.in_test
        features = to_float64(gram.take(np.arange(gram.n_rows)))
        copied = duplicate_warnings(features[in_test], features[~in_test])
        if copied:
            return copied
        # New members may stand together without any order.
        scores = self._gate.row_scores()
        return order_warnings((scores[in_test & ~members], scores[~in_test]))
