"""Modes: modes of rows with their members and shares, rankings, memberships of new points, columns, files."""

import pickle

import numpy as np
import pandas as pd
import pytest

import oracles
from calls import novelty
from optional import torch
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.modes.mode import N_EXEMPLARS, Mode


def clusters(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clusters in the test sample, of 120, 50 and 30 rows; the reference has the first alone."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [120, 50, 30])
    centers = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    order = rng.permutation(200)
    x = (centers[labels] + rng.normal(size=(200, 2)) * 0.2)[order]
    return x, centers[0] + rng.normal(size=(160, 2)) * 0.2, labels[order]


def test_novel_clusters_are_found_with_their_rows() -> None:
    x, y, labels = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    assert result.fraction == pytest.approx(0.4, abs=0.01)
    assert result.p_value < 0.02
    assert result.new[0].p_value < 0.05
    assert len(result.new) == 2
    for mode in result.new:
        label = int(labels[mode.exemplars[0]])
        count = int((labels == label).sum())
        assert abs(mode.n_members - count) <= 2
        assert mode.fraction == mode.n_members / 200
        assert mode.reference_fraction == mode.n_reference_members / 160 < 0.02
        assert (labels[mode.top(count - 3)] == label).all()
        assert (labels[mode.exemplars] == label).all()
        assert set(mode.members()) == set(np.flatnonzero(mode.membership >= 2 / 3))
        assert np.mean(np.abs(mode.score(x) - mode.membership)) < 0.01
    assert result.missing == ()
    places = {int(labels[mode.exemplars[0]]): mode for mode in result.new}
    new, old = places[1].score([[5.0, 0.0], [0.0, 0.0]])
    assert new > 0.99
    assert old < 2 / 3


def test_what_is_lost_is_what_the_swapped_samples_gain() -> None:
    x, y, labels = clusters(2)
    result = novelty(y, x, bandwidth=1.0)
    assert result.new == ()
    assert result.fraction == 0.0
    assert result.missing_fraction == pytest.approx(0.4, abs=0.01)
    assert {int(labels[mode.reference_exemplars[0]]) for mode in result.missing} == {1, 2}
    assert all(
        mode.missing and mode.reference_fraction > 10 * mode.fraction for mode in result.missing
    )
    assert "Missing: about 40 % of the reference, 2 modes" in result.headline()


def test_diluted_modes_are_not_lost() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    x[:120] += 7.0  # what is left is 60 % as frequent as in the reference
    result = novelty(x, y, n_resamples=99)
    assert result.fraction == pytest.approx(0.4, abs=0.02)
    assert result.missing == ()
    assert result.test.missing_p_value > 0.05


@pytest.mark.slow
def test_tables_name_the_columns_in_which_members_differ() -> None:
    rng = np.random.default_rng(0)
    x, y = (
        pd.DataFrame(rng.normal(size=(200, 3)), columns=["age", "height", "dose"]) for _ in range(2)
    )
    x.loc[:50, "dose"] += 8.0
    x.loc[:50, "age"] -= 4.0
    mode = novelty(x, y).new[0]
    dose = mode.columns[0]
    assert dose.name == "dose"
    # Outside are the known samples that are nearest to the mode, which are not at 0.
    assert (dose.inside, dose.outside) == pytest.approx((8.0, 0.0), abs=1.2)
    assert dose.auc > 0.99
    assert "age" in [column.name for column in mode.columns]
    assert "dose 8" in str(mode)
    assert len(mode.nearest_known) > 0
    assert novelty(x.to_numpy(), y.to_numpy()).new[0].columns[0].name == "column 2"


def test_headlines_name_rows_by_the_index_of_a_table_or_by_files() -> None:
    rng = np.random.default_rng(0)
    x, y = pd.DataFrame(rng.normal(size=(80, 2))), pd.DataFrame(rng.normal(size=(90, 2)))
    x.iloc[:20] += 7.0
    y.iloc[:25] -= 7.0
    files = [f"{row}.png" for row in range(80)]
    plain = novelty(x, y)
    found = novelty(x.set_axis(files), y)
    new, missing = found.new[0], found.missing[0]
    assert new.names == tuple(files[row] for row in new.exemplars)
    assert missing.names == ()  # an index of positions says nothing more
    assert f"rows {new.names[0]}, {new.names[1]}" in found.headline()
    assert f"rows {missing.reference_exemplars[0]}, " in found.headline()
    assert plain.named(files, None).headline() == found.headline() != plain.headline()
    assert NoveltyResult.from_json(found.to_json()).headline() == found.headline()


def test_top_rows_are_sorted_and_ties_keep_their_order() -> None:
    x = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 30, axis=0)
    mode = novelty(x, np.zeros((60, 2)), bandwidth=1.0).new[0]
    assert mode.members().tolist() == list(range(30, 60))
    assert mode.top(12).tolist() == list(range(30, 42))
    assert len(mode.top()) == 10
    assert len(mode.top(100)) == 60
    assert len(mode.exemplars) == N_EXEMPLARS
    assert mode.members(of="reference").size == 0


