"""What was typed about columns."""

from __future__ import annotations

from shiftmetrics.tables.options import RoleOptions


def test_parts_of_an_id():
    assert RoleOptions(id="customer, visit").id_parts == ("customer", "visit")
    assert RoleOptions().id_parts == ()


def test_options_are_written_in_the_style_of_the_caller():
    assert RoleOptions().typed("--classes", ("a", "b")) == "--classes a,b"
    assert RoleOptions(style="python").typed("--classes", ("a", "b")) == "classes=['a', 'b']"
