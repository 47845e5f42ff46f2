"""From a model, possibly a pipeline, to its forest on the grid of the columns that users move; checked on rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, is_table
from shiftmetrics.models.forests.categories import category_codes
from shiftmetrics.models.forests.grid import Encode, Grid, grid_of
from shiftmetrics.models.forests.reached import losses_of
from shiftmetrics.models.forests.reading import forest_of
from shiftmetrics.models.question import Question

_N_CHECKED = 256
_LOSS_ERROR = 1e-4
"""Relative error of losses: models that compute probabilities in float32 are this far off."""


def last_step(model: Any) -> Any:
    """Return what predicts in a fitted pipeline or search, the model itself elsewhere."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    return last_step(steps[-1][1]) if steps else model


def grid_of_question(question: Question) -> Grid | None:
    """Return the forest of a model on the axes of its domain.

    None where the model is not made of trees, where a step before them mixes columns, or where the trees do not say
    what the model says on a few rows.
    """
    model = getattr(question.model, "best_estimator_", question.model)
    forest = forest_of(last_step(model))
    if forest is None:
        return None
    grid = grid_of(forest, question.domain, question.codes, _encoder(model, question))
    return grid if grid is not None and _agrees(question, grid) else None


def _encoder(model: Any, question: Question) -> Encode | None:
    """Return what happens to coded rows before the trees see them; None if nothing does."""
    table = question.table
    steps = getattr(model, "steps", None)
    to_codes = category_codes(last_step(model))
    if not steps and to_codes is None and all(column.kind == "number" for column in table.columns):
        return None
    before = model[:-1] if steps and len(steps) > 1 else None

    def encode(points: FloatArray) -> FloatArray:
        rows = table.decode(points)
        if before is not None:
            rows = before.transform(rows)
        if to_codes is not None:
            rows = to_codes(rows)
        if is_table(rows):
            return np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray(rows, dtype=np.float64)

    return encode


def _agrees(question: Question, grid: Grid) -> bool:
    """Compare the forest with the model on rows whose columns are shuffled among each other, at thresholds too."""
    rng = np.random.default_rng(0)
    n_rows = min(_N_CHECKED, max(64, question.n_samples))
    rows = rng.integers(question.n_samples, size=n_rows)
    incomplete = np.flatnonzero(np.isnan(question.codes).any(axis=1))
    if incomplete.size:
        rows[: n_rows // 2] = rng.choice(incomplete, n_rows // 2)
    cells, points = grid.cells(question.codes[rows]), question.codes[rows].copy()
    for position, axis in enumerate(grid.axes):
        if not axis.movable:
            continue
        target = rng.integers(axis.n_cells, size=n_rows)
        reachable = np.isfinite(axis.costs(points))[np.arange(n_rows), target]
        change = np.flatnonzero(reachable & (rng.random(n_rows) < 0.5))
        if change.size:
            part = points[change]
            axis.put(part, part.copy(), target[change])
            points[change], cells[change, position] = part, target[change]
    told = replace(question, count=type(question.count)()).losses(points, rows)
    outputs = grid.trees.outputs(cells)
    if question.loss == "zero_one":
        margins = grid.forest.margins(outputs, question.y[rows])
        clear = np.abs(margins) > grid.forest.tolerance
        return bool(((margins < 0.0) == (told > 0.0))[clear].all())
    losses = losses_of(grid.forest, outputs, question.y[rows], question.loss)
    return bool(np.allclose(losses, told, rtol=_LOSS_ERROR, atol=_LOSS_ERROR))
