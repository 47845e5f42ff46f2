"""A function of one's own as the metric."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics.decisions.metrics.effects import ClassInputs, effects_on_answers
from shiftmetrics.decisions.metrics.names import named_metric
from shiftmetrics.decisions.metrics.own import (
    OwnInputs,
    effects_on_own_metric,
    typed_names,
    value_of,
)


def macro(y, p):
    return f1_score(y, p, average="macro")


def test_a_function_has_the_effects_of_the_metric_of_that_name():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    old, new = (np.where(rng.random(30) < 0.7, y, rng.integers(0, 3, 30)) for _ in range(2))
    inputs = OwnInputs(labels=y, old=old, new=new, clusters=None, are_answers=True)
    found, clusters = effects_on_own_metric(macro, inputs)
    expected = effects_on_answers(
        named_metric("f1_macro"), ClassInputs(labels=y, old=old, new=new, n_classes=3)
    )
    assert clusters is None
    assert found.moved == pytest.approx(expected.moved)
    assert found.reach == pytest.approx(expected.reach)
    assert found.rarest == expected.rarest


def test_many_rows_are_left_out_in_blocks():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2500)
    inputs = OwnInputs(
        labels=y, old=y + 1.0, new=y + rng.normal(size=2500), clusters=None, are_answers=False
    )
    calls = []

    def metric(y, p):
        calls.append(len(y))
        return -np.abs(y - p).mean()

    found, clusters = effects_on_own_metric(metric, inputs)
    assert len(calls) == 2 * 1001
    assert len(np.unique(clusters)) == 1000
    # A mean: the sum over a block is that of its rows.
    gains = 1.0 - np.abs(y - inputs.new)
    sums = np.bincount(clusters, weights=gains - gains.mean())
    assert np.bincount(clusters, weights=found.moved) == pytest.approx(sums)


@pytest.mark.parametrize("value", ["x", [1.0, 2.0], None])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ArgumentTypeError):
        value_of(lambda y, p: value, np.zeros(3), np.zeros(3))


def test_failures_and_nan_name_the_metric():
    with pytest.raises(ArgumentValueError, match="ZeroDivisionError"):
        value_of(lambda y, p: 1 / 0, np.zeros(3), np.zeros(3))
    with pytest.raises(ArgumentValueError, match="finite"):
        value_of(lambda y, p: np.nan, np.zeros(3), np.zeros(3))


def test_names_become_numbers_where_all_are():
    assert typed_names(np.array(["2", "10"])).dtype.kind == "i"
    assert typed_names(np.array(["0.5", "1"])).dtype.kind == "f"
    assert typed_names(np.array(["1", "b"])).dtype.kind == "U"
