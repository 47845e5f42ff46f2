"""The inner search against grids and closed forms; what it must leave alone."""

import numpy as np
import pytest
import torch

from shiftmetrics_lab.learners import Adversarial, Batch, fit
from shiftmetrics_lab.learners.objectives import cross_entropy


@pytest.fixture(scope="module")
def train():
    """Train a small smooth network on two interleaved arcs with an objective; return it with a few of the rows."""
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, np.pi, 300), rng.integers(0, 2, 300)
    X = np.column_stack([np.cos(angle) + y, np.sin(angle) * (1 - 2 * y) + 0.3 * y])
    X += 0.1 * rng.standard_normal(X.shape)

    def make(objective):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            first, second = (
                torch.nn.Linear(*shape, dtype=torch.float64) for shape in ((2, 16), (16, 2))
            )
        model = torch.nn.Sequential(first, torch.nn.ELU(), second)
        fit(model, X, y, objective=objective, epochs=100, optimizer=0.02, rng=0, progress=False)
        return model, Batch(torch.as_tensor(X[:25]), torch.as_tensor(y[:25]))

    return make


GRID = torch.stack(
    torch.meshgrid(*[torch.linspace(-1.5, 1.5, 301, dtype=torch.float64)] * 2, indexing="ij"), -1
)
GRID = GRID.reshape(-1, 2)


def losses_on_grid(model, x, y, moves):
    with torch.no_grad():
        return cross_entropy(model(x + moves), y.expand(len(moves)))


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("features", [None, (1,)])
def test_penalty_search_against_a_grid(train, penalty, features):
    model, batch = train(Adversarial(penalty=penalty, n_steps=5))
    moves = GRID
    if features is not None:
        moves = GRID.clone()
        moves[:, [j for j in (0, 1) if j not in features]] = 0.0
    best = [
        float((losses_on_grid(model, x, y, moves) - penalty * moves.square().sum(1)).max())
        for x, y in zip(batch.x, batch.y, strict=True)
    ]
    objective = Adversarial(penalty=penalty, features=features)
    moved = objective.worst_inputs(model, batch)
    with torch.no_grad():
        found = cross_entropy(model(moved), batch.y) - penalty * (moved - batch.x).square().sum(1)
    plain = cross_entropy(model(batch.x), batch.y).detach()
    assert bool((found >= plain - 1e-12).all())  # never below the loss of the row itself
    gain = np.asarray(best) - plain.numpy()
    assert np.sum(found.numpy() - plain.numpy()) >= 0.95 * gain.sum()
    assert float(objective(model, batch).detach()) == pytest.approx(float(found.mean()))


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("radius", [0.1, 0.4])
def test_ball_search_against_a_grid(train, norm, radius):
    model, batch = train(Adversarial(radius=radius, norm=norm, n_steps=5))
    length = GRID.abs().amax(1) if norm == "linf" else GRID.norm(dim=1)
    moves = GRID[length <= radius + 1e-12]
    best = [
        float(losses_on_grid(model, x, y, moves).max())
        for x, y in zip(batch.x, batch.y, strict=True)
    ]
    objective = Adversarial(radius=radius, norm=norm)
    moved = objective.worst_inputs(
        model, batch._replace(generator=torch.Generator().manual_seed(0))
    )
    move = moved - batch.x
    size = move.abs().amax(1) if norm == "linf" else move.norm(dim=1)
    assert float(size.max()) <= radius * (1 + 1e-9)
    found = cross_entropy(model(moved), batch.y).detach().numpy()
    plain = cross_entropy(model(batch.x), batch.y).detach().numpy()
    assert np.sum(found - plain) >= 0.95 * np.sum(np.asarray(best) - plain)


def linear(weights):
    model = torch.nn.Linear(3, 2, bias=False, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor([[0.0] * 3, list(weights)]))
    return model


ROWS = torch.as_tensor(np.random.default_rng(1).standard_normal((30, 3)))
LABELS = torch.as_tensor(np.random.default_rng(2).integers(0, 2, 30))


