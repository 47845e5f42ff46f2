"""Moves along one axis, listed where outputs change, against every cell of every axis."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Moves
from shiftmetrics.models.forests.model_grid import grid_of_question
from shiftmetrics.models.forests.single_moves import CellCosts, single_moves
from shiftmetrics.models.question import question_of

MODELS = {
    "forest": RandomForestClassifier(8, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, max_depth=4, random_state=0),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=160),
            "count": rng.integers(0, 9, 160).astype(float),
            "fixed": rng.normal(size=160),
            "town": rng.choice(["a", "b", "c"], 160),
        }
    )


def question_about(name, table, n_classes):
    score = table["size"] + table["count"] / 4 + 0.5 * table["fixed"] + (table["town"] == "b")
    y = pd.qcut(score + np.random.default_rng(1).normal(0, 0.3, 160), n_classes, labels=False).to_numpy()
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, MODELS[name]).fit(table, y)
    moves = Moves(integer=["count"], immutable=["fixed"], bounds={"count": (1, 7), "size": (-1.5, 1.5)})
    return question_of(model, table.iloc[:12], y[:12], moves=moves)


def reachable_cells(grid, start, rng):
    """Cells that each row may stand in, on every axis that moves."""
    cells = grid.cells(start)
    for position in np.flatnonzero(grid.active):
        costs = grid.axes[position].costs(start)
        for row, cost in enumerate(costs):
            if rng.random() < 0.7:
                cells[row, position] = rng.choice(np.flatnonzero(np.isfinite(cost)))
    return cells


@pytest.mark.parametrize("displaced", [False, True])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_moves_are_those_of_all_cells(name, n_classes, limited, displaced, table) -> None:
    question = question_about(name, table, n_classes)
    grid, start = grid_of_question(question), question.codes
    prices, rng = CellCosts.of(grid, start), np.random.default_rng(2)
    cells = reachable_cells(grid, start, rng) if displaced else grid.cells(start)
    rows, every = np.arange(len(start)), np.arange(len(grid.axes))
    spent = prices.at(rows[:, None], every, cells)
    limit = spent.sum(axis=1) + 0.3 if limited else np.full(len(rows), np.inf)
    moves = single_moves(grid, prices, rows, cells, limit if limited else None)
    present = grid.trees.outputs(cells)
    np.testing.assert_allclose(moves.present, present, atol=1e-12)
    assert (np.diff(moves.row) >= 0).all()

    after = cells[moves.row].copy()
    after[np.arange(len(after)), moves.axis] = moves.cell
    np.testing.assert_allclose(moves.outputs, grid.trees.outputs(after), atol=1e-12)
    np.testing.assert_allclose(moves.costs, prices.at(moves.row, moves.axis, moves.cell), atol=1e-12)
    np.testing.assert_allclose(moves.spent, spent[moves.row, moves.axis], atol=1e-12)
    total = spent.sum(axis=1)[moves.row] - moves.spent + moves.costs
    assert (total <= limit[moves.row] + 1e-12).all()

    n_needed = 0
    for axis in np.flatnonzero(grid.active):
        costs = grid.axes[axis].costs(start)
        for cell in range(grid.axes[axis].n_cells):
            there = cells.copy()
            there[:, axis] = cell
            outputs = grid.trees.outputs(there)
            for row in rows:
                price = costs[row, cell]
                affordable = np.isfinite(price) and spent[row].sum() - spent[row, axis] + price <= limit[row]
                worthwhile = (
                    not np.allclose(outputs[row], present[row], atol=1e-12) or price < spent[row, axis]
                )
                if not affordable or not worthwhile:
                    continue
                n_needed += 1
                listed = (moves.row == row) & (moves.axis == axis) & (moves.costs <= price + 1e-12)
                assert np.isclose(moves.outputs[listed], outputs[row], atol=1e-12).all(axis=1).any()
    assert n_needed > 20


def test_the_best_move_of_each_row(table) -> None:
    grid = grid_of_question(question_about("forest", table, 2))
    start = question_about("forest", table, 2).codes
    moves = single_moves(grid, CellCosts.of(grid, start), np.arange(12), grid.cells(start))
    scores = np.random.default_rng(0).normal(size=len(moves.row))
    scores[moves.row == 3] = -np.inf
    rows, best = moves.best(scores)
    assert rows.tolist() == [row for row in range(12) if row != 3]
    for row, place in zip(rows, best, strict=True):
        assert moves.row[place] == row
        assert scores[place] == scores[moves.row == row].max()
