"""One format for decision trees and sums of them, whatever library fitted them.

A forest is a few flat arrays. Its thresholds are given for float64 inputs: ``x <= threshold`` in float64 gives
the side that the model itself takes after it has rounded x to its own precision. A point that is shifted by that rule
is on the other side for the model, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray

LEAF = -1
SINGLE_ROUNDING = float(np.finfo(np.float32).eps)
_EPSILON = float(np.finfo(np.float64).eps)

Link = Literal["probability", "softmax", "identity", "logistic", "exp"]


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes that split on one column, by a threshold or a set of categories; the root of a single tree is node 0.

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
    value : array of shape (n_nodes, n_outputs), or (n_nodes,)
        Value that a leaf adds to each output; of one dimension where it adds to ``output`` alone.
    output : int
        The output of a single tree whose values have one dimension.
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
    output: int = 0
    subset: IntArray | None = None
    left_categories: BoolArray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Forest(Tree):
    """Trees one after another, whose leaf values add up.

    Attributes
    ----------
    roots : array of shape (n_trees,)
        Positions of the roots.
    base : array of shape (n_outputs,)
        Outputs before any tree is added.
    link : {"probability", "softmax", "identity", "logistic", "exp"}
        From outputs to predictions: class probabilities as they are or as logits, or the number that a regression
        predicts. Classifiers have one output for each class.
    n_features : int
        Columns that the model takes.
    factor : float
        Factor of the sum over the trees: ``1 / n_trees`` for an average.
    slope : float
        Factor of the logits under the softmax.
    rounding : float
        Relative error of the sum of the model, which may add in float32.
    clip : float
        Least probability that counts in the log loss.
    """

    roots: IntArray
    base: FloatArray
    link: Link
    n_features: int
    factor: float = 1.0
    slope: float = 1.0
    rounding: float = _EPSILON
    clip: float = _EPSILON

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_outputs(self) -> int:
        """Number of sums: one for each class, or a single one."""
        return int(self.value.shape[1])

    @cached_property
    def tolerance(self) -> float:
        """Largest difference of the sums here and in the model, which adds in another order or precision."""
        largest = np.abs(self.value).max(axis=1)
        of_trees = np.maximum.reduceat(largest, np.sort(self.roots))
        total = abs(self.factor) * of_trees.sum() + np.abs(self.base).max() + 1.0
        return float(8.0 * self.rounding * total)

    @cached_property
    def adds_exactly(self) -> bool:
        """Whether the sums of leaf values have no rounding in any order: votes of pure leaves are 0 or 1."""
        return bool((self.value == np.rint(self.value)).all())

    def goes_left(self, node: IntArray, x: FloatArray) -> BoolArray:
        """Return whether nodes send numbers, or codes of categories, left."""
        left: BoolArray = x <= self.threshold[node]
        if self.subset is not None and self.left_categories is not None:
            subset = self.subset[node]
            last = self.left_categories.shape[1] - 1
            # Codes beyond the last one go where it goes.
            code = np.clip(np.nan_to_num(x), 0, last).astype(np.int64)
            by_category = self.left_categories[np.maximum(subset, 0), code]
            left = np.where(subset >= 0, by_category, left)
        return np.where(np.isnan(x), self.missing_left[node], left)

    def leaves(self, x: FloatArray) -> IntArray:
        """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
        node = np.tile(self.roots, len(x))
        row = np.repeat(np.arange(len(x)), self.n_trees)
        # All rows go down all trees together; `going` are the places that are no leaves yet.
        going = np.flatnonzero(self.feature[node] >= 0)
        while going.size:
            here = node[going]
            left = self.goes_left(here, x[row[going], self.feature[here]])
            there = np.where(left, self.left[here], self.right[here])
            node[going] = there
            going = going[self.feature[there] >= 0]
        return node.reshape(len(x), self.n_trees)

    def total(self, leaves: IntArray) -> FloatArray:
        """Return the sums of leaves of shape (..., n_trees)."""
        sums = self.value[leaves].sum(axis=-2)
        return np.asarray(self.base + self.factor * sums)

    def probabilities(self, outputs: FloatArray) -> FloatArray:
        """Return class probabilities of shape (..., n_classes)."""
        from scipy.special import softmax

        if self.link == "probability":
            return outputs
        return np.asarray(softmax(self.slope * outputs, axis=-1))

    def predictions(self, outputs: FloatArray) -> FloatArray:
        """Return the predictions of a regression, of shape (...)."""
        from scipy.special import expit

        numbers = outputs[..., 0]
        if self.link == "logistic":
            return np.asarray(expit(numbers))
        if self.link == "exp":
            return np.exp(numbers)
        return numbers

    def margins(
        self,
        outputs: FloatArray,
        labels: IntArray,
        *,
        head_start: float = 0.0,
    ) -> FloatArray:
        """Return the lead of the class of each row over the best other one; negative where it is wrong.

        ``outputs`` have shape (n_rows, ..., n_outputs); the margins have shape (n_rows, ...). Classes before that of
        the row get the head start: they win ties.
        """
        label = _beside(labels, outputs)
        labelled = _taken(outputs, label)
        best = np.full(labelled.shape, -np.inf)
        for number in range(self.n_outputs):
            lead = outputs[..., number] + head_start * (number < label)
            lead = np.where(label == number, -np.inf, lead)
            best = np.maximum(best, lead)
        return np.asarray(labelled - best)

    def losses(
        self,
        outputs: FloatArray,
        y: Array,
        loss: str,
    ) -> FloatArray:
        """Return losses at outputs of shape (n_rows, ..., n_outputs) for the labels, or values, of the rows.

        The 0/1 loss is 1 wherever the outputs are not clearly right: there the model decides.
        """
        if loss == "squared":
            residuals = self.predictions(outputs) - _beside(y, outputs)
            return np.asarray(residuals * residuals)
        if loss == "log_loss":
            probability = _taken(self.probabilities(outputs), _beside(y, outputs))
            logs = np.log(np.maximum(probability, self.clip))
            return np.maximum(-logs, 0.0)
        margins = self.margins(outputs, y)
        if loss == "hinge":
            return np.maximum(1.0 - margins, 0.0)
        return np.asarray(margins <= self.tolerance, dtype=np.float64)

    def highest_losses(self, y: Array, loss: str) -> FloatArray:
        """Return losses that no row exceeds, by its label or value: each tree at its highest, or lowest, leaf."""
        inner = self.feature[:, None] >= 0
        highest = np.maximum.reduceat(np.where(inner, -np.inf, self.value), self.roots)
        lowest = np.minimum.reduceat(np.where(inner, np.inf, self.value), self.roots)
        high = self.base + self.factor * highest.sum(axis=0)
        low = self.base + self.factor * lowest.sum(axis=0)
        outputs = np.tile(high, (len(y), 1))
        if loss == "squared":
            above = self.losses(outputs, y, loss)
            below = self.losses(np.tile(low, (len(y), 1)), y, loss)
            return np.maximum(above, below)
        # The output of the label as low as it can be, the others as high.
        outputs[np.arange(len(y)), y] = low[y]
        return self.losses(outputs, y, loss)

    @classmethod
    def joined(
        cls,
        trees: Sequence[Tree],
        *,
        base: FloatArray,
        link: Link,
        **others: Any,
    ) -> Self:
        """Put trees one after another.

        Trees with a single output and the link "softmax" give the logit of the second of two classes.
        """
        sizes = np.array([len(tree.feature) for tree in trees])
        roots = np.cumsum(sizes) - sizes

        def column(name: str, kind: type) -> Any:
            parts = [getattr(tree, name) for tree in trees]
            return np.concatenate(parts).astype(kind)

        feature = column("feature", np.int64)
        inner = feature >= 0
        first = np.repeat(roots, sizes)
        base = np.asarray(base, dtype=np.float64)
        unit = np.eye(len(base))
        values = []
        for tree in trees:
            if tree.value.ndim == 2:
                values.append(tree.value)
            else:
                values.append(np.outer(tree.value, unit[tree.output]))
        value = np.concatenate(values)
        # The logit of the first of two classes is 0.
        if link == "softmax" and value.shape[1] == 1:
            value = np.pad(value, ((0, 0), (1, 0)))
            base = np.pad(base, (1, 0))
        subset, left_categories = joined_subsets(trees)
        return cls(
            feature=feature,
            threshold=column("threshold", np.float64),
            missing_left=column("missing_left", np.bool_),
            left=np.where(inner, column("left", np.int64) + first, LEAF),
            right=np.where(inner, column("right", np.int64) + first, LEAF),
            value=value,
            roots=roots,
            base=base,
            link=link,
            subset=subset,
            left_categories=left_categories,
            **others,
        )


