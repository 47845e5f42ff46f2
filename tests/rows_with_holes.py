"""Rows with missing cells, and what must hold of every answer about rows, whether cells are missing or not."""

import numpy as np
import pandas as pd

from oracles import valid_moves


def holes(X, share=0.2, seed=0):
    """Cut cells out of a table."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


def stays(result, X):
    """What is missing stays missing, and the moves are as long as they are said to be, in units of what is there."""
    moved = result.changed_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    steps = (moved - X) / X.std(ddof=0)
    np.testing.assert_allclose(np.sqrt((steps**2).sum(axis=1)), result.plan.distances, atol=1e-9)
    return moved


def assert_reached(problem, found):
    """The points of an answer are errors at the distances that it says, and miss the cells of their rows."""
    distances = found.loss.distances
    moved = np.flatnonzero(np.isfinite(distances) & (distances > 0))
    if not moved.size:
        return
    points = found.points(moved, distances[moved], None)
    assert problem.is_wrong(points, moved).all()
    assert valid_moves(problem.domain, points, problem.codes[moved]).all()
    np.testing.assert_array_equal(np.isnan(points), np.isnan(problem.codes[moved]))
    np.testing.assert_allclose(
        problem.domain.distances(points, problem.codes[moved]), distances[moved]
    )
