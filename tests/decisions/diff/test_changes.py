"""The changed answers of two models, counted again."""

import numpy as np
import pandas as pd

from shiftmetrics import diff_models
from two_predictions import (
    CHANGED,
    LABELS,
    NEW,
    OLD,
    prices,
)


def test_confident_changes_and_frequent_ones_are_counted() -> None:
    result = diff_models(OLD, NEW, rng=0)
    both = (OLD.max(axis=1) >= 0.9) & (NEW.max(axis=1) >= 0.9) & CHANGED
    assert result.changes.n_confident == both.sum()
    pairs = pd.Series(
        list(zip(OLD.argmax(axis=1)[CHANGED], NEW.argmax(axis=1)[CHANGED], strict=True))
    )
    counts = pairs.value_counts()
    assert [change.n for change in result.changes.frequent] == counts.tolist()[:10]
    for change in result.changes.frequent:
        assert change.n == counts[int(change.old), int(change.new)]


def test_the_rows_are_a_random_order_of_the_changed_ones() -> None:
    result = diff_models(OLD, NEW, rng=5)
    table = result.to_frame()
    assert sorted(table["id"]) == np.flatnonzero(CHANGED).tolist()
    expected = np.random.default_rng(5).permutation(np.flatnonzero(CHANGED))
    assert table["id"].tolist() == expected.tolist()
    assert table["order"].tolist() == list(range(1, CHANGED.sum() + 1))
    assert (table["label"] == "").all()
    assert table["old"].tolist() == [str(code) for code in OLD.argmax(axis=1)[expected]]
    np.testing.assert_allclose(table["new_confidence"], NEW.max(axis=1)[expected])
    assert result.plan is not None
    assert table["probability"].unique().tolist() == [result.plan.n_labels / CHANGED.sum()]


def test_equal_predictions_are_the_same_for_certain() -> None:
    result = diff_models(OLD, OLD.copy(), labels=LABELS)
    assert (result.verdict, result.value, result.error_bound) == ("SAME", 0.0, 0.0)
    assert result.plan is None
    assert "None of the 400 predictions changed" in result.headline()
    assert diff_models(OLD, OLD.copy(), allow=0.0).verdict == "SAFE"


def test_two_columns_of_prices_that_differ_by_a_factor_all_change() -> None:
    _, old, _ = prices()
    result = diff_models(old, 1.1 * old)
    assert result.changes.n_changed == 300
    assert result.verdict == "CANNOT TELL"
    assert diff_models(old, 1.1 * old, tolerance=1e9).changes.n_changed == 0


def test_the_rows_keep_what_both_files_say_of_them() -> None:
    rng = np.random.default_rng(3)
    old = pd.DataFrame(
        {"id": [f"q{k}" for k in range(200)], "prediction": rng.choice(["a", "b"], 200)}
    )
    new = old.assign(prediction=rng.choice(["a", "b"], 200))
    for side in (old, new):
        side["question"] = [f"what is {name}?" for name in old["id"]]
        side["latency"] = rng.random(200)
        side["order"] = "first"
    new["note"] = rng.choice(["x", None], 200)
    result = diff_models(old, new.sample(frac=1.0, random_state=0), rng=0)
    table = result.to_frame()
    assert list(table)[-5:] == ["question", "old_latency", "new_latency", "order (row)", "note"]
    one, other = (side.set_index("id").loc[table["id"]] for side in (old, new))
    assert (one["prediction"] != other["prediction"]).all()
    assert table["question"].tolist() == one["question"].tolist()
    assert table["old_latency"].tolist() == one["latency"].tolist()
    assert table["new_latency"].tolist() == other["latency"].tolist()
    assert table["note"].fillna("").tolist() == other["note"].fillna("").tolist()
    # What rows say stands in no JSON.
    assert "what is" not in result.to_json()
    again = type(result).from_json(result.to_json())
    assert list(again.to_frame()) == list(table)[:-5]
