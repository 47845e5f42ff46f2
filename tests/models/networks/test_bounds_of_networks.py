"""Certified distances of perceptrons: no error inside the balls, and not far below the errors that are found."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shiftmetrics.models import Decision, Perturbation, Search, model_stability  # noqa: E402
from shiftmetrics.models.networks.bounds import certified_radii, layers_of  # noqa: E402
from shiftmetrics.models.reading.model import problem_of  # noqa: E402

FREE = Perturbation(bounds=None, cost="unit")
ACTIVATIONS = {
    "relu": torch.nn.ReLU,
    "leaky": lambda: torch.nn.LeakyReLU(0.2),
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
}


def trained(activation: Any, n_classes: int, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    scores = np.stack([X[:, 0] * X[:, 1], X[:, 2] - 0.3, X[:, 3] ** 2 - 1.0], axis=1)
    y = scores[:, :n_classes].argmax(axis=1)
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 12), activation(), torch.nn.Linear(12, 8), activation(),
        torch.nn.Linear(8, n_classes),
    ).double()  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), 0.03)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.tensor(X)), torch.tensor(y)).backward()
        optimiser.step()
    return net, X, y


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_no_random_point_inside_a_ball_is_an_error(name: str) -> None:
    net, X, y = trained(ACTIVATIONS[name], 3)
    problem = problem_of(net, X[:60], y[:60], perturbation=FREE)
    wrong = problem.is_wrong(problem.codes, slice(None))
    most = np.where(wrong, 0.0, np.inf)
    radii = certified_radii(problem, net, 0.0, most)
    assert (radii[~wrong] > 0.0).all()
    assert (radii[wrong] == 0.0).all()
    # 30,000 points for each activation: half of them on the spheres.
    rng = np.random.default_rng(1)
    for _ in range(500):
        ways = rng.normal(size=(60, 4))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        length = radii * np.where(rng.random(60) < 0.5, 1.0, rng.random(60) ** 0.25)
        points = problem.codes + ways * length[:, None]
        assert not problem.is_wrong(points, slice(None))[~wrong].any()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_lower_bound_is_near_the_upper_one(name: str) -> None:
    net, X, y = trained(ACTIVATIONS[name], 2)
    search = Search(progress=False)
    result = model_stability(net, X[:80], y[:80], 0.3, perturbation=FREE, computing=search)
    assert result.kind == "upper_bound"
    assert result.lower_bound is not None
    assert 0.0 < result.lower_bound <= result.value
    # Distances enter squared.
    problem = problem_of(net, X[:80], y[:80], perturbation=FREE)
    nearest = np.asarray(result.loss.distances)
    right = nearest > 0.0
    least = certified_radii(problem, net, 0.0, nearest)
    assert (least[right] <= nearest[right]).all()
    assert np.median(nearest[right] / least[right]) <= 1.5


def test_columns_that_are_fixed_units_and_cuts_count() -> None:
    net, X, y = trained(torch.nn.ReLU, 2)
    search = Search(progress=False)
    free = model_stability(net, X[:60], y[:60], 0.4, computing=search)
    fixed = model_stability(
        net, X[:60], y[:60], 0.4, perturbation=Perturbation(immutable=[0, 1]), computing=search
    )
    assert free.lower_bound < fixed.lower_bound <= fixed.value
    cut = model_stability(
        Decision(net, threshold=0.3),
        X[:60], y[:60], 0.4, computing=search,
    )  # fmt: skip
    assert 0.0 < cut.lower_bound <= cut.value


def test_other_networks_have_no_such_bound() -> None:
    assert layers_of(torch.nn.Sequential(torch.nn.Conv1d(1, 1, 3))) is None
    assert layers_of(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.GELU())) is None
    joined = layers_of(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2)))
    assert joined is not None
    assert len(joined) == 1
