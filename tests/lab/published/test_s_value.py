"""The s-value against closed forms of exponential families, and how often its interval covers."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics import Resampling, Result
from shiftmetrics.comparison import compare_results
from shiftmetrics.lab.published import s_value

LAWS = {
    # the law, a threshold above its mean, and the least divergence of a law with that mean
    "normal": (stats.norm(1.0, 2.0), 2.5, (2.5 - 1.0) ** 2 / (2 * 4.0)),
    "negative normal": (stats.norm(-1.0, 0.5), -0.6, 0.4**2 / (2 * 0.25)),
    "exponential": (stats.expon(), 1.6, 1.6 - 1.0 - np.log(1.6)),
    "two points": (stats.bernoulli(0.2), 0.5, 0.5 * np.log(0.5 / 0.2) + 0.5 * np.log(0.5 / 0.8)),
}


@pytest.mark.parametrize("name", LAWS)
def test_closed_forms(name: str) -> None:
    law, threshold, divergence = LAWS[name]
    n = 200_000
    values = law.ppf((np.arange(n) + 0.5) / n)
    result = s_value(values, threshold)
    assert result.parts["kl"] == pytest.approx(divergence, rel=3e-3)
    assert result.value == pytest.approx(np.exp(-divergence), rel=3e-3)
    assert result.value == pytest.approx(np.exp(-result.parts["kl"]), rel=1e-12)
    assert np.mean(result.weights * values) == pytest.approx(threshold)
    assert result.parts["base_risk"] == pytest.approx(law.mean(), abs=1e-3)
    if "normal" in name:
        assert result.parts["tilt"] == pytest.approx((threshold - law.mean()) / law.var(), rel=3e-3)
        scale = 1.0 if name == "normal" else -1.0
        assert scale * law.mean() > 0.0


def test_it_is_the_least_moment_generating_function() -> None:
    values = np.random.default_rng(0).normal(size=500)
    result = s_value(values, 0.4)
    tilts = np.linspace(0.0, 1.5, 3001)
    grid = np.exp(np.outer(tilts, values - 0.4)).mean(axis=1)
    assert result.value == pytest.approx(grid.min(), rel=1e-6)
    assert result.parts["tilt"] == pytest.approx(tilts[grid.argmin()], abs=1e-3)
    shifted = s_value(5.0 * values - 7.0, 5.0 * 0.4 - 7.0)  # the unit does not matter
    assert shifted.value == pytest.approx(result.value, rel=1e-9)
    assert shifted.standard_error == pytest.approx(result.standard_error, rel=1e-6)


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**1000])
def test_no_unit_is_too_large_or_too_small(scale: float) -> None:
    values = np.random.default_rng(4).normal(size=60)
    one, other = s_value(values, 0.5), s_value(scale * values, scale * 0.5)
    assert other.value == pytest.approx(one.value, rel=1e-12)
    assert other.parts["tilt"] * scale == pytest.approx(one.parts["tilt"], rel=1e-9)
    assert other.parts["base_risk"] == pytest.approx(scale * one.parts["base_risk"], rel=1e-12)


def test_edges() -> None:
    values = np.array([-1.0, 0.5, 2.0])
    assert s_value(values, 0.2).value == 1.0
    assert str(s_value(values, 0.2).status) == "already_at_risk"
    beyond = s_value(values, 2.5)
    assert (beyond.value, str(beyond.status)) == (0.0, "unattainable")
    assert "no reweighting of these rows reaches it" in beyond.headline()
    edge = s_value(values, 2.0)
    assert edge.value == pytest.approx(1 / 3)
    assert str(edge.status) == "boundary"
    none = s_value(np.zeros(50, dtype=bool), 0.3)
    assert none.value == 0.0
    assert none.interval.high > 0.1  # the sample does not rule out errors
    assert s_value(values, -9.0).value == 1.0
    assert s_value(values, 0.2).error_bound == 0.0
    assert s_value(values, 1.0).error_bound < 1e-9


def test_groups_weights_and_results() -> None:
    values = np.random.default_rng(1).normal(size=150)
    counts = np.random.default_rng(2).integers(1, 4, 150)
    rows = np.repeat(np.arange(150), counts)
    weighted = s_value(values, 0.4, sample_weight=counts)
    grouped = s_value(values[rows], 0.4, resampling=Resampling(groups=rows))
    assert weighted.value == pytest.approx(grouped.value)
    assert weighted.standard_error == pytest.approx(grouped.standard_error)
    assert np.linalg.norm(grouped.influence) == pytest.approx(grouped.standard_error)
    assert Result.from_json(weighted.to_json()).equals(weighted)
    ranked = compare_results({"far": s_value(values, 0.4), "near": s_value(values + 0.1, 0.4)})
    assert [model.name for model in ranked.models] == ["far", "near"]  # lower is more stable
    assert ranked.differences[0].p_value < 0.05


@pytest.mark.parametrize(
    ("losses", "threshold", "options", "error", "message"),
    [
        ([0.1, np.inf], 0.5, {}, ValueError, "losses must be finite everywhere, got inf at row 1"),
        ([0.1, 0.2], np.nan, {}, ValueError, "threshold must be a number"),
        ([0.1, 0.2], None, {}, TypeError, "threshold must be a real number"),
        (
            [0.1, 0.2],
            0.15,
            {"resampling": Resampling(groups=["a", "a"])},
            ValueError,
            "groups must be of at least two",
        ),
        ([0.1, 0.2], 0.15, {"sample_weight": [0, 0]}, ValueError, "sample_weight must be positive"),
        ([0.1, 0.2], 0.15, {"resampling": 2}, ValueError, "resampling must be"),
    ],
)
def test_bad_input(losses, threshold, options, error, message) -> None:
    with pytest.raises(error, match=message):
        s_value(losses, threshold, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_the_interval_covers(name: str) -> None:
    law, threshold, divergence = LAWS[name]
    rng = np.random.default_rng(7)
    covered = given = 0
    for _ in range(200):
        interval = s_value(law.rvs(500, random_state=rng), threshold, resampling=0.9).interval
        if interval is not None:  # none stands on too few effective rows
            given += 1
            covered += interval.low <= np.exp(-divergence) <= interval.high
    assert given >= 190
    assert 0.85 <= covered / given <= 0.96  # exact binomial intervals cover a little more
