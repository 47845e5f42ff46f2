"""The exact mean of permutation importance, its worst mixture and its intervals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models import (
    Perturbation,
    feature_stability,
    model_stability,
)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def boosted(iris):
    return GradientBoostingClassifier(n_estimators=10, random_state=0).fit(*iris)


@pytest.fixture(scope="module")
def town():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 200),
            "age": rng.normal(50, 20, 200),
            "noise": rng.normal(size=200),
        }
    )
    y = ((table["town"] == "b") * 1.0 + table["age"] / 40 > 1.6).astype(int).to_numpy()
    steps = make_column_transformer(
        (OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), remainder="passthrough"
    )
    return (
        table,
        y,
        make_pipeline(steps, HistGradientBoostingClassifier(max_iter=10, random_state=0)).fit(
            table, y
        ),
    )


class Wrapped:
    """A model that shows nothing but its predictions."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_
        self.predict, self.predict_proba = model.predict, model.predict_proba


def worst_mixture(risks: np.ndarray, shares: np.ndarray) -> float:
    """Return the highest mean within 0.02 nats by exponential tilting, with bisection over the tilt."""

    def tilted(slope: float) -> np.ndarray:
        density = shares * np.exp(slope * (risks - risks.max()))
        return density / density.sum()

    if np.ptp(risks) < 1e-12:
        return float(risks @ shares)
    low, high = 0.0, 1e5
    for _ in range(200):
        middle = 0.5 * (low + high)
        density = tilted(middle)
        held = density > 0.0
        nats = np.sum(density[held] * np.log(density[held] / shares[held]))
        low, high = (middle, high) if nats <= 0.02 else (low, middle)
    return float(tilted(low) @ risks)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
@pytest.mark.parametrize("is_read", [True, False], ids=["trees", "any model"])
def test_the_ranking_is_the_worst_mixture_of_redrawn_values(loss, is_read, iris, boosted) -> None:
    X, y = np.round(iris[0] * 3) / 3, iris[1]  # at most 20 values in each column
    weights = np.random.default_rng(0).integers(1, 4, len(X)) / 2.0
    halves = np.arange(len(X)) % 2
    model = boosted if is_read else Wrapped(boosted)
    options = {"loss": loss, "sample_weight": weights, "perturbation": Perturbation(by=halves)}
    result = feature_stability(model, X, y, 0.5, **options)
    for part in [*result.features, *result.subgroups]:
        if part.feature == "all features":
            continue
        rows = (
            np.ones(len(X))
            if part.subgroup is None
            else halves == int(part.subgroup.split("= ")[-1])
        )
        column = int(part.feature[1:])
        values, codes = np.unique(X[:, column], return_inverse=True)
        shares = np.bincount(codes, weights) / weights.sum()
        risks = []
        for value in values:
            points = X.copy()
            points[:, column] = value
            wrong = boosted.predict(points) != y
            lost = -np.log(boosted.predict_proba(points)[np.arange(len(y)), y])
            losses = wrong if loss == "zero_one" else lost
            risks.append(np.average(losses, weights=weights * rows))
        average = part.base_risk + part.permutation_importance
        assert average == pytest.approx(np.dot(risks, shares), abs=1e-9)
        assert part.worst_case_risk == pytest.approx(
            worst_mixture(np.array(risks), shares), rel=1e-7
        )


@pytest.mark.slow
def test_many_values_are_tried_at_quantiles(town) -> None:
    table, y, model = town
    exactly, tried = (feature_stability(m, table, y, 0.3) for m in (model, Wrapped(model)))
    known = {part.feature: part for part in exactly.features}
    for part in tried.features:
        assert part.worst_case_risk == pytest.approx(known[part.feature].worst_case_risk, abs=0.01)
    both = Perturbation(features={"both": ["age", "noise"], "age": ["age"]})
    first, second = feature_stability(model, table, y, 0.3, perturbation=both).features
    assert first.worst_case_risk == pytest.approx(second.worst_case_risk, abs=0.08)


def test_permutation_importance_is_that_of_scikit_learn(town) -> None:
    table, y, model = town
    result = feature_stability(model, table, y, 0.3)
    theirs = permutation_importance(model, table, y, n_repeats=30, random_state=1)
    for part in result.features:
        column = list(table.columns).index(part.feature)
        error = max(theirs.importances_std[column], 1e-3)
        assert part.permutation_importance == pytest.approx(
            theirs.importances_mean[column], abs=3 * error
        )


def exact_importance(model: Any, X: Any, y: Any, column: int, values: Any) -> float:
    """Return the mean error over all pairs of a sample and a value, less the errors as they are."""
    changed = np.repeat(X, len(values), axis=0)
    changed[:, column] = np.tile(values, len(X))
    wrong = model.predict(changed) != np.repeat(y, len(values))
    return float(wrong.mean() - (model.predict(X) != y).mean())


@pytest.mark.parametrize("kind", ["trees", "neighbours"])
def test_importance_is_the_exact_mean_over_permutations_and_ranks_features(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, max_depth=3, random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(5)
    model.fit(X, y)
    result = feature_stability(model, X, y, 0.3)
    found = [part.permutation_importance for part in result.features]
    assert found == sorted(found, reverse=True)
    for part in result.features:
        column = int(part.feature[1:])
        expected = exact_importance(model, X, y, column, X[:, column])
        assert part.permutation_importance == pytest.approx(expected, abs=1e-12)
        assert part.importance_interval.low - 1e-12 <= expected
        assert expected <= part.importance_interval.high + 1e-12


@pytest.mark.parametrize("kind", ["trees", "neighbours"])
def test_target_samples_give_their_values(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(5)
    model.fit(X, y)
    target = X[y == 2] + [0.0, 0.0, 1.0, 0.0]
    result = feature_stability(model, X, y, 0.3, perturbation=Perturbation(target=target))
    for part in result.features:
        column = int(part.feature[1:])
        expected = exact_importance(model, X, y, column, target[:, column])
        assert part.permutation_importance == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="without target"):
        model_stability(model, X, y, 0.3, perturbation=Perturbation(target=target))


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
def test_intervals_of_importance_cover(target: bool) -> None:
    rng = np.random.default_rng(11)
    model = LogisticRegression().fit([[-1.0, -0.5], [1.0, 0.5]], [0, 1])

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 2))
        return X, (X @ [1.0, 0.7] + rng.normal(size=n) > 0.0).astype(int)

    X, y = drawn(4000)
    values = rng.normal(0.5 if target else 0.0, 1.0, size=400)
    truth = exact_importance(model, X, y, 0, values)
    covered = 0
    for _ in range(200):
        X, y = drawn(150)
        perturbation = Perturbation(features=[0])
        if target:
            perturbation = Perturbation(features=[0], target=rng.normal(0.5, 1.0, size=(150, 2)))
        part = feature_stability(
            model, X, y, 0.6, perturbation=perturbation, resampling=0.9
        ).features[0]
        covered += part.importance_interval.low <= truth <= part.importance_interval.high
    assert 0.85 <= covered / 200 <= 0.95
