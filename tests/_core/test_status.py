"""How a computation ended: one type, compared by its code, written whole."""

import dataclasses
import json
import pickle

import pytest

from shiftmetrics._core.record import decode, encode
from shiftmetrics._core.status import Status

STUCK = Status("stuck", "No progress.", "Allow more steps.", ok=False)


def test_a_status_says_cause_and_remedy() -> None:
    solved = Status("solved", "Solved.")
    assert (solved.ok, solved.remedy, solved.text) == (True, "", "Solved.")
    assert not STUCK.ok
    assert STUCK.text == "No progress. Allow more steps."
    assert str(STUCK) == STUCK.to_plain() == STUCK.code == "stuck"


def test_equal_parts_make_equal_statuses() -> None:
    assert Status("stuck", "No progress.", "Allow more steps.", ok=False) == STUCK
    assert dataclasses.replace(STUCK, remedy="") != STUCK
    assert {STUCK: 1}[pickle.loads(pickle.dumps(STUCK))] == 1


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        STUCK.ok = True  # type: ignore[misc]


def test_json_holds_all_of_it() -> None:
    def no_array(*_: object) -> None:
        raise AssertionError

    text = json.dumps(encode(STUCK, no_array))
    assert json.loads(text) == {
        "type": "Status",
        "code": "stuck",
        "cause": "No progress.",
        "remedy": "Allow more steps.",
        "ok": False,
    }
    assert decode(json.loads(text), no_array) == STUCK
