"""What leaves a choice open: ties broken another way, and rows whose labels decide."""

import numpy as np
import pandas as pd
import pytest

from pools import one_hot
from shiftmetrics import Resampling, compare_agreement
from shiftmetrics.comparison.deciding import LABELS_TO_DECIDE, rows_to_label

FEW = Resampling(rng=0, n_resamples=60)


def probabilities(classes: np.ndarray, tied: np.ndarray) -> np.ndarray:
    """Return probabilities of two classes, .7 for the class, and one half each where a row is tied."""
    scores = 0.3 + 0.4 * np.eye(2)[classes]
    scores[tied] = 0.5
    return scores


@pytest.fixture(scope="module")
def tied_models() -> dict[str, np.ndarray]:
    """Four models of 300 rows; on 30 rows of class 1 the first has ties, which lose it more than its lead."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    ones = np.flatnonzero(truth == 1)
    models = {}
    for number, n_wrong in enumerate((2, 25, 60, 70)):
        wrong = truth.copy()
        rows = rng.choice(ones[40:], n_wrong, replace=False)
        wrong[rows] = 1 - wrong[rows]
        tied = np.zeros(300, bool)
        if number == 0:
            tied[ones[:30]] = True
        models[f"model {number}"] = probabilities(wrong, tied)
    return models


def test_ties_never_decide_without_a_word(tied_models) -> None:
    found = compare_agreement(tied_models, resampling=FEW)
    assert found.best.name == "model 1"
    warning = next(text for text in found.warnings if "score the same" in text)
    assert "In 30 of 300 samples" in warning
    assert "model 0" in warning
    assert found.status.code == "tied"
    assert {model.name for model in found.contenders} >= {"model 0", "model 1"}


def test_a_winner_that_ties_cannot_change_is_no_warning(tied_models) -> None:
    plain = {name: np.round(part + np.array([0.0, 0.01]), 6) for name, part in tied_models.items()}
    found = compare_agreement(plain, resampling=FEW)
    assert found.best.name == "model 0"
    assert not any("score the same" in text for text in found.warnings)


def test_rounding_makes_no_class_larger_than_another(tied_models) -> None:
    # A forest computes 0.5000000000000001 beside 0.4999999999999999, and its file says 0.5 beside 0.5.
    rng = np.random.default_rng(1)
    computed = {
        name: part + 1e-16 * rng.choice([-1.0, 1.0], part.shape)
        for name, part in tied_models.items()
    }
    written, asked = (compare_agreement(side, resampling=FEW) for side in (tied_models, computed))
    assert [m.name for m in written.models] == [m.name for m in asked.models]
    assert [m.ranks for m in written.models] == [m.ranks for m in asked.models]
    assert written.warnings == asked.warnings


def test_rows_to_label_are_those_that_differ() -> None:
    differ = np.zeros(400, bool)
    differ[100:300] = True
    rows = rows_to_label(differ, np.zeros((400, 2)))
    assert len(set(rows)) == LABELS_TO_DECIDE
    assert all(100 <= int(row) < 300 for row in rows)
    table = pd.DataFrame(np.zeros((400, 2)), index=[f"id{i}" for i in range(400)])
    assert rows_to_label(np.arange(400) == 7, table) == ("id7",)
    assert rows_to_label(np.zeros(400, bool), table) == ()


def test_fifty_labels_decide_in_eight_of_ten_cases() -> None:
    """By enumeration: the two-sided sign test at .05, where one model is right on 70 % of the rows."""
    from scipy.stats import binom

    counts = np.arange(LABELS_TO_DECIDE + 1)
    p_values = 2.0 * binom.sf(counts - 1, LABELS_TO_DECIDE, 0.5)
    decided = counts[p_values <= 0.05].min()
    power = binom.sf(decided - 1, LABELS_TO_DECIDE, 0.7)
    assert 0.75 <= power <= 0.87


def test_the_best_on_labelled_rows_is_named_beside_the_best_of_all() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=300)
    here = {}
    there = {}
    for number, (at_home, away) in enumerate(((0.3, 0.05), (0.02, 0.3), (0.3, 0.1), (0.3, 0.1))):
        for side, rate in ((there, at_home), (here, away)):
            other = (truth + rng.integers(1, 3, size=300)) % 3
            side[f"model {number}"] = one_hot(np.where(rng.random(300) < rate, other, truth), 3)
    found = compare_agreement(
        here, labels=truth, labelled_scores=there, criterion="vote", resampling=FEW
    )
    assert found.best.name == "model 0"
    assert found.headline().endswith(
        "On the labelled rows model 1 is right most often: 97 %. Label 50 rows to decide: those on which model 0 "
        "and model 1 differ."
    )
    assert "agrees most with the others of 4 models" in found.headline()
    differ = here["model 0"].argmax(axis=1) != here["model 1"].argmax(axis=1)
    assert all(differ[int(row)] for row in found.to_label)
    assert f"Rows to label: {', '.join(found.to_label)}." in found.notes()
