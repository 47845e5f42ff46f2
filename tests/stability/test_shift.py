"""Parts of a plan: sums that agree, blocks that join, and places that keep the weight of each sample."""

import numpy as np
import pytest

from shiftmetrics.stability.shift import ExcessRisk, NamedChange, ShiftPlan, Splits


def excess() -> ExcessRisk:
    return ExcessRisk(
        corruption=0.1, reweighting=0.05, reweighting_first=0.03, corruption_after=0.12
    )


def splits(rows: list[int], choices: bool = True) -> Splits:
    return Splits(
        rows=np.array(rows),
        weights=np.full(len(rows), 0.25),
        losses=np.ones(len(rows)),
        distances=np.linspace(2.0, 3.0, len(rows)),
        choices=np.ones(len(rows), int) if choices else None,
    )


def plan(second: Splits | None) -> ShiftPlan:
    return ShiftPlan(
        risk=0.3,
        excess_risk=excess(),
        changed_fraction=0.5,
        rms_distance=0.7,
        effective_sample_fraction=0.9,
        weights=np.array([1.5, 0.5, 1.0]),
        base_losses=np.zeros(3),
        losses=np.array([1.0, 0.0, 1.0]),
        distances=np.array([0.5, 0.0, 1.5]),
        choices=np.zeros(3, int),
        splits=second,
    )


def test_both_orders_add_up_to_one_excess() -> None:
    frame = excess().to_frame()
    np.testing.assert_allclose(frame["corruption"] + frame["reweighting"], frame["total"])
    np.testing.assert_allclose(frame["total"], 0.15)
    assert frame.loc["weights first"].tolist() == pytest.approx([0.12, 0.03, 0.15])


@pytest.mark.parametrize("choices", [True, False])
def test_splits_of_blocks_join_in_order(choices: bool) -> None:
    joined = Splits.joined([splits([1, 4], choices), splits([7], choices)])
    np.testing.assert_array_equal(joined.rows, [1, 4, 7])
    np.testing.assert_array_equal(joined.distances, [2.0, 3.0, 2.0])
    assert (joined.choices is not None) == choices


def test_places_keep_the_weight_of_each_sample() -> None:
    places = plan(splits([0, 2])).places()
    assert list(places) == ["row", "weight", "loss", "distance", "choice"]
    np.testing.assert_array_equal(places["row"], [0, 1, 2, 0, 2])
    weights = np.bincount(places["row"], places["weight"])
    np.testing.assert_allclose(weights, [1.5, 0.5, 1.0])
    np.testing.assert_array_equal(places["distance"], [0.5, 0.0, 1.5, 2.0, 3.0])


def test_the_largest_distance_may_be_that_of_a_second_place() -> None:
    assert plan(None).largest_distance == 1.5
    assert plan(splits([0, 2])).largest_distance == 3.0
    assert plan(None).without_rows().largest_distance is None


def test_a_plan_without_rows_keeps_its_numbers_and_no_places() -> None:
    bare = plan(splits([0])).without_rows()
    assert (bare.risk, bare.rms_distance, bare.splits) == (0.3, 0.7, None)
    with pytest.raises(ValueError, match="result must hold its rows"):
        bare.places()


@pytest.mark.parametrize(
    ("p_value", "needed", "found"), [(0.05, 1.0, True), (0.06, 0.5, False), (0.01, np.inf, False)]
)
def test_a_group_is_named_where_it_passes_its_test_and_is_enough(
    p_value: float, needed: float, found: bool
) -> None:
    change = NamedChange(
        conditions=("age > 34", "job = cook"),
        fraction=0.1,
        needed_fraction=needed,
        risk=0.6,
        rest_risk=0.1,
        p_value=p_value,
        n_samples=100,
    )
    assert change.is_found == found
    assert ("age > 34 and job = cook grow from 10 % to 100 %" in change.in_words()) == found
    assert ("no group" in change.in_words()) != found
