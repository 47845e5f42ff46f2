"""Scores of one class against another without names: as many columns as the labels' classes have pairs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.python import cells_of


@pytest.fixture
def rng():
    return np.random.default_rng(4)


WORDS = ["ash", "birch", "cedar", "elm", "fir"]


def of_pairs(rng, truth, n_classes, noise=1.0):
    """Return the score of each pair: above 0 where the first of the two wins; of other classes at random."""
    columns = []
    for first, second in combinations(range(n_classes), 2):
        sign = np.where(truth == first, 2.0, np.where(truth == second, -2.0, 0.0))
        columns.append(sign + noise * rng.normal(size=len(truth)))
    return np.column_stack(columns)


def of_classes(rng, truth, n_classes):
    return 2.0 * (truth[:, None] == np.arange(n_classes)) + rng.normal(size=(len(truth), n_classes))


def read(old, new, labels, **options):
    files = [cells_of(frame, name) for frame, name in ((old, "old"), (new, "new"))]
    return read_predictions(
        files, labels=cells_of(labels, "labels"), options=RoleOptions(id="none", **options)
    )


def frame(scores):
    columns = list(map(str, range(scores.shape[1])))
    return pd.DataFrame(scores, columns=columns)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("as_words", [False, True])
def test_pairs_without_names_are_refused(n_classes, as_words, rng):
    truth = rng.integers(n_classes, size=120)
    files = [frame(of_pairs(rng, truth, n_classes)) for _ in range(2)]
    labels = pd.DataFrame({"y": np.array(WORDS)[truth] if as_words else truth})
    with pytest.raises(UnreadableTableError, match="one class against another"):
        read(*files, labels)


def test_three_classes_are_no_pairs(rng):
    truth = rng.integers(3, size=120)
    files = [frame(of_classes(rng, truth, 3)) for _ in range(2)]
    tables = read(*files, pd.DataFrame({"y": truth}))
    assert tables.classes == ("0", "1", "2")
    answers = tables.files[0].answers()
    np.testing.assert_array_equal(answers.astype(int), files[0].to_numpy().argmax(axis=1))


def test_six_probabilities_beside_four_labels_are_no_pairs(rng):
    truth = rng.integers(4, size=120)
    files = [frame(rng.dirichlet(np.ones(6), 120)) for _ in range(2)]
    labels = pd.DataFrame({"y": np.array(WORDS)[truth]})
    with pytest.raises(ValueError, match="classes") as caught:
        read(*files, labels)
    assert "one class against another" not in str(caught.value)
    typed = ("a", "b", "c", "d", "e", "f")
    labels["y"] = np.array(list("abcd"))[truth]
    assert read(*files, labels, classes=typed).classes == typed


def test_pairs_with_names_are_refused_whatever_their_units(rng):
    truth = rng.integers(4, size=120)
    names = ["/".join(pair) for pair in combinations(WORDS[:4], 2)]
    files = []
    for _ in range(2):
        scores = pd.DataFrame(of_pairs(rng, truth, 4), columns=names)
        scores[names[1]] *= 40.0
        files.append(scores)
    cells = [cells_of(own, name) for own, name in zip(files, ("old", "new"), strict=True)]
    with pytest.raises(UnreadableTableError, match="one class against another"):
        read_predictions(cells, options=RoleOptions(id="none"))
