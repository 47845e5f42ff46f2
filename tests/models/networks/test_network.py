"""Networks as the search sees them: their own precision, modes left as they were, pipelines read as layers."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from linear_samples import sample
from shiftmetrics.models import Decision, Perturbation, Search
from shiftmetrics.models.measures.stability import model_stability


def network(
    X: np.ndarray, y: np.ndarray, *, units: int = 16, activation: Any = nn.ReLU, seed: int = 0
) -> nn.Module:
    """Return a small trained network."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(
            nn.Linear(X.shape[1], units), activation(), nn.Linear(units, 2)
        ).double()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    rows, labels = torch.as_tensor(X), torch.as_tensor(y)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(rows), labels).backward()
        optimizer.step()
    return module.eval()


def test_float32_network_is_measured_where_it_sees_the_points() -> None:
    X, y = sample(4)
    module = network(X, y).float()
    result = model_stability(module, X, y, 0.4, perturbation=Perturbation(features=["x0", "x2"]))
    moved = result.changed_rows()
    with torch.no_grad():
        wrong = module(torch.tensor(moved, dtype=torch.float32)).argmax(dim=1).numpy() != y
    np.testing.assert_array_equal(wrong, result.plan.losses == 1.0)
    np.testing.assert_array_equal(moved[:, [1, 3]], X[:, [1, 3]])  # to the last bit
    np.testing.assert_allclose(
        np.linalg.norm((moved - X) / X.std(axis=0), axis=1), result.plan.distances, atol=1e-14
    )


