"""What files of predictions may look like: found by name and content, and refused with the column and the row."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.options import RoleOptions

RNG = np.random.default_rng(0)
CLASSES = ["cat", "dog", "owl"]
LOGITS = 2.0 * RNG.normal(size=(50, 3))
OTHERS = LOGITS + RNG.normal(size=LOGITS.shape)
LABELS = np.array(CLASSES)[LOGITS.argmax(axis=1)]
CHANGED = LOGITS.argmax(axis=1) != OTHERS.argmax(axis=1)


def softmax(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    terms = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=1, keepdims=True))


def frame(scores: npt.NDArray[Any], **columns: Any) -> pd.DataFrame:
    table = pd.DataFrame(scores, columns=CLASSES)
    for name, values in columns.items():
        table.insert(0, name, values)
    return table


IDS = np.array([f"row{place}" for place in range(50)])
OLD = frame(LOGITS, image_id=IDS)
NEW = frame(OTHERS, image_id=IDS)


# --- forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [["p1", "p2", "p3"], ["prob_1", "prob_2", "prob_3"], [1, 2, 3]])
@pytest.mark.parametrize("labels", [np.arange(1, 4), np.arange(1.0, 4.0), None])
def test_numbered_columns_are_the_classes_of_numbered_labels(columns: Any, labels: Any) -> None:
    pair = [pd.DataFrame(scores, columns=columns) for scores in (LOGITS, OTHERS)]
    truth = None if labels is None else labels[LOGITS.argmax(axis=1)]
    result = diff_models(*pair, labels=truth, rng=0)
    assert result.changes.n_changed == CHANGED.sum()
    assert {part.old for part in result.changes.frequent} <= {"1", "2", "3"}
    if labels is not None:
        assert result.value == pytest.approx(-CHANGED.mean())


@pytest.mark.parametrize("columns", [["cat1", "cat2", "cat3"], ["type_a", "type_b", "type_c"]])
def test_labels_say_what_columns_are_called(columns: list[str]) -> None:
    pair = [pd.DataFrame(scores, columns=columns) for scores in (LOGITS, OTHERS)]
    best = LOGITS.argmax(axis=1)
    whole = np.array(columns)
    for names in (whole, np.array([name[-1] for name in columns])):
        result = diff_models(*pair, labels=names[best], rng=0)
        assert result.value == pytest.approx(-CHANGED.mean())
    # Answers of the other model say it as well.
    assert diff_models(whole[best], pair[1], rng=0).changes.n_changed == CHANGED.sum()


@pytest.mark.parametrize(
    "form", ["logits", "probabilities", "log", "percent", "float32", "list", "labels", "strings"]
)
def test_every_form_gives_the_same_changes(form: str) -> None:
    pair: list[Any] = [LOGITS, OTHERS]
    if form == "probabilities":
        pair = [softmax(scores) for scores in pair]
    elif form == "log":
        pair = [np.log(softmax(scores)) for scores in pair]
    elif form == "percent":
        pair = [100.0 * softmax(scores) for scores in pair]
    elif form == "float32":
        pair = [scores.astype(np.float32) for scores in pair]
    elif form == "list":
        pair = [scores.tolist() for scores in pair]
    elif form == "labels":
        pair = [scores.argmax(axis=1) for scores in pair]
    elif form == "strings":
        pair = [np.array(CLASSES)[scores.argmax(axis=1)] for scores in pair]
    result = diff_models(*pair, rng=0)
    assert result.changes.n_changed == CHANGED.sum()
    assert (
        result.to_frame()["id"].tolist()
        == diff_models(LOGITS, OTHERS, rng=0).to_frame()["id"].tolist()
    )
    if form in ("probabilities", "log", "percent", "float32", "list"):
        both = (softmax(LOGITS).max(axis=1) >= 0.9) & (softmax(OTHERS).max(axis=1) >= 0.9)
        assert result.changes.n_confident == (both & CHANGED).sum()


def test_one_probability_is_that_of_the_second_class() -> None:
    chance, other = softmax(LOGITS)[:, 0], softmax(OTHERS)[:, 0]
    labels = np.where(RNG.random(50) < 0.5, "yes", "no")
    result = diff_models(chance, other, labels=labels)
    table = result.to_frame()
    rows = table["id"].to_numpy()
    assert rows.tolist() == np.flatnonzero((chance > 0.5) != (other > 0.5)).tolist()
    assert table["new"].tolist() == np.where(other > 0.5, "yes", "no")[rows].tolist()
    cut = diff_models(chance, other, labels=labels, threshold=0.3)
    assert cut.changes.n_changed == ((chance >= 0.3) != (other >= 0.3)).sum()


def test_one_half_goes_to_the_first_class_and_says_so() -> None:
    old = pd.DataFrame({"id": ["a", "b", "c"], "p1": [0.5, 0.2, 0.9]})
    new = old.assign(p1=[0.4, 0.2, 0.9])
    by_default = diff_models(old, new)
    assert by_default.changes.n_changed == 0
    ties = "1 prediction with both classes at one half for 0; threshold 0.5 takes it for 1"
    assert any(ties in text for text in by_default.settings["found"])
    # What the sentence promises.
    at_half = diff_models(old, new, threshold=0.5)
    assert at_half.changes.n_changed == 1
    assert not any("one half" in text for text in at_half.settings["found"])


def test_a_threshold_cuts_the_same_class_whatever_the_order_of_columns() -> None:
    chance, other = softmax(LOGITS[:, :2])[:, 1], softmax(OTHERS[:, :2])[:, 1]
    old = pd.DataFrame({"no": 1.0 - chance, "yes": chance})
    new = pd.DataFrame({"yes": other, "no": 1.0 - other})
    for threshold in (0.2, 0.8):
        result = diff_models(old, new, threshold=threshold, rng=0)
        assert result.changes.n_changed == ((chance >= threshold) != (other >= threshold)).sum()


def test_margins_are_cut_at_zero() -> None:
    labels = np.arange(50) % 2
    result = diff_models(LOGITS[:, 0], OTHERS[:, 0], labels=labels)
    assert result.metric == "accuracy"
    assert result.changes.n_changed == ((LOGITS[:, 0] > 0) != (OTHERS[:, 0] > 0)).sum()
    assert diff_models(LOGITS[:, 0], OTHERS[:, 0], threshold=0.0).metric == "accuracy"
    words = np.where(labels == 1, "yes", "no")
    assert diff_models(LOGITS[:, 0], OTHERS[:, 0], labels=words).value == result.value
    assert diff_models(LOGITS[:, 0], OTHERS[:, 0], tolerance=0.0).metric == "mean absolute error"
    assert (
        diff_models(LOGITS[:, 0], OTHERS[:, 0], labels=LOGITS[:, 1]).metric == "mean absolute error"
    )
    with pytest.raises(ValueError, match="tolerance"):
        diff_models(LOGITS[:, 0], OTHERS[:, 0])


def test_counts_of_many_values_are_outputs() -> None:
    ages = RNG.integers(0, 10**6, size=200)
    assert diff_models(ages, ages + 1).metric == "mean absolute error"
    assert diff_models(ages % 7, (ages + 1) % 7, rng=0).metric == "accuracy"


@pytest.mark.parametrize("bits", [4, 8])
def test_the_first_of_equal_scores_is_the_answer(bits: int) -> None:
    step = np.abs(LOGITS).max() / 2 ** (bits - 1)
    rounded = np.round(LOGITS / step)
    result = diff_models(LOGITS, rounded, rng=0)
    assert result.changes.n_changed == (LOGITS.argmax(axis=1) != rounded.argmax(axis=1)).sum()
    tied = (rounded == rounded.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert (result.changes.n_tied_old, result.changes.n_tied_new) == (0, tied.sum())
    # In another order of columns, another class is the first; that is what this model serves.
    table = frame(rounded)[["owl", "dog", "cat"]]
    served = table.to_numpy().argmax(axis=1)
    answers = np.array(["owl", "dog", "cat"])[served]
    result = diff_models(frame(LOGITS), table, rng=0)
    assert result.changes.n_changed == (answers != LABELS).sum()


def test_one_class_never_changes() -> None:
    constant = np.repeat("cat", 30)
    result = diff_models(constant, constant.copy())
    assert result.verdict == "SAME"
    assert result.evidence.kappa is None


# --- columns ------------------------------------------------------------------------------------------------


def test_ids_labels_and_scores_are_found_and_said() -> None:
    old = OLD.assign(label=LABELS)
    result = diff_models(old, NEW.iloc[::-1])
    assert result.changes.n_changed == CHANGED.sum()
    assert result.labelled is not None
    assert result.labelled.old_score == 1.0
    assert set(result.settings["found"]) == {
        "Read old: id image_id, classes cat, dog, owl, truth label.",
        "Read new: id image_id, classes cat, dog, owl; left out index.",
        "the predictions as scores",
    }
    assert "rows by their place" in diff_models(LOGITS, OTHERS).settings["found"][0]
    assert result.to_frame()["id"].tolist() == IDS[CHANGED].tolist()


def test_columns_match_by_name_and_without_their_prefix() -> None:
    old = OLD.rename(columns={name: f"p_{name}" for name in CLASSES})
    new = NEW[["owl", "image_id", "dog", "cat"]].rename(
        columns={name: f"prob_{name}" for name in CLASSES}
    )
    assert diff_models(old, new, rng=0).changes.n_changed == CHANGED.sum()
    numbered = pd.DataFrame(OTHERS, columns=[f"score_{place}" for place in range(3)])
    assert diff_models(LOGITS, numbered, rng=0).changes.n_changed == CHANGED.sum()


def test_an_array_takes_the_names_of_the_other_file() -> None:
    result = diff_models(frame(LOGITS), OTHERS, labels=LABELS)
    assert set(result.to_frame()["new"]) <= set(CLASSES)


def test_an_answer_beside_its_scores_is_what_is_served() -> None:
    served = np.array(CLASSES)[OTHERS.argmax(axis=1)]
    agreeing = diff_models(OLD, NEW.assign(prediction=served), rng=0)
    assert agreeing.evidence.agreement is not None
    other = served.copy()
    other[0] = "cat" if served[0] != "cat" else "dog"
    result = diff_models(OLD, NEW.assign(prediction=other), rng=0)
    assert result.changes.n_changed == (other != LABELS).sum()
    assert any("not the largest score" in text for text in result.settings["found"])
    hard = pd.DataFrame({"image_id": IDS, "prediction": other, "confidence": 0.95})
    result = diff_models(hard.assign(prediction=LABELS, confidence=0.97), hard, rng=0)
    assert result.changes.n_confident == result.changes.n_changed == (other != LABELS).sum()


def test_the_index_of_a_table_is_its_id() -> None:
    old = OLD.set_index("image_id")
    new = NEW.set_index("image_id").sample(frac=1.0, random_state=0)
    assert diff_models(old, new, rng=0).changes.n_changed == CHANGED.sum()


def test_ids_of_arrays_name_the_rows() -> None:
    assert diff_models(LOGITS, OTHERS, ids=IDS, rng=0).to_frame()["id"].isin(IDS).all()


def test_true_values_of_a_regression_are_a_label() -> None:
    truth = RNG.lognormal(size=40)
    old = pd.DataFrame({"house_id": range(40), "y": truth, "pred": truth * 1.1})
    new = pd.DataFrame({"house_id": range(40), "pred": truth * 1.05})
    result = diff_models(old, new)
    assert result.value == pytest.approx(0.05 * truth.mean())


def test_numbers_and_strings_name_the_same_classes() -> None:
    old = pd.DataFrame({"id": range(6), "pred": [0, 1, 2, 0, 1, 2]})
    new = pd.DataFrame(
        {"id": [str(place) for place in range(6)], "pred": ["0", "1", "2", "1", "1", "2"]}
    )
    result = diff_models(old, new, labels=np.array([0.0, 1.0, 2.0, 1.0, 1.0, 2.0]))
    assert result.changes.n_changed == 1
    assert result.labelled is not None
    assert result.labelled.fixed == 1


# --- rows ---------------------------------------------------------------------------------------------------


def test_rows_of_one_file_alone_are_refused_or_left_out() -> None:
    with pytest.raises(ValueError, match=r"'row0'.*48 are in both.*RoleOptions\(inner=True\)"):
        diff_models(OLD, NEW.iloc[2:])
    result = diff_models(OLD, NEW.iloc[2:], ids=RoleOptions(inner=True), rng=0)
    assert result.n_samples == 48
    assert result.changes.n_changed == CHANGED[2:].sum()


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        (OLD, NEW.assign(image_id=[f"other{place}" for place in range(50)]), {}, "0 are in both"),
        (LOGITS, OTHERS[:40], {}, "old 50 and new 40 rows"),
        (OLD, pd.concat([NEW, NEW.iloc[:1].assign(cat=9.0)]), {}, "image_id"),
        (OLD.iloc[:0], NEW, {}, "old must be a table with rows"),
        (OLD, NEW.drop(columns="owl"), {}, r"owl.*only in old"),
        (OLD, NEW.assign(bat=OTHERS[::-1, 0]), {}, r"bat.*only in new"),
        (OLD, NEW.assign(dog=NEW["dog"].where(np.arange(50) != 7)), {}, r"'dog', row 7"),
        (OLD, NEW.assign(dog=NEW["dog"].where(np.arange(50) > 0, np.inf)), {}, r"dog"),
        (np.array(["a", "b"]), np.array(["c", "d"]), {}, "classes in common"),
        (np.array(["a", None], dtype=object), np.array(["a", "b"]), {}, r"old.*row 1"),
        (OLD, NEW, {"ids": "key"}, r"ids='key' must name a column.*image_id"),
        (OLD, NEW, {"labels": "truth"}, "labels='truth' must name a column"),
        (OLD, NEW, {"labels": np.repeat("bat", 50)}, "old has several columns"),
        (OLD, NEW, {"labels": LABELS[:10]}, "labels must have a label for each"),
        (OLD.assign(label=LABELS), NEW.assign(label=np.roll(LABELS, 1)), {}, r"'label' of new"),
        (OLD, NEW, {"groups": np.where(np.arange(50) == 3, None, "x")}, r"groups.*row 3"),
        (OLD, NEW, {"threshold": 0.5}, "threshold must be None"),
        (LABELS, LABELS, {"threshold": 0.5}, "threshold must be None for labels"),
        (LOGITS[:, 0], OTHERS[:, 0], {"threshold": 0.5, "tolerance": 0.1}, "one at a time"),
        (OLD, NEW, {"tolerance": 0.1}, "old has several columns"),
        (OLD, NEW, {"allow": -0.1}, "allow"),
        (OLD, NEW, {"allow": 1}, r"allow must be less than 1.*0\.01"),
        (OLD, NEW, {"plan": 0}, "plan"),
        (LOGITS[None], OTHERS, {}, "old must be predictions of shape"),
        (np.array([1.0, np.nan, 3.5]), np.array([1.0, 2.0, 3.0]), {}, r"old.*row 1"),
    ],
)  # fmt: skip
def test_bad_input_is_named(old: Any, new: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        diff_models(old, new, **options)


# --- labels -------------------------------------------------------------------------------------------------


def test_labels_of_a_table_belong_to_their_ids() -> None:
    table = pd.DataFrame({"image_id": IDS, "label": LABELS}).sample(frac=1.0, random_state=1)
    result = diff_models(OLD, NEW, labels=table)
    assert result.labelled is not None
    assert result.labelled.old_score == 1.0
    again = diff_models(OLD, NEW, labels=pd.concat([table, table.iloc[:3]]))
    assert again.labelled is not None
    assert again.labelled.equals(result.labelled)
    series = pd.Series(LABELS, index=IDS).iloc[::-1]
    assert diff_models(OLD, NEW, labels=series).labelled.equals(result.labelled)  # type: ignore[union-attr]


def test_a_row_labelled_twice_differently_is_refused() -> None:
    table = pd.DataFrame({"image_id": ["row1", "row2", "row1"], "label": ["cat", "dog", "owl"]})
    with pytest.raises(ValueError, match=r"labels.*row1"):
        diff_models(OLD, NEW, labels=table)


def test_labels_of_other_rows_are_said_or_refused() -> None:
    table = pd.DataFrame({"image_id": [*IDS, "row99"], "label": [*LABELS, "cat"]})
    found = diff_models(OLD, NEW, labels=table).settings["found"]
    assert "1 labels belong to no row of the files." in found
    with pytest.raises(ValueError, match="labels must .* a label for each|labels must label rows"):
        diff_models(OLD, NEW, labels=table.iloc[-1:])


def test_labels_that_nobody_filled_in_are_named() -> None:
    table = pd.DataFrame({"image_id": IDS, "label": pd.Series([None] * len(IDS), dtype=object)})
    with pytest.raises(ValueError, match="labels must hold labels, but no cell of its column"):
        diff_models(OLD, NEW, labels=table)


def test_a_table_of_labels_needs_ids_and_labels() -> None:
    with pytest.raises(ValueError, match="ids"):
        diff_models(OLD, NEW, labels=pd.DataFrame({"label": LABELS[:9], "weight": 1.0}))
    with pytest.raises(ValueError, match="label"):
        diff_models(OLD, NEW, labels=pd.DataFrame({"image_id": IDS, "colour": 1.0, "size": 2.0}))


def test_a_class_that_nobody_answers_is_a_warning_for_labels_alone() -> None:
    answers = np.array(["a", "b"] * 10)
    labels = np.where(np.arange(20) == 4, "rare", answers)
    result = diff_models(answers, answers[::-1].copy(), labels=labels)
    assert any("rare" in warning for warning in result.warnings)
    assert result.labelled is not None
    assert result.labelled.old_score == 0.95


def test_files_that_are_refused_stay_as_they_are() -> None:
    old, new = OLD.copy(), NEW.copy()
    diff_models(old, new, labels=LABELS)
    pd.testing.assert_frame_equal(old, OLD)
    pd.testing.assert_frame_equal(new, NEW)


def test_a_label_with_gaps_is_found_among_the_scores() -> None:
    labels = np.where(np.arange(50) < 20, LOGITS.argmax(axis=1), np.nan)
    old = pd.DataFrame(LOGITS, columns=["0", "1", "2"]).assign(label=labels)
    result = diff_models(old, pd.DataFrame(OTHERS, columns=["0", "1", "2"]))
    assert "truth label" in result.settings["found"][0]
    assert result.labelled is not None
    assert result.labelled.n_labelled == CHANGED[:20].sum()


def test_a_class_may_have_the_name_of_an_id() -> None:
    names = {"cat": "image", "dog": "path", "owl": "name"}
    result = diff_models(OLD.rename(columns=names), NEW.rename(columns=names))
    assert result.changes.n_changed == CHANGED.sum()
    assert {part.old for part in result.changes.frequent} <= set(names.values())


P_OLD = softmax(LOGITS)[:, 0]
P_NEW = softmax(OTHERS)[:, 0]


def two(column: str, cut: float) -> list[pd.DataFrame]:
    """Return tables of the probability of the second class, and of 0 or 1 from a cut on."""
    return [
        pd.DataFrame({"patient": IDS, "p": p, column: (p > cut).astype(int)}).sample(
            frac=1.0, random_state=place
        )
        for place, p in enumerate((P_OLD, P_NEW))
    ]


@pytest.mark.parametrize("cut", [0.5, 0.3])
def test_an_answer_beside_its_probability_is_what_was_served(cut: float) -> None:
    result = diff_models(*two("pred", cut))
    assert result.changes.n_changed == ((cut < P_OLD) != (cut < P_NEW)).sum()
    said = "Read old and new: id patient, answer pred"
    assert result.settings["found"][0].startswith(said)


def test_zeros_and_ones_of_no_known_name_beside_a_probability_are_refused() -> None:
    old, new = two("outcome", 0.4)
    with pytest.raises(ValueError, match=r"old .*'outcome'"):
        diff_models(old, new)
    labelled = diff_models(old, new.drop(columns="outcome"), labels="outcome")
    assert labelled.changes.n_changed == ((P_OLD > 0.5) != (P_NEW > 0.5)).sum()
    # a margin as two columns is no probability
    margins = [np.stack([np.zeros(50), p - 0.5], axis=1) for p in (P_OLD, P_NEW)]
    tables = [pd.DataFrame(scores, columns=["no", "yes"]) for scores in margins]
    with pytest.raises(AmbiguousReadingError, match="'yes'"):
        diff_models(*tables)
    options = RoleOptions(columns=("no", "yes"))
    assert diff_models(*tables, ids=options).changes.n_changed == labelled.changes.n_changed


def test_whole_outputs_count_any_difference() -> None:
    """Whole numbers have no rounding errors; that of fractions is relative to the largest."""
    old = pd.DataFrame({"id": range(30), "output": 10**12 + 7 * np.arange(30)})
    new = old.assign(output=old["output"] + (np.arange(30) % 3 == 0))
    assert diff_models(old, new).changes.n_changed == 10
    halves = [frame.assign(output=frame["output"] + 0.5) for frame in (old, new)]
    assert diff_models(*halves).changes.n_changed == 0


def test_weights_that_are_found_are_said_not_to_count():
    old, new = (
        pd.DataFrame({"id": 7 * np.arange(20), "answer": answers, "weight": np.arange(20) + 0.5})
        for answers in (["a", "b"] * 10, ["a"] * 10 + ["a", "b"] * 5)
    )
    found = diff_models(old, new).settings["found"]
    assert any("weights are not used" in text.lower() for text in found)
