"""The drawing of a difference: what is certain and what is sampled lie within the axes."""

import pytest

from shiftmetrics._core.result import Interval
from shiftmetrics.views.drawings.limits import draw_limits


@pytest.mark.parametrize("allow", [None, 0.0, 0.3])
@pytest.mark.parametrize("ends", [(-0.1, -0.05), (-0.02, 0.04), (0.3, 0.3)])
def test_the_interval_no_difference_and_the_limit_are_within_the_axes(ends, allow):
    interval = Interval(low=ends[0], high=ends[1])
    ax = draw_limits(
        None,
        value=sum(ends) / 2,
        interval=interval,
        certain=None,
        allow=allow,
        unit=100.0,
        label="points",
    )
    low, high = ax.get_xlim()
    shown = [100 * ends[0], 100 * ends[1], 0.0]
    if allow:
        shown.append(-100 * allow)
    assert low < min(shown)
    assert max(shown) < high
    assert ax.get_xlabel() == "points"


def test_the_certain_bound_does_not_dwarf_the_interval():
    interval = Interval(low=-0.01, high=0.01)
    certain = Interval(low=-1.0, high=1.0, confidence_level=1.0)
    ax = draw_limits(
        None, value=0.0, interval=interval, certain=certain, allow=None, unit=1.0, label=""
    )
    assert ax.get_xlim()[1] < 0.05
    alone = draw_limits(
        None, value=0.0, interval=None, certain=certain, allow=None, unit=1.0, label=""
    )
    assert alone.get_xlim()[1] > 1.0
