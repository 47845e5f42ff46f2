"""Names of metrics."""

import pytest
from sklearn.metrics import get_scorer_names

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.names import (
    OF_ANSWERS,
    OF_OUTPUTS,
    OF_PROBABILITIES,
    POINTS,
    named_metric,
)

OWN = {"quadratic_kappa", "neg_mean_pinball_loss"}


def test_names_are_those_of_scikit_learn():
    names = {*OF_ANSWERS, *OF_PROBABILITIES, *OF_OUTPUTS}
    assert names - set(get_scorer_names()) == OWN
    assert set(POINTS) <= names


@pytest.mark.parametrize(
    "text", ["f7", "", "f1@0.5", "neg_mean_pinball_loss@2", "neg_mean_pinball_loss@x"]
)
def test_other_names_are_refused(text):
    with pytest.raises(ArgumentValueError) as caught:
        named_metric(text)
    assert caught.value.argument == "metric"


def test_a_near_name_is_suggested():
    with pytest.raises(ArgumentValueError, match="f1_macro"):
        named_metric("macro")


def test_a_pinball_loss_names_its_quantile():
    assert named_metric("neg_mean_pinball_loss").quantile == 0.5
    assert named_metric("neg_mean_pinball_loss@0.05").quantile == 0.05
