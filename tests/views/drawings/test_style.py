"""The look of all drawings: names that are cut, lines that are named, ticks that people read."""

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from shiftmetrics.views.drawings.style import (
    LONGEST_NAME,
    band,
    cut,
    integer_ticks,
    legend_beside_bars,
    line_at,
    name_rows,
    new_axes,
    percent_axes,
    plain_log_axis,
    style,
)


@pytest.fixture
def ax():
    return plt.subplots()[1]


def test_settings_come_back_after_the_drawing():
    before = dict(mpl.rcParams)
    with style():
        assert dict(mpl.rcParams) != before
    assert dict(mpl.rcParams) == before


def test_axes_are_those_given_or_new_ones(ax):
    assert new_axes(ax) is ax
    other = new_axes(None, width=5.0, height=2.0)
    assert other is not ax
    assert other.figure.get_size_inches().tolist() == [5.0, 2.0]


def test_long_names_lose_their_middle():
    assert cut("a" * LONGEST_NAME) == "a" * LONGEST_NAME
    name = "first half of a name and its second half"
    assert len(cut(name)) == LONGEST_NAME + 1
    assert cut(name).startswith("first half")
    assert cut(name).endswith("second half")
    assert cut("abcdef", 4) == "ab…ef"


def test_rows_are_named_from_the_top(ax):
    places = name_rows(ax, ["first", 2, "x" * 90])
    assert places.tolist() == [0, 1, 2]
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert shown[:2] == ["first", "2"]
    assert len(shown[2]) == LONGEST_NAME + 1
    low, high = ax.get_ylim()
    assert low > 2 > 0 > high


def test_a_band_holds_what_lies_between(ax):
    band(ax, [0.0, 1.0], [1.0, 2.0], [3.0, 5.0], "red")
    box = ax.collections[0].get_datalim(ax.transData)
    assert (box.x0, box.y0, box.x1, box.y1) == (0.0, 1.0, 1.0, 5.0)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_line_stands_at_its_value_with_its_name(ax, axis):
    line_at(ax, axis, 0.3, "no difference")
    (line,) = ax.lines
    data = line.get_xdata() if axis == "x" else line.get_ydata()
    assert list(data) == [0.3, 0.3]
    assert ax.texts[0].get_text() == "no difference"
    assert ax.texts[0].xy[0 if axis == "x" else 1] == 0.3


def test_a_name_may_stand_left_of_its_line(ax):
    line_at(ax, "x", 0.3, "right")
    line_at(ax, "x", 0.3, "left", left=True)
    assert [text.get_ha() for text in ax.texts] == ["left", "right"]


def test_ticks_are_integers_percentages_or_plain_numbers(ax):
    ax.plot([0, 1], [0.0, 0.5])
    integer_ticks(ax.xaxis)
    assert all(tick == round(tick) for tick in ax.get_xticks())
    percent_axes(ax, "y")
    assert ax.yaxis.get_major_formatter()(0.25, 0) == "25 %"
    wide = plt.subplots()[1]
    wide.plot([0.1, 10.0], [0, 1])
    plain_log_axis(wide.xaxis)
    assert wide.get_xscale() == "log"
    assert {0.2, 0.5, 1.0, 2.0, 5.0} <= {round(tick, 9) for tick in wide.get_xticks()}


def test_a_legend_beside_bars_has_room_and_no_ticks_there(ax):
    ax.barh([0], [1.0], label="all")
    right = ax.get_xlim()[1]
    legend_beside_bars(ax)
    assert ax.get_xlim()[1] == pytest.approx(1.7 * right)
    assert max(ax.get_xticks()) <= right
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all"]
