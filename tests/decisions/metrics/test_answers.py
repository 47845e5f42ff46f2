"""How far one more row may move a metric: among many classes as among all pairs of them."""

import numpy as np
import pytest

from shiftmetrics.decisions.metrics import answers
from shiftmetrics.decisions.metrics.effects import ClassInputs, effects_on_answers
from shiftmetrics.decisions.metrics.names import named_metric


@pytest.mark.parametrize(
    "name",
    [
        "balanced_accuracy",
        "f1_macro",
        "precision_macro",
        "recall_weighted",
        "matthews_corrcoef",
        "f1_weighted",
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_the_reach_among_many_classes_is_that_of_all_pairs(name, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n_classes = 60
    # classes of very different sizes, and of very different rates of errors
    labels = rng.choice(n_classes, 1500, p=rng.dirichlet(np.full(n_classes, 0.5)))
    right = rng.random((2, 1500)) < rng.random(n_classes)[labels]
    old, new = (np.where(one, labels, rng.integers(0, n_classes, 1500)) for one in right)
    inputs = ClassInputs(labels=labels, old=old, new=new, n_classes=n_classes)
    every = effects_on_answers(named_metric(name), inputs)
    monkeypatch.setattr(answers, "_MOST_CLASSES", 10)
    some = effects_on_answers(named_metric(name), inputs)
    assert some.reach == pytest.approx(every.reach, rel=1e-9)
    np.testing.assert_array_equal(some.moved, every.moved)
