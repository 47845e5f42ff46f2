"""Files of predictions are read right, or it is asked; never wrongly."""

from __future__ import annotations

import cProfile
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells, numbers_of, variant

N = 40


def _models(n: int = N, n_classes: int = 3) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return true classes and the probabilities of two models."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % n_classes
    found = []
    for _ in range(2):
        odds = np.exp(2.0 * np.eye(n_classes)[truth] + rng.normal(size=(n, n_classes)))
        found.append(odds / odds.sum(axis=1, keepdims=True))
    return truth, found


def _read(old, new, labels=None, **options):
    """Read two frames, and perhaps a frame of labels."""
    own = None if labels is None else cells(labels, "--labels", "labels.csv")
    return read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], labels=own, options=RoleOptions(**options)
    )


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_made_variants_are_right_or_asked(first):
    n_asked = 0
    for seed in range(first, first + 20):
        made = variant(seed)
        try:
            found = numbers_of(
                read_predictions([made.old, made.new], labels=made.labels, options=made.options)
            )
        except UnreadableTableError:
            n_asked += 1
            continue
        assert found == pytest.approx(made.expected), made.about
    assert n_asked <= 5


@pytest.mark.slow
def test_five_hundred_more_variants():
    for seed in range(1000, 1500):
        made = variant(seed)
        try:
            found = numbers_of(
                read_predictions([made.old, made.new], labels=made.labels, options=made.options)
            )
        except UnreadableTableError:
            continue
        assert found == pytest.approx(made.expected), made.about


def _frames(columns, *, truth=None):
    """Return two frames of one column a class, with ids."""
    _, models = _models(n_classes=len(columns))
    frames = []
    for scores in models:
        frame = pd.DataFrame(scores, columns=columns)
        frame.insert(0, "id", np.arange(100, 100 + N))
        if truth is not None:
            frame["label"] = truth
        frames.append(frame)
    return frames


def test_columns_beside_the_scores_are_left_out():
    truth, models = _models()
    words = np.array(["bird", "cat", "dog"], dtype=object)[truth]
    old, new = _frames(["bird", "cat", "dog"], truth=words)
    rng = np.random.default_rng(1)
    for frame in (old, new):
        frame.insert(1, "confidence", frame[["bird", "cat", "dog"]].max(axis=1))
        frame["latency_ms"] = rng.gamma(2.0, 10.0, N)
        frame["epoch"] = 3
    found = _read(old, new)
    assert found.files[0].columns == ("bird", "cat", "dog")
    assert found.reading.files[0].left_out == ("confidence", "latency_ms", "epoch")
    changed = int((models[0].argmax(1) != models[1].argmax(1)).sum())
    assert numbers_of(found)[1] == changed


def test_an_answer_beside_scores_was_served():
    old, new = _frames(["no", "yes"])
    for frame in (old, new):
        frame["predict"] = np.where(frame["yes"] > 0.3, "yes", "no")
    found = _read(old, new)
    assert (found.files[0].answers() == old["predict"]).all()
    assert any("is not the largest score" in note for note in found.reading.notes)


def test_an_answer_without_a_name_that_contradicts_the_scores_asks():
    old, new = _frames(["no", "yes"])
    for frame in (old, new):
        frame["says"] = np.where(frame["yes"] > 0.1, "yes", "no").astype(object)
    with pytest.raises(AmbiguousReadingError) as caught:
        _read(old, new)
    _follow(caught.value, old, new)


def _follow(error: AmbiguousReadingError, old, new, labels=None, **given):
    """Type each remedy of a message to the letter: it must answer."""
    assert error.readings
    found = []
    for reading in error.readings:
        words = shlex.split(reading.remedy)
        options = dict(given)
        while words:
            name = words.pop(0).removeprefix("--")
            if name == "inner":
                options[name] = True
                continue
            value = words.pop(0)
            if name in ("columns", "classes", "exclude"):
                options[name] = tuple(value.split(","))
            elif name in ("threshold", "tolerance"):
                options[name] = float(value)
            else:
                options[name] = value
        found.append(_read(old, new, labels, **options))
    return found


