"""A search for errors asks the model no more than it has to, and seeks only those that matter at a price."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Decision, Perturbation, model_stability
from shiftmetrics.models.forests import exact, search
from shiftmetrics.models.forests.exact import by_enumeration
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.search import ErrorSearch
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.stability import stability_criterion

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
    y = pd.qcut(
        score + np.random.default_rng(1).normal(0, 0.3, 160), n_classes, labels=False
    ).to_numpy()
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, MODELS[name]).fit(table, y)
    moves = Perturbation(
        integer=["count"], immutable=["fixed"], bounds={"count": (1, 7), "size": (-1.5, 1.5)}
    )
    return problem_of(model, table.iloc[:12], y[:12], perturbation=moves)


def test_a_block_without_hits_asks_the_model_nothing(table) -> None:
    problem = question_about("forest", table, 2)
    grid = grid_of_problem(problem)
    errors = ErrorSearch(problem, grid)
    before = problem.count.rows
    none = np.array([], dtype=int)
    assert errors._keep(none, grid.cells(problem.codes)[none]).shape == (0,)
    assert problem.count.rows == before


def exact_distances(problem):
    """Return the nearest error of each row, by trying all combinations of cells."""
    grid = grid_of_problem(problem)
    found = by_enumeration(problem, grid)
    return grid, np.asarray(found.loss.distances)


@pytest.mark.parametrize("name", MODELS)
def test_a_price_bounds_what_is_searched_and_what_is_claimed(name, table) -> None:
    problem = question_about(name, table, 2)
    grid, nearest = exact_distances(problem)
    farthest = float(np.median(nearest[nearest > 0]))
    errors = ErrorSearch(problem, grid)
    while errors.search(farthest) or errors.certify(farthest):
        assert (errors.least <= nearest * (1 + 1e-9)).all()
        assert (errors.distances >= nearest * (1 - 1e-9)).all()
    # Rows whose errors cannot be worth their way are left alone, and no other.
    matter = (nearest < farthest) & (nearest > 0)
    assert (errors.reach[matter] > 0).all()
    assert (errors.reach[errors.least >= farthest] <= farthest**2).all()
    assert errors.rows_left(farthest).size == 0


def test_rows_that_do_not_matter_are_not_searched(monkeypatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    monkeypatch.setattr(search, "_AT_A_PRICE", 10)
    X, y = make_moons(150, noise=0.3, random_state=1)
    model = MODELS["boosting"].fit(X, y)
    searched = []
    climb = ErrorSearch._climb
    monkeypatch.setattr(
        ErrorSearch,
        "_climb",
        lambda self, rows, far: searched.extend(rows) or climb(self, rows, far),
    )
    some = model_stability(model, X, y, 0.2, resampling=None)
    n_some = len(set(searched))
    problem = problem_of(model, X, y)
    every = find_worst_case(problem)[1].at_any_price()
    assert n_some < len(set(searched)) // 2
    # Nor does their distance change the value: it is that of all rows searched.
    known = stability_criterion(every.loss, 0.2, resampling=None)
    np.testing.assert_allclose(some.value, known.value, rtol=1e-9)


def test_a_price_that_differs_by_rounding_alone_searches_nothing_again() -> None:
    X, y = make_moons(150, noise=0.3, random_state=1)
    problem = problem_of(MODELS["boosting"].fit(X, y), X, y)
    grid = grid_of_problem(problem)
    assert grid is not None
    errors = ErrorSearch(problem, grid)
    farthest = errors.usual / 2.0
    assert errors.rows_left(farthest).size
    while errors.search(farthest):
        pass
    assert not errors.rows_left(farthest * (1.0 + 1e-8)).size


def test_costs_of_errors_come_to_an_end_at_any_price(monkeypatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    X, y = make_moons(60, noise=0.3, random_state=1)
    model = MODELS["boosting"].fit(X, y)
    plain = find_worst_case(problem_of(model, X, y))[1].at_any_price()
    priced = find_worst_case(problem_of(Decision(model, costs={1: 3.0}), X, y))[1].at_any_price()
    assert priced.refine is None
    distances = np.where(plain.loss.distances > 0.0, plain.loss.distances, np.inf)
    np.testing.assert_allclose(priced.loss.distances[:, 1], distances)
