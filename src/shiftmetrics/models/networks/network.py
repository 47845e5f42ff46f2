"""A network as a differentiable function of coded rows, and the torch module behind a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.attacks.model import evaluation_mode, parameter_of
from shiftmetrics.models.reading.estimators import is_module, is_network, last_step, steps_of
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.reading.outputs import are_probabilities, batch_size, matrix_of
from shiftmetrics.models.reading.steps import is_additive


def module_of(model: Any) -> torch.nn.Module:
    """Return the module behind a model: itself, or its ``module_``."""
    module = model
    if not isinstance(module, torch.nn.Module):
        module = model.module_
    assert isinstance(module, torch.nn.Module)
    return module


class Network:
    """The scores of a network at coded rows.

    Parameters
    ----------
    model : torch.nn.Module, or an estimator with a ``module_``
    problem : ModelProblem
        Has a loss of classes or of values, and counts the rows that the network evaluates.
    row_shape : tuple of int, optional
        The shape in which the module takes a row, where that is not flat.
    """

    def __init__(
        self,
        model: Any,
        problem: ModelProblem,
        *,
        row_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.module = module_of(model)
        self.row_shape = row_shape
        # Shared with the problem: a row that the network evaluates is a query of the model.
        self._count = problem.count
        self.takes_log = False  # of probabilities, to have scores
        self.cut = 0.0
        if problem.cut is not None:
            self.cut = problem.cut.logit
        self.classifies = problem.loss != "squared"
        like = parameter_of(self.module)
        self.dtype = torch.get_default_dtype()
        self.device = torch.device("cpu")
        if like is not None:
            self.dtype = like.dtype
            self.device = like.device
        self.warnings: tuple[str, ...] = ()
        # A single layer may be in training mode, such as a dropout that was switched on by hand.
        if any(part.training for part in self.module.modules()):
            text = (
                "The model was in training mode; it was measured in evaluation mode and put back."
            )
            self.warnings = (text,)

    def evaluating(self) -> AbstractContextManager[None]:
        """Switch to evaluation mode, and back."""
        return evaluation_mode(self.module)

    def tensor(self, values: Any) -> Tensor:
        """Return numbers as a float64 tensor on the device of the network (float32 where it has no float64)."""
        wide = torch.float64
        if self.device.type == "mps":
            wide = torch.float32
        array = np.array(values, dtype=np.float64)
        return torch.as_tensor(array).to(self.device, wide)

    def __call__(self, points: Tensor) -> Tensor:
        """Return scores (n, n_classes), or values (n,), in the dtype of the points."""
        self._count.rows += len(points)
        rows = points
        if self.row_shape is not None:
            rows = points.reshape(-1, *self.row_shape)
        output = self.module(rows.to(self.dtype))
        if not isinstance(output, Tensor):
            expected = "a module that returns a tensor"
            raise ArgumentValueError("model", expected, type(output).__name__)
        got = f"shape {tuple(output.shape)}"
        if output.shape[0] != len(points):
            expected = f"a module with {len(points)} outputs, one a row"
            raise ArgumentValueError("model", expected, got)
        output = output.to(points.dtype)
        if self.takes_log:
            output = output.clamp_min(1e-30).log()
        if not self.classifies:
            if output.numel() != len(points):
                expected = "a module with one value for each row"
                raise ArgumentValueError("model", expected, got)
            return output.reshape(len(points))
        if output.ndim != 2 or output.shape[1] == 1:
            # One column of scores is the margin of the second class.
            margin = output.reshape(len(points))
            output = torch.stack([torch.zeros_like(margin), margin], dim=1)
        if self.cut == 0.0:
            return output
        return output - output.new_tensor([0.0, self.cut])

    def scores(self, points: FloatArray) -> FloatArray:
        """Return scores (n, n_classes) or values (n,) of coded points, in evaluation mode."""
        parts = []
        with self.evaluating(), torch.no_grad():
            for rows in batches(points):
                output = self(self.tensor(points[rows]))
                parts.append(output.cpu().double().numpy())
        return np.concatenate(parts)

    def seen(self, points: FloatArray, start: FloatArray) -> FloatArray:
        """Return points as the network sees them after rounding to its dtype; what did not change stays as it is."""
        if self.dtype == torch.float64:
            return points
        narrow: type[np.floating[Any]] = np.float16
        if self.dtype == torch.float32:
            narrow = np.float32
        rounded = points.astype(narrow).astype(np.float64)
        rounded_start = start.astype(narrow).astype(np.float64)
        unmoved = rounded == rounded_start
        return np.where(unmoved, start, rounded)


def batches(points: FloatArray) -> Iterator[slice]:
    """Cut rows into batches, the smaller the wider they are."""
    n_rows = len(points)
    size = batch_size(points.shape[1])
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


_MOST_ROWS = 256  # to compare the module and the model at
_TOLERANCE = 1e-7
_NARROW_TOLERANCE = 1e-5
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "logistic": nn.Sigmoid,
    "identity": nn.Identity,
}


def network_of(problem: ModelProblem) -> Network | None:
    """Return the network behind a problem's model as a function of its coded rows, or None where it has none.

    A network at the end of a pipeline counts when the steps before it are affine in the coded columns, as scalers and
    projections of numbers are. That, and the whole, is checked against the model at its rows.
    """
    if is_network(problem.model):
        network = Network(problem.model, problem, row_shape=problem.table.row_shape)
        if is_module(problem.model):
            return network
    else:
        module = _repeated(problem)
        if module is None:
            return None
        network = Network(module, problem)
    rows = slice(0, _MOST_ROWS)
    scores = network.scores(problem.codes[rows])
    # Outputs that are probabilities: the softmax of their logarithms gives them again.
    if network.classifies and are_probabilities(scores):
        network.takes_log = True
    predicted = problem.predict(problem.codes[rows])
    if network.classifies:
        same = scores.argmax(axis=1) == predicted
    else:
        same = np.isclose(scores, predicted, rtol=1e-6, atol=1e-9)
    if same.all():
        return network
    return None


class InDtypeOf(nn.Module):
    """Round what the steps before a network put out to the dtype that it takes."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.dtype = torch.get_default_dtype()
        like = parameter_of(network)
        if like is not None:
            self.dtype = like.dtype

    def forward(self, rows: Tensor) -> Tensor:
        """Return the rows in this dtype."""
        return rows.to(self.dtype)


