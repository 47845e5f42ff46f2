"""The domain of moves: distances, bounds, whole steps, flips, and how users say them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import valid_moves
from shiftmetrics.models.domain import arguments
from shiftmetrics.models.domain.domain import Domain, next_of
from shiftmetrics.models.domain.perturbation import Perturbation
from shiftmetrics.models.domain.table import CodedTable

ROWS = np.array(
    [[20.0, 0.0, 1.0, 0.0, 3.0], [40.0, 1.0, 0.0, 1.0, 3.0], [60.0, 2.0, 1.0, 0.0, 3.0]]
)


NAMES = ["age", "region", "answer_yes", "answer_no", "same"]


def domain(**options: object) -> Domain:
    return domain_of(
        ROWS, names=NAMES, categorical=["region"], one_hot=[["answer_yes", "answer_no"]], **options
    )


def domain_of(rows: object, *, names: list[str] | None = None, **options: object) -> Domain:
    rows = np.asarray(rows)
    moves = Perturbation(**options)
    table = CodedTable.of(
        rows if names is None else pd.DataFrame(rows, columns=names),
        categorical=moves.categorical or (),
    )
    return arguments.domain_of(table, moves)


def test_a_standard_deviation_costs_one_and_a_change_what_the_data_say() -> None:
    start = ROWS[:1]
    moved = np.array([[20.0 + ROWS[:, 0].std(), 2.0, 0.0, 1.0, 3.0]])
    # Two random rows differ in the region with probability 2/3, in the answer with 4/9.
    assert domain().distances(moved, start)[0] == pytest.approx(np.sqrt(1.0 + 3.0 + 4.5))
    assert domain(cost="range").distances(moved, start)[0] == pytest.approx(
        np.sqrt((ROWS[:, 0].std() / 40.0) ** 2 + 2.0)
    )
    assert domain(cost={"region": 4.0, "answer": 0.25}).distances(moved, start)[0] == pytest.approx(
        np.sqrt(5.25)
    )


def test_two_random_rows_are_as_far_apart_in_every_column() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.exponential(size=60),
            "count": rng.poisson(3.0, 60),
            "rare": rng.random(60) < 0.1,
            "kind": rng.choice(list("abcde"), 60),
        }
    )
    rows = CodedTable.of(table)
    found = arguments.domain_of(rows, Perturbation())
    first, second = (part.ravel() for part in np.indices((60, 60)))
    for column in range(4):
        points = rows.codes[first].copy()
        points[:, column] = rows.codes[second, column]
        squared = found.distances(points, rows.codes[first]) ** 2
        assert squared.mean() == pytest.approx(2.0), table.columns[column]


def test_two_values_cost_the_same_as_numbers_and_as_categories() -> None:
    rows = (np.random.default_rng(0).random((50, 1)) < 0.3) * 1.0
    number, category = domain_of(rows), domain_of(rows, categorical=[0])
    np.testing.assert_allclose(
        number.distances(1.0 - rows, rows), category.distances(1.0 - rows, rows), rtol=1e-12
    )


def test_a_cost_is_what_one_unit_adds_to_the_squared_distance() -> None:
    moved = ROWS[:1] + np.array([10.0, 0.0, 0.0, 0.0, 0.0])
    assert domain(cost={"age": 0.04}).distances(moved, ROWS[:1])[0] == pytest.approx(2.0)


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-100.0, 100.0))
def test_distances_do_not_depend_on_the_units_of_a_column(scale: float, shift: float) -> None:
    rng = np.random.default_rng(0)
    rows, moved = rng.normal(size=(8, 2)), rng.normal(size=(8, 2))
    factor, offset = np.array([scale, 1.0]), np.array([shift, 0.0])
    one = domain_of(rows).distances(moved, rows)
    other = domain_of(rows * factor + offset).distances(
        moved * factor + offset, rows * factor + offset
    )
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_features_immutable_and_infinite_costs_freeze() -> None:
    assert domain(features=["age"]).mutable.tolist() == [True, False, False, False, False]
    assert domain(features=["answer_yes"]).mutable.tolist() == [False, False, True, True, False], (
        "groups move as a whole"
    )
    assert domain(immutable=["answer_no", 0]).mutable.tolist() == [False, True, False, False, False]
    assert domain(immutable=["answer_no", 0], bounds=None).mutable.tolist() == [
        False,
        True,
        False,
        False,
        True,
    ]
    assert not domain(cost={"age": np.inf, "region": np.inf}).mutable[:2].any()
    assert domain().restricted(["region", "age"]).mutable.tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_nothing_may_move() -> None:
    found = domain(immutable=NAMES)
    assert found.is_fixed
    assert "only the weights" in found.warnings[-1]


def test_valid_and_clip() -> None:
    found = domain(bounds={"age": (0, 65)}, integer=["age"])
    start = np.repeat(ROWS[:1], 5, axis=0)
    moves = [
        [3.0, 0.0, 0.0, 0.0, 0.0],  # fine
        [2.5, 0.0, 0.0, 0.0, 0.0],  # half a step
        [50.0, 0.0, 0.0, 0.0, 0.0],  # beyond the bound
        [0.0, 5.0, 0.0, 0.0, 0.0],  # no such category
        [0.0, 0.0, 0.0, 1.0, 0.0],  # two ones
    ]
    points = start + np.array(moves)
    assert valid_moves(found, points, start).tolist() == [True, False, False, False, False]
    clipped = found.clip(points, start)
    assert valid_moves(found, clipped, start).all()
    assert clipped[2, 0] == 65.0
    assert clipped[3, 1] == 2.0


def test_rows_outside_their_bounds_may_stay() -> None:
    found = domain(bounds={"age": (30, 50)})
    assert "Some samples stand outside the bounds of 'age'" in found.warnings[-1]
    assert valid_moves(found, ROWS, ROWS).all()
    low, high = found.limits(ROWS)
    assert low[:, 0].tolist() == [20.0, 30.0, 30.0]
    assert high[:, 0].tolist() == [50.0, 50.0, 60.0]


def test_whole_numbers_move_by_whole_steps() -> None:
    rows = np.column_stack([np.arange(4.0), np.arange(4.0) / 2, [np.nan, 2.0, 3.0, 7.0]])
    assert domain_of(rows).integer.tolist() == [True, False, True]
    assert not domain_of(rows, integer=()).integer.any()
    assert domain_of(rows, integer=[0]).integer.tolist() == [True, False, False]
    assert not arguments.domain_of(
        CodedTable.of(rows[:, :2].reshape(4, 2, 1)), Perturbation()
    ).integer.any(), "pixels"


def test_numbers_of_32_and_16_bits_move_among_their_own() -> None:
    start = np.float32([[1.0, 3.0]]).astype(np.float64)
    for narrow in (np.dtype("float32"), np.dtype("float16")):
        wide = np.array([1.0 + 1e-9, 3.0 - 1e-9])
        up = next_of(wide, narrow, np.inf)
        down = next_of(wide, narrow, -np.inf)
        assert (up == up.astype(narrow)).all()
        assert (down <= wide).all()
        assert (wide <= up).all()
        assert up[0] == np.nextafter(narrow.type(1.0), narrow.type(2.0))
        np.testing.assert_array_equal(next_of(start[0], narrow, np.inf), start[0])
