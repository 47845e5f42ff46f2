"""Two arrays of scores have the reading that a general one gives, without its work."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions.predictions import reading
from shiftmetrics.decisions.predictions.pairs import OutputPair
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.plain_arrays import array_predictions
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.register import read_file

RNG = np.random.default_rng(0)


def softmax(logits):
    terms = np.exp(logits)
    return terms / terms.sum(axis=1, keepdims=True)


LOGITS = RNG.normal(size=(60, 5))
OTHERS = LOGITS + 0.5 * RNG.normal(size=LOGITS.shape)
PAIRS = {
    "probabilities": (softmax(LOGITS), softmax(OTHERS)),
    "float32": (softmax(LOGITS).astype("f4"), softmax(OTHERS).astype("f4")),
    "one of each": (softmax(LOGITS).astype("f4"), softmax(OTHERS)),
    "scores": (LOGITS, OTHERS),
    "per cent": (100.0 * softmax(LOGITS), 100.0 * softmax(OTHERS)),
    "two classes": (softmax(LOGITS[:, :2]), softmax(OTHERS[:, :2])),
    "equal": (softmax(LOGITS), softmax(LOGITS)),
    "doubled rows": (np.repeat(LOGITS, 2, axis=0), np.repeat(OTHERS, 2, axis=0)),
    "each on its own scale": (RNG.random((60, 3)), RNG.random((60, 3))),
}


@pytest.mark.parametrize("name", PAIRS)
def test_it_is_the_general_reading(name, monkeypatch):
    old, new = PAIRS[name]
    files = [cells_of(old, "old"), cells_of(new, "new")]
    quick = array_predictions(files, RoleOptions(style="python"))
    assert quick is not None
    options = RoleOptions(style="python", columns=tuple(files[0].frame.columns), id="none")
    slow = read_predictions(files, options=options)
    assert quick.reading == slow.reading
    assert quick.reading.sentences() == slow.reading.sentences()
    assert (quick.classes, quick.ids.tolist()) == (slow.classes, slow.ids.tolist())
    for one, other in zip(quick.files, slow.files, strict=True):
        assert (one.form, one.classes, one.columns) == (other.form, other.classes, other.columns)
        assert np.array_equal(one.scores[one.rows], other.scores[other.rows])
        assert np.array_equal(one.answers(), other.answers())
    found = diff_models(old, new, rng=0)
    monkeypatch.setattr(reading, "array_predictions", lambda files, options, labels=None: None)
    assert diff_models(old, new, rng=0).equals(found)


def with_cell(value):
    changed = LOGITS.copy()
    changed[7, 2] = value
    return changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LOGITS, with_cell(np.nan)),
        (LOGITS, with_cell(-np.inf)),
        (LOGITS, OTHERS[:50]),
        (LOGITS, OTHERS[:, :4]),
        (LOGITS[:, 0], OTHERS[:, 0]),
        (np.round(LOGITS), np.round(OTHERS)),
        (np.column_stack([np.arange(60.0), LOGITS]), np.column_stack([np.arange(60.0), OTHERS])),
        (LOGITS.astype("f2"), OTHERS.astype("f2")),
    ],
)
def test_all_else_is_left_to_the_general_reading(old, new):
    files = [cells_of(old, "old"), cells_of(new, "new")]
    assert array_predictions(files, RoleOptions()) is None


def test_the_command_reads_two_files_so(tmp_path, monkeypatch):
    seen = []

    def watched(files, options, labels):
        seen.append(array_predictions(files, options, labels))
        return seen[-1]

    monkeypatch.setattr(reading, "array_predictions", watched)
    for name, values in zip(("old", "new"), PAIRS["float32"], strict=True):
        np.save(tmp_path / f"{name}.npy", values)
    files = [read_file(tmp_path / f"{name}.npy", name) for name in ("old", "new")]
    diff_models(*files, ids=RoleOptions())
    assert seen[0] is not None


def test_what_was_typed_is_left_to_the_general_reading():
    files = [cells_of(LOGITS, "old"), cells_of(OTHERS, "new")]
    for typed in ({"classes": tuple("abcde")}, {"id": "column 0"}, {"label": "y"}, {"inner": True}):
        assert array_predictions(files, RoleOptions(**typed)) is None
    assert array_predictions(files[:1], RoleOptions()) is None


TRUTH = (LOGITS + 0.3 * RNG.normal(size=LOGITS.shape)).argmax(axis=1)
WORDS = np.array(["ant", "bee", "cat", "dog", "elk"])
LABELS = {
    "places": TRUTH,
    "places as text": TRUTH.astype(str),
    "words": WORDS[TRUTH],
    "a table": pd.DataFrame({"species": WORDS[TRUTH]}),
    "a series with gaps": pd.Series(WORDS[TRUTH]).where(np.arange(60) % 3 > 0),
    "places with gaps": np.where(np.arange(60) % 4 == 0, np.nan, TRUTH),
    "classes from 1": TRUTH + 1,
    "words in another order": WORDS[(TRUTH + 1) % 5],
    "worse than chance": (LOGITS.argmin(axis=1)),
    "too few": np.where(TRUTH > 2, 2, TRUTH),
    "a class more": np.where(np.arange(60) == 5, "fox", WORDS[TRUTH]),
    "numbers far apart": 1000 * np.arange(60),
    "fractions": TRUTH + 0.5,
    "other rows": TRUTH[:50],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_read_as_by_the_general_reading(name, monkeypatch):
    old, new = PAIRS["float32"]

    def outcome():
        try:
            pair = reading.read_pair(old, new, reading.PairArguments(labels=LABELS[name]))
        except ValueError as error:
            return [str(error)]
        if isinstance(pair, OutputPair):
            return ["outputs", *pair.labels]
        codes = [*pair.labels, *pair.old_codes, *pair.new_codes]
        said = [*pair.rows.reading.sentences(), *pair.rows.warnings, pair.old.form]
        return [*codes, *pair.classes, *said, *pair.rows.ids, *pair.rows.known]

    quick = outcome()
    monkeypatch.setattr(reading, "array_predictions", lambda files, options, labels=None: None)
    assert quick == outcome()


def test_a_single_column_of_labels_is_read_quickly():
    files = [cells_of(values, "old") for values in PAIRS["float32"]]
    found = array_predictions(files, RoleOptions(), cells_of(LABELS["words"], "labels"))
    assert found.classes == tuple(WORDS)
    assert found.files[0].scores is files[0].values
    two = pd.DataFrame({"id": np.arange(60), "label": TRUTH})
    assert array_predictions(files, RoleOptions(), cells_of(two, "labels")) is None


def test_lists_of_the_best_scores_are_left_to_the_general_reading():
    ranked = [np.sort(values, axis=1)[:, ::-1] for values in PAIRS["probabilities"]]
    files = [cells_of(values, "old") for values in ranked]
    assert array_predictions(files, RoleOptions()) is None
