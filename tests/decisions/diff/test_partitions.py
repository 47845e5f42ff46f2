"""Tables in partitions of Dask are compared as tables in memory are, in every fact, or refused in words."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions.diff import compared_parts, partitions
from shiftmetrics.decisions.predictions import partitioned_tables
from shiftmetrics.tables.options import RoleOptions

dask = pytest.importorskip("dask", reason="needs dask: pip install 'shiftmetrics[dask]'")
dd = pytest.importorskip("dask.dataframe")

N = 180
NAMES = ["cat", "dog", "eel"]
INNER = {"ids": RoleOptions(inner=True)}
RNG = np.random.default_rng(5)
OLD_SCORES = RNG.dirichlet(np.ones(3), N)
NEW_SCORES = 0.8 * OLD_SCORES + 0.2 * RNG.dirichlet(np.ones(3), N)
LABELS = np.array(NAMES)[[RNG.choice(3, p=row) for row in OLD_SCORES]]
ORDER = RNG.permutation(N)
IDS = np.arange(N) * 3 + 7


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a dozen rows say what the columns are, so that most of the rest is not looked at before the join."""
    monkeypatch.setattr(partitioned_tables, "SAMPLED", 12)
    monkeypatch.setattr(partitioned_tables, "SAMPLED_PARTS", 1)
    with dask.config.set(scheduler="sync"):
        yield


def table(scores: Any, **more: Any) -> pd.DataFrame:
    frame = pd.DataFrame(scores, columns=NAMES)
    frame.insert(0, "id", more.pop("ids", IDS))
    return frame.assign(**more)


def reordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[ORDER].reset_index(drop=True)


