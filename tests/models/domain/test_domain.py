"""The domain of moves: distances, bounds, whole steps, flips, and how users say them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import valid_moves
from shiftmetrics.models.domain import arguments
from shiftmetrics.models.domain.domain import Domain
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


# --- distances ---------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("name", "unit"), [("std", ROWS[:, 0].std()), ("range", 40.0), ("unit", 1.0)]
)
def test_named_scales(name: str, unit: float) -> None:
    assert domain(cost=name).unit[0] == pytest.approx(unit)


def test_a_constant_column_moves_by_units_and_says_so() -> None:
    assert not domain().mutable[4], "the range of the data is one number"
    assert not domain().warnings
    found = domain(bounds=None)
    assert found.unit[4] == 1.0
    assert any("constant" in warning and "'same'" in warning for warning in found.warnings)
    assert not domain(bounds=None, cost={"same": 2.0}).warnings
    assert not domain(bounds=None, immutable=["same"]).warnings


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


# --- what may move -----------------------------------------------------------------------------------------


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


def test_bounds_of_the_data_and_of_all_numbers() -> None:
    assert domain().upper[0] == 60.0
    assert domain(bounds={"same": (0, 9)}).upper[[0, 4]].tolist() == [60.0, 9.0]
    assert np.isinf(domain(bounds=None).upper).all()
    images = CodedTable.of(np.arange(24.0).reshape(2, 3, 4))
    assert set(arguments.domain_of(images, Perturbation()).upper) == {23.0}
    assert domain(bounds=(None, 70.0)).upper[[0, 4]].tolist() == [70.0, 70.0]
    assert np.isinf(domain(bounds=(None, 70.0)).lower[0])


def test_whole_numbers_move_by_whole_steps() -> None:
    rows = np.column_stack([np.arange(4.0), np.arange(4.0) / 2, [np.nan, 2.0, 3.0, 7.0]])
    assert domain_of(rows).integer.tolist() == [True, False, True]
    assert not domain_of(rows, integer=()).integer.any()
    assert domain_of(rows, integer=[0]).integer.tolist() == [True, False, False]
    assert not arguments.domain_of(
        CodedTable.of(rows[:, :2].reshape(4, 2, 1)), Perturbation()
    ).integer.any(), "pixels"


def test_rows_of_zeros_are_one_more_pattern() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    (flip,) = domain_of(rows, one_hot=[["x0", "x1"]]).flips
    assert flip.states.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert flip.state_of(rows).tolist() == [0, 2]


def test_groups_are_named_by_what_their_columns_share() -> None:
    names = ["Region_North", "Region_South"]
    assert domain_of(np.eye(2), names=names, one_hot=[names]).flips[0].name == "Region"


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": {"age": -1.0}}, r"cost\['age'\] must be a number greater than 0"),
        ({"cost": {"age": np.nan}}, r"cost\['age'\] must be"),
        ({"cost": "metres"}, "cost must be one of 'std', 'range', 'unit'"),
        ({"cost": {"height": 1.0}}, "unknown 'height'"),
        ({"cost": {"answer_yes": 1.0, "answer_no": 2.0}}, "one number for the group 'answer'"),
        (
            {"features": ["height", "weight"]},
            "features must be names .* unknown 'height', 'weight'",
        ),
        ({"immutable": [7]}, "immutable must be names or positions"),
        ({"bounds": {"age": (3, 1)}}, r"bounds\['age'\] must be a pair with lowest <= highest"),
        ({"bounds": {"age": 3}}, r"bounds\['age'\] must be a pair"),
        ({"bounds": {"region": (0, 1)}}, "of a column of numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        domain(**options)


@pytest.mark.parametrize(
    ("rows", "groups", "message"),
    [
        ([[1.0, 1.0]], [[0, 1]], "a single 1 among zeros"),
        ([[0.5, 0.0]], [[0, 1]], "before they are scaled"),
        ([[1.0, 0.0]], [[0]], "two or more distinct columns"),
        ([[1.0, 0.0, 0.0]], [[0, 1], [1, 2]], "groups of distinct columns"),
    ],
)
def test_groups_that_are_none_are_refused(
    rows: list[list[float]], groups: list[list[int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        domain_of(rows, one_hot=groups)


@pytest.mark.parametrize("columns", [np.array(1.0), b"ab", 1.5])
def test_columns_that_are_none_are_refused(columns) -> None:
    with pytest.raises(TypeError, match="Columns must be given by names or positions"):
        Perturbation(features=columns)


@pytest.mark.parametrize("groups", [{"region": ["north", "south"]}, "region"])
def test_groups_of_columns_come_in_a_sequence(groups) -> None:
    with pytest.raises(TypeError, match=r"one_hot must be a sequence of groups.*list"):
        Perturbation(one_hot=groups)
