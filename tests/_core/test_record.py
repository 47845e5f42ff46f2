"""Records are frozen, compare value by value, and every value that JSON can hold comes back from it."""

import copy
import dataclasses
import json
import math
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shiftmetrics import posterior_agreement
from shiftmetrics._core.record import Record, decode, encode_value
from shiftmetrics._core.result import Status


class Outcome:
    """How a test ended."""

    SOLVED = Status("solved", "Solved.")
    STUCK = Status("stuck", "No progress.", "Allow more steps.", ok=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Piece(Record):
    name: str = ""
    weights: Any = ()
    status: Status = Outcome.SOLVED


@dataclass(frozen=True, eq=False, kw_only=True)
class Whole(Record):
    value: Any
    parts: tuple[Piece, ...] = ()
    cache: Any = dataclasses.field(default=None, repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chance(Record):
    p_value: float
    new_fraction: float


def through_json(record: Record) -> Any:
    """Write to JSON text with the arrays set aside, as a file does, and read back."""
    arrays: dict[str, np.ndarray] = {}

    def keep(name: str, array: np.ndarray) -> dict[str, Any]:
        assert name not in arrays
        arrays[name] = array
        return {"array": name, "dtype": str(array.dtype), "shape": list(array.shape)}

    text = json.dumps(encode_value(record, keep), allow_nan=False)
    return decode(json.loads(text), lambda stand_in: arrays[stand_in["array"]])


# --- frozen ----------------------------------------------------------------------------------------------


def test_a_record_is_frozen_down_to_its_arrays() -> None:
    weights = np.arange(3.0)
    record = Whole(value={"inner": [weights]}, parts=[Piece(weights=weights)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.value = 1
    for array in (
        record.parts[0].weights,
        record.value["inner"][0],
        record.to_dict()["parts"][0]["weights"],
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    weights[0] = 5.0  # the caller's own array stays writable
    assert isinstance(record.parts, tuple)


def test_numpy_scalars_become_python_numbers() -> None:
    assert type(Whole(value=np.float32(0.5)).value) is float
    assert type(Whole(value=np.int64(2)).value) is int
    assert Whole(value=[np.bool_(True)]).value == (True,)
    assert type(Whole(value={"seed": np.int32(2)}).value["seed"]) is int


def test_it_pickles_and_copies() -> None:
    record = Whole(value=np.arange(3.0), parts=(Piece(status=Outcome.STUCK),))
    assert record.equals(pickle.loads(pickle.dumps(record)))
    assert record.equals(dataclasses.replace(record))


@pytest.mark.parametrize(
    "again", [lambda record: pickle.loads(pickle.dumps(record)), copy.deepcopy]
)
def test_it_stays_read_only_when_it_travels(again) -> None:
    record = again(Whole(value=np.arange(3.0), parts=(Piece(status=Outcome.STUCK),)))
    with pytest.raises(ValueError, match="read-only"):
        record.value[0] = 7.0


# --- equality --------------------------------------------------------------------------------------------


def test_equality_is_by_value_and_type() -> None:
    record = Whole(value=np.array([1.0, np.nan, np.inf]), parts=(Piece(name="a"),))
    assert record.equals(Whole(value=np.array([1.0, np.nan, np.inf]), parts=(Piece(name="a"),)))
    assert Whole(value=math.nan).equals(Whole(value=math.nan))
    for other in (
        Whole(value=np.array([1.0, np.nan, -np.inf]), parts=(Piece(name="a"),)),
        Whole(value=np.array([1.0, np.nan]), parts=(Piece(name="a"),)),
        Whole(value=record.value, parts=(Piece(name="b"),)),
        Whole(value=record.value, parts=()),
        Whole(value=record.value, parts=(Piece(name="a", status=Outcome.STUCK),)),
        Piece(),
        record.value,
        None,
    ):
        assert not record.equals(other)


def test_private_caches_are_no_part_of_a_record() -> None:
    record = Whole(value=1.0, cache=np.zeros(10**6))
    assert "cache" not in record.to_dict()
    assert record.equals(Whole(value=1.0))
    assert through_json(record).cache is None


# --- JSON ------------------------------------------------------------------------------------------------

scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4)
)
words = st.sampled_from(["inf", "-inf", "nan", "array", "type", "text", "Piece", "None", "1.0"])
arrays = hnp.arrays(
    st.sampled_from(["f8", "f4", "i8", "?", "U3"]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=3),
)
values = st.recursive(
    scalars | words | arrays,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(values)
def test_every_value_comes_back_from_json(value: Any) -> None:
    record = Whole(
        value=value, parts=(Piece(weights=value), Piece(name="inf", status=Outcome.STUCK))
    )
    back = through_json(record)
    assert back.equals(record)
    assert back.parts[1].status == Outcome.STUCK


@pytest.mark.parametrize("key", ["type", "array", "text"])
def test_settings_may_use_our_own_words_as_keys(key: str) -> None:
    for value in ("inf", 1.5, "cosine", {"bandwidth": 2.0}):
        record = Whole(value={key: value, "other": 1})
        assert through_json(record).equals(record)
        assert through_json(Whole(value={key: value})).equals(Whole(value={key: value}))


def test_what_json_cannot_hold_is_named() -> None:
    def kernel() -> None: ...

    encoded = encode_value(Whole(value=(kernel, np.mean, 1j)), lambda name, array: None)
    assert encoded["value"][0].endswith("kernel")
    assert "0x" not in encoded["value"][0]  # the same text in every run
    assert encoded["value"][1:] == ["numpy.mean", "1j"]


def test_objects_are_never_pickled() -> None:
    back = through_json(Whole(value=np.array(["a", 1, None], dtype=object)))
    assert back.value == ("a", 1, None)


def test_a_damaged_record_is_a_value_error() -> None:
    for document, message in [
        ({"type": "Whole"}, "JSON of a Whole must hold all its fields"),
        ({"type": "Status", "code": "stuck"}, "JSON of a Status must hold all its fields"),
    ]:
        with pytest.raises(ValueError, match=message):
            decode(document, lambda stand_in: np.empty(0))


def test_a_field_is_read_by_its_older_name() -> None:
    class Moved(Piece):
        _renamed: ClassVar = {"place": "name"}

    document = {"type": "Moved", "place": "a"}
    assert decode(document, lambda stand_in: np.empty(0)).name == "a"


def test_fields_of_a_later_version_are_passed_over() -> None:
    record = decode(
        {"type": "Piece", "name": "stuck", "added_later": [1]}, lambda stand_in: np.empty(0)
    )
    assert record.equals(Piece(name="stuck"))


def test_counts_of_edited_results_are_not_negative() -> None:
    result = posterior_agreement(np.eye(3), np.eye(3))
    text, from_json = result.to_json(), type(result).from_json
    edited = text.replace('"n_samples": 3', '"n_samples": -3')
    assert edited != text
    with pytest.raises(ValueError, match="must hold a count as n_samples, got -3"):
        from_json(edited)


@pytest.mark.parametrize("edited", ["-Infinity", '"-inf"', "-0.01", "1.5"])
def test_fractions_and_p_values_of_edited_results_lie_between_0_and_1(edited: str) -> None:
    mode = Chance(p_value=1.0, new_fraction=0.25)
    arrays: dict[str, np.ndarray] = {}
    document = encode_value(mode, arrays.__setitem__)
    for name in ("p_value", "new_fraction"):
        damaged = {**document, name: json.loads(edited)}
        with pytest.raises(ValueError, match=f"must hold a number from 0 to 1 as {name}, got"):
            decode(damaged, arrays.__getitem__)
    unknown = {**document, "p_value": "nan", "new_fraction": "inf"}
    read = decode(unknown, arrays.__getitem__)
    assert math.isnan(read.p_value)
    assert read.new_fraction == math.inf
