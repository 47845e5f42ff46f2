"""LightGBM models, from the text that the library writes, as a `Forest`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, Tree, bits

_LINKS: dict[str, Link] = {
    "binary": "softmax",
    "multiclass": "softmax",
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
}
_ZERO = float(np.float32(1e-35))
"""LightGBM reads numbers up to this size as 0."""
# Bits of the decision type.
_CATEGORICAL = 1
_DEFAULT_LEFT = 2
# Its next two bits.
_NOTHING_MISSING = 0
_ZERO_MISSING = 1


def read_lightgbm(model: Any) -> Forest | None:
    """Return a fitted scikit-learn wrapper of LightGBM as a forest, or None where its trees are of another kind."""
    return forest_of_text(model.booster_.model_to_string())


def forest_of_text(text: str) -> Forest | None:
    """Read a model in LightGBM's text format.

    Returns None for linear leaves, zeros that count as missing, and objectives with another link. Trees of dropout
    (DART) are written with the values that they count for.
    """
    head, *rest = text.split("\nTree=")
    header = _fields(head)
    # An objective of the caller's own is not written; LightGBM then predicts the sums of the trees.
    objective, *options = header.get("objective", "regression").split()
    link = _LINKS.get(objective)
    n_outputs = int(header["num_tree_per_iteration"])
    if link is None or "sqrt" in options or (n_outputs > 1 and link != "softmax"):
        return None
    trees = []
    for position, block in enumerate(rest):
        fields = _fields(block.split("\nend of trees")[0])
        tree = _tree(fields, position % n_outputs)
        if tree is None:
            return None
        trees.append(tree)
    if not trees:
        return None
    slope = 1.0
    for option in options:
        if option.startswith("sigmoid:"):
            slope = float(option.removeprefix("sigmoid:"))
            break
    # Forests (average_output) are divided by the number of iterations, each of one tree for each output.
    factor = 1.0
    if "average_output" in head.splitlines():
        factor = n_outputs / len(trees)
    return Forest.joined(
        trees,
        base=np.zeros(n_outputs),
        link=link,
        n_features=int(header["max_feature_idx"]) + 1,
        factor=factor,
        slope=slope,
    )


def _fields(text: str) -> dict[str, str]:
    fields = {}
    for line in text.splitlines():
        if "=" in line:
            name, value = line.split("=", 1)
            fields[name] = value
    return fields


def _tree(fields: dict[str, str], output: int) -> Tree | None:
    n_leaves = int(fields["num_leaves"])
    if int(fields.get("is_linear", 0)):
        return None
    n_splits = n_leaves - 1

    def numbers(name: str, kind: type) -> Any:
        # A tree of one leaf has no splits, and need not list these.
        if not n_splits:
            return np.zeros(0, dtype=kind)
        parts = fields[name].split()
        return np.asarray(parts, dtype=kind)

    decision = numbers("decision_type", np.int64)
    missing = (decision >> 2) & 3
    categorical = (decision & _CATEGORICAL) > 0
    if (missing[~categorical] == _ZERO_MISSING).any():
        return None
    threshold = numbers("threshold", np.float64)
    subset = np.where(categorical, threshold, LEAF).astype(np.int64)
    near = np.abs(threshold) <= _ZERO
    below_zero = np.nextafter(-_ZERO, -1.0)
    read_as = np.where(threshold < 0.0, below_zero, _ZERO)
    threshold = np.where(near, read_as, threshold)
    # NaN is read as 0 where none was seen in training.
    default_left = (decision & _DEFAULT_LEFT) > 0
    zero_left = threshold >= 0.0
    missing_left = np.where(missing == _NOTHING_MISSING, zero_left, default_left)
    missing_left &= ~categorical  # what is no category goes right

    def children(name: str) -> Any:
        child = numbers(name, np.int64)
        # Leaf k is written as -(k + 1), and stands behind the splits here.
        leaf = n_splits - child - 1
        child = np.where(child < 0, leaf, child)
        return np.concatenate([child, leaves])

    values = np.asarray(fields["leaf_value"].split(), dtype=np.float64)
    leaves = np.full(n_leaves, LEAF)
    at_leaves = np.zeros(n_leaves)
    at_splits = np.zeros(n_splits)
    feature = numbers("split_feature", np.int64)
    left_categories = None
    if categorical.any():
        left_categories = _left_categories(fields)
    return Tree(
        feature=np.concatenate([feature, leaves]),
        threshold=np.concatenate([threshold, at_leaves]),
        missing_left=np.concatenate([missing_left, at_leaves]),
        left=children("left_child"),
        right=children("right_child"),
        value=np.concatenate([at_splits, values]),
        output=output,
        subset=np.concatenate([subset, leaves]),
        left_categories=left_categories,
    )


def _left_categories(fields: dict[str, str]) -> BoolArray:
    """Return the categories of each set that goes left, written as words of 32 bits one after another."""
    ends = np.asarray(fields["cat_boundaries"].split(), dtype=np.int64)
    words = np.asarray(fields["cat_threshold"].split(), dtype=np.uint32)
    n_words = np.diff(ends)
    width = 32 * int(n_words.max()) + 1
    left = np.zeros((len(n_words), width), dtype=np.bool_)
    for row, (start, stop) in enumerate(pairwise(ends)):
        n_bits = 32 * (stop - start)
        left[row, :n_bits] = bits(words[start:stop])
    return left
