"""Paths lead to numbers, and all that is uncertain about a number is counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.rules.fields import find, read


def look(result, path, using=None):
    return read(find(result, path), path, using)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("value", 1.0),
        ("double", 2.0),
        ("settings.threshold", 0.2),
        ("settings.versions.count", 3),
        ("settings.costs.1", 5.0),
        ("interval.low", 0.5),
        ("parts.count", 2),
        ("parts.1.value", 4.0),
        ("series.0", 1.0),
        ("series.count", 3),
        ("n_samples", 10),
    ],
)
def test_paths_lead_to_fields_properties_and_parts(path, expected, gauge, gauge_part):
    parts = (gauge_part(name="head", value=3.0), gauge_part(name="tail", value=4.0))
    settings = {"threshold": 0.2, "versions": {"count": 3}, "costs": {1: 5.0}}
    result = gauge(1.0, interval=(0.5, 2.0), parts=parts, settings=settings)
    assert look(result, path).value == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("valu", "no field 'valu' in this result. Did you mean 'value'"),
        ("measure", "no field 'measure'"),
        ("headline", "no field 'headline'"),
        ("_interval_by", "no field"),
        ("", "no field ''"),
        ("interval.low", "'interval' is empty"),
        ("interval", "'interval' is empty: the result was computed without it"),
        ("reverse", "'reverse' is empty"),
        ("settings", "has parts; name one of them. There are 'threshold'"),
        ("settings.thresold", "no field 'thresold' in 'settings'. Did you mean 'threshold'"),
        ("parts", "has parts; name one of them. There are 'head', '0', 'count'"),
        ("parts.3", "no field '3' in 'parts'. There are 'head', '0', 'count'"),
        ("parts.name", "no field 'name' in 'parts'. There are 'head', '0', 'count'"),
        ("parts.0", "has parts; name one of them. There are 'name', 'value'"),
        ("parts.0.valu", "no field 'valu' in 'parts.0'"),
        ("value.low", "'value' is a single value and has no 'low'"),
        ("series", "has parts"),
        ("series.2", "'series.2' is NaN"),
        ("settings.odd", "must be a number, got 1j"),
        ("is_new", "must be a number, got False"),
        ("word", "must be a number, got calm"),
        ("status", "has parts"),
    ],
)
def test_paths_that_lead_nowhere_say_what_there_is(path, message, gauge, gauge_part):
    result = gauge(
        parts=(gauge_part(name="head", value=3.0),), settings={"threshold": 0.2, "odd": 1j}
    )
    with pytest.raises(ValueError, match=message):
        look(result, path)


def test_nan_is_refused_wherever_it_is(gauge):
    for result in (gauge(math.nan), gauge(error_bound=math.nan), gauge(interval=(math.nan, 2.0))):
        with pytest.raises(ValueError, match="NaN, which no bound can check"):
            look(result, "value")


def test_the_numerical_error_always_counts(gauge):
    result = gauge(1.0, error_bound=0.1)
    for using in (None, "value"):
        reading = look(result, "value", using)
        assert (reading.low, reading.high, reading.because) == (0.9, 1.1, ("numerical error",))
    reverse = look(gauge(reverse=2.0, reverse_error_bound=0.5), "reverse")
    assert (reverse.low, reverse.high) == (1.5, 2.5)


def test_the_interval_counts_unless_the_value_is_asked_for(gauge):
    result = gauge(1.0, error_bound=0.1, interval=(0.5, 3.0))
    for using in (None, "interval"):
        reading = look(result, "value", using)
        assert (reading.low, reading.high) == (pytest.approx(0.4), pytest.approx(3.1))
    assert look(result, "value", "value").low == 0.9
    with pytest.raises(ValueError, match="no interval. Measure with a confidence level"):
        look(gauge(), "value", "interval")
    with pytest.raises(ValueError, match="'share' has no interval"):
        look(result, "share", "interval")


def test_what_a_search_may_have_missed_counts(gauge):
    bounded = look(gauge(1.0, kind="upper_bound", lower_bound=0.7, interval=(0.8, 1.5)), "value")
    assert (bounded.low, bounded.high) == (pytest.approx(0.5), 1.5)
    assert bounded.because == ("95 % interval", "certified lower bound of the search")
    unbounded = look(gauge(1.0, kind="upper_bound"), "value")
    assert (unbounded.low, unbounded.high) == (-math.inf, 1.0)
    lower = look(gauge(1.0, kind="lower_bound"), "value")
    assert (lower.low, lower.high) == (1.0, math.inf)
    guess = look(gauge(1.0, kind="estimate"), "value")
    assert (guess.low, guess.high) == (-math.inf, math.inf)
    taken = look(gauge(1.0, kind="upper_bound", lower_bound=0.7), "value", "value")
    assert (taken.low, taken.high) == (1.0, 1.0)
    # Other fields are not what the search was for.
    assert look(gauge(kind="upper_bound"), "share").low == 0.25


def test_infinite_values_stay_themselves(gauge):
    assert (look(gauge(math.inf), "value").low, look(gauge(math.inf), "value").high) == (
        math.inf,
        math.inf,
    )
    searched = look(gauge(math.inf, kind="upper_bound", lower_bound=3.0), "value")
    assert (searched.low, searched.high) == (3.0, math.inf)


def test_ranks_lie_between_their_ends(gauge):
    reading = look(gauge(), "rank")
    assert (reading.value, reading.low, reading.high) == (2, 1, 3)


def test_parts_have_their_own_intervals(gauge, gauge_part, results):
    part = gauge_part(name="head", value=3.0, interval=results["agreement"].interval)
    reading = look(gauge(parts=(part,)), "parts.0.value", "interval")
    assert reading.low < 3.0


def test_other_scales_of_agreement_have_their_intervals(results):
    result = results["agreement"]
    normalized = look(result, "normalized", "interval")
    assert normalized.low == pytest.approx(result.interval.low / math.log(4), abs=1e-5)
    error = look(result, "equivalent_error", "interval")
    assert error.low < result.equivalent_error < error.high
    assert "90 % interval" in error.because


@given(
    value=st.floats(-1e6, 1e6),
    below=st.floats(0, 1e6),
    above=st.floats(0, 1e6),
    error=st.floats(0, 1e3),
    missed=st.floats(0, 1e3),
)
def test_more_uncertainty_never_narrows_a_reading(gauge, value, below, above, error, missed):
    exact = look(gauge(value), "value")
    assert (exact.low, exact.high) == (value, value)
    fields = {"error_bound": error, "interval": (value - below, value + above)}
    wide = look(gauge(value, **fields), "value")
    wider = look(gauge(value, **fields, kind="upper_bound", lower_bound=value - missed), "value")
    assert wider.low <= wide.low <= value <= wide.high <= wider.high
    assert np.isclose(wide.low, value - below - error, rtol=1e-9, atol=1e-3)


def test_parts_are_chosen_by_their_names(results):
    compared = results["compare"]
    calm = next(part for part in compared.models if part.name == "calm")
    found = look(compared, "models.calm.value")
    assert (found.value, found.low, found.high) == (
        calm.value,
        calm.interval.low,
        calm.interval.high,
    )
    with pytest.raises(ValueError, match="Did you mean 'calm'"):
        look(compared, "models.calmer.value")


def test_differences_are_found_in_either_order(results):
    compared = results["compare"]
    pair = compared.differences[0]
    forward = look(compared, f"differences.{pair.first}-{pair.second}.difference")
    back = look(compared, f"differences.{pair.second}-{pair.first}.difference")
    assert forward.value == pair.difference
    assert (back.value, back.low, back.high) == (-forward.value, -forward.high, -forward.low)


def test_a_part_of_a_curve_has_its_position(results):
    curve = results["curve"]
    assert look(curve, "points.stability.1").value == curve.points.stability[1]
