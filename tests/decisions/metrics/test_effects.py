"""Effects of rows on metrics of both models, and the reach of a row that was not seen."""

import numpy as np
import pytest
from sklearn import metrics

from shiftmetrics.decisions.metrics.effects import (
    ClassInputs,
    effects_on_answers,
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
    if name.startswith("roc_auc_ov"):
        average = "weighted" if name.endswith("weighted") else "macro"
        given = probabilities if probabilities.shape[1] > 2 else probabilities[:, 1]
        return metrics.roc_auc_score(labels, given, multi_class=name[8:11], average=average)
    if name == "top_k_accuracy":
        return metrics.top_k_accuracy_score(labels, probabilities)
    if name == "neg_log_loss":
        return -metrics.log_loss(labels, probabilities)
    if name.startswith("d2_"):
        rates = np.tile(np.bincount(labels) / len(labels), (len(labels), 1))
        loss = name.removeprefix("d2_").removesuffix("_score")
        part = "neg_log_loss" if loss == "log_loss" else "neg_brier_score"
        return 1.0 - scored(part, labels, probabilities) / scored(part, labels, rates)
    one = np.eye(probabilities.shape[1])[labels]
    squared = ((probabilities - one) ** 2).sum(axis=1).mean()
    return -squared / (2.0 if probabilities.shape[1] == 2 else 1.0)


CASES = [(name, 2) for name in OF_PROBABILITIES if name != "top_k_accuracy"]
CASES += [(name, 4) for name in OF_PROBABILITIES if not named_metric(name).is_binary]


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_metrics_of_probabilities_are_those_of_scikit_learn(name, n_classes):
    inputs = class_inputs(n_classes)
    found = effects_on_probabilities(named_metric(name), inputs)
    assert found.old.score == pytest.approx(scored(name, inputs.labels, inputs.old_probabilities))
    assert found.new.score == pytest.approx(scored(name, inputs.labels, inputs.new_probabilities))
    assert found.moved.shape == (150,)
    for row in (0, 1, 149):
        rows = np.arange(150) != row
        kept = [
            scored(name, inputs.labels[rows], part[rows])
            for part in (inputs.old_probabilities, inputs.new_probabilities)
        ]
        # Of a curve the effects are derivatives, and else what leaving the row out does.
        error = 0.02 if name in ("average_precision", "roc_auc_ovr_weighted") else 1e-9
        moved = 149 * (found.difference - (kept[1] - kept[0]))
        assert found.moved[row] == pytest.approx(moved, abs=error)
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
