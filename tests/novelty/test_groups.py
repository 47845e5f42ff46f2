"""Groups of modes: one kind of rows, several modes."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult


def kinds(
    seed: int, columns: int, distance: float, n: int = 500
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four kinds that the reference lacks, and three that it has; normal with variance 1."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(7, columns))
    centers *= distance / np.linalg.norm(centers, axis=1, keepdims=True)
    kind, other = rng.integers(0, 7, n), rng.integers(4, 7, n)
    return centers[kind] + rng.normal(size=(n, columns)), centers[other] + rng.normal(size=(n, columns)), kind


@pytest.mark.parametrize(("columns", "distance", "bandwidth"), [(8, 12.0, 4.0), (20, 20.0, 8.0)])
def test_modes_of_one_kind_go_together_at_large_eta(columns: int, distance: float, bandwidth: float) -> None:
    x, y, kind = kinds(0, columns, distance)
    result = novelty(x, y, eta=10.0, bandwidth=bandwidth, n_permutations=8)
    groups = result.grouped_modes()
    assert result.n_significant > 10
    assert len(groups) == 4
    found = [np.bincount(kind[group.members()], minlength=7) for group in groups]
    assert sorted(count.argmax() for count in found) == [0, 1, 2, 3]
    assert min(count.max() / count.sum() for count in found) > 0.98
    assert sorted(part for group in groups for part in group.parts) == list(
        range(min(20, result.n_significant))
    )


def test_a_group_adds_up_its_modes() -> None:
    x, y, _ = kinds(1, 8, 12.0)
    result = novelty(x, y, eta=10.0, bandwidth=4.0, n_permutations=8)
    for group in result.grouped_modes():
        parts = [result.modes[part] for part in group.parts]
        assert group.eigenvalue == pytest.approx(sum(mode.eigenvalue for mode in parts))
        assert group.eigenvalue == pytest.approx(group.frequency - 10.0 * group.reference_frequency, abs=1e-9)
        np.testing.assert_allclose(group.membership, sum(mode.membership for mode in parts), atol=1e-9)
        np.testing.assert_allclose(group.score(x), group.membership, atol=1e-6)
        assert group.membership.max() <= 1.0
        np.testing.assert_array_equal(group.top(5), np.argsort(-group.membership, kind="stable")[:5])
        assert str(group).startswith(f"Group {group.index + 1} (")


def test_few_groups_or_many() -> None:
    x, y, _ = kinds(1, 8, 12.0)
    result = novelty(x, y, eta=10.0, bandwidth=4.0)
    assert len(result.grouped_modes(n_groups=2)) == 2
    assert len(result.grouped_modes(similarity=0.0)) == 1
    assert len(result.grouped_modes(similarity=1.0)) == min(20, result.n_significant)
    excess = [group.eigenvalue for group in result.grouped_modes(similarity=1.0)]
    assert excess == sorted(excess, reverse=True)


def test_lost_modes_are_grouped_by_the_rows_of_the_reference() -> None:
    x, y, kind = kinds(0, 8, 12.0)
    result = novelty(y, x, bandwidth=4.0, n_permutations=5)
    groups = result.grouped_modes(lost=True)
    assert len(groups) == 4
    for group in groups:
        assert group.lost
        assert str(group).startswith("Lost group")
        assert np.bincount(kind[group.members(of="reference")]).max() >= 0.98 * group.n_reference_members


def test_one_mode_or_none() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100, 2))
    assert novelty(x, x, bandwidth=2.0).grouped_modes() == ()
    x[:40] += 9.0
    (group,) = novelty(x, y, bandwidth=2.0).grouped_modes()
    assert group.n_members == 40
    assert group.parts == (0,)
    assert "1 mode)" in str(group)


@pytest.mark.parametrize(("method", "kernel"), [("fourier", "gaussian"), ("cosine", "cosine")])
def test_modes_of_feature_maps(method: str, kernel: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300, 3)) + np.array([0.0, 5.0, 0.0])
    x[:100] += [9.0, 0.0, 0.0]
    groups = novelty(x, y, eta=5.0, method=method, kernel=kernel, n_frequencies=60).grouped_modes()
    assert set(groups[0].top(20)) <= set(range(100))


def test_bad_input_is_named(tmp_path) -> None:
    x, y, _ = kinds(0, 3, 9.0, 60)
    result = novelty(x, y, bandwidth=3.0)
    with pytest.raises(ValueError, match="similarity must be"):
        result.grouped_modes(similarity=1.5)
    with pytest.raises(ValueError, match="n_groups must be"):
        result.grouped_modes(n_groups=0)
    result.to_json(tmp_path / "result.json")
    with pytest.raises(ValueError, match="Compute the novelty again"):
        NoveltyResult.from_json(tmp_path / "result.json").grouped_modes()
