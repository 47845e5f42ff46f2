"""Parts of a comparison of tokens."""

import numpy as np
import pytest

from shiftmetrics.decisions.tokens.records import TokenChanges


def test_arrays_are_not_writeable():
    changes = TokenChanges(
        id=np.array(["a"], dtype=object),
        n_places=np.array([3]),
        changed=np.array([1]),
        divergence=np.array([0.5]),
    )
    with pytest.raises(ValueError, match="read-only"):
        changes.divergence[0] = 1.0
