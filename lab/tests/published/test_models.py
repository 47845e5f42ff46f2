"""The gradient steps of the paper on models."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Result
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics_lab.published import model_stability_adam


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:120, :6], y[:120]


@pytest.fixture(scope="module")
def logistic(tumours):
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(*tumours)


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_steps_on_a_linear_model_come_near_the_exact_route(tumours, logistic, divergence) -> None:
    options = {"loss": "log_loss", "divergence": divergence}
    steps = model_stability_adam(logistic, *tumours, 0.6, **options)
    exact = model_stability(logistic, *tumours, 0.6, **options)
    assert steps.parts["exact_value"] == pytest.approx(exact.value)
    assert abs(steps.value - exact.value) <= steps.error_bound < 1e-3
    assert str(steps.status) == "settled"
    assert steps.parts["trace_risk"].shape == (301,)
    np.testing.assert_allclose(
        steps.parts["moved_points"],
        exact.changed_rows(),
        rtol=0.02,
        atol=0.02 * exact.changed.units.max(),
    )
    assert Result.from_json(steps.to_json()).equals(steps)


@pytest.mark.slow
def test_steps_know_the_other_losses(tumours) -> None:
    X, y = tumours
    hinge = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    steps = model_stability_adam(hinge, X, y, 0.8, loss="hinge")
    assert (
        steps.parts["exact_value"] - 1e-6 <= steps.value <= 1.3 * steps.parts["exact_value"]
    )  # rows without a loss stay behind
    two = X.iloc[:, :2]
    squared = make_pipeline(StandardScaler(), LinearRegression()).fit(two, y)
    steps = model_stability_adam(squared, two, y, 0.18, loss="squared")
    assert steps.value == pytest.approx(steps.parts["exact_value"], rel=1e-4)
    # From a price at which every move pays for itself, the steps run away and come back too slowly.
    steep = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    free = Perturbation(bounds=None)
    away = model_stability_adam(steep, X, y, 0.18, loss="squared", perturbation=free)
    assert str(away.status) == "unsettled"
    assert away.error_bound > 0.1 * away.parts["exact_value"]


def test_steps_stay_within_bounds_and_frozen_columns(tumours, logistic) -> None:
    X, y = tumours
    steps = model_stability_adam(
        logistic,
        X,
        y,
        0.5,
        loss="log_loss",
        perturbation=Perturbation(bounds="data", immutable=["mean area"]),
    )
    moved = pd.DataFrame(steps.parts["moved_points"], columns=X.columns, index=X.index)
    assert (moved["mean area"] == X["mean area"]).all()
    assert (moved <= X.max() + 1e-9).all().all()
    assert (moved >= X.min() - 1e-9).all().all()
    assert steps.parts["upper_bound"] >= model_stability(logistic, X, y, 0.5, loss="log_loss").value


@pytest.mark.slow
def test_steps_on_a_network_are_those_on_its_linear_twin(tumours, logistic) -> None:
    X, y = tumours
    scaler, layer = logistic[0], logistic[1]
    rows = scaler.transform(X)[:40]
    module = torch.nn.Linear(6, 1, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.as_tensor(layer.coef_))
        module.bias.copy_(torch.as_tensor(layer.intercept_))
    network = model_stability_adam(module, rows, y[:40].to_numpy(), 0.6)
    # the same rows through the same scores
    twin = LogisticRegression().fit(rows, y[:40])
    twin.coef_, twin.intercept_ = layer.coef_, layer.intercept_
    linear = model_stability_adam(twin, rows, y[:40].to_numpy(), 0.6)
    assert network.value == pytest.approx(linear.value, rel=1e-6)
    assert network.parts["exact_value"] is None
    assert network.error_bound == np.inf
    assert "Nothing certifies how far the value is" in str(network)


def test_errors_have_no_gradient(tumours, logistic) -> None:
    with pytest.raises(
        ValueError, match="loss must be one of 'log_loss', 'hinge', 'squared', got 'zero_one'"
    ):
        model_stability_adam(logistic, *tumours, 0.5, loss="zero_one")


def test_a_model_without_known_gradients_is_refused(tumours) -> None:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*tumours)
    with pytest.raises(ValueError, match="a DecisionTreeClassifier whose gradients are not known"):
        model_stability_adam(tree, *tumours, 0.5, loss="log_loss")


@pytest.mark.parametrize("bounds", [None, "data"])
def test_missing_cells_stay(tumours, bounds) -> None:
    X, y = tumours
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    result = model_stability_adam(model, X, y, 1.0, perturbation=Perturbation(bounds=bounds))
    np.testing.assert_array_equal(np.isnan(result.parts["moved_points"]), X.isna())
    assert result.value == pytest.approx(result.parts["exact_value"], rel=0.02)


def test_a_network_takes_no_missing_cells(tumours) -> None:
    class Filled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(6, 1)

        def forward(self, x):
            return self.inner(torch.nan_to_num(x))

    X, y = tumours
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1).to_numpy()
    with pytest.raises(ValueError, match="free of missing cells for the gradient of a network"):
        model_stability_adam(Filled().double(), holes, y.to_numpy(), 1.5)