@pytest.mark.parametrize(("norm", "dual"), [("linf", 1), ("l2", 2)])
@pytest.mark.parametrize("features", [None, (2,)])
def test_ball_around_a_linear_model_in_closed_form(norm, dual, features):
    weights = np.array([1.0, -2.0, 0.5])
    moving = weights if features is None else weights[list(features)]
    margin = (2 * LABELS.numpy() - 1) * (ROWS.numpy() @ weights)
    expected = np.mean(np.log1p(np.exp(-(margin - 0.3 * np.linalg.norm(moving, dual)))))
    objective = Adversarial(radius=0.3, norm=norm, n_steps=100, features=features)
    value = objective(
        linear(weights), Batch(ROWS, LABELS, generator=torch.Generator().manual_seed(0))
    )
    # In l2, steps of a fixed length turn the move towards the gradient only so far (by a factor exp(-2.5)).
    assert float(value.detach()) == pytest.approx(expected, rel=1e-9 if norm == "linf" else 5e-3)
    assert float(value.detach()) <= expected * (1 + 1e-9)


def test_penalty_on_a_linear_model_against_the_one_dimensional_problem():
    from scipy.optimize import minimize_scalar

    weights, penalty = np.array([1.0, -2.0, 0.5]), 1.5
    margin = (2 * LABELS.numpy() - 1) * (ROWS.numpy() @ weights)
    norm = np.linalg.norm(weights)
    expected = [
        -minimize_scalar(
            lambda u, m=m: penalty * u**2 - np.log1p(np.exp(-(m - u * norm))),
            bounds=(0, 5),
            method="bounded",
        ).fun
        for m in margin
    ]
    value = Adversarial(penalty=penalty, n_steps=200)(linear(weights), Batch(ROWS, LABELS))
    assert float(value.detach()) == pytest.approx(np.mean(expected), rel=1e-6)


@pytest.mark.parametrize(
    "objective", [Adversarial(penalty=1.0, n_steps=3), Adversarial(radius=0.2, n_steps=3)]
)
def test_the_search_leaves_the_model_as_it_was(objective):
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2)
    ).train()
    model[2].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    objective.worst_inputs(model, Batch(ROWS.float(), LABELS))
    assert all(part.grad is None for part in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert [module.training for module in model] == [True, True, False, True]
    objective(model, Batch(ROWS.float(), LABELS)).backward()
    assert all(part.grad is not None for part in model.parameters())


def test_images_keep_their_shape_and_bounds(network):
    x = torch.rand(6, 1, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    objective = Adversarial(radius=0.5, low=0.0, high=1.0)
    moved = objective.worst_inputs(network(16), Batch(x, torch.zeros(6, dtype=torch.int64)))
    assert moved.shape == x.shape
    assert float(moved.min()) >= 0.0
    assert float(moved.max()) <= 1.0
    assert float((moved - x).abs().max()) > 0.3


def test_radius_zero_is_the_identity(network):
    moved = Adversarial(radius=0.0, norm="l2").worst_inputs(network(3), Batch(ROWS, LABELS))
    torch.testing.assert_close(moved, ROWS, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Adversarial(penalty=0.0), "penalty must be a number greater than 0"),
        (lambda: Adversarial(radius=-1.0), "radius must be a number at least 0"),
        (lambda: Adversarial(radius=1.0, norm="l1"), "norm must be one of 'linf', 'l2'"),
        (
            lambda: Adversarial(penalty=1.0, features=(3,))(linear([1.0] * 3), Batch(ROWS, LABELS)),
            r"features must be positions from 0 to 2, got \[3\]",
        ),
        (
            lambda: Adversarial(penalty=1.0, features=())(linear([1.0] * 3), Batch(ROWS, LABELS)),
            "features must be positions",
        ),
        (
            lambda: Adversarial(radius=0.1, low=0.0, high=1.0)(
                linear([1.0] * 3), Batch(ROWS, LABELS)
            ),
            "x must be within the bounds 0.0 and 1.0, got values from -2",
        ),
    ],
)
def test_bad_options(call, message):
    with pytest.raises(ValueError, match=message):
        call()
