"""By how much a new model may be worse."""

import pytest

from shiftmetrics.decisions.diff.allowance import Allowance


def test_a_negative_allowance_is_refused():
    assert Allowance(allow=0.5).allow == 0.5
    with pytest.raises(ValueError, match="allow"):
        Allowance(allow=-0.5)
