"""Which of all rows belong to a mode, and how large it is: the same answer at any size."""

import numpy as np
import pytest

from planted_modes import with_planted
from shiftmetrics.decisions import audit_samples
from shiftmetrics.decisions.audit.conditions import ModeRows
from shiftmetrics.decisions.audit.members import (
    SearchedSide,
    distinct_modes,
    excess_of_unsearched,
)


def check_planted(n, where):
    reference, current, rows = with_planted(n, where)
    result = audit_samples(reference, current)
    (mode,) = result.changes.new
    assert np.isin(mode.rows, rows).mean() >= 0.95
    assert np.isin(rows, mode.rows).mean() >= 0.95
    # Headline and line agree, in any of the ways to count.
    ordinary = mode.other_fraction
    by_line = (mode.fraction - ordinary) / (1.0 - ordinary)
    assert abs(result.new_fraction - 0.08) <= 0.005
    assert abs(by_line - 0.08) <= 0.005
    assert abs(mode.n_members - mode.n_ordinary - len(rows)) <= 0.05 * len(rows)
    assert "in one mode" in result.sentence
    named = {contrast.column for contrast in mode.contrasts}
    assert named == ({"x0", "c"} if where == "outside" else {"x0", "x1", "c"})
    return mode


@pytest.mark.slow
@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("n", [2_000, 20_000, 200_000])
def test_a_planted_mode_is_the_same_at_any_size(n, where):
    check_planted(n, where)


def side(n, searched, name="test"):
    import pandas as pd

    return SearchedSide(pd.DataFrame({"x": np.arange(n)}), np.asarray(searched), name)


def test_what_was_searched_or_chose_a_rule_does_not_tell_how_much_is_new():
    own = side(40, np.arange(10))
    other = side(40, np.arange(10), "reference")
    np.testing.assert_array_equal(
        np.flatnonzero(own.chooses), [*range(10), 12, 16, 20, 24, 28, 32, 36]
    )
    # All that were searched are members, and every second of the others that count.
    counted = np.flatnonzero(~own.chooses)
    mode = ModeRows(np.concatenate([np.arange(10), counted[::2]]), counted[:1])
    whole = np.arange(40)
    rates = len(counted[::2]) / len(counted), 1 / len(counted)
    assert excess_of_unsearched([mode], own, other, (whole, whole)) == pytest.approx(
        (rates[0] - rates[1]) / (1 - rates[1])
    )


def test_where_all_was_searched_all_rows_tell_how_much_is_new():
    own, other = side(20, np.arange(20)), side(10, np.arange(10), "reference")
    mode = ModeRows(np.arange(6), np.arange(1))
    expected = (6 / 20 - 1 / 10) / (1 - 1 / 10)
    left = np.arange(20), np.arange(10)
    assert excess_of_unsearched([mode], own, other, left) == pytest.approx(expected)


def test_a_mode_of_which_another_holds_the_most_is_no_second_one():
    rule = ModeRows(np.arange(100), np.arange(5), 0.01, has_rule=True)
    part = ModeRows(np.arange(80, 120), np.arange(200, 215), 0.001)
    apart = ModeRows(np.arange(300, 330), np.empty(0, dtype=np.int64), 0.02)
    found = distinct_modes([part, rule, apart], 1000, 1000)
    assert [len(mode.own) for mode in found] == [100, 30]
    # What the part has shown is shown of the whole.
    assert found[0].p_value == 0.001
    # Without a rule its rows are not known well enough to say that.
    soft = ModeRows(rule.own, rule.other, 0.01)
    assert len(distinct_modes([part, soft], 1000, 1000)) == 2
