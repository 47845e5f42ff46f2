"""What is kept of the kind of a column, and who hears of a problem."""

import pytest

from shiftmetrics.tables.column_kinds import ColumnKind, ColumnProblem, TypedTables


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (ColumnKind("n", "number"), {"name": "n", "kind": "number"}),
        (ColumnKind("d", "date", "day"), {"name": "d", "kind": "date", "date_order": "day"}),
        (
            ColumnKind("b", "boolean", spelling="yes/no"),
            {"name": "b", "kind": "boolean", "spelling": "yes/no"},
        ),
    ],
)
def test_a_kind_is_written_without_what_it_does_not_say_and_read_again(kind, kept):
    assert kind.to_dict() == kept
    again = ColumnKind.from_dict(kept)
    assert (again.name, again.kind, again.date_order, again.spelling) == (
        kind.name,
        kind.kind,
        kind.date_order,
        kind.spelling,
    )


def test_problems_are_raised_for_the_columns_that_are_used():
    problems = (ColumnProblem("a", "a is two things."), ColumnProblem("b", "b as well."))
    typed = TypedTables(frames=(), kinds={}, problems=problems)
    typed.check(["c"])
    typed.check([])
    with pytest.raises(ValueError, match=r"^a is two things\.$"):
        typed.check(["a", "c"])
    with pytest.raises(ValueError, match=r"^a is two things\. b as well\.$"):
        typed.check({"a", "b"})
