"""The routes of trees and their sums: bounds on both sides of the exact value, real tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rows_with_holes import assert_reached
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.forests import exact, forest_of
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


ALL = slice(None)


@pytest.fixture(scope="module")
def moons():
    return make_moons(90, noise=0.3, random_state=0)


def thresholds_of(model, n_features):
    """All values where a model made of trees may change its mind, and the next floats, for each column."""
    forest = forest_of(model)
    values = []
    for column in range(n_features):
        at = np.unique(forest.threshold[forest.feature == column])
        values.append(np.concatenate([at, np.nextafter(at, np.inf)]))
    return values


def brute_force(model, X, y, values, unit):
    """Nearest error of each row among all combinations of its own values and the given ones."""
    distances = np.full(len(X), np.inf)
    for row, (x, label) in enumerate(zip(X, y, strict=True)):
        points = np.array(
            list(
                itertools.product(
                    *[np.append(column, own) for column, own in zip(values, x, strict=True)]
                )
            )
        )
        wrong = points[model.predict(points) != label]
        if len(wrong):
            distances[row] = np.sqrt((((wrong - x) / unit) ** 2).sum(axis=1)).min()
    return distances


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "hinge"])
@pytest.mark.parametrize("name", ["boosting", "histogram", "forest"])
def test_search_and_certificate_enclose_the_exact_value(name, loss, moons, monkeypatch) -> None:
    X, y = moons
    model = MODELS[name].fit(X, y)
    if loss == "hinge" and not hasattr(model, "decision_function"):
        pytest.skip("no decision function")
    threshold = {"zero_one": 0.4, "log_loss": 1.0, "hinge": 1.5}[loss]
    known = model_stability(model, X, y, threshold, loss=loss)
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    searched = model_stability(model, X, y, threshold, loss=loss)
    assert known.kind == "exact"
    # Where both bounds meet the search is exact.
    least = searched.value if searched.kind == "exact" else searched.lower_bound
    assert least <= known.value * (1 + 1e-6)
    assert known.value <= searched.value * (1 + 1e-9)
    assert searched.value <= 1.15 * known.value
    assert least > 0.4 * known.value


def test_searched_distances_are_near_the_exact_ones(monkeypatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    X, y = make_moons(150, noise=0.3, random_state=1)
    model = MODELS["boosting"].fit(X, y)
    problem = problem_of(model, X, y)
    found = find_worst_case(problem)[1].at_any_price()
    assert found.kind == "upper_bound"
    assert_reached(problem, found)
    expected = brute_force(model, X[:40], y[:40], thresholds_of(model, 2), problem.domain.unit)
    right = expected > 0
    ratio = found.loss.distances[:40][right] / expected[right]
    assert ratio.min() > 1 - 1e-9
    assert np.median(ratio) < 1.01
    lower = found.lower.transform(1.0, 1.0, ALL)
    assert lower.value.shape == (150,)


@pytest.mark.slow
def test_several_classes_and_a_certificate() -> None:
    X, y = load_iris(return_X_y=True)
    for name in ("boosting", "histogram", "forest"):
        model = MODELS[name].fit(X, y)
        result = model_stability(model, X, y, 0.4)
        assert result.kind in ("exact", "upper_bound")
        moved = np.flatnonzero(result.plan.distances > 0)
        assert (model.predict(result.changed_rows()[moved]) != y[moved]).all()
        if result.kind == "upper_bound":
            assert 0 < result.lower_bound <= result.value


def test_scaling_a_column_changes_nothing(moons) -> None:
    X, y = moons
    scales = np.array([1e3, -1e-2])
    for name in ("tree", "boosting"):
        one = model_stability(MODELS[name].fit(X, y), X, y, 0.4)
        raw = make_pipeline(StandardScaler(), MODELS[name])
        other = model_stability(raw.fit(X * scales, y), X * scales, y, 0.4)
        np.testing.assert_allclose(one.value, other.value, rtol=1e-3)
        assert one.kind == other.kind == "exact"


def test_more_freedom_never_makes_a_model_more_stable(moons) -> None:
    X, y = moons
    model = MODELS["boosting"].fit(X, y)
    narrow = model_stability(
        model, X, y, 0.4, perturbation=Perturbation(features=[0], bounds=(-0.5, 0.5))
    ).value
    wide = model_stability(model, X, y, 0.4, perturbation=Perturbation(features=[0])).value
    both = model_stability(model, X, y, 0.4).value
    assert both <= wide <= narrow


@pytest.mark.realdata
def test_hospital_records(data_folder) -> None:
    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz").sample(
        1200, random_state=0
    )
    y = table.pop("is_dead").to_numpy()
    table = table.drop(columns="Days_hospital_to_outcome").astype(
        {"Region": "category", "Ethnicity": "category"}
    )
    steps = make_column_transformer(
        (OneHotEncoder(), ["Region", "Ethnicity"]), remainder="passthrough"
    )
    model = make_pipeline(steps, GradientBoostingClassifier(n_estimators=30, random_state=0)).fit(
        table[:600], y[:600]
    )
    result = model_stability(
        model, table[600:], y[600:], 0.4, perturbation=Perturbation(integer=["Age"])
    )
    assert result.search.route == "ensemble"
    assert 0 < result.lower_bound <= result.value
    moved = np.flatnonzero(result.plan.distances > 0)
    assert (model.predict(result.changed_rows().iloc[moved]) != y[600:][moved]).all()
