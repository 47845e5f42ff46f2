"""Explainable boosting machines on columns of numbers, sums of steps and of pairs of steps, as a `Forest`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree

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

    None for columns of categories, for other links, and for more cells than are searched in a time of use: the table
    of a pair of columns has four thousand.
    """
    link = _LINKS.get(getattr(model, "link_", ""))
    kinds = set(getattr(model, "feature_types_in_", ()))
    if link is None or kinds != {"continuous"}:
        return None
    if sum(np.size(scores) for scores in model.term_scores_) > _MOST_CELLS:
        return None
    trees = []
    for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
        cuts = []
        for feature in features:
            # The first list is of terms of one column, the last of those of as many as there are lists.
            lists = model.bins_[feature]
            number = min(len(lists), len(features)) - 1
            cuts.append(np.asarray(lists[number], dtype=np.float64))
        table = np.asarray(scores, dtype=np.float64)
        if table.ndim == len(features):
            table = table[..., None]
        trees.append(_Term(features, cuts).tree(table))
    base = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return Forest.joined(trees, base=base, link=link, n_features=len(model.feature_types_in_))


class _Term:
    """A table of scores, by the bins of some columns, cut into a tree: one column after the other, in halves."""

    def __init__(self, features: Sequence[int], cuts: Sequence[FloatArray]) -> None:
        self.features = features
        self.cuts = cuts
        self.nodes: list[tuple[int, float, bool]] = []
        self.children: list[tuple[int, int]] = []
        self.values: list[FloatArray] = []

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
        )

    def _grow(self, place: int, table: FloatArray) -> int:
        """Add what the columns from a place on decide, and return its node."""
        if place == len(self.features):
            return self._add(LEAF, 0.0, False, table)
        # The first bin is that of missing cells, the last that of what is no number; no number is up to -inf.
        node = self._add(self.features[place], -np.inf, True, table)
        left = self._grow(place + 1, table[0])
        right = self._halved(place, table, 1, len(self.cuts[place]) + 1)
        self.children[node] = (left, right)
        return node

    def _halved(self, place: int, table: FloatArray, first: int, last: int) -> int:
        """Add the bins from the first to the last of a column, and return their node."""
        if (table[first : last + 1] == table[first]).all():
            return self._grow(place + 1, table[first])
        middle = (first + last) // 2
        # Bin k begins at the cut before it.
        threshold = np.nextafter(self.cuts[place][middle - 1], -np.inf)
        node = self._add(self.features[place], float(threshold), False, table)
        left = self._halved(place, table, first, middle)
        right = self._halved(place, table, middle + 1, last)
        self.children[node] = (left, right)
        return node

    def _add(self, feature: int, threshold: float, missing_left: bool, table: FloatArray) -> int:
        self.nodes.append((feature, threshold, missing_left))
        self.children.append((LEAF, LEAF))
        value = np.zeros(table.shape[-1])
        if feature == LEAF:
            value = table
        self.values.append(value)
        return len(self.nodes) - 1
