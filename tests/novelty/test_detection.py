"""What the answer is worth: level, seeds, sizes, weights, groups, pairs, eta, dilution, bounds, and the planner."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes import space


def planted(
    seed: int, n: int, m: int, share: float, columns: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """A sample of which a share is new, and a reference."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: round(share * n)] = 6.0 * np.eye(columns)[0] + 0.7 * rng.normal(
        size=(round(share * n), columns)
    )
    return x, y


@pytest.mark.slow
def test_p_values_are_uniform_where_nothing_is_new() -> None:
    p_values = []
    for seed in range(80):
        x, y = planted(seed, 60, 90, 0.0, columns=3)
        found = novelty(x, y, n_resamples=99, rng=seed)
        p_values.append((found.p_value, found.test.missing_p_value))
    for confidence_level in (0.05, 0.2, 0.5):
        share = np.mean(np.array(p_values) <= confidence_level, axis=0)
        assert (
            share
            <= confidence_level
            + 3.0 * np.sqrt(confidence_level * (1.0 - confidence_level) / len(p_values))
        ).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(200, 200), (60, 1200), (1200, 100)])
def test_unequal_sizes(n: int, m: int) -> None:
    x, y = planted(1, n, m, 0.25)
    found = novelty(x, y)
    assert found.p_value < 0.05
    assert found.fraction == pytest.approx(0.25, abs=0.07)
    assert found.fraction_interval.low <= 0.25
    assert found.test.missing_p_value > 0.01


@pytest.mark.slow
def test_seeds_give_one_verdict() -> None:
    x, y = planted(2, 150, 150, 0.2)
    found = [novelty(x, y, n_resamples=199, rng=seed) for seed in range(5)]
    assert {len(part.new) for part in found} == {1}
    assert not any(part.borderline for part in found)


def test_weights_count_as_copies_of_rows() -> None:
    x, y = planted(3, 150, 150, 0.2)
    weights = np.where(np.arange(150) < 30, 3.0, 1.0)
    found = novelty(x, y, sample_weight=weights)
    assert found.fraction == pytest.approx(90 / 210, abs=0.04)
    none = novelty(x, y, sample_weight=np.where(np.arange(150) < 30, 0.0, 1.0))
    assert none.fraction < 0.05


@pytest.mark.slow
def test_groups_are_relabelled_together() -> None:
    rng = np.random.default_rng(4)
    patients = np.repeat(
        rng.normal(size=(40, 3)), 10, axis=0
    )  # rows of one patient are nearly the same
    rows = patients + 0.05 * rng.normal(size=patients.shape)
    groups = np.repeat(np.arange(40), 10)
    alone = novelty(rows[:200], rows[200:])
    together = novelty(rows[:200], rows[200:], groups=(groups[:200], groups[200:]))
    assert alone.p_value < 0.05 < together.p_value
    with pytest.raises(ValueError, match="groups must be of one sample each, got 5 in both"):
        novelty(rows[:200], rows[200:], groups=(np.full(200, 5), np.full(200, 5)))
    with pytest.raises(ValueError, match="groups must be a tuple of two arrays"):
        novelty(rows[:200], rows[200:], groups=groups)


def test_pairs_are_swapped() -> None:
    rng = np.random.default_rng(5)
    y = 3.0 * rng.normal(size=(150, 3))
    x = y + 0.1 * rng.normal(size=y.shape)
    assert novelty(x, y, paired=True).p_value > 0.05
    x[:60, 0] += 12.0
    found = novelty(x, y, paired=True)
    assert found.p_value < 0.05
    assert np.mean(found.new[0].members() < 60) > 0.9


@pytest.mark.slow
def test_a_kind_that_is_not_more_than_eta_times_as_frequent_is_not_new() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(600, 3)), rng.normal(size=(600, 3))
    x[:240] += 8.0
    y[:80] += 8.0  # three times as frequent
    assert novelty(x, y, eta=1.5).p_value < 0.05
    assert novelty(x, y, eta=5.0).new == ()


@pytest.mark.slow
def test_one_new_kind_brings_no_second_one() -> None:
    false = 0
    for seed in range(40):
        x, y = planted(seed, 120, 120, 0.25, columns=(2, 5)[seed % 2])
        modes = novelty(x, y, n_resamples=199, rng=seed).new
        false += any((mode.top(10) >= 30).mean() > 0.5 for mode in modes)
    assert false <= 5  # at a rate of 5 % more have a chance of 1 in 70


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"eta": 2.0}, {"paired": True}, {"groups": True}])
def test_of_many_rows_a_part_is_looked_on_and_all_are_counted(
    options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "COORDINATE_BYTES", 8 * 365 * 800)
    x, y = planted(8, 2000, 2000, 0.2)
    if options.get("groups"):
        options = {"groups": (np.arange(2000) // 2, 1000 + np.arange(2000) // 2)}
    found = novelty(x, y, **options)
    assert found.settings["searched"] == ((200, 200) if "eta" in options else (400, 400))
    assert "samples chosen at random, and counted in all" in found.summary()
    assert (found.p_value < 0.05, len(found.new), found.missing) == (True, 1, ())
    # Told by the samples that were searched: of 400 the share of new ones alone has a standard deviation of .02.
    assert found.fraction == pytest.approx(0.2, abs=0.06)
    assert found.fraction_interval.low <= 0.2
    members = found.new[0].members()
    assert np.mean(members < 400) > 0.8
    assert np.isin(np.arange(400), members).mean() > 0.9
    assert found.row_scores[:400].min() > np.quantile(found.row_scores[400:], 0.9)


@pytest.mark.slow
def test_many_rows_do_not_part_one_kind() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(2, 20_000, 32))
    x[:2000] *= 0.5
    x[:2000, :4] += 3.0
    found = novelty(x, y)
    assert found.fraction == pytest.approx(0.1, abs=0.005)
    assert (len(found.new), found.missing) == (1, ())
    assert np.mean(found.new[0].members() < 2000) > 0.95
