"""A search for errors asks the model no more than it has to."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Perturbation
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.search import ErrorSearch
from shiftmetrics.models.reading.model import problem_of

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