def test_columns_that_count_from_0_and_labels_that_count_from_1_ask():
    truth, _ = _models()
    old, new = _frames(["0", "1", "2"])
    labels = pd.DataFrame({"id": old["id"], "label": truth + 1})
    with pytest.raises(AmbiguousReadingError, match="classes") as caught:
        _read(old, new, labels)
    found = _read(old, new, labels, classes=("1", "2", "3"))
    assert numbers_of(found)[2] > 0.5
    assert "1,2,3" in str(caught.value)


def test_places_of_sorted_words_are_borne_out_by_the_labels():
    truth, _ = _models()
    words = np.array(["ant", "bee", "cow"], dtype=object)[truth]
    old, new = _frames(["0", "1", "2"])
    labels = pd.DataFrame({"id": old["id"], "label": words})
    assert _read(old, new, labels).files[0].classes == ("ant", "bee", "cow")
    # Spark counts classes by their frequency: the sorted order is wrong, and the message offers the one that fits.
    other = pd.DataFrame(
        {"id": old["id"], "label": np.array(["cow", "ant", "bee"], dtype=object)[truth]}
    )
    with pytest.raises(AmbiguousReadingError, match="cow,ant,bee") as caught:
        _read(old, new, other)
    by_place, best = _follow(caught.value, old, new, other)
    assert numbers_of(by_place)[2] < 0.4
    assert numbers_of(best)[2] > 0.5
    assert by_place.reading.doubtful
    assert not best.reading.doubtful


def test_ids_that_repeat_count_once_where_rows_are_exact_doubles():
    rng = np.random.default_rng(2)
    old = pd.DataFrame({"id": np.arange(N), "prediction": rng.integers(0, 2, N)})
    new = old.assign(prediction=rng.integers(0, 2, N))
    doubled = pd.concat([old, old.iloc[:3]])
    shuffled = pd.concat([new, new.iloc[:3]]).iloc[rng.permutation(N + 3)]
    found = _read(doubled, shuffled)
    assert numbers_of(found)[:2] == (N, int((old["prediction"] != new["prediction"]).sum()))
    assert any("stand twice" in note for note in found.reading.notes)


def test_ids_that_repeat_in_another_order_are_never_paired_by_place():
    rng = np.random.default_rng(3)
    old = pd.DataFrame(
        {
            "customer_id": np.arange(N) // 2,
            "visit": np.arange(N) % 2,
            "prediction": rng.integers(0, 2, N),
        }
    )
    new = old.assign(prediction=rng.integers(0, 2, N)).iloc[rng.permutation(N)]
    with pytest.raises(AmbiguousReadingError, match="customer_id") as caught:
        _read(old, new)
    (found,) = _follow(caught.value, old, new)
    right = new.sort_values(["customer_id", "visit"])["prediction"].to_numpy()
    assert numbers_of(found)[:2] == (N, int((old["prediction"].to_numpy() != right).sum()))
    # Without a second column there is no reading at all.
    with pytest.raises(UnreadableTableError, match="customer_id"):
        _read(old.drop(columns="visit"), new.drop(columns="visit"))
    # In one order rows pair by their place, which is said.
    by_place = _read(old.drop(columns="visit"), old.drop(columns="visit").assign(prediction=0))
    assert any("customer_id repeats" in note for note in by_place.reading.notes)


def test_two_models_in_one_table_ask_and_the_remedy_answers():
    truth, models = _models()
    words = np.array(["a", "b", "c"], dtype=object)
    table = pd.DataFrame(
        {
            "id": np.arange(N),
            "model_a": words[models[0].argmax(1)],
            "model_b": words[models[1].argmax(1)],
        }
    )
    table["truth"] = words[truth]
    with pytest.raises(AmbiguousReadingError, match="--old model_a --new model_b"):
        _read(table, table)
    found = read_predictions([cells(table)], options=RoleOptions(old="model_a", new="model_b"))
    changed = int((table["model_a"] != table["model_b"]).sum())
    assert numbers_of(found)[:2] == (N, changed)
    assert numbers_of(found)[2] == pytest.approx((table["model_a"] == table["truth"]).mean())


