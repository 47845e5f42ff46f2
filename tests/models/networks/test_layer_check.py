"""A certificate is for layers that are the whole network."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shiftmetrics import Perturbation, model_stability  # noqa: E402
from shiftmetrics.models.networks.bounds import layers_of  # noqa: E402
from shiftmetrics.models.networks.layer_check import reproduces  # noqa: E402
from shiftmetrics.models.networks.network import Network  # noqa: E402
from shiftmetrics.models.reading.model import problem_of  # noqa: E402

ROW = np.array([[0.0, 2.0]])


def in_band(rows: Any, out: Any) -> Any:
    """Turn the scores around near x0 = 0.5."""
    return torch.where((rows[:, :1] - 0.5).abs() < 0.05, out.flip(1), out)


class Gated(torch.nn.Sequential):
    """A sequence with a rule of its own."""

    def forward(self, rows: Any) -> Any:
        return in_band(rows, super().forward(rows))


class GatedLinear(torch.nn.Linear):
    """A layer with a rule of its own."""

    def forward(self, rows: Any) -> Any:
        return in_band(rows, super().forward(rows))


def weighted(layer: Any) -> Any:
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.0, -1.0], [0.0, 1.0]]))
        layer.bias.zero_()
    return layer


def hooked() -> Any:
    network = torch.nn.Sequential(weighted(torch.nn.Linear(2, 2)))
    network.register_forward_hook(lambda module, inputs, out: in_band(inputs[0], out))
    return network


def replaced() -> Any:
    network = torch.nn.Sequential(weighted(torch.nn.Linear(2, 2)))
    forward = network.forward
    network.forward = lambda rows: in_band(rows, forward(rows))
    return network


NETWORKS = {
    "sequence": lambda: Gated(weighted(torch.nn.Linear(2, 2))),
    "layer": lambda: torch.nn.Sequential(weighted(GatedLinear(2, 2))),
    "hook": hooked,
    "replaced": replaced,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_is_certified_beyond_an_error(name: str) -> None:
    network = NETWORKS[name]().double().eval()
    assert layers_of(network) is None
    cost = Perturbation(cost={"x0": 1.0, "x1": 1.0}, bounds=None)
    options = {"theta1": 1.0, "theta2": np.inf, "perturbation": cost, "resampling": None}
    result = model_stability(network, ROW, np.array([1]), 1.0, **options)
    assert np.sqrt(result.lower_bound or 0.0) <= 0.5


def test_layers_are_compared_with_their_network(monkeypatch: pytest.MonkeyPatch) -> None:
    network = torch.nn.Sequential(weighted(torch.nn.Linear(2, 2))).double().eval()
    rows = np.random.default_rng(0).normal(size=(20, 2))
    problem = problem_of(network, rows, (rows[:, 1] > 0).astype(int))
    asked = Network(network, problem)
    assert reproduces(asked, rows)
    scores = asked.scores
    monkeypatch.setattr(asked, "scores", lambda points: scores(points) + (points[:, :1] > 0.5))
    assert not reproduces(asked, rows)
