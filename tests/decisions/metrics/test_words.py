"""Sentences of a comparison by a metric."""

import dataclasses
import re

import numpy as np
import pytest

from shiftmetrics._core.result import Interval
from shiftmetrics.decisions import diff_metric, diff_models
from shiftmetrics.decisions.metrics.words import called, metric_amount, metric_steps


@pytest.fixture(scope="module")
def outputs():
    rng = np.random.default_rng(0)
    y = 1000.0 * rng.random(200)
    both = [y + 900.0 * rng.normal(size=200) for _ in range(2)]
    return diff_metric(*both, "neg_mean_absolute_error", labels=y, allow=1e6)


@pytest.fixture(scope="module")
def answers():
    y = np.array(["no", "yes"] * 100)
    old = y.copy()
    old[:20] = "yes"
    return diff_metric(old, y, "f1", labels=y, allow=0.01)


def test_numbers_have_no_powers_of_ten(outputs):
    text = "\n".join([outputs.headline(), *outputs.notes()])
    assert "e+" not in text
    assert metric_amount(outputs, 620.4) == "620"


def test_the_positive_class_and_points_are_named(answers):
    assert called(answers) == "f1 of yes"
    assert "points better" in answers.headline()
    assert metric_amount(answers, 0.01) == "1.0 points"


def test_next_steps_follow_the_verdict(answers):
    def with_interval(low, high, verdict, value):
        interval = Interval(low=low, high=high)
        return dataclasses.replace(answers, interval=interval, verdict=verdict, value=value)

    assert metric_steps(with_interval(0.0, 0.1, "SAFE", 0.05)) == ["Ship it."]
    assert "Keep" in metric_steps(with_interval(-0.2, -0.1, "WORSE", -0.15))[0]
    # Half the width .1 must become .02: 25 times as many rows.
    step = metric_steps(with_interval(-0.09, 0.11, "CANNOT TELL", 0.01))[0]
    assert "5,000 rows" in step
    assert "too close" in metric_steps(with_interval(-0.1, 0.1, "CANNOT TELL", -0.01))[0]


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e6])
def test_no_ordinary_size_of_outputs_is_printed_with_an_exponent(scale: float) -> None:
    rng = np.random.default_rng(0)
    truth = scale * rng.normal(100.0, 20.0, 300)
    old, new = (truth + scale * error * rng.normal(size=300) for error in (3.0, 9.0))
    result = diff_metric(old, new, "neg_mean_absolute_error", labels=truth)
    text = " ".join([result.headline(), *result.notes()])
    assert not re.search(r"\de[+-]?\d", text), text
    summary = diff_models(old, new, labels=truth).summary()
    assert not re.search(r"\de[+-]?\d", summary), summary
