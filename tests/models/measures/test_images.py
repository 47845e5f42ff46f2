"""Rows of any shape: images as a network takes them."""

import copy
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn

from shiftmetrics import Computing, Result
from shiftmetrics.models import Perturbation, Search, feature_stability, model_stability
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.views.report import render_report

PIXELS = Perturbation(cost="unit", bounds=(0, 1), integer=())
OPTIONS: dict[str, Any] = {"perturbation": PIXELS, "computing": Computing(progress=False)}
THRESHOLDS = {"zero_one": 0.5, "log_loss": 1.5}


def convolutional(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(32, 10),
        ).double()  # fmt: skip


@pytest.fixture(scope="module")
def digits() -> tuple[nn.Sequential, np.ndarray, np.ndarray]:
    """Return a trained network with 60 pictures of digits."""
    X, y = load_digits(return_X_y=True)
    images = X.reshape(-1, 1, 8, 8) / 16.0
    module = convolutional()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    x, labels = torch.as_tensor(images[:1200]), torch.as_tensor(y[:1200])
    for step in range(80):
        rows = torch.arange(step * 100, step * 100 + 200) % 1200
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), labels[rows]).backward()
        optimizer.step()
    return module.eval(), images[1200:1260], y[1200:1260]


@pytest.mark.slow
@pytest.mark.parametrize("loss", THRESHOLDS)
def test_images_are_measured_as_their_flat_rows_are(digits: Any, loss: Any) -> None:
    module, images, y = digits
    flat = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), module)
    options = {"loss": loss, **OPTIONS}
    result = model_stability(module, images, y, THRESHOLDS[loss], **options)
    same = model_stability(flat, images.reshape(60, 64), y, THRESHOLDS[loss], **options)
    assert result.search.route == same.search.route == "torch"
    np.testing.assert_allclose(result.value, same.value, rtol=1e-12)
    moved = result.changed_rows()
    assert moved.shape == images.shape
    np.testing.assert_array_equal(moved.reshape(60, 64), same.changed_rows())
    assert moved.min() >= 0.0
    assert moved.max() <= 1.0
    distances = np.linalg.norm((moved - images).reshape(60, 64), axis=1)
    np.testing.assert_allclose(distances, result.plan.distances, atol=1e-9)
    with torch.no_grad():
        scores = module(torch.tensor(moved))
    told = nn.functional.cross_entropy(scores, torch.as_tensor(y), reduction="none").numpy()
    if loss == "zero_one":
        told = (scores.argmax(dim=1).numpy() != y).astype(float)
    np.testing.assert_allclose(told, result.plan.losses, atol=1e-9)
    assert result.changed.table.names[:9:8] == ("0,0,0", "0,1,0")
    assert result.split_rows().shape[1:] == (1, 8, 8)


@pytest.mark.slow
def test_tensors_travel_and_are_shown(digits: Any) -> None:
    module, images, y = digits
    tensor, module = torch.tensor(images, dtype=torch.float32), copy.deepcopy(module).float()
    result = model_stability(module, tensor, torch.tensor(y), 0.5, **OPTIONS)
    assert result.changed_rows().shape == (60, 1, 8, 8)
    with torch.no_grad():
        wrong = (
            module(torch.tensor(result.changed_rows(), dtype=torch.float32)).argmax(dim=1).numpy()
            != y
        )
    np.testing.assert_array_equal(wrong, result.plan.losses == 1.0)
    back = Result.from_json(result.to_json())
    assert back.equals(result)
    np.testing.assert_array_equal(back.changed_rows(), result.changed_rows())
    assert list(result.places()[0].columns[:2]) == ["0,0,0", "0,0,1"]
    assert re.search(r">0,\d,\d<", render_report(result))


@pytest.mark.slow
def test_any_function_of_images(digits: Any) -> None:
    module, images, y = digits

    def predict(pictures: np.ndarray) -> np.ndarray:
        assert pictures.shape[1:] == (1, 8, 8)
        with torch.no_grad():
            return module(torch.tensor(pictures)).argmax(dim=1).numpy()

    searched = model_stability(
        predict, images[:20], y[:20], 0.5, perturbation=PIXELS, computing=Search(n_queries=300)
    )
    by_gradients = model_stability(module, images[:20], y[:20], 0.5, **OPTIONS)
    assert searched.search.route == "blackbox"
    moved = searched.changed_rows()
    assert moved.shape == (20, 1, 8, 8)
    np.testing.assert_array_equal(predict(moved) != y[:20], searched.plan.losses == 1.0)
    assert by_gradients.value <= searched.value < 6.0 * by_gradients.value
    centre = feature_stability(
        predict, images[:20], y[:20], 0.5, perturbation=replace(PIXELS, features=["0,3,4"])
    )
    assert centre.features[0].feature == "0,3,4"


@pytest.mark.slow
def test_costs_of_images(digits: Any) -> None:
    module, images, y = digits
    result = model_stability(
        module,
        images,
        y,
        0.5,
        perturbation=Perturbation(bounds=(0, 1)),
        computing=Computing(progress=False),
    )
    constant = (np.ptp(images, axis=0) == 0.0).sum()
    assert any(f"{constant} of 64 columns are constant" in warning for warning in result.warnings)
    assert max(map(len, result.warnings)) < 250
    frozen = images.copy()
    only = [f"0,{row},3" for row in range(8)]
    moved = model_stability(
        module, frozen, y, 0.3, perturbation=replace(PIXELS, features=only)
    ).changed_rows()
    assert {place[-1] for place in np.argwhere(moved != images).tolist()} == {3}


def test_rows_of_another_shape_are_refused(digits: Any) -> None:
    _, images, y = digits
    linear = LogisticRegression(max_iter=500).fit(images.reshape(60, 64), y)
    with pytest.raises(ValueError, match=r"X must be of shape \(n_samples, 64\).*reshape"):
        model_stability(linear, images, y, 0.5)
    with pytest.raises(ValueError, match="at least one row"):
        CodedTable.of(images[:0])
    broken = images.copy()
    broken[1, 0, 0, 2] = np.inf
    with pytest.raises(ValueError, match="finite everywhere, got inf in column '0,0,2' at row 1"):
        CodedTable.of(broken)