def _beside(of_rows: Array, outputs: FloatArray) -> Array:
    """Return numbers of rows in a shape that broadcasts with each of their outputs, (n_rows, ..., n_outputs)."""
    return of_rows.reshape(len(of_rows), *(1,) * (outputs.ndim - 2))


def _taken(outputs: FloatArray, label: IntArray) -> FloatArray:
    """Return the output of the label of each row."""
    taken = np.take_along_axis(outputs, label[..., None], axis=-1)
    return np.asarray(taken[..., 0])


def joined_subsets(trees: Sequence[Tree]) -> tuple[IntArray | None, BoolArray | None]:
    """Put the sets of categories of all trees below each other, as wide as the widest."""
    rows = []
    tables = []
    first = 0
    for tree in trees:
        if tree.subset is None or tree.left_categories is None:
            rows.append(np.full(len(tree.feature), LEAF))
            continue
        rows.append(np.where(tree.subset >= 0, tree.subset + first, LEAF))
        tables.append(tree.left_categories)
        first += len(tree.left_categories)
    if not tables:
        return None, None
    # The last column stands for all codes from there on.
    width = max(table.shape[1] for table in tables)
    wide = []
    for table in tables:
        more = width - table.shape[1]
        wide.append(np.pad(table, ((0, 0), (0, more)), mode="edge"))
    subset = np.concatenate(rows).astype(np.int64)
    return subset, np.concatenate(wide)


