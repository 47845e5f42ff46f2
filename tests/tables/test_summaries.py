"""Rows and scores that are sums are refused, and what looks like them is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 30
CLASSES = ["low", "mid", "top"]


def _probabilities(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(3), N).round(3)


def _read(first, second, **options):
    files = [cells(first), cells(second, "NEW", "new.csv")]
    return read_predictions(files, options=RoleOptions(**options))


def _with_ids(values, names=CLASSES, last=None):
    ids = list(map(str, range(100, 100 + len(values))))
    if last is not None:
        ids[-1] = last
    return pd.DataFrame({"id": ids, **{name: values[:, k] for k, name in enumerate(names)}})


@pytest.mark.parametrize("word", ["Total", "Grand Total", "mean"])
def test_a_row_of_sums_below_the_table(word):
    with pytest.raises(UnreadableTableError, match="sums up the others"):
        _read(_with_ids(_probabilities(1), last=word), _with_ids(_probabilities(2), last=word))


def test_another_word_among_numbers_is_an_id():
    frames = [_with_ids(_probabilities(seed), last="x17") for seed in (1, 2)]
    assert len(_read(*frames).ids) == N
    # A row called total among words is one of them.
    for frame in frames:
        frame["id"] = [f"case {place}" for place in range(N - 1)] + ["total"]
    assert len(_read(*frames).ids) == N


@pytest.mark.parametrize(("word", "function"), [("Total", np.sum), ("mean", np.mean)])
def test_a_row_of_sums_among_rows_named_by_words(word, function):
    frames = []
    for seed in (1, 2):
        values = _probabilities(seed)
        values[-1] = function(values[:-1], axis=0).round(3)
        frame = _with_ids(values)
        frame["id"] = [*(f"case {place}" for place in range(N - 1)), word]
        frames.append(frame)
    with pytest.raises(UnreadableTableError, match=rf"'{word}', sums up"):
        _read(*frames)
    assert len(_read(*(frame[:-1] for frame in frames)).ids) == N - 1


def test_a_row_of_sums_without_a_name():
    frames = []
    for seed in (1, 2):
        values = _probabilities(seed)
        values[-1] = values[:-1].sum(axis=0)
        frames.append(pd.DataFrame(values, columns=CLASSES))
    with pytest.raises(UnreadableTableError, match="The last row of old.csv sums up"):
        _read(*frames)


def test_probabilities_of_a_class_or_a_lower_one():
    names = ["P(y<=low)", "P(y<=mid)", "P(y<=top)"]
    sums = [_probabilities(seed).cumsum(axis=1).round(3) for seed in (1, 2)]
    for part in sums:
        part[:, -1] = 1.0
    frames = [_with_ids(part, names) for part in sums]
    with pytest.raises(UnreadableTableError, match="Subtract"):
        _read(*frames)
    # The differences are what they were made from.
    apart = [
        _with_ids(np.diff(frame[names].to_numpy(), axis=1, prepend=0.0).round(6))
        for frame in frames
    ]
    old, new = (_probabilities(seed).argmax(axis=1) for seed in (1, 2))
    assert [list(file.answers()) for file in _read(*apart).files] == [
        [CLASSES[place] for place in part] for part in (old, new)
    ]


def test_constant_predictions_that_rise_are_no_sums():
    values = np.tile([0.1, 0.2, 0.7], (N, 1))
    assert len(_read(_with_ids(values), _with_ids(_probabilities(1))).ids) == N


def _of(names, values):
    ids = np.arange(len(values)) * 7 + 3
    return pd.DataFrame({"id": ids, **{name: values[:, k] for k, name in enumerate(names)}})


def test_two_columns_of_fractions_that_add_up_to_nothing_ask():
    rng = np.random.default_rng(8)
    names = ["faithfulness", "relevancy"]
    frames = [_of(names, rng.uniform(size=(N, 2)).round(3)) for _ in range(2)]
    with pytest.raises(AmbiguousReadingError, match="do not add up to 1") as caught:
        _read(*frames)
    assert len(caught.value.readings) == 3
    assert _read(*frames, columns=tuple(names)).classes == tuple(names)
    # The ends of an interval stand beside a probability.
    for frame in frames:
        frame.columns = ["id", "prob", "upper"]
    assert [file.form for file in _read(*frames).files] == ["probability"] * 2


@pytest.mark.parametrize("beginning", ["dist_", "nll.", "rank_"])
def test_scores_of_which_the_smallest_is_the_best(beginning):
    names = [beginning + name for name in CLASSES]
    values = [np.random.default_rng(seed).gamma(2.0, size=(N, 3)) for seed in (1, 2)]
    with pytest.raises(UnreadableTableError, match="opposite sign"):
        _read(*(_of(names, part) for part in values))
    found = _read(*(_of(CLASSES, -part) for part in values))
    for file, part in zip(found.files, values, strict=True):
        assert list(file.answers()) == [CLASSES[place] for place in part.argmin(axis=1)]


def test_ranks_of_classes():
    values = [np.random.default_rng(seed).uniform(size=(N, 3)).argsort(axis=1) for seed in (1, 2)]
    with pytest.raises(UnreadableTableError, match="ranks"):
        _read(*(_of(CLASSES, part + 1) for part in values))


@pytest.mark.parametrize("names", ["ids", "a gap", "none"])
def test_a_last_row_of_means_without_a_name(names):
    """As a spreadsheet has it below the columns, with all digits, or rounded where the name of the row is empty."""
    frames = []
    for seed in (1, 2):
        values = _probabilities(seed)
        means = values[:-1].mean(axis=0)
        values[-1] = means.round(3) if names == "a gap" else means
        frame = _with_ids(values)
        frame["id"] = [f"case {place}" for place in range(N)]
        if names == "a gap":
            frame.loc[N - 1, "id"] = None
        frames.append(frame.drop(columns="id") if names == "none" else frame)
    with pytest.raises(UnreadableTableError, match="The last row of .* sums up the others"):
        _read(*frames)


def test_a_last_row_that_is_the_mean_by_rounding_is_a_row():
    frames = []
    for seed in (1, 2):
        values = np.random.default_rng(seed).dirichlet(np.ones(3), N - 1).round(1)
        values[:, 2] = 1.0 - values[:, :2].sum(axis=1)
        frames.append(_with_ids(np.vstack([values, values.mean(axis=0).round(1)])))
    assert len(_read(*frames).ids) == N


def test_a_single_row_may_be_a_total():
    frames = [pd.DataFrame({"id": ["all"], "low": [p], "top": [1.0 - p]}) for p in (0.75, 0.25)]
    with pytest.raises(UnreadableTableError, match=r"a row for each prediction.*--prediction"):
        _read(*frames)
    answers = [pd.DataFrame({"id": ["a"], "answer": [word]}) for word in ("cat", "dog")]
    assert _read(*answers, prediction="answer").files[0].answers().tolist() == ["cat"]
