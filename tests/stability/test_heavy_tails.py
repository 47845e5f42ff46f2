"""Intervals on heavy tails are refused with the reason; on light tails they are given, and cover."""

import numpy as np
import pytest

from shiftmetrics import Computing
from shiftmetrics.stability import FixedLoss, HingeLoss, LogisticLoss, stability_criterion
from shiftmetrics.stability.sampling import tail_index

RNG = np.random.default_rng(0)
N = 20_640
PRICES = np.exp(0.6 * RNG.normal(size=N))
POPULATIONS = {
    # squared errors of prices, whose size goes with the price
    "prices": (PRICES * RNG.standard_t(5, N)) ** 2,
    "student": RNG.standard_t(4, N) ** 2,
    # log losses of an overconfident model, and squared normal residuals
    "log loss": np.logaddexp(0.0, -2.5 * RNG.normal(size=N) - 3.5),
    "normal": RNG.normal(size=N) ** 2,
}
QUIET = {"theta1": np.inf, "computing": Computing(progress=False)}


def outcomes(name: str, n_samples: int, divergence: str, times: int) -> tuple[int, int]:
    """Return how many samples get an interval, and how many of these intervals do not hold the truth."""
    losses = POPULATIONS[name]
    threshold = 1.3 * losses.mean()
    options = {"divergence": divergence, **QUIET}
    truth = stability_criterion(FixedLoss(losses), threshold, resampling=None, **options).value
    rng = np.random.default_rng(1)
    given = wrong = 0
    options["resampling"] = 0.95
    for _ in range(times):
        sample = losses[rng.integers(0, N, n_samples)]
        interval = stability_criterion(FixedLoss(sample), threshold, **options).interval
        if interval is not None:
            given += 1
            wrong += not interval.low <= truth <= interval.high
    return given, wrong


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("n_samples", [300, 1000, 3000])
@pytest.mark.parametrize("name", ["prices", "student"])
def test_heavy_tails_seldom_get_a_wrong_interval(name, n_samples, divergence) -> None:
    times = 60
    given, wrong = outcomes(name, n_samples, divergence, times)
    # without a check of the tail, 19 to 25 % of the samples get one
    assert wrong <= 0.2 * times
    assert given <= (0.6 if n_samples < 1000 else 0.3) * times


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize(
    ("name", "n_samples", "least"),
    [
        ("log loss", 100, 0.55),
        ("log loss", 3000, 0.8),
        ("normal", 100, 0.75),
        ("normal", 300, 0.75),
        ("normal", 1000, 0.75),
    ],
)
def test_light_tails_get_an_interval_that_covers(name, n_samples, least, divergence) -> None:
    times = 120
    given, wrong = outcomes(name, n_samples, divergence, times)
    assert given >= least * times
    assert wrong <= 0.12 * given


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("loss", [HingeLoss, LogisticLoss])
def test_normal_margins_raise_no_warning(loss, divergence) -> None:
    warned = 0
    for seed in range(20):
        margins = np.random.default_rng(seed).normal(1.5, 1.0, 150)
        problem = loss(margins, 1.0)
        threshold = 1.2 * problem.base(slice(0, 150)).mean()
        warned += bool(stability_criterion(problem, threshold, divergence=divergence).warnings)
    assert warned <= 3


def test_the_reason_is_the_tail() -> None:
    losses = np.concatenate([np.geomspace(0.05, 60.0, 4000) ** 1.5, np.full(16_000, 0.05)])
    result = stability_criterion(
        FixedLoss(losses), 1.05 * losses.mean(), divergence="chi2", **QUIET
    )
    assert result.interval is None or result.standard_error > 0.0
    heavy = stability_criterion(
        FixedLoss(POPULATIONS["prices"]),
        1.1 * POPULATIONS["prices"].mean(),
        divergence="chi2",
        **QUIET,
    )
    assert heavy.interval is None
    assert any("tail of the losses" in text or "few samples" in text for text in heavy.warnings)


def test_rare_errors_are_no_heavy_tail() -> None:
    distances = np.where(np.arange(20_000) % 200 == 0, 0.0, 1.0)
    result = stability_criterion(FixedLoss(np.where(distances > 0.0, 0.0, 2.0)), 0.02, **QUIET)
    assert result.interval is not None


def test_the_index_is_that_of_a_power() -> None:
    uniform = np.random.default_rng(2).random(200_000)
    for index in (1.0, 2.0, 4.0):
        parts = np.split(uniform ** (-1.0 / index), 1000)
        found = [1.0 / tail_index(part) for part in parts]
        assert np.mean(found) == pytest.approx(1.0 / index, rel=0.05)
    assert tail_index(np.ones(50)) == np.inf
    assert tail_index(np.zeros(50)) == np.inf
