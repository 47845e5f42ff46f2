"""Results of model stability: they travel with their rows, keep labels, and say what was asked."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Decision, Result, stability_criterion, worst_case_risk
from shiftmetrics.models import Perturbation, Search, model_stability
from shiftmetrics.models.measures.result import ModelStabilityResult

Mixed = tuple[Pipeline, pd.DataFrame, np.ndarray]


def test_the_mean_cost_of_errors_is_named(mixed: Mixed) -> None:
    model, X, y = mixed
    first, second = model.classes_
    result = model_stability(Decision(model, costs={first: 1.0, second: 5.0}), X, y, 2.0)
    assert result.headline().startswith("The mean cost of errors reaches 2 (")


def test_results_travel_with_their_rows(mixed: Mixed, tmp_path: Path) -> None:
    model, X, y = mixed
    result = model_stability(model, X, y, 0.6, perturbation=Perturbation(bounds="data"))
    for source in (result.to_json(), str(_written(result, tmp_path / "result.json"))):
        back = Result.from_json(source)
        assert isinstance(back, ModelStabilityResult)
        assert back.equals(result)
        moved = back.changed_rows()
        assert moved["region"].tolist() == result.changed_rows()["region"].tolist()
        np.testing.assert_array_equal(moved["dose"], result.changed_rows()["dose"])


def _written(result: Result, path: Path) -> Path:
    result.to_json(path)
    return path


def test_rows_keep_their_labels(mixed: Mixed) -> None:
    model, X, y = mixed
    named = X.set_axis([f"patient {k}" for k in range(len(X))])
    assert model_stability(model, named, y, 0.6).changed_rows().index.equals(named.index)


def test_settings_say_what_was_asked(mixed: Mixed) -> None:
    model, X, y = mixed
    settings = model_stability(
        model, X, y, 0.6, perturbation=Perturbation(features=["age"]), computing=Search(rng=3)
    ).settings
    assert settings["model"] == "Pipeline"
    assert tuple(settings["perturbation"]["features"]) == ("age",)
    assert (settings["loss"], settings["computing"]["rng"], settings["threshold"]) == (
        "zero_one",
        3,
        0.6,
    )


def test_the_loss_that_was_found_serves_other_questions(mixed: Mixed) -> None:
    model, X, y = mixed
    result = model_stability(model, X, y, 0.6)
    assert stability_criterion(result.loss, 0.6).value == pytest.approx(result.value)
    assert worst_case_risk(result.loss, result.value).value == pytest.approx(0.6)


ROUTES = {
    "linear": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "ensemble": RandomForestClassifier(5, max_depth=3, random_state=0),
    "blackbox": KNeighborsClassifier(5),
}


@pytest.mark.parametrize("theta2", [np.inf, 0.4])
@pytest.mark.parametrize("route", ROUTES)
def test_changed_rows_reach_the_threshold_within_one_row(route: str, theta2: float) -> None:
    """Columns of few integers: many rows are equally near to an error, and change as wholes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, size=(120, 3)), columns=list("abc"))
    y = (X.sum(axis=1) + rng.normal(size=120) > 4.5).astype(int).to_numpy()
    model = ROUTES[route].fit(X, y)
    threshold = float(np.mean(model.predict(X) != y)) + 0.2
    kept = Perturbation(integer=list("abc"))
    result = model_stability(model, X, y, threshold, theta2=theta2, perturbation=kept)
    assert result.search.route == route
    wrong = model.predict(result.changed_rows()) != y
    weights = result.plan.weights / 120.0
    assert np.count_nonzero(result.plan.distances) > 0
    assert abs(weights @ wrong - threshold) <= weights.max() + 1e-9
