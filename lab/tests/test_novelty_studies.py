"""Novelty at several bandwidths: each is what a call there gives."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import choose_bandwidth
from shiftmetrics.views import plot
from shiftmetrics_lab.novelty_studies import bandwidth_sweep


def two_samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(70, 3)), rng.normal(size=(50, 3))
    x[:25] += 6.0
    return x, y


@pytest.mark.parametrize("eta", [1.0, 2.0])
def test_each_bandwidth_is_one_call(eta: float) -> None:
    x, y = two_samples()
    sweep = bandwidth_sweep(x, y, bandwidths=[2.0, 0.5, 8.0], eta=eta, n_permutations=8)
    np.testing.assert_array_equal(sweep.points, [0.5, 2.0, 8.0])
    for i, width in enumerate(sweep.points):
        one = novelty(x, y, bandwidth=float(width), eta=eta, method="dense")
        assert sweep.scores[i] == pytest.approx(one.value, abs=1e-7)
        assert sweep.mode_counts[i] == pytest.approx(one.score.mode_count, rel=1e-7)
    assert sweep.n_significant[1] >= 1
    assert sweep.p_values[1] == pytest.approx(1 / 9)
    np.testing.assert_allclose(sweep.excess, sweep.scores - sweep.null_means)


def test_the_headline_counts_bandwidths_and_modes() -> None:
    x, y = two_samples()
    sweep = bandwidth_sweep(x, y, bandwidths=[0.01, 2.0, 8.0], n_permutations=5)
    assert (sweep.n_significant.min(), sweep.n_significant.max()) == (0, 1)
    beyond = int((sweep.scores > sweep.null_means + 2.0 * sweep.null_spreads).sum())
    assert sweep.headline().startswith(f"At {beyond} of 3 bandwidths from 0.01 to 8 the score")
    assert sweep.headline().endswith("; 0 to 1 modes stand out.")


def test_the_default_goes_from_every_row_a_mode_to_one_mode_for_all() -> None:
    x, y = two_samples()
    sweep = bandwidth_sweep(x, y, n_permutations=3)
    assert len(sweep.points) == 9
    assert sweep.points[-1] / sweep.points[0] == pytest.approx(16.0)
    assert (np.diff(sweep.mode_counts) < 0.0).all()
    frame = sweep.to_frame()
    assert list(frame["n_significant"]) == sweep.n_significant.tolist()
    few = bandwidth_sweep(x, y, n_permutations=3, max_rows=30)
    assert (few.n_test, few.n_reference) == (30, 30)
    again = bandwidth_sweep(x, y, n_permutations=3, max_rows=30)
    assert few.equals(again)


def test_the_drawing_shows_scores_null_and_counts() -> None:
    sweep = bandwidth_sweep(*two_samples(), bandwidths=[1.0, 2.0], n_permutations=3)
    axes = plot(sweep)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), sweep.scores)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), sweep.null_means)
    assert [text.get_text() for text in axes.texts] == [str(count) for count in sweep.n_significant]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"bandwidths": []}, "bandwidths"),
        ({"bandwidths": [1.0, -1.0]}, r"bandwidths\[1\]"),
        ({"bandwidths": "auto"}, "bandwidths"),
        ({"eta": 0.5}, "eta"),
        ({"n_permutations": 0}, "n_permutations"),
        ({"max_rows": 1}, "max_rows"),
    ],
)
def test_options_are_checked(options: dict, named: str) -> None:
    x, y = two_samples()
    with pytest.raises(ValueError, match=named):
        bandwidth_sweep(x, y, **options)


def test_equal_rows_have_no_mode_that_stands_out() -> None:
    sweep = bandwidth_sweep(np.ones((30, 2)), np.ones((40, 2)), bandwidths=[0.5, 2.0])
    np.testing.assert_array_equal(sweep.scores, 0.0)
    np.testing.assert_array_equal(
        sweep.n_significant, 0
    )  # eigenvalues that are rounding are above those that are 0


def test_columns_of_different_units_are_divided_where_no_bandwidth_is_given() -> None:
    x, y = two_samples()
    wide = np.full(x.shape[1], 1.0)
    wide[0] = 1e4
    sweep, alike = bandwidth_sweep(x * wide, y * wide), bandwidth_sweep(x, y)
    rows = np.concatenate([x, y])
    np.testing.assert_allclose(
        sweep.scores, bandwidth_sweep(x / rows.std(axis=0), y / rows.std(axis=0)).scores
    )
    assert np.ptp(alike.scores) > 0.0


def test_distances_that_do_not_fit_in_memory_are_refused_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shiftmetrics._core.options.available_memory", lambda: 1 << 18)
    x, y = two_samples()
    with pytest.raises(
        MemoryError, match="max_rows, with 120 rows of both samples, needs .* Lower max_rows"
    ):
        bandwidth_sweep(x, y, bandwidths=[1.0])
    with pytest.raises(
        MemoryError, match="max_rows, with 120 rows of both samples, needs .* Lower max_rows"
    ):
        choose_bandwidth(x, y)
    assert choose_bandwidth(x, y, max_rows=20).n_rows == 40