class Standardised:
    """A classifier of tables whose module standardises its rows by its first layer."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, frame: pd.DataFrame, y: np.ndarray) -> None:
        X = frame.to_numpy()
        first = nn.Linear(X.shape[1], X.shape[1]).double()
        with torch.no_grad():
            first.weight.copy_(torch.as_tensor(np.diag(1.0 / X.std(axis=0))))
            first.bias.copy_(torch.as_tensor(-X.mean(axis=0) / X.std(axis=0)))
        body = network((X - X.mean(axis=0)) / X.std(axis=0), y)
        self.module_ = nn.Sequential(first, body).eval()

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        with torch.no_grad():
            return self.module_(torch.as_tensor(np.array(frame, float))).softmax(dim=1).numpy()

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        return self.classes_[self.predict_proba(frame).argmax(axis=1)]


def test_an_estimator_around_a_module_goes_this_way_with_its_standardisation() -> None:
    X, y = sample(4)
    frame = pd.DataFrame(X * [1.0, 100.0, 1.0, 1e-3] + [0.0, 50.0, 0.0, 0.0], columns=list("abcd"))
    labels = np.where(y == 1, "yes", "no")
    model = Standardised(frame, y)
    result = model_stability(model, frame, labels, 0.4)
    assert result.search.route == "torch"
    moved = result.changed_rows()
    assert list(moved.columns) == list("abcd")
    np.testing.assert_array_equal(model.predict(moved) != labels, result.plan.losses == 1.0)
    assert model_stability(model, frame, labels, 0.9, loss="log_loss").search.route == "torch"


def test_the_module_is_left_as_it_was() -> None:
    X, y = sample(3, 60)
    module = (
        nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 2)).double().train()
    )
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():  # whatever the caller has switched off
        for loss in ("zero_one", "log_loss"):
            result = model_stability(module, X, y, 1.0 if loss == "zero_one" else 1.5, loss=loss)
    assert any("training mode" in warning for warning in result.warnings)
    assert all(part.training for part in module.modules())
    assert all(
        parameter.requires_grad and parameter.grad is None for parameter in module.parameters()
    )
    assert all((value == before[name]).all() for name, value in module.state_dict().items())


@pytest.mark.parametrize(("n_outputs", "end"), [(1, nn.Sigmoid()), (2, nn.Softmax(dim=1))])
def test_networks_of_probabilities_are_refused(n_outputs: int, end: nn.Module) -> None:
    X, y = sample(3, 60)
    torch.manual_seed(1)
    body = nn.Linear(3, n_outputs).double().eval()
    network = nn.Sequential(body, end).eval()
    with pytest.raises(ValueError, match="outputs that are probabilities. .*Decision"):
        model_stability(network, X, y, 0.9)

    def probabilities(rows: np.ndarray) -> np.ndarray:
        return network(torch.as_tensor(rows)).detach().numpy()

    result = model_stability(Decision(probabilities, 0.5), X, y, 0.9)
    assert result.base_risk == model_stability(body, X, y, 0.9).base_risk


def test_the_route_asks_for_no_framework_that_is_not_loaded() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from shiftmetrics.models.networks import TorchRoute; "
        "assert not TorchRoute().accepts(object(), 'zero_one'); "
        "assert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_networks_of_scikit_learn_behind_scalers_go_this_way_too() -> None:
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import PolynomialFeatures

    X, y = sample(4, 100)
    frame = pd.DataFrame(X * [1.0, 100.0, 1e-3, 5.0], columns=list("abcd"))
    labels = np.where(y == 1, "yes", "no")
    first, second = (MLPClassifier((8,), max_iter=150, random_state=0) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged, and need not
        model = make_pipeline(StandardScaler(), first).fit(frame, labels)
        bent = make_pipeline(StandardScaler(), PolynomialFeatures(2), second).fit(frame, labels)
        target = X @ np.array([1.0, 2.0, -1.0, 0.5])
        regression = make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(8,), max_iter=400, random_state=0)
        ).fit(frame, target)
    for loss, threshold in (("zero_one", 0.4), ("log_loss", 1.0)):
        result = model_stability(model, frame, labels, threshold, loss=loss)
        searched = model_stability(
            model, frame, labels, threshold, loss=loss, computing=Search(method="blackbox")
        )
        assert result.search.route == "torch"
        assert result.value <= 1.01 * searched.value
    assert (
        model_stability(bent, frame, labels, 0.4, computing=Search(n_queries=50)).search.route
        == "blackbox"
    )
    base = float(np.mean((regression.predict(frame) - target) ** 2))
    result = model_stability(regression, frame, target, base + 1.0, loss="squared")
    assert result.search.route == "torch"
    np.testing.assert_allclose(  # a row may stand in two places that are almost one
        (regression.predict(result.changed_rows()) - target) ** 2, result.plan.losses, rtol=1e-4
    )


def test_parts_of_a_module_keep_their_own_modes() -> None:
    X, y = sample(3, 40)
    module = (
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
        .double()
        .train()
    )
    module[1].eval()  # frozen statistics, as in fine-tuning
    model_stability(module, X, y, 0.9)
    assert [part.training for part in module.modules()] == [True, True, False, True, True]


class Narrow(BaseEstimator):
    """A classifier whose module takes rows of float32 alone, as a network of skorch does."""

    classes_ = np.arange(2)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Narrow":
        self.module_ = network(np.asarray(X, dtype=np.float64), y).float()
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.module_(torch.as_tensor(np.array(X))).argmax(dim=1).numpy()


@pytest.mark.parametrize("as_frame", [False, True])
def test_a_network_behind_a_scaler_gets_numbers_of_its_own_width(as_frame: bool) -> None:
    X, y = sample(3, 80)
    rows: Any = X.astype(np.float32)
    if as_frame:
        rows = pd.DataFrame(rows, columns=list("abc"))
    model = make_pipeline(StandardScaler(), Narrow()).fit(rows, y)
    result = model_stability(model, rows, y, 0.5, resampling=None)
    assert result.search.route == "torch"
    changed = result.plan.distances[:80] > 0.0
    assert changed.any()
    moved = result.changed_rows()
    assert np.asarray(moved).dtype == np.float32
    assert (model.predict(moved) != y)[changed].all()
