"""The torch module behind a model: its own, or one that repeats a network of scikit-learn and its scaling."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.encoders import final_step, steps_of
from shiftmetrics.models.networks.module import Network, module_of
from shiftmetrics.models.outputs import is_network
from shiftmetrics.models.question import Question

_MOST_ROWS = 256  # to compare the module and the model at
_TOLERANCE = 1e-7
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU, "tanh": nn.Tanh, "logistic": nn.Sigmoid, "identity": nn.Identity,
}  # fmt: skip


def network_of(question: Question) -> Network | None:
    """Return the network behind a question's model as a function of its coded rows, or None where it has none.

    A network at the end of a pipeline counts when the steps before it are affine in the coded columns, as scalers and
    projections of numbers are. That, and the whole, is checked against the model at its rows.
    """
    classifies = question.loss != "squared"
    if is_network(question.model):
        shape = question.table.row_shape
        return Network(question.model, classifies=classifies, count=question.count, row_shape=shape)
    module = _repeated(question)
    if module is None:
        return None
    network = Network(module, classifies=classifies, count=question.count)
    rows = slice(0, _MOST_ROWS)
    scores, said = network.scores(question.codes[rows]), question.predict(question.codes[rows])
    same = scores.argmax(axis=1) == said if classifies else np.isclose(scores, said, rtol=1e-6, atol=1e-9)
    return network if same.all() else None


def _repeated(question: Question) -> nn.Module | None:
    """Return a module that does what the steps of a pipeline do, or None."""
    final = final_step(question.model)
    tail = module_of(final) if is_network(final) else _layers_of_scikit(final)
    front = [step for step in steps_of(question.model, last=True) if step is not final]
    if tail is None or not front:
        return tail
    first = _affine_front(question, front)
    return None if first is None else nn.Sequential(first, tail).eval()


def _layers_of_scikit(model: Any) -> nn.Module | None:
    """Return the layers of an `MLPClassifier` or `MLPRegressor`, without what turns scores into probabilities."""
    if not hasattr(model, "coefs_") or model.activation not in _ACTIVATIONS:
        return None
    if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
        return None  # several labels for each row
    layers: list[nn.Module] = []
    for weights, intercepts in zip(model.coefs_, model.intercepts_, strict=True):
        layers += [_linear(np.asarray(weights).T, np.asarray(intercepts)), _ACTIVATIONS[model.activation]()]
    return nn.Sequential(*layers[:-1]).eval()


def _affine_front(question: Question, steps: list[Any]) -> nn.Module | None:
    """Return the affine map that the steps are at all rows, or None where they are none."""
    if question.domain.flipping.any():
        return None
    codes, unit = question.codes, question.domain.unit

    def front(points: FloatArray) -> FloatArray:
        values = question.table.decode(points)
        for step in steps:
            values = step.transform(values)
        if hasattr(values, "toarray"):
            values = values.toarray()
        return np.asarray(values, dtype=np.float64)

    base = np.median(codes, axis=0)
    probes = front(np.concatenate([base[None], base + np.diag(unit)]))
    matrix = ((probes[1:] - probes[0]) / unit[:, None]).T
    offset = probes[0] - matrix @ base
    checked = codes[:_MOST_ROWS]
    checked = np.concatenate([checked, base + 3.0 * (checked - base)])  # and beyond the rows
    expected, found = front(checked), checked @ matrix.T + offset
    scale = np.abs(expected).max(axis=0) + 1.0
    return _linear(matrix, offset) if (np.abs(found - expected) <= _TOLERANCE * scale).all() else None


def _linear(weights: FloatArray, intercepts: FloatArray) -> nn.Linear:
    layer = nn.Linear(weights.shape[1], weights.shape[0]).double()
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weights.copy()))
        layer.bias.copy_(torch.as_tensor(intercepts.copy()))
    return layer