def test_percentages_of_one_column():
    truth, models = _models(n_classes=2)
    frames = [
        pd.DataFrame({"id": np.arange(N), "prediction": 100.0 * scores[:, 1]}) for scores in models
    ]
    labels = pd.DataFrame({"id": np.arange(N), "label": truth})
    found = _read(*frames, labels)
    assert found.files[0].form == "percentage"
    assert numbers_of(found)[1] == int((models[0].argmax(1) != models[1].argmax(1)).sum())
    with pytest.raises(AmbiguousReadingError, match="several things") as caught:
        _read(*frames)
    outputs, percent = _follow(caught.value, *frames)
    assert outputs.is_regression
    assert numbers_of(percent)[1] == numbers_of(found)[1]


def test_regression_with_true_values():
    rng = np.random.default_rng(4)
    true = rng.normal(size=N) * 30.0
    frames = [
        pd.DataFrame({"id": np.arange(N), "prediction": true + rng.normal(size=N), "y_true": true})
        for _ in range(2)
    ]
    found = _read(*frames)
    assert found.is_regression
    assert found.truth == pytest.approx(true)


def test_all_that_is_wrong_is_said_at_once():
    old, new = _frames(["a", "b"])
    with pytest.raises(UnreadableTableError) as caught:
        _read(old, new, exclude=("nope",), group="gone")
    assert "nope" in str(caught.value)
    assert "gone" in str(caught.value)


def test_a_saved_reading_guesses_nothing():
    made = variant(0)
    found = read_predictions([made.old, made.new], labels=made.labels, options=made.options)
    again = read_predictions([made.old, made.new], labels=made.labels, reading=found.reading)
    assert numbers_of(again) == numbers_of(found)
    more = replace(made.new, table=made.new.frame.assign(another=1.0))
    with pytest.raises(UnreadableTableError, match="another"):
        read_predictions([made.old, more], labels=made.labels, reading=found.reading)
    column = next(iter(found.reading.files[1].classes), found.reading.files[1].answer)
    fewer = replace(made.new, table=made.new.frame.drop(columns=column))
    with pytest.raises(UnreadableTableError, match=str(column)):
        read_predictions([made.old, fewer], labels=made.labels, reading=found.reading)


def test_messages_for_functions_name_their_arguments():
    old, new = _frames(["a", "b"])
    with pytest.raises(UnreadableTableError, match="ids='gone'"):
        _read(old, new, id="gone", style="python")


def test_arrays_and_labels_in_words():
    truth, models = _models()
    words = np.array(["ant", "bee", "cow"], dtype=object)
    files = [
        Cells(argument=name, values=scores)
        for name, scores in zip(("old", "new"), models, strict=True)
    ]
    labels = Cells(argument="labels", values=words[truth])
    found = read_predictions(files, labels=labels)
    assert found.files[0].classes == ("ant", "bee", "cow")
    assert numbers_of(found)[2] == pytest.approx((models[0].argmax(1) == truth).mean())


def test_what_is_alone_in_a_file_is_the_prediction():
    old, new = (pd.DataFrame({"x": values}) for values in (["a", "b", "c"], ["a", "c", "b"]))
    assert numbers_of(_read(old, new))[:2] == (3, 2)


def test_scores_of_one_model_and_answers_of_the_other():
    _, models = _models()
    old, new = _frames(["ant", "bee", "cow"])
    words = np.array(["ant", "bee", "cow"], dtype=object)
    answers = pd.DataFrame({"id": new["id"], "prediction": words[models[1].argmax(1)]})
    changed = int((models[0].argmax(1) != models[1].argmax(1)).sum())
    assert numbers_of(_read(old, answers))[:2] == (N, changed)


