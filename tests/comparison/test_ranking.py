"""Results of any measure are ranked in its own direction."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shiftmetrics._core.result import Interval, Result, Status
from shiftmetrics.comparison import compare_results

DONE = Status("done", "It is done.")


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorRate(Result):
    measure: ClassVar[str] = "error_rate_of_a_test"
    title: ClassVar[str] = "Error rate"
    higher_is_better: ClassVar[bool] = False

    resampled: np.ndarray


def error_rate(errors: np.ndarray, weights: np.ndarray) -> ErrorRate:
    draws = weights @ errors / len(errors)
    low, high = np.quantile(draws, [0.05, 0.95])
    return ErrorRate(
        value=errors.mean(),
        error_bound=0.0,
        interval=Interval(low=low, high=high, confidence_level=0.9),
        status=DONE,
        n_samples=len(errors),
        settings={"rng": 0, "n_resamples": len(weights), "groups": False},
        resampled=draws,
    )


def test_lower_is_better_where_the_measure_says_so():
    rng = np.random.default_rng(0)
    weights = rng.multinomial(300, np.full(300, 1 / 300), size=500).astype(float)
    rates = {"poor": 0.5, "good": 0.05, "middle": 0.25}
    results = {
        name: error_rate((rng.random(300) < rate).astype(float), weights)
        for name, rate in rates.items()
    }
    comparison = compare_results(results, confidence_level=0.9)
    assert [model.name for model in comparison.models] == ["good", "middle", "poor"]
    assert [(model.rank_low, model.rank_high) for model in comparison.models] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert comparison.best.probability_best == 1.0
    assert all(pair.difference < 0.0 for pair in comparison.differences)
    assert not any(model.collapsed for model in comparison.models)
    assert comparison.headline().startswith("good is the best of 3 models by error rate: 0.0")
