"""The drawing of a comparison of tokens: the fraction that changes and its interval, against what is allowed."""

from dataclasses import replace

import pytest

import every_kind


@pytest.mark.parametrize("allow", [None, 0.01, 0.6])
def test_the_fraction_its_interval_and_the_limit_are_within_the_axes(tmp_path, allow):
    result = replace(every_kind.tokens(tmp_path), allow=allow)
    ax = result.plot()
    (drawn,) = (part for part in ax.collections if hasattr(part, "get_segments"))
    assert drawn.get_segments()[0][:, 0].tolist() == pytest.approx(
        [result.interval.low, result.interval.high]
    )
    low, high = ax.get_xlim()
    assert low == 0.0
    assert high > max(result.interval.high, allow or 0.0)
    assert ("allowed" in [text.get_text() for text in ax.texts]) == (allow is not None)
