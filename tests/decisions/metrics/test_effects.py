"""Effects of rows on metrics of both models, and the reach of a row that was not seen."""

import numpy as np
import pytest
from sklearn import metrics

from shiftmetrics.decisions.metrics.effects import (
    ClassInputs,
    OutputInputs,
    effects_on_answers,
    effects_on_outputs,
    effects_on_probabilities,
)
from shiftmetrics.decisions.metrics.names import OF_PROBABILITIES, named_metric


def class_inputs(n_classes, n=150, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    both = []
    for _ in range(2):
        raw = rng.random((n, n_classes))
        raw[np.arange(n), labels] += 0.5
        both.append(raw / raw.sum(axis=1, keepdims=True))
    return ClassInputs(
        labels=labels, old=both[0].argmax(axis=1), new=both[1].argmax(axis=1), n_classes=n_classes,
        old_probabilities=both[0], new_probabilities=both[1], positive=1,
    )  # fmt: skip


def scored(name, labels, probabilities):
    if name in ("roc_auc", "average_precision"):
        function = metrics.roc_auc_score if name == "roc_auc" else metrics.average_precision_score
        return function(labels, probabilities[:, 1])
    if name.startswith("roc_auc_ovr"):
        average = "weighted" if name.endswith("weighted") else "macro"
        given = probabilities if probabilities.shape[1] > 2 else probabilities[:, 1]
        return metrics.roc_auc_score(labels, given, multi_class="ovr", average=average)
    if name == "neg_log_loss":
        return -metrics.log_loss(labels, probabilities)
    one = np.eye(probabilities.shape[1])[labels]
    squared = ((probabilities - one) ** 2).sum(axis=1).mean()
    return -squared / (2.0 if probabilities.shape[1] == 2 else 1.0)


CASES = [(name, 2) for name in OF_PROBABILITIES]
CASES += [(name, 4) for name in OF_PROBABILITIES if not named_metric(name).is_binary]


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_metrics_of_probabilities_are_those_of_scikit_learn(name, n_classes):
    inputs = class_inputs(n_classes)
    found = effects_on_probabilities(named_metric(name), inputs)
    assert found.old.score == pytest.approx(scored(name, inputs.labels, inputs.old_probabilities))
    assert found.new.score == pytest.approx(scored(name, inputs.labels, inputs.new_probabilities))
    assert found.moved.shape == (150,)
    # Rows together move the metric hardly at all: effects are about a mean of 0.
    assert abs(found.new.effects.mean()) < 0.02
    assert found.reach >= np.abs(found.moved).max() * 0.5


def test_the_reach_of_a_recall_is_one_row_of_the_rare_class():
    labels = np.array([1] * 10 + [0] * 90)
    inputs = ClassInputs(labels=labels, old=labels, new=labels, n_classes=2, positive=1)
    found = effects_on_answers(named_metric("recall"), inputs)
    # One more positive row that is missed lowers the recall of 10 rows by 1 of 11, times n + 1.
    assert found.reach == pytest.approx(101 / 11)
    assert found.rarest == 10
    assert not found.moved.any()


def test_classes_that_one_model_never_answers_are_left_out_of_its_mean_only():
    labels = np.array([0, 0, 0, 1, 1, 1])
    old = np.array([0, 0, 2, 1, 1, 1])
    new = np.array([0, 0, 0, 1, 1, 0])
    inputs = ClassInputs(labels=labels, old=old, new=new, n_classes=3)
    found = effects_on_answers(named_metric("f1_macro"), inputs)
    assert found.old.score == pytest.approx(metrics.f1_score(labels, old, average="macro"))
    assert found.new.score == pytest.approx(metrics.f1_score(labels, new, average="macro"))


def test_a_class_without_a_row_has_no_area():
    inputs = class_inputs(3)
    labels = np.where(inputs.labels == 2, 0, inputs.labels)
    missing = ClassInputs(
        labels=labels, old=inputs.old, new=inputs.new, n_classes=3,
        old_probabilities=inputs.old_probabilities, new_probabilities=inputs.new_probabilities,
    )  # fmt: skip
    assert effects_on_probabilities(named_metric("roc_auc_ovr"), missing).rarest == 0


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("r2", metrics.r2_score),
        ("neg_mean_absolute_error", lambda y, p: -metrics.mean_absolute_error(y, p)),
        ("neg_mean_squared_error", lambda y, p: -metrics.mean_squared_error(y, p)),
        ("neg_root_mean_squared_error", lambda y, p: -np.sqrt(metrics.mean_squared_error(y, p))),
        ("neg_mean_pinball_loss@0.9", lambda y, p: -metrics.mean_pinball_loss(y, p, alpha=0.9)),
    ],
)
def test_metrics_of_outputs_are_those_of_scikit_learn(name, function):
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    inputs = OutputInputs(labels=y, old=y + rng.normal(size=80), new=y + rng.normal(size=80))
    found = effects_on_outputs(named_metric(name), inputs)
    assert found.difference == pytest.approx(function(y, inputs.new) - function(y, inputs.old))
    without = [
        function(np.delete(y, i), np.delete(inputs.new, i))
        - function(np.delete(y, i), np.delete(inputs.old, i))
        for i in range(80)
    ]
    assert found.moved == pytest.approx(79 * (found.difference - np.array(without)))
    assert found.reach >= np.abs(found.moved).max()