def answers(scores: np.ndarray, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": IDS, "answer": np.array(NAMES)[scores.argmax(axis=1)], **more})


def with_cell(frame: pd.DataFrame, row: int, name: str, value: Any) -> pd.DataFrame:
    changed = frame.copy()
    changed.loc[row, name] = value
    return changed


def parted(frame: pd.DataFrame, n: int = 3) -> Any:
    return dd.from_pandas(frame, npartitions=n, sort=False)


def assert_same(first: Any, second: Any, path: tuple[Any, ...] = ()) -> None:
    if isinstance(first, dict):
        assert first.keys() == second.keys(), path
        for name in first:
            assert_same(first[name], second[name], (*path, name))
    elif isinstance(first, list):
        assert len(first) == len(second), path
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            assert_same(one, other, (*path, place))
    elif isinstance(first, float) and math.isfinite(first):
        assert first == pytest.approx(second, rel=1e-12, abs=1e-15), path
    else:
        assert first == second or (first != first and second != second), path


def compare(old: pd.DataFrame, new: pd.DataFrame, **arguments: Any) -> Any:
    """Compare in memory and in partitions; all facts, the table of changed rows and the summary must be equal."""
    held = diff_models(old, new, rng=3, **arguments)
    found = diff_models(parted(old), parted(new, 2), rng=3, **arguments)
    assert_same(json.loads(held.to_json()), json.loads(found.to_json()))
    pd.testing.assert_frame_equal(held.to_frame(), found.to_frame(), check_dtype=False)
    assert held.summary() == found.summary()
    return held


OLD = table(OLD_SCORES)
NEW = reordered(table(NEW_SCORES))
SITES = np.where(np.arange(N) % 3, "north", "south")
LABELLED = table(OLD_SCORES, label=LABELS, site=SITES)
RARE_ANSWERS = with_cell(answers(OLD_SCORES, label=LABELS), 171, "answer", "fox")
LOUD_ANSWERS = reordered(answers(NEW_SCORES))
LOUD_ANSWERS.loc[100:104, "answer"] = LOUD_ANSWERS.loc[100:104, "answer"].str.upper()
TWO = pd.DataFrame({"id": IDS, "no": 1.0 - OLD_SCORES[:, 0], "yes": OLD_SCORES[:, 0]})
NEW_TWO = pd.DataFrame({"id": IDS, "no": 1.0 - NEW_SCORES[:, 0], "yes": NEW_SCORES[:, 0]})
YES = np.where(RNG.random(N) < OLD_SCORES[:, 0], "yes", "no")
OTHER_SERVED = with_cell(
    OLD.assign(prediction=np.array(NAMES)[OLD_SCORES.argmax(axis=1)]),
    150, "prediction", NAMES[(int(OLD_SCORES[150].argmax()) + 1) % 3],
)  # fmt: skip
SERVED = NEW.assign(prediction=np.array(NAMES)[NEW[NAMES].to_numpy().argmax(axis=1)])
WORDS = {"ids": [f"row {place}" for place in IDS]}

CASES: dict[str, tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]] = {
    "labels, groups and columns beside": (
        LABELLED.assign(note=np.arange(N)), NEW.assign(note=1), {"groups": "site"},
    ),
    "costs": (LABELLED, NEW, {"costs": {"cat": 3.0, "eel": 0.0}, "groups": "site"}),
    "some labels": (table(OLD_SCORES, label=np.where(IDS % 2, LABELS, None)), NEW, {}),
    "ids of words": (table(OLD_SCORES, **WORDS), reordered(table(NEW_SCORES, **WORDS)), {}),
    "integers beside words": (OLD, NEW.assign(id=NEW["id"].astype(str)), {"plan": "anytime"}),
    "rows of one side alone": (
        LABELLED.iloc[30:].reset_index(drop=True), NEW.iloc[:150], INNER,
    ),
    "one row of another sum": (with_cell(OLD, 171, "cat", 1.2), NEW, {}),
    "one negative score": (with_cell(OLD, 171, "cat", -0.3), NEW, {}),
    "a rare answer": (RARE_ANSWERS, reordered(answers(NEW_SCORES)), {}),
    "capitals": (answers(OLD_SCORES), LOUD_ANSWERS, {}),
    "one answer that is not the largest score": (OTHER_SERVED, SERVED, {}),
    "two classes": (TWO.assign(label=YES), reordered(NEW_TWO), {"threshold": 0.3}),
    "misread labels": (table(OLD_SCORES, label=np.roll(LABELS, 1)), NEW, {}),
    "ties": (OLD.round(1), NEW.round(1), {}),
    "a regression": (
        OLD[["id"]].assign(out=OLD["cat"]), NEW[["id"]].assign(out=NEW["cat"]), {"tolerance": 0.01},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_every_fact_is_that_of_tables_in_memory(case: str) -> None:
    old, new, arguments = CASES[case]
    compare(old, new, **arguments)


def test_labels_of_a_plan_come_back_to_it() -> None:
    plan = compare(OLD, NEW, allow=0.02).to_frame()
    plan = plan.head(9).assign(label=[LABELS[list(IDS).index(name)] for name in plan["id"].head(9)])
    assert str(compare(OLD, NEW, labels=plan).status) == "sampled"


def test_tables_that_are_sorted_by_their_ids_are_not_shuffled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = json.loads(diff_models(LABELLED, NEW, rng=3).to_json())
    ordered = [dd.from_pandas(frame.set_index("id"), npartitions=3) for frame in (LABELLED, NEW)]
    assert all(frame.known_divisions for frame in ordered)
    monkeypatch.setattr(dd.DataFrame, "shuffle", None)
    assert_same(held, json.loads(diff_models(*ordered, rng=3).to_json()))


def test_sorted_ids_of_two_types_are_matched_as_tables_in_memory_are() -> None:
    text = NEW.assign(id=NEW["id"].astype(str)).set_index("id").sort_index()
    old, new = LABELLED.set_index("id"), text
    held = json.loads(diff_models(old, new, ids="id", rng=3).to_json())
    ordered = [dd.from_pandas(frame, npartitions=3) for frame in (old, new)]
    assert all(frame.known_divisions for frame in ordered)
    assert_same(held, json.loads(diff_models(*ordered, ids="id", rng=3).to_json()))


def test_empty_partitions_change_nothing() -> None:
    held = json.loads(diff_models(LABELLED, NEW, rng=3).to_json())
    pieces = [parted(LABELLED.iloc[:0], 1), parted(LABELLED, 2)]
    found = diff_models(dd.concat(pieces), parted(NEW, 12), rng=3)
    assert_same(held, json.loads(found.to_json()))


def again(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.iloc[:1]], ignore_index=True)


@pytest.mark.parametrize(
    ("old", "new", "arguments", "words"),
    [
        (again(OLD), NEW, {}, "7 several times"),
        (OLD, again(NEW), {}, "several times"),
        (OLD.assign(id=OLD["id"].where(OLD["id"] > 10)), NEW, {}, "none in row 0"),
        (OLD.iloc[:170], NEW, {}, "0 rows of old and 10 of new alone"),
        (OLD, NEW.assign(id=NEW["id"] + 1), {}, "new must"),
        (with_cell(OLD, 171, "cat", np.nan), NEW, {}, "finite"),
        (OLD.drop(columns="id"), NEW, {}, "ids="),
        (OLD, NEW, {"ids": "none"}, "ids must"),
        (LABELLED, NEW.assign(label="cat"), {"labels": "label"}, "label"),
        (table(OLD_SCORES, site=np.where(IDS == 520, None, "x")), NEW, {"groups": "site"}, "groups"),
        (OLD, NEW, {"labels": LABELS}, "labels must"),
        (OLD, NEW, {"groups": SITES}, "groups must"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(
    old: pd.DataFrame, new: pd.DataFrame, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        diff_models(parted(old), parted(new), **arguments)


def test_one_table_in_memory_is_refused() -> None:
    with pytest.raises(TypeError, match="new must be a data frame of Dask"):
        diff_models(parted(OLD), NEW)
    with pytest.raises(TypeError, match="old must be a data frame of Dask"):
        diff_models(OLD, parted(NEW))


def test_more_rows_than_this_process_should_take_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = diff_models(OLD, NEW).changes.n_changed
    for module in (partitions, compared_parts):
        monkeypatch.setattr(module, "MOST_CHANGED", changed)
    assert diff_models(parted(OLD), parted(NEW)).changes.n_changed == changed
    for module in (partitions, compared_parts):
        monkeypatch.setattr(module, "MOST_CHANGED", changed - 1)
    with pytest.raises(ValueError, match=f"{changed} changed rows"):
        diff_models(parted(OLD), parted(NEW))
    with pytest.raises(ValueError, match="regression"):
        diff_models(*(parted(frame[["id", "cat"]]) for frame in (OLD, NEW)), tolerance=0.0)


def test_areas_are_left_out_of_many_rows_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MOST_RANKED", N - 1)
    found = diff_models(parted(TWO.assign(label=YES)), parted(reordered(NEW_TWO)))
    assert [measure.name for measure in found.evidence.measures] == ["log loss", "Brier score"]
    assert any("reas under curves" in text for text in found.settings["found"])