@pytest.mark.parametrize("options", [{"kernel": "cosine"}, {"bandwidth": 1.0}])
def test_new_points_in_any_array_library(options: dict) -> None:
    x, y, _ = clusters(0)
    points = np.random.default_rng(0).normal(size=(500, 2)) * 3 + 1.0
    result = novelty(x + 1.0, y + 1.0, **options)
    found = novelty(torch.asarray(x) + 1.0, torch.asarray(y) + 1.0, **options)
    assert found.fraction == pytest.approx(result.fraction, abs=0.01)
    pairs = zip(result.new, found.new, strict=True)
    for first, second in pairs:
        same = first.score(points) - second.score(torch.asarray(points))
        assert np.mean(np.abs(same)) < 0.01
    scores = found.score_rows(torch.asarray(points))
    np.testing.assert_allclose(result.score_rows(points), scores, atol=0.03)


@pytest.mark.slow
def test_a_matrix_of_similarities_finds_the_same_rows() -> None:
    x, y, labels = clusters(0)
    joint = np.concatenate([x, y])
    matrix = oracles.gaussian_kernel(joint, joint, 1.0)
    positions = np.arange(float(len(joint)))[:, None]

    def looked_up(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]

    result = novelty(positions[:200], positions[200:], kernel=looked_up)
    members = np.unique(np.concatenate([mode.members() for mode in result.new]))
    assert np.isin(np.flatnonzero(labels > 0), members).mean() > 0.95
    assert result.fraction == pytest.approx(0.4, abs=0.02)
    assert result.score_rows(positions[:5]).shape == (5,)
    by_function = novelty(x, y, kernel=lambda a, b: oracles.gaussian_kernel(a, b, 1.0))
    assert by_function.fraction == pytest.approx(result.fraction, abs=1e-9)


def test_bad_questions_are_refused() -> None:
    x, y, _ = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    mode = result.new[0]
    with pytest.raises(ValueError, match="points must be of 2 columns, got 3"):
        mode.score(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="points must be of 2 columns, got 3"):
        result.score_rows(np.zeros((4, 3)))
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
    assert back.headline() == result.headline()
    for before, after in zip(result.new, back.new, strict=True):
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
    with pytest.raises(ValueError, match="got one read from a file"):
        back.score_rows(x)


def test_a_result_can_be_pickled_and_still_scores() -> None:
    x, y, _ = clusters(0)
    result = novelty(x, y, bandwidth=1.0)
    back = pickle.loads(pickle.dumps(result))
    assert back.equals(result)
    np.testing.assert_array_equal(back.point_novelty(y), result.point_novelty(y))
    np.testing.assert_array_equal(back.score_rows(y), result.score_rows(y))
