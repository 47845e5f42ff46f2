"""What each row, or group of rows, adds to a value: derivatives in the weights, and the standard errors they give."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Computing, Resampling, Result
from shiftmetrics.stability import (
    FixedLoss,
    HingeLoss,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss

INF = np.inf
PRICES = [(0.4, 0.4, "kl"), (0.4, 0.4, "chi2"), (0.2, INF, "kl"), (INF, 0.3, "chi2")]


@pytest.mark.parametrize(("theta1", "theta2", "divergence"), PRICES)
@pytest.mark.parametrize("kind", ["hinge", "zero_one", "piecewise", "fixed"])
def test_the_influence_is_the_derivative_in_the_weight_of_a_row(
    kind: str,
    theta1: float,
    theta2: float,
    divergence: str,
    loss_of: Callable[..., Loss],
    between: Callable,
) -> None:
    loss = loss_of(kind, 3)
    if kind == "fixed" and np.isinf(theta2):
        pytest.skip("nothing may change")
    threshold = between(loss, theta1, theta2)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, loss.n_samples)
    options = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
    options["computing"] = Computing(rtol=1e-14)
    stable = stability_criterion(loss, threshold, sample_weight=weights, **options)
    worst = worst_case_risk(loss, stable.value, sample_weight=weights, **options)
    for result in (stable, worst):
        assert result.influence.sum() == pytest.approx(
            0.0, abs=1e-9 * np.abs(result.influence).sum()
        )
        assert np.linalg.norm(result.influence) == pytest.approx(result.standard_error, rel=1e-9)
    for row in (0, 7, 20):
        more, less = weights.copy(), weights.copy()
        step = 1e-4
        more[row] *= 1 + step
        less[row] *= 1 - step
        ends = [
            (
                stability_criterion(loss, threshold, sample_weight=part, **options).value,
                worst_case_risk(loss, stable.value, sample_weight=part, **options).value,
            )
            for part in (less, more)
        ]
        slopes = (np.subtract(ends[1], ends[0])) / (2 * step)
        scale = np.abs(stable.influence).max(), np.abs(worst.influence).max()
        assert slopes[0] == pytest.approx(stable.influence[row], abs=2e-3 * scale[0])
        assert slopes[1] == pytest.approx(worst.influence[row], abs=2e-3 * scale[1])


def margins(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.2, 1.0, n)


@pytest.mark.parametrize("measure", [stability_criterion, worst_case_risk])
def test_rows_that_are_copies_know_no_more_than_one(measure: Callable) -> None:
    once = margins(300)
    single = measure(HingeLoss(once, 1.5), 0.9)
    for copies, keep_rows in ((2, True), (3, False)):
        groups = pd.Series([f"patient {i}" for i in range(300)] * copies)
        copied = HingeLoss(np.tile(once, copies), 1.5)
        result = measure(copied, 0.9, resampling=Resampling(groups=groups))
        result = result if keep_rows else result.without_rows()
        assert result.value == pytest.approx(single.value, rel=1e-9)
        assert result.standard_error == pytest.approx(single.standard_error, rel=1e-6)
        assert result.influence.shape == (300,)
        assert (result.plan.weights is None) is not keep_rows
        assert result.settings["resampling"]["groups"] is True
        assert measure(copied, 0.9).standard_error < 0.8 * single.standard_error


def test_groups_of_one_row_each_change_nothing() -> None:
    loss = HingeLoss(margins(80), 1.5)
    alone = stability_criterion(loss, 0.9)
    grouped = stability_criterion(loss, 0.9, resampling=Resampling(groups=np.arange(80)[::-1]))
    assert grouped.standard_error == pytest.approx(alone.standard_error, rel=1e-12)
    np.testing.assert_allclose(grouped.influence[::-1], alone.influence)
    assert Result.from_json(alone.to_json()).equals(alone)
    assert alone.without_rows().influence is None


def test_rows_without_weight_have_no_influence() -> None:
    kept = margins(50)
    weights = np.repeat([1.0, 0.0], 50)
    alone = stability_criterion(HingeLoss(kept, 1.5), 0.9)
    both = stability_criterion(
        HingeLoss(np.concatenate([kept, kept + 9.0]), 1.5), 0.9, sample_weight=weights
    )
    np.testing.assert_allclose(both.influence[:50], alone.influence)
    assert not both.influence[50:].any()
    assert both.standard_error == pytest.approx(alone.standard_error)
    groups = np.tile(np.arange(25), 4)
    grouped = stability_criterion(
        HingeLoss(np.concatenate([kept, kept + 9.0]), 1.5),
        0.9,
        sample_weight=weights,
        resampling=Resampling(groups=groups),
    )
    assert grouped.standard_error == pytest.approx(
        np.linalg.norm(alone.influence[:25] + alone.influence[25:]), rel=1e-9
    )


def test_the_binomial_interval_counts_groups() -> None:
    errors = np.arange(60) < 6
    single = stability_criterion(FixedLoss(errors), 0.3, theta1=INF)
    twice = stability_criterion(
        FixedLoss(np.tile(errors, 2)),
        0.3,
        theta1=INF,
        resampling=Resampling(groups=np.tile(np.arange(60), 2)),
    )
    assert twice.interval.low == pytest.approx(single.interval.low)
    assert twice.interval.high == pytest.approx(single.interval.high)
    assert "effective" in twice.interval.method
    none = ZeroOneLoss(np.ones(120))
    alone = stability_criterion(ZeroOneLoss(np.ones(60)), 0.3, theta1=INF)
    grouped = stability_criterion(
        none, 0.3, theta1=INF, resampling=Resampling(groups=np.tile(np.arange(60), 2))
    )
    assert grouped.interval.low == pytest.approx(alone.interval.low)
    assert grouped.influence is None
    assert grouped.standard_error is None


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ([1, 2], ValueError, "groups must be of length 3, got length 2"),
        ([1, 1, 1], ValueError, "groups must be of at least two different labels, got only 1"),
        ([1.0, np.nan, 2.0], ValueError, "groups must be free of missing labels"),
        ([["a"], ["b"], ["c"]], ValueError, "groups must be one label for each row"),
    ],
)
def test_bad_groups_are_named(groups: list, error: type[Exception], message: str) -> None:
    for measure in (stability_criterion, worst_case_risk):
        with pytest.raises(error, match=message):
            measure(FixedLoss([0.0, 0.5, 1.0]), 0.7, resampling=Resampling(groups=groups))


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_the_interval_of_grouped_rows_covers(divergence: str) -> None:
    rng = np.random.default_rng(8)
    options = {"divergence": divergence}

    def sample(n_groups: int, size: int) -> np.ndarray:
        shared = rng.normal(1.2, 0.8, n_groups)
        return np.repeat(shared, size) + rng.normal(0.0, 0.6, n_groups * size)

    truth = stability_criterion(HingeLoss(sample(100_000, 4), 1.5), 0.9, **options).value
    covered, naive = 0, 0
    for _ in range(200):
        loss, groups = HingeLoss(sample(150, 4), 1.5), np.repeat(np.arange(150), 4)
        interval = stability_criterion(
            loss, 0.9, **options, resampling=Resampling(confidence_level=0.9, groups=groups)
        ).interval
        covered += interval.low <= truth <= interval.high
        interval = stability_criterion(loss, 0.9, **options, resampling=0.9).interval
        naive += interval.low <= truth <= interval.high
    assert 0.85 <= covered / 200 <= 0.95
    assert naive / 200 < 0.8  # as if all rows were strangers to each other
