"""Names of metrics."""

import pytest
from sklearn.metrics import get_scorer_names

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.names import (
    NDCG,
    OF_ANSWERS,
    OF_OUTPUTS,
    OF_PROBABILITIES,
    OF_SETS,
    POINTS,
    named_metric,
)

OWN = {"quadratic_kappa", "neg_mean_pinball_loss", "exact_match", "neg_hamming_loss"}
NEW = {"d2_brier_score", "d2_log_loss_score"}
"""Scorers that older versions lack."""


def test_names_are_those_of_scikit_learn():
    names = {*OF_ANSWERS, *OF_PROBABILITIES, *OF_OUTPUTS, *OF_SETS}
    assert names - set(get_scorer_names()) - NEW == OWN
    assert set(POINTS) <= {*names, NDCG}


@pytest.mark.parametrize(
    "text",
    [
        "f7",
        "",
        "f1@0.5",
        "neg_mean_pinball_loss@2",
        "neg_mean_pinball_loss@x",
        "top_k_accuracy@0",
        "max",
    ],
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


def test_every_scorer_of_scikit_learn_is_compared_or_refused_with_a_remedy():
    known = {*OF_ANSWERS, *OF_PROBABILITIES, *OF_OUTPUTS, *OF_SETS}
    refused = [name for name in get_scorer_names() if name not in known]
    for name in refused:
        with pytest.raises(ArgumentValueError, match="for which an interval holds") as caught:
            named_metric(name)
        assert caught.value.remedy
        assert "function of true values" not in caught.value.remedy
    assert {"rand_score", "positive_likelihood_ratio"} <= set(refused)
    assert len(refused) <= 20


def test_a_top_k_accuracy_names_its_classes():
    assert named_metric("top_k_accuracy").n_top == 2
    assert named_metric("top_k_accuracy@5").n_top == 5