def test_columns_that_count_the_classes_of_the_other_file_are_asked_for():
    old, new = _frames(["ant", "bee", "cow"])
    new = new.rename(columns={"ant": "V1", "bee": "V2", "cow": "V3"})
    with pytest.raises(AmbiguousReadingError, match="--classes ant,bee,cow") as caught:
        _read(old, new)
    assert "V1, V2, V3 of new.csv" in str(caught.value)
    assert _read(old, new, classes=("ant", "bee", "cow")).classes == ("ant", "bee", "cow")


def test_a_long_table_of_scores_is_read_as_a_wide_one():
    old, new = _frames(["ant", "bee", "cow"])
    long = new.melt("id", var_name="class", value_name="p").iloc[::-1].reset_index(drop=True)
    wide = numbers_of(_read(old, new))
    assert numbers_of(_read(old, long)) == pytest.approx(wide)


@pytest.mark.skipif(pd.Series(["a"]).dtype == object, reason="strings are objects in pandas 2")
def test_ids_and_labels_cost_no_python_call_each():
    """It were 50 calls a row, and twenty times as long as the reading of both files; what is left strips blanks."""

    def n_calls(n_rows):
        rng = np.random.default_rng(0)
        scores = rng.dirichlet(np.ones(3), size=n_rows)
        frame = pd.DataFrame(scores, columns=["ant", "bee", "cow"])
        frame.insert(0, "id", pd.Series([f"row {place:06d}" for place in range(n_rows)]))
        frame["label"] = pd.Series(np.array(["ant", "bee", "cow"])[rng.integers(3, size=n_rows)])
        other = frame.iloc[rng.permutation(n_rows)].reset_index(drop=True)
        tables = [cells(frame), cells(other, "NEW", "new.csv")]
        profile = cProfile.Profile()
        profile.runcall(read_predictions, tables)
        return sum(entry.callcount for entry in profile.getstats())

    n_calls(100)  # what is imported and compiled on first use
    assert n_calls(12_000) - n_calls(4_000) < 6 * 8_000


def test_columns_without_names_that_belong_to_the_rows_are_no_classes():
    rng = np.random.default_rng(6)
    truth = rng.integers(2, size=80)
    rows = {f"column {place}": rng.normal(size=80) for place in range(4)}
    scores = [np.clip(0.5 * truth + 0.5 * rng.random(80), 0, 1) for _ in range(2)]
    old, new = (pd.DataFrame({**rows, "column 4": truth, "column 5": part}) for part in scores)
    tables = _read(old, new, label="column 4")
    for table, part in zip(tables.files, scores, strict=True):
        assert table.columns == ("column 5",)
        np.testing.assert_array_equal(table.answers().astype(int), part > 0.5)


def test_codes_beside_labels_that_are_words_are_refused():
    truth, models = _models()
    frames = [pd.DataFrame({"p": part.argmax(axis=1) + 1}) for part in models]
    labels = pd.DataFrame({"wine": np.array(["a", "b", "c"])[truth]})
    with pytest.raises(UnreadableTableError, match="names of the classes"):
        _read(*frames, labels)


def test_columns_that_count_from_1_are_asked_for_where_labels_count_from_0():
    truth, models = _models()
    frames = [pd.DataFrame(part, columns=["V1", "V2", "V3"]) for part in models]
    with pytest.raises(AmbiguousReadingError, match="--classes 0,1,2"):
        _read(*frames, pd.DataFrame({"y": truth}))


def test_names_of_rows_that_no_other_file_has_are_asked_for():
    truth, models = _models()
    frames = [
        pd.DataFrame({"": [f"{start + row}" for row in range(len(part))], "answer": part.argmax(1)})
        for start, part in zip((100, 9000), models, strict=True)
    ]
    labels = pd.DataFrame({"y": truth})
    with pytest.raises(AmbiguousReadingError, match="--id none"):
        _read(*frames, labels)
    tables = _read(*frames, labels, id="none")
    np.testing.assert_array_equal(tables.files[1].answers().astype(int), models[1].argmax(axis=1))
