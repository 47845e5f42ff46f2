"""Errors for bad input, and every kind of input that is accepted."""

import numpy as np
import pandas as pd
import pytest
import torch

from shiftmetrics.attacks import AttackOptions, nearest_error

X = torch.tensor([[1.0, 0.0], [0.0, 0.6], [0.7, 0.7]])
Y = [0, 1, 0]


def linear(x):
    return torch.stack(
        [3 * x[:, 0] + 4 * x[:, 1], torch.ones_like(x[:, 0]), x[:, 0] - 9.0, x[:, 1] - 9.0], dim=1
    )


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(self.norm(self.linear(x)))


SHARED = ("bounds", "feature_costs", "frozen", "batch_size", "rng", "progress")


def attack(model=linear, x=X, y=Y, **arguments):
    shared = {name: arguments.pop(name) for name in SHARED if name in arguments}
    given = {"n_steps": 3, "restarts": 1, "options": AttackOptions(**shared)}
    return nearest_error(model, x, y, **{**given, **arguments})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"x": 255 * X, "bounds": (0, 1)},
            r"X must be inside bounds, from 0 to 1, got values from 0 to 255 ",
        ),
        (
            {"x": X.numpy().astype(np.uint8) * 200, "bounds": (0, 1)},
            r"from 0 to 1, got values from 0 to 200",
        ),
        ({"x": torch.full((3, 2), torch.nan)}, r"X must be finite everywhere, got nan"),
        ({"x": X[:, 0]}, r"X must be a batch of shape \(n_samples, ...\)"),
        ({"x": X[:0], "y": []}, r"at least one row"),
        ({"y": [0, 1]}, r"y must be one label for each of the 3 rows, got shape \(2,\)"),
        (
            {"y": [0, 1, 4]},
            r"y must be labels from 0 to 3, the classes of the model, got labels from 0 to 4",
        ),
        ({"y": [0, 1, -1]}, r"got labels from -1 to 1"),
        ({"y": [0, 0.5, 1]}, r"y must be integers, got 0.5"),
        ({"bounds": (1, 0)}, r"bounds must be a pair .* with lowest <= highest"),
        ({"bounds": 1.0}, r"bounds must be a pair"),
        (
            {"bounds": (0, [1, 1, 1])},
            r"bounds\[1\] must be a number or an array that fits a row, of shape \(2,\)",
        ),
        ({"feature_costs": [1, 0]}, r"feature_costs must be positive, got 0"),
        ({"feature_costs": [1, np.nan]}, r"feature_costs must be free of NaN"),
        ({"frozen": [True, True]}, r"frozen must be a mask that leaves a feature free"),
        ({"norm": "l1"}, r"norm must be one of 'l2', 'linf', got 'l1'"),
        ({"n_steps": 0}, r"n_steps must be an integer at least 1"),
        ({"batch_size": 0}, r"batch_size must be an integer at least 1"),
        (
            {"model": lambda x: linear(x).softmax(1)},
            r"logits, got probabilities .*Leave its softmax out",
        ),
        (
            {"model": lambda x: x[:, 0]},
            r"\(n_samples, n_classes\) with at least two classes, got shape \(3,\)",
        ),
        ({"model": lambda x: x[:, :1]}, r"Turn a single score s into the two logits"),
        ({"model": lambda x: torch.cat([x, x / 0], 1)}, r"finite logits, got \[.*nan"),
    ],
)
def test_bad_values(options, message):
    with pytest.raises(ValueError, match=message):
        attack(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"model": "linear"},
            r"model must be a callable that maps a batch of inputs to logits, got str",
        ),
        (
            {"model": lambda x: x.numpy()},
            r"model must be a function that returns a torch.Tensor of logits, got ndarray",
        ),
        ({"model": lambda x: linear(x.detach())}, r"model must be differentiable in its input"),
        (
            {"model": lambda x: torch.nn.functional.one_hot(linear(x).argmax(1), 4) * 2.0},
            r"must be differentiable",
        ),
        (
            {"model": lambda x: Network().eval()(x.detach()), "y": [0, 1, 0]},
            r"must be differentiable",
        ),
        ({"x": X.half()}, r"X must be float32 or float64, got torch.float16. .*half precision"),
        ({"x": [["a", "b"]]}, r"X must hold real numbers"),
        ({"y": ["cat", "dog", "cat"]}, r"y must hold real numbers"),
        ({"options": {"bounds": (0, 1)}}, r"options must be an AttackOptions or None"),
        ({"rng": "seed"}, r"rng must be a seed"),
    ],
)
def test_bad_types(options, message):
    with pytest.raises(TypeError, match=message):
        attack(**options)