def _repeated(problem: ModelProblem) -> nn.Module | None:
    """Return a module that does what the steps of a pipeline do, or None."""
    final = last_step(problem.model)
    tail: nn.Module | None
    if is_network(final):
        tail = module_of(final)
    else:
        tail = _layers_of_scikit(final)
    front = [step for step in steps_of(problem.model, last=True) if step is not final]
    if tail is None or not front:
        return tail
    rounded = InDtypeOf(tail)
    # Steps that compute in 32 bits round as much; what is found is checked by the model, and nothing is certified.
    tolerance = _TOLERANCE
    if problem.table.narrow and rounded.dtype != torch.float64:
        tolerance = _NARROW_TOLERANCE
    first = _affine_front(problem, front, tolerance)
    if first is None:
        return None
    if rounded.dtype == torch.float64:
        return nn.Sequential(first, tail).eval()
    return nn.Sequential(first, rounded, tail).eval()


def _layers_of_scikit(model: Any) -> nn.Module | None:
    """Return the layers of an `MLPClassifier` or `MLPRegressor`, without what turns scores into probabilities."""
    if not hasattr(model, "coefs_") or model.activation not in _ACTIVATIONS:
        return None
    if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
        return None  # several labels for each row
    layers: list[nn.Module] = []
    for weights, intercepts in zip(model.coefs_, model.intercepts_, strict=True):
        layers.append(_linear(np.asarray(weights).T, np.asarray(intercepts)))
        layers.append(_ACTIVATIONS[model.activation]())
    return nn.Sequential(*layers[:-1]).eval()


def _affine_front(problem: ModelProblem, steps: list[Any], tolerance: float) -> nn.Module | None:
    """Return the affine map that the steps are at all rows, or None where they are none."""
    if problem.domain.categorical.any() or not is_additive(problem):
        return None
    codes = problem.codes
    unit = problem.domain.unit

    def front(points: FloatArray) -> FloatArray:
        values = problem.table.decode(points)
        for step in steps:
            values = step.transform(values)
        return matrix_of(values)

    # The map at one point and a unit away in each column gives its matrix; it must hold at the rows and beyond.
    base = np.median(codes, axis=0)
    points = np.concatenate([base[None], base + np.diag(unit)])
    probes = front(points)
    rises = probes[1:] - probes[0]
    slopes = rises / unit[:, None]
    matrix = slopes.T
    offset = probes[0] - matrix @ base
    checked = codes[:_MOST_ROWS]
    beyond = base + 3.0 * (checked - base)
    checked = np.concatenate([checked, beyond])
    expected = front(checked)
    found = checked @ matrix.T + offset
    scale = np.abs(expected).max(axis=0) + 1.0
    wrong_by = np.abs(found - expected)
    if (wrong_by <= tolerance * scale).all():
        return _linear(matrix, offset)
    return None


def _linear(weights: FloatArray, intercepts: FloatArray) -> nn.Linear:
    n_outputs, n_inputs = weights.shape
    layer = nn.Linear(n_inputs, n_outputs).double()
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weights.copy()))
        layer.bias.copy_(torch.as_tensor(intercepts.copy()))
    return layer
