"""Eigenfunctions behind the score: memberships of rows and new points by the corrected map back to the rows."""

import numpy as np
import pytest

import oracles
from calls import eigenmodes, novelty
from optional import torch

ROUTES = ("dense", "landmarks")


def clusters(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clusters in the test sample, of 60, 30 and 10 rows; the reference has the first alone."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    centers = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    order = rng.permutation(100)
    x = (centers[labels] + rng.normal(size=(100, 2)) * 0.2)[order]
    return x, centers[0] + rng.normal(size=(80, 2)) * 0.2, labels[order]


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("eta", [1.0, 4.0])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_memberships_are_those_of_the_non_symmetric_eigenproblem(
    method: str, eta: float, position: int
) -> None:
    rng = np.random.default_rng(7)
    x, y, points = (
        rng.normal(size=(20, 2)),
        rng.normal(size=(15, 2)) + 1,
        rng.normal(size=(9, 2)) * 2,
    )
    result = novelty(x, y, bandwidth=0.8, eta=eta, method=method)
    mode = eigenmodes(result)[position]

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return oracles.gaussian_kernel(a, b, 0.8)

    for rows, membership in (
        (x, mode.membership),
        (y, mode.reference_membership),
        (points, mode.score(points)),
    ):
        values = oracles.novel_mode(x, y, kernel, eta, position, rows)
        np.testing.assert_allclose(membership, values**2, rtol=0, atol=1e-6)
    assert mode.frequency == pytest.approx(mode.score(x).mean(), abs=1e-9)


@pytest.mark.parametrize("method", ROUTES)
def test_the_novelty_of_a_point_is_its_membership_in_all_positive_modes(method: str) -> None:
    rng = np.random.default_rng(7)
    x, y, points = (
        rng.normal(size=(20, 2)),
        rng.normal(size=(15, 2)) + 1,
        rng.normal(size=(9, 2)) * 2,
    )
    result = novelty(x, y, bandwidth=0.8, method=method)
    total = result.point_novelty(points)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return oracles.gaussian_kernel(a, b, 0.8)

    strong = int(
        (result.score.eigenvalues > 1e-6).sum()
    )  # the oracle mixes modes of smaller eigenvalues
    shares = [
        oracles.novel_mode(x, y, kernel, 1.0, position, points) ** 2 for position in range(strong)
    ]
    assert (total >= sum(shares) - 1e-6).all()
    first = sum(mode.score(points) for mode in eigenmodes(result))
    np.testing.assert_allclose(first, sum(shares[:10]), rtol=0, atol=1e-6)
    assert total.min() >= 0.0
    assert total.max() <= 1.0
    far = result.point_novelty(np.full((3, 2), 1e6))
    np.testing.assert_array_equal(far, 0.0)  # alike to nothing seen


def test_new_points_in_any_array_library_and_in_blocks() -> None:
    x, y, _ = clusters(0)
    points = np.random.default_rng(0).normal(size=(5000, 2)) * 3
    result = novelty(x, y, bandwidth=1.0)
    found = novelty(torch.asarray(x), torch.asarray(y), bandwidth=1.0)
    for first, second in zip(eigenmodes(result, 3), eigenmodes(found, 3), strict=True):
        np.testing.assert_allclose(
            first.score(points), second.score(torch.asarray(points)), atol=1e-8
        )
    np.testing.assert_allclose(
        result.point_novelty(points)[4000:], result.point_novelty(points[4000:]), atol=1e-12
    )
    np.testing.assert_allclose(
        eigenmodes(result)[0].score(points.astype(np.float32)),
        eigenmodes(result)[0].score(points),
        atol=1e-5,
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{"kernel": "cosine"}, {"bandwidth": 1.0}])
def test_tensors_are_scored_without_a_warning(options: dict) -> None:
    x, y, _ = clusters(0)
    result = novelty(torch.asarray(x) + 1.0, torch.asarray(y) + 1.0, **options)
    same = novelty(x + 1.0, y + 1.0, **options)
    torch.set_warn_always(True)
    try:
        found = eigenmodes(result)[0].score(torch.asarray(x) + 1.0)
    finally:
        torch.set_warn_always(False)
    np.testing.assert_allclose(found, eigenmodes(same)[0].score(x + 1.0), atol=1e-9)
