"""Modes on held-out rows: size where a kind is exactly eta times as frequent, power beyond, exact counts."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import calls
from calls import novelty
from shiftmetrics._core.confidence import rate_ratio_low, rate_ratio_p_value
from shiftmetrics.novelty import NoveltyResult


def on_held_out(features: np.ndarray, reference: np.ndarray, **options: object) -> NoveltyResult:
    """Test the modes on a half of the rows, by default."""
    return calls.novelty(features, reference, **{"held_out": 0.5, "rng": 0, **options})


def shifted(
    seed: int, n: int, m: int, share: float, reference_share: float, columns: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of one normal kind, and shares of rows of a far one."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[rng.random(n) < share, 0] += 8.0
    y[rng.random(m) < reference_share, 0] += 8.0
    return x, y


@pytest.mark.parametrize(("having", "other"), [(12, 3), (5, 0), (1, 9), (30, 30)])
@pytest.mark.parametrize(("n", "m", "ratio"), [(200, 200, 1.0), (150, 400, 5.0), (400, 90, 10.0)])
def test_counts_are_compared_by_the_exact_binomial(
    having: int, other: int, n: int, m: int, ratio: float
) -> None:
    share = ratio * n / (ratio * n + m)
    p_value = rate_ratio_p_value(having, other, n, m, ratio)
    assert p_value == pytest.approx(binomtest(having, having + other, share, alternative="greater").pvalue)
    low = rate_ratio_low(having, other, n, m, 0.95)
    assert rate_ratio_p_value(having, other, n, m, low) == pytest.approx(0.05)
    assert (p_value <= 0.05) == (low >= ratio)


def test_no_count_is_no_evidence() -> None:
    assert rate_ratio_p_value(0.0, 3.0, 10, 10, 1.0) == 1.0
    assert rate_ratio_low(0.0, 3.0, 10, 10, 0.95) == 0.0


@pytest.mark.parametrize("ratio", [1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4, 0.9])
@pytest.mark.parametrize(("n", "m"), [(150, 150), (300, 80), (80, 300)])
def test_the_size_of_the_test_is_kept_at_any_frequency(ratio: float, share: float, n: int, m: int) -> None:
    # The probability of rejection where the first is exactly `ratio` times the second, summed over all outcomes.
    a, b = np.arange(n + 1), np.arange(m + 1)
    weight = ratio * n / (ratio * n + m)
    p_values = binom.sf(a[:, None] - 1, a[:, None] + b, weight)
    chances = np.outer(binom.pmf(a, n, share), binom.pmf(b, m, share / ratio))
    for alpha in (0.1, 0.05, 0.005):
        assert chances[p_values <= alpha].sum() <= alpha + 1e-12


def test_a_mode_at_eta_is_found_by_relabelling_and_not_confirmed() -> None:
    relabelled = confirmed = 0
    for seed in range(20):
        x, y = shifted(seed, 300, 300, 0.4, 0.08)
        result = on_held_out(x, y, eta=5.0, bandwidth=2.0, rng=seed)
        relabelled += bool(result.n_significant)
        confirmed += result.n_confirmed > 0
    assert relabelled >= 15  # relabelling tells that the samples differ, which they do
    assert confirmed <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("eta", "share", "columns"), [(1.0, 0.3, 2), (2.0, 0.5, 2), (5.0, 0.4, 2), (5.0, 0.4, 6)]
)
def test_the_error_of_all_modes_together_keeps_the_level(eta: float, share: float, columns: int) -> None:
    # The level asks for intervals of the score, too: two draws are enough where nobody reads them.
    options = {"eta": eta, "bandwidth": 2.0, "level": 0.9, "n_draws": 2}
    samples = ((seed, *shifted(seed, 240, 240, share, share / eta, columns)) for seed in range(200))
    confirmed = sum(on_held_out(x, y, rng=seed, **options).n_confirmed > 0 for seed, x, y in samples)
    assert confirmed <= 0.1 * 200 + 8


def test_a_kind_beyond_eta_is_confirmed_with_its_rows() -> None:
    x, y = shifted(3, 500, 400, 0.5, 0.04)
    result = on_held_out(x, y, eta=5.0, bandwidth=2.0, rng=0)
    assert [mode.confirmed for mode in result.tests] == [True]
    mode = result.tests[0]
    assert mode.ratio_low > 5.0
    assert mode.ratio > mode.ratio_low
    assert mode.p_adjusted <= 0.05
    assert (x[mode.exemplars, 0] > 4.0).all()
    assert 0.3 < mode.member_share <= 0.6
    assert mode.n_members == round(mode.member_share * result.tested_rows[0])
    assert sorted(mode.parts) == list(range(result.n_significant))
    assert result.n_significant > 1


def test_frequencies_are_those_of_the_held_out_rows() -> None:
    x, y = shifted(0, 200, 150, 0.5, 0.0)
    result = on_held_out(x, y, bandwidth=2.0, held_out=0.7, rng=4)
    assert (result.n_samples, result.n_reference) == (60, 45)
    assert result.tested_rows == (140, 105)
    mode, found = result.tests[0], result.grouped_modes()[0]
    held_out = [
        row for row in range(200) if np.abs(found.score(x[row : row + 1]) - found.membership).min() > 1e-12
    ]
    assert len(held_out) == 140
    membership = found.score(x[held_out])
    assert mode.frequency == pytest.approx(membership.mean())
    assert mode.n_members == (membership >= mode.threshold).sum()
    assert mode.member_share == pytest.approx(mode.n_members / 140)


def test_weighted_rows_count_as_fewer() -> None:
    x, y = shifted(0, 300, 300, 0.4, 0.05)
    plain = on_held_out(x, y, eta=2.0, bandwidth=2.0, rng=0).tests[0]
    weights = np.random.default_rng(1).exponential(size=300) ** 2
    uneven = on_held_out(x, y, eta=2.0, bandwidth=2.0, rng=0, sample_weight=weights).tests[0]
    assert uneven.ratio_low < plain.ratio_low
    # Rows without weight are not there.
    x2 = np.concatenate([x, x + 30.0])
    same = on_held_out(x2, y, eta=2.0, bandwidth=2.0, rng=0, sample_weight=np.repeat([2.0, 0.0], 300)).tests[
        0
    ]
    assert same.equals(plain)


@pytest.mark.parametrize("kernel", ["cosine", "precomputed", "callable"])
def test_other_kernels(kernel: str) -> None:
    x, y = shifted(0, 160, 120, 0.5, 0.0, columns=3)
    both = np.concatenate([x, y])
    similarities = np.exp(-0.5 * ((both[:, None] - both) ** 2).sum(axis=2) / 4.0)
    if kernel == "cosine":
        result = on_held_out(x + np.array([0, 4, 0]), y + np.array([0, 4, 0]), kernel="cosine", rng=0)
    elif kernel == "precomputed":
        result = on_held_out(similarities[:160], similarities[160:], kernel="precomputed", rng=0)
        gaussian = on_held_out(x, y, bandwidth=2.0, rng=0)
        assert result.tests[0].p_value == pytest.approx(gaussian.tests[0].p_value, rel=1e-6)
    else:
        result = on_held_out(
            x, y, kernel=lambda a, b: np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=2) / 4.0), rng=0
        )
    assert result.n_confirmed >= 1
    assert result.bandwidth is None


def test_pairs_are_parted_as_pairs() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(300, 3))
    x = y + 0.1 * rng.normal(size=y.shape)
    x[:120, 0] += 7.0
    result = on_held_out(x, y, bandwidth=2.0, paired=True, rng=0)
    assert result.null.paired
    assert result.n_confirmed == 1
    assert result.tested_rows == (150, 150)
    assert not any("paired" in text for text in result.warnings)
    with pytest.raises(ValueError, match="paired must be False"):
        on_held_out(x[:-1], y, bandwidth=2.0, paired=True)


def test_nothing_found_is_nothing_tested() -> None:
    x = np.random.default_rng(0).normal(size=(80, 2))
    result = on_held_out(x, x, bandwidth=2.0, rng=1)
    assert result.tests == ()
    assert result.n_confirmed == 0
    assert "No mode stood out, so none was tested on the 40 and 40 held-out rows" in result.summary()
    assert result.tests_frame().empty


def test_it_reads_well_and_travels_through_json(tmp_path) -> None:
    x, y = shifted(3, 500, 400, 0.5, 0.04)
    result = on_held_out(x, y, eta=5.0, bandwidth=2.0, rng=0)
    assert "1 of 1 modes is more than 5 times as frequent" in result.notes()[0]
    assert "at least" in result.notes()[1]
    frame = result.tests_frame()
    assert list(frame.columns[:3]) == ["mode", "member_share", "reference_member_share"]
    result.to_json(tmp_path / "result.json")
    assert NoveltyResult.from_json(tmp_path / "result.json").equals(result)
    with pytest.raises(ValueError, match="tests must be of held-out rows"):
        novelty(x, y, bandwidth=2.0, n_permutations=0).tests_frame()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eta": 0.5}, "eta must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"level": 0.0}, "level must be"),
        ({"features": np.zeros((3, 2))}, "features must be of at least 4 rows"),
        ({"reference_weight": [1.0, 1.0, 1.0] + [0.0] * 27}, "reference must be of at least 4 rows"),
        ({"reference": np.full((30, 2), np.nan)}, "reference must be"),
    ],
)
def test_bad_input_is_named(change: dict, message: str) -> None:
    x, y = shifted(0, 40, 30, 0.4, 0.1)
    with pytest.raises(ValueError, match=message):
        on_held_out(**{"features": x, "reference": y, **change})


def test_the_summary_at_eta_points_to_it() -> None:
    x, y = shifted(0, 60, 60, 0.4, 0.1)
    assert "held_out=0.5" in novelty(x, y, eta=3.0, bandwidth=2.0).summary()
    assert "held_out" not in novelty(x, y, bandwidth=2.0).summary()
