"""One format for decision trees and sums of them, whatever library grew them.

A forest is a few flat arrays. Its thresholds are given for float64 inputs: ``x <= threshold`` in float64 says
what the model itself says after it has rounded x to its own precision. A point that is moved by that rule is on
the other side for the model, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks

LEAF = -1
_PAIR_BYTES = 64
"""Memory that a row takes in one tree while it is sent down."""

Link = Literal["probability", "sigmoid", "softmax", "identity", "exp"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that split on one column at a time, by a threshold or a set of categories, and whose leaf values add up.

    Attributes
    ----------
    feature : array of shape (n_nodes,)
        Column that each node splits on; ``LEAF`` for leaves.
    threshold : array of shape (n_nodes,)
        A row goes left where ``x <= threshold``, in float64.
    missing_left : array of shape (n_nodes,)
        Whether NaN goes left.
    left, right : array of shape (n_nodes,)
        Positions of the children; ``LEAF`` for leaves.
    value : array of shape (n_nodes, n_outputs)
        What a leaf adds to each output.
    roots : array of shape (n_trees,)
        Positions of the roots.
    base : array of shape (n_outputs,)
        What all rows have in common.
    factor : float
        What the sum over the trees is multiplied by: ``1 / n_trees`` for an average.
    link : {"probability", "sigmoid", "softmax", "identity", "exp"}
        What turns outputs into predictions: class probabilities as they are, of one logit or of several, or the
        number that a regression predicts.
    slope : float
        Factor of the logit under the sigmoid.
    rounding : float
        Relative error of the model's own sum: it may add in float32.
    n_features : int
        Columns that the model takes.
    subset : array of shape (n_nodes,) or None
        Row of ``left_categories`` of the nodes that split categories, -1 elsewhere; None where none do.
    left_categories : array of shape (n_subsets, n_codes) or None
        Whether the category of each code goes left; the last column stands for all codes from there on.
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    roots: IntArray
    base: FloatArray
    link: Link
    n_features: int
    factor: float = 1.0
    slope: float = 1.0
    rounding: float = float(np.finfo(np.float64).eps)
    subset: IntArray | None = None
    left_categories: BoolArray | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_outputs(self) -> int:
        """Number of sums: one for each class, or a single one."""
        return int(self.value.shape[1])

    @property
    def is_classifier(self) -> bool:
        """Whether it predicts classes."""
        return self.link in ("probability", "sigmoid", "softmax")

    @cached_property
    def tolerance(self) -> float:
        """How far the sums here may be from those of the model, which adds in another order or precision."""
        largest = np.abs(self.value).max(axis=1)
        depth_free = np.maximum.reduceat(largest, np.sort(self.roots)).sum() * abs(self.factor)
        return float(8.0 * self.rounding * (depth_free + np.abs(self.base).max() + 1.0))

    def leaves(self, points: FloatArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        rows = np.arange(len(points))[:, None]
        node = np.broadcast_to(self.roots, (len(points), self.n_trees)).copy()
        while True:
            feature = self.feature[node]
            inner = feature >= 0
            if not inner.any():
                return node
            x = points[rows, np.maximum(feature, 0)]
            below = np.where(self.goes_left(node, x), self.left[node], self.right[node])
            node = np.where(inner, below, node)

    def goes_left(self, node: IntArray, x: FloatArray) -> BoolArray:
        """Tell whether nodes send numbers, or codes of categories, left."""
        left: BoolArray = x <= self.threshold[node]
        if self.subset is not None and self.left_categories is not None:
            subset = self.subset[node]
            last = self.left_categories.shape[1] - 1
            code = np.clip(np.nan_to_num(x), 0, last).astype(np.int64)
            left = np.where(subset >= 0, self.left_categories[np.maximum(subset, 0), code], left)
        return np.where(np.isnan(x), self.missing_left[node], left)

    def outputs(self, points: FloatArray) -> FloatArray:
        """Return the sums of each row, of shape (n_rows, n_outputs)."""
        outputs = np.empty((len(points), self.n_outputs))
        for rows in row_blocks(len(points), _PAIR_BYTES * self.n_trees):
            outputs[rows] = self.total(self.leaves(points[rows]))
        return outputs

    def total(self, leaves: IntArray) -> FloatArray:
        """Return the outputs that leaves of shape (..., n_trees) add up to."""
        sums: FloatArray = self.base + self.factor * self.value[leaves].sum(axis=-2)
        return sums

    def probabilities(self, outputs: FloatArray) -> FloatArray:
        """Return class probabilities of shape (..., n_classes)."""
        from scipy.special import expit, softmax

        if self.link == "probability":
            return outputs
        if self.link == "softmax":
            return np.asarray(softmax(outputs, axis=-1))
        logit = self.slope * outputs[..., 0]
        return np.stack([expit(-logit), expit(logit)], axis=-1)

    def predictions(self, outputs: FloatArray) -> FloatArray:
        """Return what a regression predicts, of shape (...)."""
        numbers = outputs[..., 0]
        if self.link == "sigmoid":
            from scipy.special import expit

            return np.asarray(expit(numbers))
        return np.exp(numbers) if self.link == "exp" else numbers

    def margins(self, outputs: FloatArray, labels: IntArray, *, head_start: float = 0.0) -> FloatArray:
        """Return how far the class of each row is ahead of the best other one; negative where it is wrong.

        ``outputs`` have shape (n_rows, ..., n_outputs); the margins have shape (n_rows, ...). The classes before it
        get a head start where there are several outputs: they win ties.
        """
        shape = (len(labels),) + (1,) * (outputs.ndim - 2)
        if self.link == "sigmoid":
            sign = np.where(labels == 1, 1.0, -1.0).reshape(shape)
            return sign * outputs[..., 0]
        own = np.take_along_axis(outputs, labels.reshape(*shape, 1), axis=-1)[..., 0]
        number, label = np.arange(self.n_outputs), labels.reshape(*shape, 1)
        others = outputs if head_start == 0.0 else outputs + head_start * (number < label)
        others = np.where(number == label, -np.inf, others)
        return np.asarray(own - others.max(axis=-1))

    @classmethod
    def joined(
        cls,
        trees: Sequence[Tree],
        *,
        base: FloatArray,
        link: Link,
        n_features: int,
        factor: float = 1.0,
        slope: float = 1.0,
        rounding: float = float(np.finfo(np.float64).eps),
    ) -> Self:
        """Put trees one after another."""
        sizes = [len(tree.feature) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

        def children(name: str) -> IntArray:
            parts = [
                np.where(tree.feature >= 0, getattr(tree, name) + root, LEAF)
                for tree, root in zip(trees, roots, strict=True)
            ]
            return np.concatenate(parts).astype(np.int64)

        subset, left_categories = _joined_subsets(trees)
        return cls(
            feature=np.concatenate([tree.feature for tree in trees]),
            threshold=np.concatenate([tree.threshold for tree in trees]),
            missing_left=np.concatenate([tree.missing_left for tree in trees]),
            left=children("left"),
            right=children("right"),
            value=np.concatenate([tree.value for tree in trees]),
            roots=roots,
            base=np.asarray(base, dtype=np.float64),
            link=link,
            n_features=n_features,
            factor=factor,
            slope=slope,
            rounding=rounding,
            subset=subset,
            left_categories=left_categories,
        )


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of one tree: as in `Forest`, with positions counted from its root, which is node 0."""

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    subset: IntArray | None = None
    left_categories: BoolArray | None = None


