"""Questions and complaints."""

from __future__ import annotations

import pytest

from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    PossibleReading,
    UnreadableTableError,
    typed_option,
)


@pytest.mark.parametrize(
    ("value", "command", "python"),
    [
        ("case", "--id case", "ids='case'"),
        ("a b", "--id 'a b'", "ids='a b'"),
        (("a", "b"), "--id a,b", "ids=['a', 'b']"),
    ],
)
def test_options_as_they_are_typed(value, command, python):
    assert typed_option("--id", value, "command") == command
    assert typed_option("--id", value, "python") == python


def test_a_flag_has_no_value():
    assert typed_option("--inner", True, "command") == "--inner"
    assert typed_option("--inner", True, "python") == "ids=RoleOptions(inner=True)"


def test_a_question_holds_its_readings():
    error = AmbiguousReadingError(
        "Which?", [PossibleReading("this one", "--id a"), PossibleReading("that one", "--id b")]
    )
    assert isinstance(error, ValueError)
    assert [reading.remedy for reading in error.readings] == ["--id a", "--id b"]
    assert "--id a: this one." in str(error)


def test_complaints_are_raised_together_and_once():
    complaints = Complaints()
    complaints.raise_any()
    for sentence in ("One.", "Two.", "One."):
        complaints.add(sentence)
    with pytest.raises(UnreadableTableError, match=r"^One\. Two\.$"):
        complaints.raise_any()
