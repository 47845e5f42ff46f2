"""Tasks that are neither classes nor a regression are named and refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.tasks import refuse_pairs_of_classes
from tables.variants import cells, numbers_of

N = 24
RNG = np.random.default_rng(0)
IDS = np.arange(100, 100 + N)


def _refused(old, new, match):
    with pytest.raises(UnreadableTableError, match=match):
        read_predictions([cells(old), cells(new, "NEW", "new.csv")])


def _two(make):
    return make(), make()


def test_tags_in_one_cell():
    tags = np.array(["red;round", "red", "round;soft", "soft", "red;soft"], dtype=object)
    frames = _two(lambda: pd.DataFrame({"id": IDS, "prediction": tags[RNG.integers(0, 5, N)]}))
    _refused(*frames, "several labels a row")


def test_a_column_of_0_and_1_for_each_label():
    def make():
        marks = RNG.integers(0, 2, (N, 3))
        marks[0] = 1
        marks[1] = 0
        return pd.DataFrame(marks, columns=["red", "round", "soft"]).assign(id=IDS)

    old, new = _two(make)
    _refused(
        old, new, "several of them 1 in a row.*or compare one at a time, with --prediction red"
    )
    # the remedy to the letter
    found = read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], options=RoleOptions(prediction="red")
    )
    assert numbers_of(found)[:2] == (N, (old["red"] != new["red"]).sum())


def test_one_column_of_0_and_1_a_class_is_no_such_task():
    def make():
        marks = np.eye(3)[RNG.integers(0, 3, N)]
        return pd.DataFrame(marks.astype(int), columns=["red", "round", "soft"]).assign(id=IDS)

    old, new = _two(make)
    found = read_predictions([cells(old), cells(new, "NEW", "new.csv")])
    columns = ["red", "round", "soft"]
    changed = (old[columns].to_numpy() != new[columns].to_numpy()).any(axis=1).sum()
    assert numbers_of(found)[:2] == (N, changed)


def test_boxes():
    def make():
        frame = pd.DataFrame(RNG.uniform(size=(N, 4)), columns=["xmin", "ymin", "xmax", "ymax"])
        return frame.assign(image_id=np.arange(N) // 3, label="cat", score=RNG.uniform(size=N))

    _refused(*_two(make), "boxes")


@pytest.mark.parametrize(
    "names",
    [["bbox.0", "bbox.1", "bbox.2", "bbox.3"], ["box.xmin", "box.ymin", "box.xmax", "box.ymax"]],
)
def test_boxes_in_one_cell(names):
    """As detections in the form of COCO, and objects of a pipeline, are taken apart."""

    def make():
        frame = pd.DataFrame(RNG.uniform(size=(N, 4)), columns=names)
        category = RNG.integers(1, 4, N)
        return frame.assign(
            image_id=np.arange(N) // 3, category_id=category, score=RNG.uniform(size=N)
        )

    old, new = _two(make)
    _refused(old, new, "boxes")
    with pytest.raises(UnreadableTableError, match="boxes"):
        read_predictions(
            [cells(old), cells(new, "NEW", "new.csv")],
            options=RoleOptions(prediction="category_id"),
        )


def test_rankings():
    def make():
        return pd.DataFrame(
            {
                "query_id": np.arange(N) // 4,
                "doc": np.arange(N),
                "rank": np.arange(N) % 4,
                "score": RNG.uniform(size=N),
            }
        )

    _refused(*_two(make), "rankings")


def test_survival_times():
    def make():
        return pd.DataFrame(
            {
                "id": IDS,
                "time": np.arange(N) + 1.5,
                "event": np.arange(N) % 2,
                "risk": RNG.uniform(size=N),
            }
        )

    _refused(*_two(make), "survival")


def test_segments():
    def make():
        return pd.DataFrame(
            {
                "file_id": np.arange(N) // 4,
                "start": np.arange(N),
                "end": np.arange(N) + 1,
                "prediction": RNG.integers(0, 2, N),
            }
        )

    _refused(*_two(make), "segments")


def test_ordered_grades_by_the_schema_and_what_is_typed_for_them():
    grades = np.array(["low", "mid", "high"], dtype=object)

    def make(argument):
        frame = pd.DataFrame({"id": IDS, "prediction": grades[RNG.integers(0, 3, N)]})
        return Cells(
            argument=argument,
            name=f"{argument.lower()}.parquet",
            table=frame,
            levels={"prediction": ("low", "mid", "high")},
            ordered=frozenset({"prediction"}),
        )

    old, new = make("OLD"), make("NEW")
    with pytest.raises(UnreadableTableError, match="--classes low,mid,high"):
        read_predictions([old, new])
    found = read_predictions([old, new], options=RoleOptions(classes=("low", "mid", "high")))
    assert numbers_of(found)[1] == (old.frame["prediction"] != new.frame["prediction"]).sum()


@pytest.mark.parametrize(
    ("columns", "is_pairs"),
    [
        (["cat/dog", "cat/fox", "dog/fox"], True),
        (["cat-dog", "fox-cat", "fox-dog"], True),
        (["cat/dog", "cat/fox"], False),
        (["cat/dog", "dog/cat", "dog/fox"], False),
        (["cat", "dog", "fox"], False),
        (["a-1", "a-2", "a-3"], False),
        (["<=50K", ">50K"], False),
    ],
)
def test_scores_of_pairs_of_classes_are_refused(columns, is_pairs):
    if not is_pairs:
        refuse_pairs_of_classes(columns, "old.csv")
        return
    with pytest.raises(UnreadableTableError, match="one class against another"):
        refuse_pairs_of_classes(columns, "old.csv")


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_probabilities_of_all_classes_in_one_column_are_named(n_classes):
    flat = [RNG.dirichlet(np.ones(n_classes), N).round(4).ravel() for _ in range(2)]
    _refused(*(pd.DataFrame({"p": part}) for part in flat), rf"reshape\(-1, {n_classes}\)")


def test_one_probability_a_row_is_no_such_column():
    flat = [RNG.uniform(size=3 * N) for _ in range(2)]
    found = read_predictions(
        [
            cells(pd.DataFrame({"p": part}), name, name)
            for part, name in zip(flat, "ab", strict=True)
        ]
    )
    assert {file.form for file in found.reading.files} == {"probability"}
