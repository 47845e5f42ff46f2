"""Stability of torch modules: closed forms of linear ones, small networks beside queries, and good manners."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from linear_samples import sample
from shiftmetrics import Computing
from shiftmetrics.models import Decision, Perturbation, Search
from shiftmetrics.models.measures.stability import model_stability
from shiftmetrics.stability import (
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
)
from shiftmetrics_lab.learners import NetworkClassifier

FREE = Perturbation(bounds=None, integer=())


def linear_module(w: np.ndarray, b: float, dtype: torch.dtype = torch.float64) -> nn.Module:
    """Return a linear model with one score."""
    module = nn.Linear(len(w), 1).to(dtype)
    with torch.no_grad():
        module.weight.copy_(torch.as_tensor(w[None]))
        module.bias.fill_(b)
    return module.eval()


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


CLOSED = {
    "zero_one": (lambda margins, norm: ZeroOneLoss(np.maximum(margins, 0.0) / norm), 0.4),
    "log_loss": (LogisticLoss, 0.8),
    "hinge": (HingeLoss, 0.8),
}


@pytest.mark.parametrize("loss", CLOSED)
def test_linear_module_reaches_the_closed_form(loss: Any) -> None:
    X, _ = sample()
    w = np.array([1.0, -2.0, 0.5, 1.5])
    y = (X @ w + 0.5 * np.random.default_rng(9).standard_normal(len(X)) > 0).astype(int)
    make, threshold = CLOSED[loss]
    closed = make((2 * y - 1) * (X @ w + 0.2), np.linalg.norm(w * X.std(axis=0)))
    exact = stability_criterion(closed, threshold).value
    result = model_stability(linear_module(w, 0.2), X, y, threshold, loss=loss, perturbation=FREE)
    assert result.search.route == "torch"
    assert result.kind == "upper_bound"
    np.testing.assert_allclose(result.value, exact, rtol=1e-4 if loss == "zero_one" else 1e-9)
    if loss == "zero_one":  # linear relaxation of a linear network
        assert result.lower_bound == pytest.approx(exact, rel=1e-4)
        assert result.lower_bound <= exact
    else:
        assert result.lower_bound is None


def test_few_weak_steps_a_round_close_in_on_the_logistic_closed_form() -> None:
    margins = -0.5 + 0.1 * np.arange(30)  # the golden table: KL, prices (0.4, 0.4)
    module = linear_module(np.array([1.5]), 0.0)
    golden = 0.1866291329
    X = (margins / 1.5)[:, None]
    result = model_stability(
        module,
        X,
        np.ones(30, dtype=int),
        1.0,
        loss="log_loss",
        perturbation=Perturbation(cost="unit", bounds=None),
    )
    np.testing.assert_allclose(result.value, golden, atol=1e-10)
    excess = np.array(result.search.trace.values) / golden - 1.0
    assert (np.diff(excess) <= 1e-13).all()
    assert excess[4] < 1.6e-5
    assert excess[min(8, len(excess) - 1)] < 2e-9


def test_regression_module_reaches_the_closed_form() -> None:
    X, _ = sample(3)
    w = np.array([1.0, -0.5, 0.2])
    target = X @ w + np.random.default_rng(1).standard_normal(len(X))
    exact = stability_criterion(
        SquaredLoss(X @ w - target, np.linalg.norm(w * X.std(axis=0))), 2.0
    ).value
    result = model_stability(
        linear_module(w, 0.0), X, target, 2.0, loss="squared", perturbation=FREE
    )
    np.testing.assert_allclose(result.value, exact, rtol=1e-7)
    assert result.lower_bound is None


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.ELU])
@pytest.mark.parametrize(
    ("loss", "threshold"), [("zero_one", 0.3), ("log_loss", 0.8), ("hinge", 0.8)]
)
def test_small_networks_are_moved_as_far_as_queries_do_it(
    activation: Any, loss: Any, threshold: float
) -> None:
    X, y = sample(3, 80)
    module = network(X, y, units=8, activation=activation)
    result = model_stability(module, X, y, threshold, loss=loss, perturbation=FREE)
    searched = model_stability(
        module, X, y, threshold, loss=loss, computing=Search(method="blackbox"), perturbation=FREE
    )
    assert result.value <= 1.02 * searched.value  # gradients do what queries can
    assert any("upper bound" in text for text in result.details())


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


@pytest.mark.slow
def test_bounds_and_frozen_columns_are_kept_by_gradients_too() -> None:
    X, y = sample(4)
    module = network(X, y)
    for loss, threshold in (("zero_one", 0.3), ("log_loss", 0.7)):
        result = model_stability(
            module,
            X,
            y,
            threshold,
            loss=loss,
            perturbation=Perturbation(bounds="data", immutable=["x1"]),
        )
        moved = result.changed_rows()
        assert (moved >= X.min(axis=0) - 1e-12).all()
        assert (moved <= X.max(axis=0) + 1e-12).all()
        np.testing.assert_array_equal(moved[:, 1], X[:, 1])
        assert result.value >= model_stability(module, X, y, threshold, loss=loss).value * (
            1 - 1e-6
        )


@pytest.mark.slow
def test_categories_and_whole_numbers_move_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal(100), rng.integers(0, 2, 100), rng.integers(0, 5, 100)]
    ).astype(float)
    y = (X @ np.array([1.0, 1.0, 0.4]) + 0.3 * rng.standard_normal(100) > 1.3).astype(int)
    module = network(X, y, units=6)
    for loss, threshold in (("zero_one", 0.3), ("log_loss", 0.8)):
        result = model_stability(
            module,
            X,
            y,
            threshold,
            loss=loss,
            perturbation=Perturbation(categorical=["x1"], integer=["x2"]),
        )
        moved = result.changed_rows()
        assert set(np.unique(np.asarray(moved[:, 1], dtype=float))) <= {0.0, 1.0}
        steps = np.asarray(moved[:, 2] - X[:, 2], dtype=float)
        np.testing.assert_array_equal(steps, np.round(steps))
        searched = model_stability(
            module,
            X,
            y,
            threshold,
            loss=loss,
            perturbation=Perturbation(categorical=["x1"], integer=["x2"]),
            computing=Search(method="blackbox"),
        )
        assert result.value <= 1.1 * searched.value


def test_network_classifier_goes_this_way_with_its_standardisation() -> None:
    X, y = sample(4)
    frame = pd.DataFrame(X * [1.0, 100.0, 1.0, 1e-3] + [0.0, 50.0, 0.0, 0.0], columns=list("abcd"))
    labels = np.where(y == 1, "yes", "no")
    model = NetworkClassifier(random_state=0, epochs=60).fit(frame, labels)
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


def test_a_threshold_out_of_reach_at_first_is_reached_at_higher_prices() -> None:
    X, y = sample(3, 60)
    w = np.array([1.0, -1.0, 0.5])
    y = (X @ w > 0).astype(int)
    exact = stability_criterion(
        LogisticLoss((2 * y - 1) * (X @ w), np.linalg.norm(w * X.std(axis=0))), 30.0, theta2=np.inf
    ).value
    result = model_stability(
        linear_module(w, 0.0), X, y, 30.0, loss="log_loss", theta2=np.inf, perturbation=FREE
    )
    np.testing.assert_allclose(result.value, exact, rtol=1e-6)


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


def test_what_the_model_is_asked_is_counted() -> None:
    X, y = sample(3, 40)
    asked = []

    class Counting(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            asked.append(len(x))
            return self.module(x)

    for loss, threshold in (("zero_one", 0.4), ("log_loss", 0.9)):
        asked.clear()
        result = model_stability(Counting(network(X, y)), X, y, threshold, loss=loss)
        assert abs(sum(asked) - result.search.n_queries) <= 6 * len(
            X
        )  # but for checks of the outputs before and after


def test_three_classes_reach_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(120), [-0.5, 0.5])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        linear = nn.Linear(3, 3).double()
    optimizer = torch.optim.Adam(linear.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        nn.functional.cross_entropy(linear(torch.as_tensor(X)), torch.as_tensor(y)).backward()
        optimizer.step()
    W, b = linear.weight.detach().numpy() * X.std(axis=0), linear.bias.detach().numpy()
    scores = X / X.std(axis=0) @ W.T + b
    gaps = scores[np.arange(120), y][:, None] - scores
    steep = np.linalg.norm(W[y][:, None] - W[None], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(steep > 0, np.maximum(gaps, 0.0) / steep, np.inf).min(axis=1)
    exact[scores.argmax(axis=1) != y] = 0.0
    value = stability_criterion(ZeroOneLoss(exact), 0.5).value
    result = model_stability(linear.eval(), X, y, 0.5, perturbation=FREE)
    np.testing.assert_allclose(result.value, value, rtol=1e-3)
    for loss, threshold in (("log_loss", 1.5), ("hinge", 1.5)):
        result = model_stability(linear, X, y, threshold, loss=loss, perturbation=FREE)
        searched = model_stability(
            linear,
            X,
            y,
            threshold,
            loss=loss,
            computing=Search(method="blackbox"),
            perturbation=FREE,
        )
        assert result.value <= 1.001 * searched.value


def test_a_network_is_counted_before_its_search() -> None:
    X, y = sample(3, 100)
    with pytest.raises(MemoryError, match="X, of 100 rows,"):
        model_stability(network(X, y), X, y, 0.5, computing=Computing(memory_limit=20_000))


def test_memory_ends_a_search_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(3, 100)
    # Here the points that are found are what takes the memory.
    monkeypatch.setattr("shiftmetrics.models.reading.checks.SAMPLE_BYTES", 0)
    monkeypatch.setattr("shiftmetrics.models.reading.checks.NETWORK_CELL_BYTES", 1)
    limit = Computing(memory_limit=20_000)
    result = model_stability(network(X, y), X, y, 1.0, loss="log_loss", computing=limit)
    assert any("memory" in warning for warning in result.warnings)
    assert np.isfinite(result.value)


@pytest.mark.slow
def test_networks_of_scikit_learn_behind_scalers_go_this_way_too() -> None:
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

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
