"""Precision, recall, density, coverage and rarity: their definitions by loops, and what they are for."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shiftmetrics import Result
from shiftmetrics._core import neighbours
from shiftmetrics_lab.baselines import manifold_scores


def by_loops(sample, reference, k):
    """Follow the definitions, one row at a time."""
    own = [sorted(math.dist(a, b) for b in sample)[k] for a in sample]
    radii = [sorted(math.dist(a, b) for b in reference)[k] for a in reference]
    inside = cdist(sample, reference) <= np.array(radii)
    precision = np.mean([row.any() for row in inside])
    recall = np.mean(
        [
            any(math.dist(y, x) <= radius for x, radius in zip(sample, own, strict=True))
            for y in reference
        ]
    )
    density = sum(row.sum() for row in inside) / (k * len(sample))
    coverage = np.mean([column.any() for column in inside.T])
    rarity = [
        min([r for r, yes in zip(radii, row, strict=True) if yes], default=math.inf)
        for row in inside
    ]
    return precision, recall, density, coverage, rarity


@pytest.mark.parametrize("k", [1, 3, 5])
def test_they_are_their_definitions(k, monkeypatch):
    monkeypatch.setattr(neighbours, "TILE_ROWS", 17)
    monkeypatch.setattr(neighbours, "TILE_POINTS", 23)
    rng = np.random.default_rng(k)
    sample, reference = 1.3 * rng.normal(size=(70, 3)), rng.normal(size=(60, 3))
    result = manifold_scores(sample, reference, n_neighbours=k)
    precision, recall, density, coverage, rarity = by_loops(sample, reference, k)
    assert (result.parts["precision"], result.parts["recall"]) == (precision, recall)
    assert (result.parts["density"], result.parts["coverage"]) == (pytest.approx(density), coverage)
    np.testing.assert_allclose(result.parts["rarity"], rarity, rtol=1e-8)
    assert result.value == pytest.approx(2 * precision * recall / (precision + recall))


def test_what_each_is_for():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(300, 4))
    same = manifold_scores(rng.normal(size=(300, 4)), reference)
    narrow = manifold_scores(0.3 * rng.normal(size=(300, 4)), reference)
    wide = manifold_scores(4.0 * rng.normal(size=(300, 4)), reference)
    away = manifold_scores(rng.normal(size=(300, 4)) + 50.0, reference)
    assert same.parts["density"] == pytest.approx(1.0, abs=0.15)
    assert same.parts["coverage"] > 0.9
    assert (
        narrow.parts["precision"] > 0.95 > 0.6 > narrow.parts["recall"]
    )  # faithful, and all alike
    assert wide.parts["precision"] < 0.5  # diverse, and not faithful
    assert wide.parts["recall"] > narrow.parts["recall"]
    assert (
        away.value,
        away.parts["precision"],
        away.parts["recall"],
        away.parts["density"],
        away.parts["coverage"],
    ) == (0, 0, 0, 0, 0)
    assert np.isinf(away.parts["rarity"]).all()
    assert away.parts["mean_rarity"] == 0.0
    assert narrow.parts["mean_rarity"] < same.parts["mean_rarity"]


def test_copies_lie_inside_whatever_the_rounding():
    reference = np.random.default_rng(0).normal(size=(50, 8)) + 1e6
    result = manifold_scores(reference, reference, n_neighbours=1)
    assert (result.parts["precision"], result.parts["recall"], result.parts["coverage"]) == (
        1.0,
        1.0,
        1.0,
    )
    doubled = np.repeat(reference, 2, axis=0)  # radius 0
    assert manifold_scores(doubled, doubled, n_neighbours=1).parts["precision"] == 1.0


def test_torch_and_json():
    torch = pytest.importorskip("torch")
    sample, reference = np.random.default_rng(0).normal(size=(2, 40, 3))
    result = manifold_scores(sample, reference)
    other = manifold_scores(torch.tensor(sample), torch.tensor(reference))
    assert (other.parts["precision"], other.parts["recall"], other.parts["density"]) == (
        result.parts["precision"],
        result.parts["recall"],
        result.parts["density"],
    )
    np.testing.assert_allclose(other.parts["rarity"], result.parts["rarity"])
    assert Result.from_json(result.to_json()).equals(result)
    assert "recall" in result.headline()


@pytest.mark.parametrize(
    ("sample", "reference", "options", "message"),
    [
        (np.eye(3), np.eye(6, 3), {}, "features must be of more than n_neighbours = 5 rows, got 3"),
        (
            np.eye(6, 3),
            np.eye(3),
            {"n_neighbours": 3},
            "reference must be of more than n_neighbours = 3 rows",
        ),
        (np.eye(3), np.eye(3), {"n_neighbours": 0}, "n_neighbours must be an integer at least 1"),
        (np.eye(3), np.eye(2), {"n_neighbours": 1}, "reference must be of as many columns"),
        (np.full((3, 3), np.inf), np.eye(3), {"n_neighbours": 1}, "features must be finite"),
    ],
)
def test_bad_input_is_named(sample, reference, options, message):
    with pytest.raises(ValueError, match=message):
        manifold_scores(sample, reference, **options)
