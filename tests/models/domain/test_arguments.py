"""How users say what may move: scales, bounds, groups; what cannot be meant is refused."""

import numpy as np
import pandas as pd
import pytest

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


def test_bounds_of_the_data_and_of_all_numbers() -> None:
    assert domain().upper[0] == 60.0
    assert domain(bounds={"same": (0, 9)}).upper[[0, 4]].tolist() == [60.0, 9.0]
    assert np.isinf(domain(bounds=None).upper).all()
    images = CodedTable.of(np.arange(24.0).reshape(2, 3, 4))
    assert set(arguments.domain_of(images, Perturbation()).upper) == {23.0}
    assert domain(bounds=(None, 70.0)).upper[[0, 4]].tolist() == [70.0, 70.0]
    assert np.isinf(domain(bounds=(None, 70.0)).lower[0])


def test_rows_of_zeros_are_one_more_pattern() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 0.0]])
    (flip,) = domain_of(rows, one_hot=[["x0", "x1"]]).flips
    assert flip.states.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert flip.state_of(rows).tolist() == [0, 2]


def test_groups_are_named_by_what_their_columns_share() -> None:
    names = ["Region_North", "Region_South"]
    assert domain_of(np.eye(2), names=names, one_hot=[names]).flips[0].name == "Region"


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
