"""Several labels a row: tables of 0 and 1."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions import diff_metric
from shiftmetrics.decisions.metrics.label_sets import read_label_sets, set_scores
from shiftmetrics.decisions.metrics.names import OF_SETS
from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.options import RoleOptions

NAMES = ["red", "green", "blue"]


def tables(n=80, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 3)) < 0.4
    old = truth ^ (rng.random((n, 3)) < 0.15)
    new = old ^ (rng.random((n, 3)) < 0.05)
    found = []
    for values in (old, new, truth):
        frame = pd.DataFrame(values.astype(int), columns=NAMES)
        frame.insert(0, "id", [f"row {place}" for place in range(n)])
        found.append(frame)
    return found


FUNCTIONS = {
    "exact_match": metrics.accuracy_score,
    "neg_hamming_loss": lambda y, p: -metrics.hamming_loss(y, p),
    "jaccard_samples": lambda y, p: metrics.jaccard_score(y, p, average="samples", zero_division=0),
    "f1_samples": lambda y, p: metrics.f1_score(y, p, average="samples", zero_division=0),
    "precision_samples": lambda y, p: metrics.precision_score(
        y, p, average="samples", zero_division=0
    ),
    "recall_samples": lambda y, p: metrics.recall_score(y, p, average="samples", zero_division=0),
}


@pytest.mark.parametrize("name", OF_SETS)
def test_scores_are_those_of_scikit_learn(name):
    old, new, truth = tables()
    result = diff_metric(old, new, name, labels=truth.sample(frac=1.0, random_state=1))
    y = truth[NAMES].to_numpy()
    assert result.old_score == pytest.approx(FUNCTIONS[name](y, old[NAMES].to_numpy()))
    assert result.new_score == pytest.approx(FUNCTIONS[name](y, new[NAMES].to_numpy()))
    assert result.interval is not None
    assert result.interval.low < result.value < result.interval.high


def test_the_rows_that_change_are_named():
    old, new, truth = tables()
    result = diff_metric(old, new, "jaccard_samples", labels=truth)
    changed = (old[NAMES] != new[NAMES]).any(axis=1)
    assert len(result.rows.id) == changed.sum()
    frame = result.to_frame()
    first = frame.iloc[0]
    row = old.set_index("id").loc[first["id"], NAMES]
    assert first["old"] == (" + ".join(row[row == 1].index) or "none")
    assert (np.diff(frame["effect"]) >= 0.0).all()


def test_groups_are_clusters():
    old, new, truth = tables()
    truth["text"] = np.arange(80) // 4
    result = diff_metric(old, new, "exact_match", labels=truth, groups="text")
    assert result.n_groups == 20
    by_array = diff_metric(
        old, new, "exact_match", labels=truth.drop(columns="text"), groups=np.arange(80) // 4
    )
    assert by_array.interval is not None
    assert by_array.interval.equals(result.interval)


def test_arrays_go_by_their_place():
    old, new, truth = (frame[NAMES].to_numpy() for frame in tables())
    sets = read_label_sets(old, new, truth, None, None)
    assert sets.names == ("column 0", "column 1", "column 2")
    assert (sets.truth == truth).all()


def test_empty_sets_score_as_in_scikit_learn():
    nothing = np.zeros((1, 3), dtype=bool)
    found = {name: float(set_scores(name, nothing, nothing)[0]) for name in OF_SETS}
    assert found.pop("exact_match") == 1.0
    assert set(found.values()) == {0.0}


def test_rows_of_one_table_alone_are_refused_or_left_out():
    old, new, truth = tables()
    with pytest.raises(AmbiguousReadingError, match="79 are in both"):
        read_label_sets(old, new.iloc[1:], truth, None, None)
    sets = read_label_sets(old, new.iloc[1:], truth, RoleOptions(inner=True), np.arange(80))
    assert sets.ids[0] == "row 1"
    assert sets.groups is not None
    assert sets.groups[0] == "1"


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (lambda frame: frame.replace({"red": {1: 2}}), "new['red']"),
        (lambda frame: frame.drop(columns="red"), "labels"),
        (lambda frame: frame.assign(more=1), "labels"),
        (lambda frame: None, "new"),
    ],
)
def test_other_tables_are_refused(change, argument):
    old, new, truth = tables()
    with pytest.raises(ArgumentValueError) as caught:
        read_label_sets(old, change(new), truth, None, None)
    assert caught.value.argument == argument


def test_frames_in_another_order_go_by_their_index_or_not_at_all():
    old, new, truth = (frame[NAMES] for frame in tables())
    shuffled = [frame.sample(frac=1.0, random_state=seed) for seed, frame in enumerate((old, new))]
    with pytest.raises(UnreadableTableError, match="index"):
        read_label_sets(*shuffled, truth, None, None)


def test_a_row_without_true_labels_is_refused():
    old, new, truth = tables()
    with pytest.raises(ArgumentValueError, match="none for 2 of 80 rows"):
        diff_metric(old, new, "exact_match", labels=truth.iloc[2:])


def test_what_has_no_use_is_refused():
    old, new, truth = tables()
    with pytest.raises(ArgumentValueError) as caught:
        read_label_sets(old, new, truth, RoleOptions(prediction="red"), None)
    assert caught.value.argument == "prediction"
    with pytest.raises(ArgumentValueError, match="groups"):
        read_label_sets(old, new, truth, None, np.arange(79))
    with pytest.raises(ArgumentValueError, match="1 without one"):
        read_label_sets(old, new, truth, None, [None, *range(79)])


def test_ids_beside_arrays():
    old, new, truth = (frame[NAMES].to_numpy() for frame in tables())
    names = np.array([f"x{place}" for place in range(80)])
    sets = read_label_sets(old, new, truth, names, None)
    assert sets.ids[3] == "x3"
    assert (sets.truth == truth).all()
