"""Forests followed node by node, from the root to the leaf of each row: slow, and obvious."""

import numpy as np

from shiftmetrics.models.forests.forest import Forest


def leaves_of(forest: Forest, points: np.ndarray) -> np.ndarray:
    """Return the leaf of each row in each tree, of shape (n_rows, n_trees)."""
    rows = np.arange(len(points))[:, None]
    node = np.broadcast_to(forest.roots, (len(points), forest.n_trees)).copy()
    while (inner := forest.feature[node] >= 0).any():
        left = forest.goes_left(node, points[rows, np.maximum(forest.feature[node], 0)])
        node = np.where(inner, np.where(left, forest.left[node], forest.right[node]), node)
    return node


def outputs_of(forest: Forest, points: np.ndarray) -> np.ndarray:
    """Return the sums of each row, of shape (n_rows, n_outputs)."""
    return forest.total(leaves_of(forest, np.asarray(points)))
