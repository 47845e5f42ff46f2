"""How a computation of stability can end."""

from __future__ import annotations

from shiftmetrics._core.result import Status

CONVERGED = Status("converged", "The shift was found and its value certified to the tolerance.")
ALREADY_AT_RISK = Status(
    "already_at_risk",
    "The sample has this risk without any shift.",
    "Choose a higher threshold.",
)
BOUNDARY = Status(
    "boundary",
    "The value is exact but attained in a limit: to within rounding, the threshold is the highest risk that any "
    "allowed shift reaches, or no sample has a loss to start from.",
    "A slightly lower threshold has a smooth answer.",
)
HIGHEST_RISK = Status(
    "boundary",
    "The budget pays for the highest risk that any allowed shift reaches; a larger one buys no more.",
)
UNATTAINABLE = Status(
    "unattainable",
    "No allowed shift reaches the threshold, whatever its cost.",
    "Choose a lower threshold, or allow samples to change (finite theta1) or to be reweighted (finite theta2).",
)
UNBOUNDED_LOSS = Status(
    "unbounded_loss",
    "The loss grows faster than the cost of a change, so that a tiny mass changed by a lot reaches any risk at no "
    "cost.",
    "Use a loss that grows more slowly, or theta1=inf.",
)
MAX_ITER = Status(
    "max_iter",
    "The evaluations ran out before the requested precision; error_bound is what was reached.",
    "Raise max_iter or rtol.",
    ok=False,
)
IMPRECISE = Status(
    "imprecise",
    "No plan reaches the target in floating-point numbers, as where distances or losses are very large beside the "
    "prices; error_bound says how far the value may be off.",
    "Measure distances or losses in a larger unit, or take other prices.",
    ok=False,
)
SOLVED = Status("solved", "The stability of every point is certified.")
