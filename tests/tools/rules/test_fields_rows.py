"""Rows of tables: records first, pairs in either order, then the columns of DataFrames."""

import dataclasses
import math

import pytest

from shiftmetrics.tools.rules import Rule, check_results
from shiftmetrics.tools.rules.fields import rows_of


def outcomes(result, **keys):
    return check_results({"it": result}, [Rule(**keys)]).outcomes


def test_models_are_rows_with_their_intervals(results):
    (outcome,) = outcomes(results["compare"], row={"name": "upset"}, field="value", at_least=0.0)
    model = next(part for part in results["compare"].models if part.name == "upset")
    assert outcome.ended == "passed"
    assert outcome.row == "name = upset"
    assert (outcome.value, outcome.low, outcome.high) == (
        model.value,
        model.interval.low,
        model.interval.high,
    )
    (by_frame,) = outcomes(results["compare"], row={"model": "upset"}, field="value", at_least=0.0)
    assert (by_frame.value, by_frame.low, by_frame.high) == (outcome.value, outcome.low, outcome.high)


def test_a_pattern_means_every_row_it_fits(results):
    found = outcomes(results["compare"], row={"name": "*"}, field="rank", at_most=1)
    assert [(part.row, part.ended) for part in found] == [
        ("name = calm", "passed"),
        ("name = upset", "failed"),
    ]


def test_pairs_are_found_in_either_order(results):
    pair = results["compare"].differences[0]
    assert (pair.first, pair.second) == ("calm", "upset")
    turned = pair.reversed()
    assert turned.reversed().equals(pair)
    (forward,) = outcomes(
        results["compare"], row={"first": "calm", "second": "upset"}, field="difference", at_least=0
    )
    (back,) = outcomes(
        results["compare"], row={"first": "upset", "second": "*"}, field="difference", at_least=0
    )
    assert (forward.ended, back.ended) == ("passed", "failed")
    assert (back.value, back.low, back.high) == (-forward.value, -forward.high, -forward.low)
    assert back.row == "first = upset, second = calm"
    assert turned.interval.low == -pair.interval.high
    assert turned.simultaneous_interval.high == -pair.simultaneous_interval.low


def test_points_of_a_curve_are_rows_with_errors_and_intervals(results):
    curve = results["curve"]
    (outcome,) = outcomes(curve, row={"threshold": 0.7 + 1e-13}, field="stability", at_least=0.0)
    assert outcome.value == curve.points.stability[1]
    assert outcome.low == pytest.approx(curve.points.lows[1] - curve.points.errors[1])


def test_modes_are_rows(results):
    (outcome,) = outcomes(results["novelty"], row={"index": 0}, field="share", at_most=0.9)
    assert outcome.value == results["novelty"].modes[0].share
    found = outcomes(results["novelty"], row={"lost": False}, field="share", at_most=0.9)
    assert len(found) == len(results["novelty"].modes) > 0


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"name": "calmer"}, "value", "No row has name = calmer. In the column 'name': Did you mean 'calm'"),
        ({"nam": "calm"}, "value", "has the column 'nam'. Did you mean 'name'"),
        ({"name": "calm"}, "valu", "has the column 'valu'. Did you mean 'value'"),
        ({"name": "calm"}, "difference", "columns difference, name together"),
        ({"name": 3}, "value", "No row has name = 3"),
    ],
)
def test_rows_that_are_not_there_are_errors(row, field, message, results):
    with pytest.raises(ValueError, match=message):
        rows_of(results["compare"], row, field)
    (outcome,) = outcomes(results["compare"], row=row, field=field, at_least=0)
    assert outcome.ended == "error"


def test_texts_are_no_numbers_and_flags_no_ones(gauge, gauge_part):
    parts = (gauge_part(name="1", value=3.0),)
    assert outcomes(gauge(parts=parts), row={"name": 1}, field="value", at_least=0)[0].ended == "error"
    assert outcomes(gauge(parts=parts), row={"value": True}, field="value", at_least=0)[0].ended == "error"
    assert outcomes(gauge(parts=parts), row={"value": 3}, field="value", at_least=0)[0].ended == "passed"


def test_infinite_cells_are_no_other_numbers(gauge, gauge_part):
    parts = (gauge_part(name="far", value=math.inf), gauge_part(name="near", value=1.0))
    for wanted, name in ((math.inf, "far"), (1.0, "near")):
        (outcome,) = outcomes(gauge(parts=parts), row={"value": wanted}, field="name", equal_to=name)
        assert outcome.ended == "passed"


def test_points_of_a_search_are_bounds_as_the_result_is(results):
    keys = {"row": {"threshold": 0.7}, "field": "stability", "at_least": -1.0}
    assert outcomes(results["curve"], **keys)[0].ended == "passed"
    (outcome,) = outcomes(dataclasses.replace(results["curve"], kind="upper_bound"), **keys)
    assert (outcome.ended, outcome.low) == ("failed", -math.inf)
