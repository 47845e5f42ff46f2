"""Other ways to the same number: conic programs, and the paper's gradient steps, on models."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Result
from shiftmetrics.comparison import compare_results
from shiftmetrics.models import Moves, Search, model_stability
from shiftmetrics.models.published import ModelAdamStabilityResult

ALGORITHMS = {"algorithm1": "kl", "algorithm2": "chi2"}


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:120, :6], y[:120]


@pytest.fixture(scope="module")
def logistic(tumours):
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(*tumours)


@pytest.mark.parametrize("loss", ["hinge", "zero_one"])
def test_the_conic_program_agrees_on_a_model(tumours, loss) -> None:
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(*tumours)
    threshold = {"hinge": 1.0, "zero_one": 0.4}[loss]
    for divergence in ("kl", "chi2"):
        options = {"loss": loss, "divergence": divergence}
        conic = model_stability(model, *tumours, threshold, **options, computing=Search(method="conic"))
        exact = model_stability(model, *tumours, threshold, **options)
        assert conic.value == pytest.approx(exact.value, abs=1e-7)
        assert conic.route == "linear"
        assert conic.settings["method"] == "conic"
        np.testing.assert_allclose(conic.moved_codes, exact.moved_codes, atol=1e-2)


@pytest.mark.parametrize("method", ALGORITHMS)
def test_steps_on_a_linear_model_come_near_the_exact_route(tumours, logistic, method) -> None:
    options = {"loss": "log_loss", "divergence": ALGORITHMS[method]}
    steps = model_stability(logistic, *tumours, 0.6, **options, computing=Search(method=method))
    exact = model_stability(logistic, *tumours, 0.6, **options)
    assert isinstance(steps, ModelAdamStabilityResult)
    assert steps.route == method
    assert steps.exact_value == pytest.approx(exact.value)
    assert abs(steps.value - exact.value) <= steps.error_bound < 1e-3
    assert steps.status.value == "settled"
    assert steps.trace_risk.shape == (301,)
    assert list(steps.moved_rows().columns) == list(tumours[0].columns)
    np.testing.assert_allclose(
        steps.moved_rows(), exact.moved_rows(), rtol=0.02, atol=0.02 * exact.units.max()
    )
    assert Result.from_json(steps.to_json()).equals(steps)


def test_steps_know_the_other_losses(tumours) -> None:
    X, y = tumours
    hinge = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    steps = model_stability(hinge, X, y, 0.8, loss="hinge", computing=Search(method="algorithm1"))
    assert (
        steps.exact_value - 1e-6 <= steps.value <= 1.3 * steps.exact_value
    )  # rows without a loss stay behind
    two = X.iloc[:, :2]
    squared = make_pipeline(StandardScaler(), LinearRegression()).fit(two, y)
    steps = model_stability(squared, two, y, 0.18, loss="squared", computing=Search(method="algorithm1"))
    assert steps.value == pytest.approx(steps.exact_value, rel=1e-4)
    # From a price at which every move pays for itself, the steps run away and come back too slowly.
    steep = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    away = model_stability(steep, X, y, 0.18, loss="squared", computing=Search(method="algorithm1"))
    assert away.status.value == "unsettled"
    assert away.error_bound > 0.1 * away.exact_value


def test_steps_stay_within_bounds_and_frozen_columns(tumours, logistic) -> None:
    X, y = tumours
    steps = model_stability(
        logistic,
        X,
        y,
        0.5,
        loss="log_loss",
        moves=Moves(bounds="data", immutable=["mean area"]),
        computing=Search(method="algorithm1"),
    )
    moved = steps.moved_rows()
    assert (moved["mean area"] == X["mean area"]).all()
    assert (moved <= X.max() + 1e-9).all().all()
    assert (moved >= X.min() - 1e-9).all().all()
    assert steps.upper_bound >= model_stability(logistic, X, y, 0.5, loss="log_loss").value


def test_steps_on_a_network_are_those_on_its_linear_twin(tumours, logistic) -> None:
    X, y = tumours
    scaler, layer = logistic[0], logistic[1]
    rows = scaler.transform(X)[:40]
    module = torch.nn.Linear(6, 1, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.as_tensor(layer.coef_))
        module.bias.copy_(torch.as_tensor(layer.intercept_))
    options = {"loss": "log_loss", "computing": Search(method="algorithm1")}
    network = model_stability(module, rows, y[:40].to_numpy(), 0.6, **options)
    # the same rows through the same scores
    twin = LogisticRegression().fit(rows, y[:40])
    twin.coef_, twin.intercept_ = layer.coef_, layer.intercept_
    linear = model_stability(twin, rows, y[:40].to_numpy(), 0.6, **options)
    assert network.value == pytest.approx(linear.value, rel=1e-6)
    assert network.exact_value is None
    assert network.error_bound == np.inf
    assert "Nothing certifies how far it is" in str(network)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"computing": Search(method="algorithm1"), "loss": "zero_one"}, "Errors have no gradient to follow"),
        (
            {"computing": Search(method="algorithm2"), "loss": "log_loss"},
            "divergence must be 'chi2' for method='algorithm2'",
        ),
        ({"computing": Search(method="conic"), "loss": "log_loss"}, "'conic' with LogisticLoss"),
        (
            {"computing": Search(method="simplex")},
            "method must be one of 'auto', .*'conic', 'algorithm1', 'algorithm2'",
        ),
    ],
)
def test_what_a_method_is_not_for(tumours, logistic, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        model_stability(logistic, *tumours, 0.5, **options)


def test_a_model_without_known_gradients_is_refused(tumours) -> None:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*tumours)
    with pytest.raises(ValueError, match="a DecisionTreeClassifier whose gradients are not known"):
        model_stability(tree, *tumours, 0.5, loss="log_loss", computing=Search(method="algorithm1"))


def test_models_are_compared_by_their_results(tumours, logistic) -> None:
    X, y = tumours
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    results = {
        name: model_stability(model, X, y, 0.4) for name, model in {"linear": logistic, "tree": tree}.items()
    }
    comparison = compare_results(results)
    assert {model.name for model in comparison.models} == {"linear", "tree"}
    assert comparison.differences[0].standard_error > 0.0
    assert "% of the rows move" in str(comparison)


def test_models_that_know_their_losses_are_compared_within_one_budget(tumours, logistic) -> None:
    X, y = tumours
    linear = model_stability(logistic, X, y, 0.4)
    narrow = model_stability(logistic, X, y, 0.4, moves=Moves(features=["mean radius"]))
    comparison = compare_results({"all columns": linear, "one column": narrow})
    least = min(linear.value, narrow.value)
    assert comparison.settings["budget"] == least
    risks = {model.name: model.companions["worst_case_risk"] for model in comparison.models}
    assert risks["all columns"] == pytest.approx(0.4)
    assert risks["one column"] < 0.4
    weighted = {
        name: model_stability(logistic, X, y, 0.4, sample_weight=np.arange(1.0, 121.0)) for name in ("a", "b")
    }
    assert "worst_case_risk" not in compare_results(weighted).models[0].companions
