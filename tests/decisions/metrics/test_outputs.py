"""Effects of rows on metrics of a regression."""

import numpy as np
import pytest
from sklearn import metrics

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.names import OF_OUTPUTS, named_metric
from shiftmetrics.decisions.metrics.outputs import OutputInputs, effects_on_outputs

FUNCTIONS = {
    "r2": metrics.r2_score,
    "explained_variance": metrics.explained_variance_score,
    "d2_absolute_error_score": metrics.d2_absolute_error_score,
    "neg_mean_absolute_error": metrics.mean_absolute_error,
    "neg_mean_squared_error": metrics.mean_squared_error,
    "neg_root_mean_squared_error": metrics.root_mean_squared_error,
    "neg_mean_absolute_percentage_error": metrics.mean_absolute_percentage_error,
    "neg_mean_squared_log_error": metrics.mean_squared_log_error,
    "neg_root_mean_squared_log_error": metrics.root_mean_squared_log_error,
    "neg_mean_poisson_deviance": metrics.mean_poisson_deviance,
    "neg_mean_gamma_deviance": metrics.mean_gamma_deviance,
    "neg_mean_pinball_loss": metrics.mean_pinball_loss,
    "neg_mean_pinball_loss@0.9": lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.9),
}


def score(name, y, outputs):
    value = FUNCTIONS[name](y, outputs)
    return -value if name.startswith("neg_") else value


def test_all_metrics_of_outputs_are_tested():
    assert {name.partition("@")[0] for name in FUNCTIONS} == set(OF_OUTPUTS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_metrics_of_outputs_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    y = rng.gamma(4.0, size=81)
    old, new = (y * rng.gamma(20.0, 0.05, size=81) for _ in range(2))
    found = effects_on_outputs(named_metric(name), OutputInputs(labels=y, old=old, new=new))
    assert found.old.score == pytest.approx(score(name, y, old))
    assert found.new.score == pytest.approx(score(name, y, new))
    without = []
    for row in range(81):
        rest = np.delete(y, row)
        without.append(
            score(name, rest, np.delete(new, row)) - score(name, rest, np.delete(old, row))
        )
    moved = 80 * (found.difference - np.array(without))
    # A row that is left out moves the median a little.
    error = 0.02 if name.startswith("d2_") else 1e-9
    assert found.moved == pytest.approx(moved, abs=error)
    assert found.reach >= np.abs(found.moved).max()


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("neg_mean_absolute_percentage_error", "labels", 0.0),
        ("neg_mean_squared_log_error", "new", -1.0),
        ("neg_mean_poisson_deviance", "labels", -0.5),
        ("neg_mean_poisson_deviance", "old", 0.0),
        ("neg_mean_gamma_deviance", "labels", 0.0),
    ],
)
def test_values_without_a_metric_are_refused(name, argument, value):
    sides = {part: np.array([1.0, 2.0, 3.0]) for part in ("labels", "old", "new")}
    sides[argument][1] = value
    with pytest.raises(ArgumentValueError, match="row 1") as caught:
        effects_on_outputs(named_metric(name), OutputInputs(**sides))
    assert caught.value.argument == argument


def test_no_counts_are_well_defined_for_poisson():
    y = np.array([0.0, 0.0, 2.0, 5.0])
    outputs = np.array([0.5, 1.0, 2.0, 4.0])
    found = effects_on_outputs(
        named_metric("neg_mean_poisson_deviance"), OutputInputs(labels=y, old=outputs, new=y + 0.1)
    )
    assert found.old.score == pytest.approx(-metrics.mean_poisson_deviance(y, outputs))


@pytest.mark.parametrize(
    "name", ["neg_mean_absolute_error", "neg_mean_pinball_loss@0.9", "neg_root_mean_squared_error"]
)
def test_rows_of_equal_losses_move_nothing(name):
    outputs = np.arange(20) * 1.5
    inputs = OutputInputs(labels=outputs + 0.3, old=outputs, new=outputs + 1.0)
    found = effects_on_outputs(named_metric(name), inputs)
    # what rounding leaves would be an interval of almost no width, and rows that cost
    assert found.reach == 0.0
    assert not found.moved.any()