def test_a_gradient_of_zero_is_warned_about():
    with pytest.warns(UserWarning, match="gradient in its input is 0"):
        result = nearest_error(lambda x: linear(torch.round(x)), X, Y, n_steps=3)
    assert np.isfinite(result.distance).all()


def test_modes_gradients_and_statistics_are_left_alone():
    torch.manual_seed(0)
    model = Network()
    model.train()
    model.dropout.eval()
    model.linear.bias.requires_grad_(False)
    model(X).sum().backward()
    gradient = model.linear.weight.grad.clone()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        attack(model)
    with torch.inference_mode():
        nearest_error(model, X.clone(), Y, n_steps=3)
    with pytest.raises(ValueError, match="labels"):
        attack(model, y=[0, 1, 5])
    assert model.training
    assert model.norm.training
    assert not model.dropout.training
    assert torch.equal(model.linear.weight.grad, gradient)
    assert [parameter.requires_grad for parameter in model.parameters()] == [
        True,
        False,
        True,
        True,
    ]
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())


def test_arrays_tables_and_lists_are_taken():
    tensor = attack()
    assert isinstance(tensor.x_adv, torch.Tensor)
    for x in (
        X.numpy(),
        X.double().numpy(),
        X.tolist(),
        pd.DataFrame(X.numpy(), columns=["a", "b"]),
    ):
        result = attack(x=x, y=np.array(Y))
        assert isinstance(result.x_adv, np.ndarray)
        np.testing.assert_array_equal(result.x_adv, tensor.x_adv.numpy())
    # 3 a + 4 b = 1 is 2/5 from (1, 0) and 3/5 from (0, 1)
    integers = attack(x=np.array([[1, 0], [0, 1]]), y=pd.Series([0, 0]))
    assert integers.distance == pytest.approx([0.4, 0.6], rel=1e-3)
    double = Network().double()
    assert attack(double, x=X.tolist()).x_adv.dtype == np.float64


def test_any_shape_of_input():
    shapes = {
        (5,): torch.nn.Identity(),
        (2, 3): torch.nn.Flatten(),
        (1, 3, 4): torch.nn.Flatten(),
        (1,) * 4 + (2,): torch.nn.Flatten(),
    }
    for shape, model in shapes.items():
        x = torch.randn(4, *shape, generator=torch.Generator().manual_seed(0))
        y = model(x).argmax(1)
        assert nearest_error(model, x, y, n_steps=20).distance_to_error == pytest.approx(
            # the nearest error of the identity: the two largest logits meet halfway
            ((model(x).topk(2, dim=1).values * torch.tensor([1.0, -1.0])).sum(1) / 2**0.5).numpy(),
            rel=2e-3,
        )


def test_the_result_records_its_arguments():
    result = attack(bounds=(0, 1), norm="linf")
    assert (result.settings["norm"], result.settings["n_steps"]) == ("linf", 3)
    assert result.settings["versions"]["shiftmetrics"]
    assert str(result) == result.summary()
    assert result.robust_accuracy == 1 - result.success.mean()
    assert (result.distance_to_error == np.where(result.success, result.distance, np.inf)).all()
    assert isinstance(result.to_dict()["x_adv"], np.ndarray)


@pytest.mark.usefixtures("bars_at_once")
def test_progress_is_shown_and_can_be_switched_off(capsys):
    attack()
    assert "/3" in capsys.readouterr().err
    attack(progress=False)
    assert capsys.readouterr().err == ""
