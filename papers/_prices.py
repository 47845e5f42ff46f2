"""The prices and the training methods of the stability paper's section 4, and how two values of R compare."""

from __future__ import annotations

import math

AT, TILTED = "AT", "tilted"
METHODS = ("ERM", AT, TILTED)
PRICES = ((0.2, math.inf), (0.25, 1.0), (0.4, 0.4), (1.0, 0.25), (100.0, 0.2), (math.inf, 0.2))
"""theta1 and theta2 with 1/theta1 + 1/theta2 = 5; the paper's 100 in the place of infinity, and infinity itself.

At infinity no row moves: a threshold above the largest loss is out of reach, and R is infinite. At 100 it is in reach
at a price that says how large 100 is.
"""

PAPER_PRICES = PRICES[:-1]
"""Those of the paper, of which the last stands for infinity."""


def ahead(one: float | None, other: float | None) -> bool:
    """Return whether one R is above another; None is out of reach, and two that are so are equal."""
    if one is None or other is None:
        return one is None and other is not None
    return one > other