def _joined_subsets(trees: Sequence[Tree]) -> tuple[IntArray | None, BoolArray | None]:
    """Put the sets of categories of all trees below each other, as wide as the widest."""
    tables = [tree.left_categories for tree in trees if tree.left_categories is not None]
    if not tables:
        return None, None
    width = max(table.shape[1] for table in tables)
    rows: list[IntArray] = []
    first = 0
    for tree in trees:
        if tree.subset is None or tree.left_categories is None:
            rows.append(np.full(len(tree.feature), -1))
            continue
        rows.append(np.where(tree.subset >= 0, tree.subset + first, -1))
        first += len(tree.left_categories)
    wide = [np.pad(table, ((0, 0), (0, width - table.shape[1])), mode="edge") for table in tables]
    return np.concatenate(rows).astype(np.int64), np.concatenate(wide)


def edge_for_float32(threshold: FloatArray, *, strict: bool) -> FloatArray:
    """Return the largest float64 that goes left where the model rounds x to float32 and then compares.

    Parameters
    ----------
    threshold : array
        A row goes left where ``float32(x) <= threshold``, or where ``float32(x) < threshold``.
    strict : bool
        Whether the comparison is ``<``.
    """
    low = np.float32(-np.inf)
    with np.errstate(over="ignore"):
        last = np.asarray(threshold, dtype=np.float32)
        beyond = last >= threshold if strict else last > threshold
        last = np.where(beyond, np.nextafter(last, low), last)
        following = np.nextafter(last, np.float32(np.inf))
        # Halfway between neighbours, where x is rounded to the one with the even mantissa.
        middle = 0.5 * (last.astype(np.float64) + following.astype(np.float64))
    even = (last.view(np.int32) & 1) == 0
    return np.where(even, middle, np.nextafter(middle, -np.inf))
