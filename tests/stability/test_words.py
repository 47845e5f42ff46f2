"""A shift in words: two digits, bounds that stay bounds, and the unit of the loss."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.stability.words import (
    at_most,
    current_risk,
    halves_in_words,
    risk_in_words,
    risk_name,
    risk_number,
    shift_in_words,
    two_digits,
)

ERRORS = {"errors": True}


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123456, "0.012"), (1.0, "1"), (0.0, "0"), (187.0, "190")]
)
def test_numbers_have_two_digits(value: float, text: str) -> None:
    assert two_digits(value) == text


@given(value=st.floats(1e-6, 1e6))
def test_an_upper_bound_stays_one_and_is_close(value: float) -> None:
    shown = float(at_most(value))
    assert value <= shown * (1.0 + 1e-9)
    assert shown <= 1.11 * value


def test_a_risk_is_named_by_its_loss() -> None:
    assert risk_name(ERRORS) == "error rate"
    assert risk_name({"loss": "LogisticLoss"}) == risk_name({"loss": "log_loss"}) == "mean log loss"
    assert risk_name({"loss": "MyLoss"}) == "mean loss"
    assert risk_name({"decision": {"costs": [1, 2]}}) == "mean cost of errors"


def test_error_rates_are_percentages() -> None:
    assert risk_number(0.25, ERRORS) == "25 %"
    assert risk_number(0.25, {}) == "0.25"
    text = risk_in_words(0.25, ERRORS, now=0.05)
    assert text.startswith("an error rate of 25 % (currently 5")
    assert risk_in_words(0.25, {"loss": "hinge"}) == "a mean hinge loss of 0.25"


def test_two_rates_that_differ_are_not_shown_alike() -> None:
    reached = risk_number(0.25, ERRORS)
    assert reached == "25 %"
    # two digits would be those of the rate that is reached
    assert current_risk(0.247, reached, ERRORS) == "24.7 %"
    assert current_risk(0.0513, reached, ERRORS) != risk_number(0.0513, ERRORS) == "5.13 %"
    assert current_risk(0.247, "0.25", {}) == "0.247"


def test_what_changes_is_said_and_what_does_not_is_not() -> None:
    both = shift_in_words(0.12, 0.5, 0.8)
    assert "12 % of the samples change by 0.5 (root mean square)" in both
    assert "the effective sample size falls to 80 %" in both
    assert "sample size" not in shift_in_words(0.12, 0.5, 1.0)
    assert "change" not in shift_in_words(0.0, 0.0, 0.8)
    assert shift_in_words(0.0, 0.0, 1.0) == "weights hardly change"
    assert "by at most 0.82 mm" in shift_in_words(0.12, 0.5, 1.0, largest=0.8123, unit=" mm")


def test_halves_differ_by_what_they_differ_by_in_trials() -> None:
    rng = np.random.default_rng(0)
    losses = rng.exponential(size=400)
    gaps = []
    for _ in range(2000):
        halves = rng.permutation(losses).reshape(2, 200).mean(axis=1)
        gaps.append(abs(halves[0] - halves[1]))
    text = halves_in_words(losses, {})
    said = float(text.split("differ by ")[1].split()[0])
    assert said == pytest.approx(np.mean(gaps), rel=0.1)
    errors = np.repeat([0.0, 1.0], [90, 10])
    points = 100.0 * 2.0 * math.sqrt(2.0 / math.pi) * 0.3 / 10.0
    assert f"differ by {two_digits(points)} percentage points" in halves_in_words(errors, ERRORS)
