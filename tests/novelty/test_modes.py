"""Modes: frequencies, members, exemplars, and memberships of new points by the corrected map back to the rows."""

import pickle

import numpy as np
import pytest
import torch

import oracles
from calls import novelty
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.modes import N_EXEMPLARS, Mode

ROUTES = ("dense", "cholesky")


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
    x, y, points = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 1, rng.normal(size=(9, 2)) * 2
    result = novelty(x, y, bandwidth=0.8, eta=eta, method=method, n_permutations=0)
    mode = result.modes[position]

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
    x, y, points = rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 1, rng.normal(size=(9, 2)) * 2
    result = novelty(x, y, bandwidth=0.8, method=method, n_permutations=0)
    total = result.point_novelty(points)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return oracles.gaussian_kernel(a, b, 0.8)

    strong = int((result.eigenvalues > 1e-6).sum())  # the oracle mixes modes of smaller eigenvalues
    shares = [oracles.novel_mode(x, y, kernel, 1.0, position, points) ** 2 for position in range(strong)]
    assert (total >= sum(shares) - 1e-6).all()
    first = sum(mode.score(points) for mode in result.modes)
    np.testing.assert_allclose(first, sum(shares[:10]), rtol=0, atol=1e-6)
    assert total.min() >= 0.0
    assert total.max() <= 1.0
    far = result.point_novelty(np.full((3, 2), 1e6))
    np.testing.assert_array_equal(far, 0.0)  # alike to nothing seen


@pytest.mark.parametrize("method", ROUTES)
def test_novel_clusters_are_found_with_their_rows(method: str) -> None:
    x, y, labels = clusters(0)
    result = novelty(x, y, bandwidth=1.0, method=method)
    first, second = result.modes[:2]
    for mode, label, count in ((first, 1, 30), (second, 2, 10)):
        assert mode.frequency == pytest.approx(count / 100, abs=0.035)
        assert mode.reference_frequency < 1e-3
        assert mode.n_members == count
        assert mode.n_reference_members == 0
        assert set(mode.members()) == set(np.flatnonzero(labels == label))
        assert (labels[mode.top(count)] == label).all()
        assert (labels[mode.exemplars[:count]] == label).all()
        assert mode.members(of="reference").size == 0
    assert (first.index, second.index) == (0, 1)
    np.testing.assert_array_equal(result.modes[0].score([[5.0, 0.0]]) > 0.9, [True])
    assert result.point_novelty([[0.0, 0.0]])[0] < 0.2
    assert "30 and 0 members" in str(first)


def test_the_sign_points_to_the_mass_of_the_test_sample() -> None:
    for seed in range(10):
        x, y, _ = clusters(seed)
        for mode in novelty(x, y, bandwidth=1.0).modes:
            assert mode.functions is not None
            assert mode.coefficients is not None
            values = mode.functions.evaluate(x, mode.coefficients[:, None])[:, 0]
            assert (values**3).sum() > -1e-12


def test_top_rows_are_sorted_and_ties_keep_their_order() -> None:
    x = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 30, axis=0)
    mode = novelty(x, np.full((5, 2), -9.0), bandwidth=1.0).modes[0]
    assert mode.membership is not None
    for k in (0, 1, 10, 29, 59, 60, 100):
        top = mode.top(k)
        expected = np.argsort(-mode.membership, kind="stable")[:k]
        np.testing.assert_array_equal(top, expected)
    assert len(mode.top()) == 10
    assert len(mode.exemplars) == N_EXEMPLARS
    assert (np.diff(mode.membership[mode.members(threshold=0.0)]) <= 0).all()
    assert mode.top(3, of="reference").tolist() == [0, 1, 2]


def test_new_points_in_any_array_library_and_in_blocks() -> None:
    x, y, _ = clusters(0)
    points = np.random.default_rng(0).normal(size=(5000, 2)) * 3
    result = novelty(x, y, bandwidth=1.0)
    found = novelty(torch.asarray(x), torch.asarray(y), bandwidth=1.0)
    for first, second in zip(result.modes, found.modes, strict=True):
        np.testing.assert_allclose(first.score(points), second.score(torch.asarray(points)), atol=1e-8)
    np.testing.assert_allclose(
        result.point_novelty(points)[4000:], result.point_novelty(points[4000:]), atol=1e-12
    )
    np.testing.assert_allclose(
        result.modes[0].score(points.astype(np.float32)), result.modes[0].score(points), atol=1e-5
    )


def test_a_precomputed_kernel_scores_points_by_their_similarities() -> None:
    x, y, _ = clusters(0)
    joint = np.concatenate([x, y])
    matrix = oracles.gaussian_kernel(joint, joint, 1.0)
    points = np.random.default_rng(0).normal(size=(7, 2)) * 3
    result = novelty(matrix[:100], matrix[100:], kernel="precomputed")
    expected = novelty(x, y, bandwidth=1.0)
    similarities = oracles.gaussian_kernel(points, joint, 1.0)
    np.testing.assert_allclose(result.point_novelty(matrix), expected.point_novelty(joint), atol=1e-6)
    # Away from the data, modes of tiny eigenvalues count whose functions are told by the last digits alone.
    np.testing.assert_allclose(result.point_novelty(similarities), expected.point_novelty(points), atol=0.02)
    np.testing.assert_allclose(
        result.modes[0].score(similarities), expected.modes[0].score(points), atol=1e-8
    )


def test_bad_questions_are_refused() -> None:
    x, y, _ = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    mode = result.modes[0]
    with pytest.raises(ValueError, match="points must be of 2 columns, got 3"):
        mode.score(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="points must be finite"):
        result.point_novelty(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="points must be an array of shape"):
        result.point_novelty(np.zeros(2))
    with pytest.raises(ValueError, match="of must be one of 'test', 'reference'"):
        mode.top(3, of="data")
    with pytest.raises(ValueError, match="k must be an integer at least 0"):
        mode.top(-1)


def test_a_mode_from_a_file_keeps_its_exemplars_alone() -> None:
    x, y, _ = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    back = NoveltyResult.from_json(result.to_json())
    for before, after in zip(result.modes, back.modes, strict=True):
        assert isinstance(after, Mode)
        assert after.equals(before)
        np.testing.assert_array_equal(after.top(N_EXEMPLARS), before.top(N_EXEMPLARS))
        np.testing.assert_array_equal(after.top(2, of="reference"), before.top(2, of="reference"))
        with pytest.raises(
            ValueError, match="k must be at most 25 for a mode that was read from a file, got 26"
        ):
            after.top(26)
        with pytest.raises(ValueError, match="got one read from a file"):
            after.members()
        with pytest.raises(ValueError, match="got one read from a file"):
            after.score(x)


def test_a_result_can_be_pickled_and_still_scores() -> None:
    x, y, _ = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    back = pickle.loads(pickle.dumps(result))
    assert back.equals(result)
    np.testing.assert_array_equal(back.point_novelty(y), result.point_novelty(y))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "options", [{"kernel": "cosine"}, {"bandwidth": 1.0, "method": "fourier"}, {"bandwidth": 1.0}]
)
def test_tensors_are_scored_without_a_warning(options: dict) -> None:
    x, y, _ = clusters(0)
    result = novelty(torch.asarray(x) + 1.0, torch.asarray(y) + 1.0, n_permutations=0, **options)
    same = novelty(x + 1.0, y + 1.0, n_permutations=0, **options)
    torch.set_warn_always(True)
    try:
        found = result.modes[0].score(torch.asarray(x) + 1.0)
    finally:
        torch.set_warn_always(False)
    np.testing.assert_allclose(found, same.modes[0].score(x + 1.0), atol=1e-9)
