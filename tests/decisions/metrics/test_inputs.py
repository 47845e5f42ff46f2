"""What metrics take from two tables: labels of all rows, and the positive class."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.inputs import (
    check_all_labelled,
    class_inputs,
    own_inputs,
    positive_code,
)
from shiftmetrics.decisions.metrics.names import named_metric
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair


def pair_of(words, labels=None):
    rng = np.random.default_rng(0)
    truth = rng.choice(words, 60)
    old, new = (np.where(rng.random(60) < 0.8, truth, rng.choice(words, 60)) for _ in range(2))
    return read_pair(old, new, PairArguments(labels=truth if labels is None else labels(truth)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["no", "yes"], "yes"), (["True", "False"], "True"), ([0, 1], "1"), ([-1, 1], "1")],
)
def test_the_table_tells_the_positive_class(words, expected):
    pair = pair_of(words)
    assert pair.classes[positive_code(pair, named_metric("f1"), None)] == expected


def test_else_it_is_asked_for():
    pair = pair_of(["ham", "spam"])
    with pytest.raises(ArgumentValueError, match="Name one: ham or spam") as caught:
        positive_code(pair, named_metric("f1"), None)
    assert caught.value.argument == "positive"
    assert pair.classes[positive_code(pair, named_metric("f1"), "spam")] == "spam"
    with pytest.raises(ArgumentValueError) as caught:
        positive_code(pair, named_metric("f1"), "eggs")
    assert caught.value.argument == "positive"


def test_a_single_column_of_probabilities_names_it():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(50), "p": rng.random(50), "y": rng.integers(0, 2, 50)})
    other = frame.assign(p=rng.random(50))
    pair = read_pair(frame, other, PairArguments(labels="y"))
    inputs, name = class_inputs(pair, named_metric("roc_auc"), None)
    assert name == "1"
    assert inputs.old_probabilities[:, inputs.positive] == pytest.approx(frame["p"])


def test_a_missing_label_names_the_way_with_few_labels():
    def some(truth):
        labels = pd.Series(truth, dtype=object)
        labels[3] = None
        return labels

    with pytest.raises(ArgumentValueError, match="plan") as caught:
        check_all_labelled(pair_of(["a", "b"], some))
    assert caught.value.argument == "labels"


@pytest.mark.parametrize(
    ("name", "words", "argument"),
    [
        ("f1", ["a", "b", "c"], "classes"),
        ("r2", ["a", "b"], "metric"),
        ("roc_auc_ovr", ["a", "b", "c"], "old"),
        ("quadratic_kappa", ["low", "mid", "high"], "classes"),
    ],
)
def test_what_does_not_fit_is_refused(name, words, argument):
    with pytest.raises(ArgumentValueError) as caught:
        class_inputs(pair_of(words), named_metric(name), None)
    assert caught.value.argument == argument


def test_positive_is_of_metrics_that_have_one():
    with pytest.raises(ArgumentValueError) as caught:
        class_inputs(pair_of(["a", "b"]), named_metric("f1_macro"), "a")
    assert caught.value.argument == "positive"


def test_grades_are_ranked_by_size():
    pair = pair_of(["10", "9", "2"])
    inputs, _ = class_inputs(pair, named_metric("quadratic_kappa"), None)
    grades = pair.classes[pair.labels].astype(int)
    assert np.array_equal(inputs.labels, np.searchsorted([2, 9, 10], grades))


def test_a_function_gets_numbers_where_classes_are_numbers():
    own = own_inputs(pair_of([0, 1]), "answers", None, None)
    assert own.labels.dtype.kind == "i"
    assert own_inputs(pair_of(["a", "b"]), "answers", None, None).labels.dtype.kind == "U"


def test_a_top_k_accuracy_of_all_classes_is_refused():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    pair = read_pair(
        rng.dirichlet([1] * 3, 60), rng.dirichlet([1] * 3, 60), PairArguments(labels=truth)
    )
    assert class_inputs(pair, named_metric("top_k_accuracy"), None)[1] is None
    with pytest.raises(ArgumentValueError, match="always 1"):
        class_inputs(pair, named_metric("top_k_accuracy@3"), None)