def edge_for_float32(threshold: FloatArray, *, strict: bool) -> FloatArray:
    """Return the largest float64 that goes left where the model rounds x to float32 and then compares.

    Parameters
    ----------
    threshold : array
        A row goes left where ``float32(x) <= threshold``, or where ``float32(x) < threshold``.
    strict : bool
        Whether the comparison is ``<``.
    """
    with np.errstate(over="ignore"):
        # The last float32 that goes left: rounding may have taken it across the threshold.
        last = np.asarray(threshold, dtype=np.float32)
        beyond = last > threshold
        if strict:
            beyond = last >= threshold
        before = np.nextafter(last, np.float32(-np.inf))
        last = np.where(beyond, before, last)
        following = np.nextafter(last, np.float32(np.inf))
        # Halfway between neighbours, where x is rounded to the one with the even mantissa.
        middle = 0.5 * (last.astype(np.float64) + following.astype(np.float64))
    even = (last.view(np.int32) & 1) == 0
    return np.where(even, middle, np.nextafter(middle, -np.inf))


def bits(words: Any) -> BoolArray:
    """Return the bits of words of 32 bits, of shape (..., 32 * n_words), the lowest first."""
    place = np.arange(32, dtype=np.uint32)
    some = (np.asarray(words)[..., None] >> place) & 1
    return some.reshape(*some.shape[:-2], -1).astype(np.bool_)
