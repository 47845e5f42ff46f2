"""Does the forest that was read give what the model says? Compared on rows, and in cells that they can reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.reading import category_codes
from shiftmetrics.models.reading.estimators import last_step
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.reading.outputs import class_log_probabilities

_N_CHECKED = 256
_LOSS_ERROR = 1e-4
"""Relative error of losses: models that compute probabilities in float32 are this far off."""


def reads_the_model(problem: ModelProblem, grid: Grid) -> bool:
    """Return True if a forest gives what the model says on rows and in random cells, at thresholds too."""
    rng = np.random.default_rng(0)
    n_rows = min(_N_CHECKED, max(64, problem.n_samples))
    rows = rng.integers(problem.n_samples, size=n_rows)
    is_incomplete = np.isnan(problem.codes).any(axis=1)
    incomplete = np.flatnonzero(is_incomplete)
    if incomplete.size:
        rows[: n_rows // 2] = rng.choice(incomplete, n_rows // 2)
    points = problem.codes[rows].copy()
    cells = grid.cells(points)
    for position, axis in enumerate(grid.axes):
        if not axis.may_change:
            continue
        # About half of the rows go to a cell at random, where they can reach it.
        target = rng.integers(axis.n_cells, size=n_rows)
        costs = axis.costs(points)
        to_target = costs[np.arange(n_rows), target]
        drawn = rng.random(n_rows) < 0.5
        change = np.flatnonzero(np.isfinite(to_target) & drawn)
        if change.size:
            part = points[change]
            axis.put(part, part.copy(), target[change])
            points[change] = part
            cells[change, position] = target[change]
    # These predictions are not counted.
    no_count = type(problem.count)()
    uncounted = replace(problem, count=no_count)
    expected = uncounted.losses(points, rows)
    y = problem.y[rows]
    outputs = grid.outputs(cells)
    if not _same_probabilities(problem, grid, points, outputs):
        return False
    if problem.loss == "zero_one":
        margins = grid.forest.margins(outputs, y)
        clear = np.abs(margins) > grid.forest.tolerance
        same = (margins < 0.0) == (expected > 0.0)
        return bool(same[clear].all())
    losses = grid.forest.losses(outputs, y, problem.loss)
    return bool(np.allclose(losses, expected, rtol=_LOSS_ERROR, atol=_LOSS_ERROR))


def _same_probabilities(
    problem: ModelProblem, grid: Grid, points: FloatArray, outputs: FloatArray
) -> bool:
    """Compare probabilities where codes stand for categories: predictions may agree while codes do not."""
    model = problem.model
    coded = category_codes(last_step(model)) is not None
    if not coded or problem.cut is not None or not hasattr(model, "predict_proba"):
        return True
    logs = class_log_probabilities(model, problem.table.decode(points))
    read = grid.forest.probabilities(outputs)
    return bool(np.allclose(read, np.exp(logs), atol=_LOSS_ERROR))
