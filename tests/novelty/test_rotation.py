"""Varimax: it recovers what a rotation mixed, and makes modes pure that eigenvectors mix; lost modes; neighbours."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.modes import Mode
from shiftmetrics.novelty.rotation import varimax


def five_new_kinds(
    seed: int, n_rows: int = 300, dimension: int = 64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten kinds in the test sample, five of which the reference lacks, all equally frequent; kinds of the test."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, dimension))
    kinds, known = rng.permutation(np.resize(np.arange(10), n_rows)), np.resize(np.arange(5), n_rows)
    x, y = (centers[part] + 0.3 * rng.normal(size=(n_rows, dimension)) for part in (kinds, known))
    return x, y, kinds


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_varimax_undoes_a_random_rotation(size: int) -> None:
    rng = np.random.default_rng(size)
    pure = np.repeat(np.eye(size), 10, axis=0) * rng.uniform(0.7, 1.0, size=(10 * size, 1))
    mixing = np.linalg.qr(rng.normal(size=(size, size)))[0]
    rotation = varimax(pure @ mixing, np.full(10 * size, 0.1 / size))
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(size), atol=1e-12)
    found = np.abs(mixing @ rotation)
    np.testing.assert_allclose(np.sort(found, axis=0)[-1], 1.0, atol=1e-6)
    np.testing.assert_array_equal(np.sort(found.argmax(axis=0)), np.arange(size))


def test_rows_without_weight_do_not_turn_the_rotation() -> None:
    pure = np.repeat(np.eye(2), 5, axis=0)
    odd = np.vstack([pure, np.full((30, 2), 3.0)])
    weights = np.r_[np.full(10, 0.1), np.zeros(30)]
    np.testing.assert_allclose(np.abs(varimax(odd, weights)).max(axis=0), 1.0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_rotated_modes_show_five_of_five_new_kinds_where_eigenvectors_mix(seed: int) -> None:
    x, y, kinds = five_new_kinds(seed, n_rows=450)
    options = {"bandwidth": 5.0, "rng": 0}
    rotated = novelty(x, y, **options)
    raw = novelty(x, y, n_permutations=0, **options)
    assert rotated.null is not None
    assert rotated.n_significant == 5
    tops = [kinds[mode.top(20)] for mode in rotated.modes[:5]]
    assert all((top == top[0]).all() for top in tops)  # purity 1.00
    assert {int(top[0]) for top in tops} == {5, 6, 7, 8, 9}

    def shared(modes: tuple[Mode, ...]) -> float:  # members of one kind that other modes claim a part of
        memberships = np.array([mode.membership for mode in modes[:5]])
        return float((memberships.sum(axis=0) - memberships.max(axis=0)).mean())

    assert shared(rotated.modes) < 0.2 * shared(raw.modes)
    # Both sums are exact, and each mode's excess is what its frequencies say.
    assert sum(mode.eigenvalue for mode in rotated.modes) == pytest.approx(
        sum(raw.eigenvalues[:10]), abs=1e-9
    )
    for mode in rotated.modes:
        assert mode.eigenvalue == pytest.approx(mode.frequency - mode.reference_frequency, abs=1e-8)
        assert mode.rotated == mode.significant == (mode.index < 5)
        assert mode.frequency == pytest.approx(mode.score(x).mean(), abs=1e-8)
    assert [mode.rotated for mode in raw.modes] == [False] * 10
    first = [mode.eigenvalue for mode in rotated.modes[:5]]
    assert first == sorted(first, reverse=True)


@pytest.mark.parametrize("method", ["dense", "cholesky", "landmarks", "fourier"])
def test_lost_modes_are_the_modes_of_the_swapped_samples(method: str) -> None:
    y, x, kinds = five_new_kinds(0, n_rows=120, dimension=16)
    options = {"bandwidth": 3.0, "method": method}
    result, swapped = (novelty(*pair, n_permutations=0, **options) for pair in ((x, y), (y, x)))
    assert len(result.lost_modes) == 10
    tolerance = 0.05 if method == "fourier" else 2e-3 if method == "landmarks" else 1e-8
    for lost, gained in zip(result.lost_modes[:3], swapped.modes[:3], strict=True):
        assert lost.lost
        assert lost.eigenvalue == pytest.approx(gained.eigenvalue, abs=tolerance)
        assert lost.reference_frequency == pytest.approx(gained.frequency, abs=tolerance)
        assert lost.frequency == pytest.approx(gained.reference_frequency, abs=tolerance)
        assert lost.eigenvalue == pytest.approx(lost.reference_frequency - lost.frequency, abs=1e-6)
        np.testing.assert_allclose(lost.score(y), lost.reference_membership, rtol=0, atol=1e-6)
        assert str(lost).startswith(f"Lost mode {lost.index + 1}: ")
    pure = novelty(x, y, **options)
    assert pure.lost_modes[0].significant
    assert np.bincount(kinds[pure.lost_modes[0].top(8, of="reference")]).max() >= 6


def test_the_modes_of_a_factor_of_high_rank_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    y, x, _ = five_new_kinds(0, n_rows=60)
    options = {"bandwidth": 5.0, "n_permutations": 0, "method": "dense"}
    expected = novelty(x, y, **options)
    monkeypatch.setattr("shiftmetrics.novelty.solution.EAGER_RANK", 10)
    found = novelty(x, y, **options)
    pairs = zip(found.modes + found.lost_modes, expected.modes + expected.lost_modes, strict=True)
    for one, two in pairs:
        assert one.eigenvalue == pytest.approx(two.eigenvalue, abs=1e-9)
        assert one.reference_frequency == pytest.approx(two.reference_frequency, abs=1e-6)


def test_lost_modes_are_those_at_eta_1_and_travel_as_json() -> None:
    y, x, _ = five_new_kinds(0, n_rows=60)
    assert novelty(x, y, bandwidth=5.0, eta=2.0).lost_modes == ()
    result = novelty(x, y, bandwidth=5.0)
    back = NoveltyResult.from_json(result.to_json())
    assert [str(mode) for mode in back.lost_modes] == [str(mode) for mode in result.lost_modes]


def test_the_nearest_reference_row_is_the_most_similar_one() -> None:
    x, y, _ = five_new_kinds(0, n_rows=80)
    for mode in novelty(x, y, bandwidth=5.0).modes:
        squares = ((y - x[mode.exemplars[0]]) ** 2).sum(axis=1)
        assert mode.nearest_reference == squares.argmin()
        assert mode.nearest_similarity == pytest.approx(np.exp(-squares.min() / 50.0), rel=1e-9)
