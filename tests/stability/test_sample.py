"""The most sensitive sample as tables: aligned with the rows, whole weights, splits, columns before and after."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.stability import (
    FixedLoss,
    HingeLoss,
    ZeroOneLoss,
    column_changes,
    most_sensitive_sample,
    stability_criterion,
    worst_case_risk,
)

INF = np.inf
RNG = np.random.default_rng(0)
POINTS = RNG.normal([1.0, 0.0], 1.0, size=(60, 2))
LOSSES = RNG.random(60)
TABLE = pd.DataFrame(
    {
        "x": POINTS[:, 0],
        "y": POINTS[:, 1],
        "ward": pd.Categorical(RNG.choice(["A", "B"], 60), categories=["A", "B", "C"]),
        "smokes": RNG.random(60) < 0.3,
    },
    index=[f"patient {i}" for i in range(60)],
)


def plane() -> tuple[ZeroOneLoss, np.ndarray]:
    """Return the loss of the classifier x > 0 where all are positive, and the point of error next to each row."""
    nearest = np.column_stack([np.minimum(POINTS[:, 0], 0.0), POINTS[:, 1]])
    return ZeroOneLoss(np.maximum(POINTS[:, 0], 0.0)), nearest


def places_of(result, nearest: np.ndarray) -> np.ndarray:
    """Return where rows and then second places stand."""
    moved = np.where((result.plan.distances > 0)[:, None], nearest, POINTS)
    if result.plan.splits is None:
        return moved
    second = np.where(
        (result.plan.splits.distances > 0)[:, None],
        nearest[result.plan.splits.rows],
        POINTS[result.plan.splits.rows],
    )
    return np.concatenate([moved, second])


@pytest.mark.parametrize("prices", [(0.4, 0.4), (0.4, INF), (INF, 0.4), (1.0, 0.25)])
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_the_sample_has_the_weights_and_the_risk_of_the_result(prices, divergence):
    loss, nearest = plane()
    result = stability_criterion(
        loss, 0.5, theta1=prices[0], theta2=prices[1], divergence=divergence
    )
    moved = pd.DataFrame(places_of(result, nearest), columns=["x", "y"])
    sample = most_sensitive_sample(result, TABLE[["x", "y"]], after=moved)
    assert list(sample.columns[:6]) == [
        "weight",
        "changed",
        "split",
        "distance",
        "loss",
        "loss_after",
    ]
    assert sample["weight"].sum() == pytest.approx(60.0)
    assert (sample["weight"] * sample["loss_after"]).sum() / 60 == pytest.approx(0.5)
    assert sample.loc[~sample["split"], "loss"].mean() == pytest.approx(result.base_risk)
    assert sample["split"].sum() == (
        0 if result.plan.splits is None else len(result.plan.splits.rows)
    )
    assert list(sample.index[~sample["split"]]) == list(TABLE.index)
    # the model is wrong at the places that the losses say it is wrong at
    np.testing.assert_array_equal((sample["x"] <= 0.0).astype(float), sample["loss_after"])
    if "x change" in sample:
        np.testing.assert_allclose(np.abs(sample["x change"]), sample["distance"], atol=1e-12)
        np.testing.assert_allclose(
            sample["x"] - sample["x change"], TABLE["x"].loc[sample.index], atol=1e-12
        )
    assert "y change" not in sample
    assert ("x change" in sample) == np.isfinite(prices[0])


def test_a_row_that_splits_has_two_lines_or_its_heavier_one():
    loss = ZeroOneLoss([0.0, 0.5, 0.5, 1.0])
    result = stability_criterion(loss, 0.6, theta2=INF)
    # 0.6 of four rows: one is wrong, 1.4 must move, so one of the two at one distance moves as a whole
    frame = pd.DataFrame({"a": [1, 2, 3, 4]}, index=list("wxyz"))
    sample = most_sensitive_sample(result, frame)
    assert list(sample.index) == ["w", "x", "y", "y", "z"]
    assert list(sample["split"]) == [False, False, False, True, False]
    assert list(sample["a"]) == [1, 2, 3, 3, 4]
    assert bool(sample.loc["x", "changed"])
    both = sample.loc["y"].set_index("changed")["weight"]
    assert both[True] == pytest.approx(0.4)
    assert both[False] == pytest.approx(0.6)
    heaviest = most_sensitive_sample(result, frame, splits="heaviest")
    assert list(heaviest.index) == list("wxyz")
    np.testing.assert_allclose(heaviest["weight"], 1.0)
    assert list(heaviest["changed"]) == [False, True, False, False]
    assert list(heaviest["loss_after"]) == [1.0, 1.0, 0.0, 0.0]


def test_without_a_table_the_rows_are_numbered():
    sample = most_sensitive_sample(stability_criterion(FixedLoss([0.0, 1.0, 2.0]), 1.5))
    assert list(sample.index) == [0, 1, 2]
    assert list(sample.columns) == ["weight", "changed", "split", "distance", "loss", "loss_after"]
    np.testing.assert_array_equal(sample["loss"], [0.0, 1.0, 2.0])
    assert not sample["changed"].any()
    array = most_sensitive_sample(worst_case_risk(FixedLoss([0.0, 1.0, 2.0]), 0.1), np.eye(3))
    assert list(array.columns[6:]) == [0, 1, 2]


def test_columns_of_the_table_keep_their_types_and_never_hide_ours():
    table = TABLE.assign(weight=70.0)
    result = stability_criterion(FixedLoss(LOSSES), 0.6)
    sample = most_sensitive_sample(result, table)
    assert (sample["weight of the row"] == 70.0).all()
    assert sample["weight"].mean() == pytest.approx(1.0)
    assert sample["ward"].dtype == TABLE["ward"].dtype
    assert sample["smokes"].dtype == bool


def test_cells_that_are_missing_do_not_change():
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 0.5, 1.0]), 0.6, theta2=np.inf)
    table = pd.DataFrame(
        {
            "text": ["x", None, "y", None],
            "kind": pd.Categorical(["u", None, "v", "u"]),
            "flag": pd.array([True, None, False, None], dtype="boolean"),
            "dose": [1.0, np.nan, 2.0, np.nan],
        }
    )
    places = table.iloc[[*range(4), *result.plan.splits.rows]].assign(
        kind=lambda t: t["kind"].replace("u", "v")
    )
    changed = most_sensitive_sample(result, table, after=places, splits="heaviest")
    assert [name for name in changed if str(name).endswith(" change")] == ["kind change"]
    assert changed["kind change"].tolist() == [True, False, False, True]
    moves = column_changes(result, table, places).set_index("column")
    assert moves.loc[["text", "flag", "dose"], "changed_fraction"].tolist() == [0.0, 0.0, 0.0]


def test_categories_that_flip_are_marked():
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 1.0, INF]), 0.5, theta2=INF)
    start = pd.DataFrame({"ward": ["A", "A", "B", "B"], "age": [1.0, 2.0, 3.0, 4.0]})
    moved = start.assign(ward=["A", "B", "B", "B"])
    sample = most_sensitive_sample(result, start, after=moved)
    assert list(sample["ward change"]) == [False, True, False, False]
    assert "age change" not in sample
    moves = column_changes(result, start, moved)
    assert dict(zip(moves["column"], moves["changed_fraction"], strict=True)) == {
        "age": 0.0,
        "ward": 0.25,
    }


# --- how far each column changes ---------------------------------------------------------------------------


@pytest.mark.parametrize("prices", [(0.4, 0.4), (0.4, INF)])
def test_moves_of_columns_add_up_to_the_move_of_rows(prices):
    rng = np.random.default_rng(3)
    direction = np.array([0.6, 0.8])
    points = rng.normal(size=(50, 2)) + 1.0
    result = stability_criterion(
        HingeLoss(points @ direction, 1.0), 0.9, theta1=prices[0], theta2=prices[1]
    )
    assert result.plan.splits is None or len(result.plan.splits.rows) <= 1
    rows = np.concatenate(
        [np.arange(50), [] if result.plan.splits is None else result.plan.splits.rows]
    ).astype(int)
    distances = np.concatenate(
        [result.plan.distances, [] if result.plan.splits is None else result.plan.splits.distances]
    )
    moved = points[rows] - distances[:, None] * direction
    moves = column_changes(result, points, moved, units=[1.0, 1.0]).set_index("column")
    assert np.sqrt((moves["rms_change"] ** 2).sum()) == pytest.approx(
        result.plan.rms_distance, rel=1e-6
    )
    assert list(moves.index) == ["1", "0"]
    assert (moves["mean_change"] < 0).all()
    scaled = column_changes(result, 10 * points, 10 * moved).set_index("column")
    plain = column_changes(result, points, moved).set_index("column")
    np.testing.assert_allclose(scaled["rms_change"], plain["rms_change"])
    np.testing.assert_allclose(scaled["unit"], 10 * plain["unit"])


def test_both_decompositions_sum_to_the_excess():
    loss, _ = plane()
    result = stability_criterion(loss, 0.5)
    frame = result.plan.excess_risk.to_frame()
    assert list(frame.index) == ["perturbations first", "weights first"]
    np.testing.assert_allclose(frame["corruption"] + frame["reweighting"], frame["total"])
    np.testing.assert_allclose(frame["total"], result.plan.risk - result.base_risk)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits": "both"}, "splits must be"),
        ({"table": TABLE.iloc[:5]}, "table must be of 60 rows"),
        ({"table": np.zeros(60)}, "table must be a table of shape"),
        ({"after": TABLE.iloc[:5]}, "after must be of 60 rows"),
        ({"after": TABLE[["y", "x", "ward", "smokes"]]}, "after must be of the columns"),
        ({"table": None, "after": TABLE}, "table must be the rows before"),
        ({"table": pd.concat([TABLE, TABLE], axis=1)}, "distinct column names"),
    ],
)
def test_bad_tables_are_named(change, message):
    result = stability_criterion(FixedLoss(LOSSES), 0.6)
    arguments = {"table": TABLE} | change
    with pytest.raises(ValueError, match=message):
        most_sensitive_sample(result, **arguments)


def test_rows_must_have_been_kept():
    result = stability_criterion(FixedLoss(LOSSES), 0.6).without_rows()
    for call in (
        lambda: most_sensitive_sample(result),
        lambda: column_changes(result, TABLE, TABLE),
    ):
        with pytest.raises(ValueError, match="without_rows"):
            call()
    kept = stability_criterion(FixedLoss(LOSSES), 0.6)
    with pytest.raises(ValueError, match="units must be 4 positive numbers"):
        column_changes(kept, TABLE, TABLE, units=[1.0, 0.0, 1.0, 1.0])
