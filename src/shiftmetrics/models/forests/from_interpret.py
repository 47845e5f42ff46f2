"""Explainable boosting machines, sums of steps and of pairs of steps, as a `Forest`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree
from shiftmetrics.models.reading.estimators import INTERPRET_CATEGORIES
from shiftmetrics.models.reading.outputs import cells_of_column

_LINKS: dict[str, Link] = {
    "logit": "softmax",
    "mlogit": "softmax",
    "identity": "identity",
    "log": "exp",
}

_MOST_CELLS = 70_000
"""Of all terms: a machine of six columns and their pairs has 63,000, which take four seconds of search."""


def read_interpret(model: Any) -> Forest | None:
    """Return a fitted explainable boosting machine as a forest, a tree for each term.

    None for other links and kinds of columns, and for more cells than are searched in a time of use: the table of a
    pair of columns has four thousand.
    """
    link = _LINKS.get(getattr(model, "link_", ""))
    kinds = set(getattr(model, "feature_types_in_", ()))
    if link is None or not kinds <= {"continuous", *INTERPRET_CATEGORIES}:
        return None
    if sum(np.size(scores) for scores in model.term_scores_) > _MOST_CELLS:
        return None
    trees = []
    for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
        bins: list[_Bins] = []
        for feature in features:
            # The first list is of terms of one column, the last of those of as many as there are lists.
            lists = model.bins_[feature]
            number = min(len(lists), len(features)) - 1
            if isinstance(lists[0], Mapping):
                bins.append(_BinsOfCategories.of(lists[0], lists[number]))
            else:
                bins.append(_BinsOfNumbers(np.asarray(lists[number], dtype=np.float64)))
        table = np.asarray(scores, dtype=np.float64)
        if table.ndim == len(features):
            table = table[..., None]
        trees.append(_Term(features, bins).tree(table))
    base = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return Forest.joined(trees, base=base, link=link, n_features=len(model.feature_types_in_))


def codes_of_interpret(model: Any) -> Callable[[Any], FloatArray] | None:
    """Return the map from rows to numbers, with a code for each category; None where there are only numbers."""
    kinds = model.feature_types_in_
    if not any(kind in INTERPRET_CATEGORIES for kind in kinds):
        return None

    def to_codes(rows: Any) -> FloatArray:
        codes = np.empty((len(rows), len(kinds)))
        for place, kind in enumerate(kinds):
            cells = cells_of_column(rows, place)
            if kind in INTERPRET_CATEGORIES:
                codes[:, place] = _codes(cells, list(model.bins_[place][0]))
            else:
                codes[:, place] = np.asarray(cells, dtype=np.float64)
        return codes

    return to_codes


def _codes(cells: Sequence[Any], categories: Sequence[str]) -> FloatArray:
    """Return the places of cells among categories; one more for unknown ones, NaN for missing ones."""
    known = {category: code for code, category in enumerate(categories)}
    codes = np.empty(len(cells))
    for row, cell in enumerate(cells):
        if cell is None or cell != cell:
            codes[row] = np.nan
        else:
            codes[row] = known.get(str(cell), len(known))
    return codes


@dataclass(frozen=True, eq=False)
class _BinsOfNumbers:
    """The bins of a column of numbers: bin k begins at the cut before it."""

    cuts: FloatArray

    @property
    def last(self) -> int:
        """The last bin that a number may be in."""
        return len(self.cuts) + 1

    def edge(self, bin_number: int) -> tuple[float, BoolArray | None]:
        """Return the last number in a bin."""
        return float(np.nextafter(self.cuts[bin_number - 1], -np.inf)), None


@dataclass(frozen=True, eq=False)
class _BinsOfCategories:
    """The bins of a column of categories, by their codes; the last code stands for the unknown ones."""

    bin_of_code: IntArray

    @classmethod
    def of(cls, codes: Mapping[str, int], bins: Mapping[str, int]) -> _BinsOfCategories:
        """Return the bins of categories, whose codes are their places in another list."""
        unknown = max(bins.values(), default=0) + 1
        found = [bins.get(category, unknown) for category in codes]
        return cls(np.array([*found, unknown]))

    @property
    def last(self) -> int:
        """The bin of unknown categories."""
        return int(self.bin_of_code[-1])

    def edge(self, bin_number: int) -> tuple[float, BoolArray | None]:
        """Return a number that nothing is compared with, and which codes are in bins up to this one."""
        return 0.0, np.asarray(self.bin_of_code <= bin_number)


_Bins: TypeAlias = _BinsOfNumbers | _BinsOfCategories


class _Term:
    """A table of scores, by the bins of some columns, cut into a tree: one column after the other, in halves."""

    def __init__(self, features: Sequence[int], bins: Sequence[_Bins]) -> None:
        self.features = features
        self.bins = bins
        self.nodes: list[tuple[int, float, bool]] = []
        self.children: list[tuple[int, int]] = []
        self.values: list[FloatArray] = []
        self.subset: list[int] = []
        self.left: list[BoolArray] = []

    def tree(self, table: FloatArray) -> Tree:
        """Return the tree of a table of shape (n_bins, ..., n_outputs)."""
        self._grow(0, table)
        left, right = np.array(self.children).T
        feature, threshold, missing_left = zip(*self.nodes, strict=True)
        return Tree(
            feature=np.array(feature),
            threshold=np.array(threshold),
            missing_left=np.array(missing_left),
            left=left,
            right=right,
            value=np.stack(self.values),
            subset=np.array(self.subset),
            left_categories=self._left_categories(),
        )

    def _left_categories(self) -> BoolArray | None:
        """Return the sets of all nodes, as wide as the widest: the last code stands for all from there on."""
        if not self.left:
            return None
        width = max(len(codes) for codes in self.left)
        return np.stack(
            [np.pad(codes, (0, width - len(codes)), mode="edge") for codes in self.left]
        )

    def _grow(self, place: int, table: FloatArray) -> int:
        """Add what the columns from a place on decide, and return its node."""
        if place == len(self.features):
            return self._add(LEAF, 0.0, False, table)
        # The first bin is that of missing cells, the last that of what is no number; no number is up to -inf.
        node = self._add(self.features[place], -np.inf, True, table)
        left = self._grow(place + 1, table[0])
        right = self._halved(place, table, 1, self.bins[place].last)
        self.children[node] = (left, right)
        return node

    def _halved(self, place: int, table: FloatArray, first: int, last: int) -> int:
        """Add the bins from the first to the last of a column, and return their node."""
        # No cut between bins of equal scores.
        if (table[first : last + 1] == table[first]).all():
            return self._grow(place + 1, table[first])
        middle = (first + last) // 2
        bins = self.bins[place]
        threshold, codes = bins.edge(middle)
        node = self._add(self.features[place], threshold, False, table)
        if codes is not None:
            self.subset[node] = len(self.left)
            self.left.append(codes)
        left = self._halved(place, table, first, middle)
        right = self._halved(place, table, middle + 1, last)
        self.children[node] = (left, right)
        return node

    def _add(self, feature: int, threshold: float, missing_left: bool, table: FloatArray) -> int:
        self.nodes.append((feature, threshold, missing_left))
        self.children.append((LEAF, LEAF))
        self.subset.append(LEAF)
        value = np.zeros(table.shape[-1])
        if feature == LEAF:
            value = table
        self.values.append(value)
        return len(self.nodes) - 1
