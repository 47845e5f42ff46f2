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
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of the decision type
_NOTHING_MISSING, _ZERO_MISSING = 0, 1  # its next two bits


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
    objective, *options = header["objective"].split()
    link = _LINKS.get(objective)
    if link is None or "sqrt" in options:
        return None
    n_outputs = int(header["num_tree_per_iteration"])
    trees = []
    for position, block in enumerate(rest):
        fields = _fields(block.split("\nend of trees")[0])
        tree = _tree(fields, position % n_outputs)
        if tree is None:
            return None
        trees.append(tree)
    if not trees:
        return None
    slopes = [
        float(option.removeprefix("sigmoid:"))
        for option in options
        if option.startswith("sigmoid:")
    ]
    return Forest.joined(
        trees,
        base=np.zeros(n_outputs),
        link=link,
        n_features=int(header["max_feature_idx"]) + 1,
        factor=n_outputs / len(trees) if "average_output" in head.splitlines() else 1.0,
        slope=slopes[0] if slopes else 1.0,
    )


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _tree(fields: dict[str, str], output: int) -> Tree | None:
    n_leaves = int(fields["num_leaves"])
    if int(fields.get("is_linear", 0)):
        return None
    n_splits = n_leaves - 1

    def numbers(name: str, kind: type) -> Any:
        return np.asarray(fields[name].split() if n_splits else [], dtype=kind)

    decision = numbers("decision_type", np.int64)
    missing = (decision >> 2) & 3
    categorical = (decision & _CATEGORICAL) > 0
    if (missing[~categorical] == _ZERO_MISSING).any():
        return None
    threshold = numbers("threshold", np.float64)
    subset = np.where(categorical, threshold, LEAF).astype(np.int64)
    near = np.abs(threshold) <= _ZERO
    threshold = np.where(
        near, np.where(threshold < 0.0, np.nextafter(-_ZERO, -1.0), _ZERO), threshold
    )
    # NaN is read as 0 where none was seen in training.
    missing_left = np.where(
        missing == _NOTHING_MISSING, threshold >= 0.0, (decision & _DEFAULT_LEFT) > 0
    )
    missing_left &= ~categorical  # what is no category goes right

    def children(name: str) -> Any:
        child = numbers(name, np.int64)
        leaf = (
            n_splits - child - 1
        )  # leaf k is written as -(k + 1), and stands behind the splits here
        return np.concatenate([np.where(child < 0, leaf, child), np.full(n_leaves, LEAF)])

    values = np.asarray(fields["leaf_value"].split(), dtype=np.float64)
    leaves = np.full(n_leaves, LEAF)
    return Tree(
        feature=np.concatenate([numbers("split_feature", np.int64), leaves]),
        threshold=np.concatenate([threshold, np.zeros(n_leaves)]),
        missing_left=np.concatenate([missing_left, np.zeros(n_leaves)]),
        left=children("left_child"),
        right=children("right_child"),
        value=np.concatenate([np.zeros(n_splits), values]),
        output=output,
        subset=np.concatenate([subset, leaves]),
        left_categories=_left_categories(fields) if categorical.any() else None,
    )


def _left_categories(fields: dict[str, str]) -> BoolArray:
    """Return the categories of each set that goes left, written as words of 32 bits one after another."""
    ends = np.asarray(fields["cat_boundaries"].split(), dtype=np.int64)
    words = np.asarray(fields["cat_threshold"].split(), dtype=np.uint32)
    left = np.zeros((len(ends) - 1, 32 * int(np.diff(ends).max()) + 1), dtype=np.bool_)
    for row, (start, stop) in enumerate(pairwise(ends)):
        left[row, : 32 * (stop - start)] = bits(words[start:stop])
    return left
