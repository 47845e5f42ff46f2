"""The arguments that both questions share, checked."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.validation import check_choice, check_integer, check_number
from shiftmetrics.stability.divergence import DIVERGENCES, Divergence, DivergenceName, divergence_of


@dataclass(frozen=True, kw_only=True)
class Options:
    """Prices, precision and what to return: see `stability_criterion`."""

    theta1: float
    theta2: float
    divergence: DivergenceName
    rtol: float
    max_iter: int
    initial_dual: float | None
    level: float
    keep_rows: bool
    executor: Executor | None
    progress: bool
    groups: Any = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "theta1": check_number(self.theta1, "theta1", low=0.0, open_low=True, allow_inf=True),
            "theta2": check_number(self.theta2, "theta2", low=0.0, open_low=True, allow_inf=True),
            "divergence": check_choice(self.divergence, "divergence", DIVERGENCES),
            "rtol": check_number(self.rtol, "rtol", low=0.0, high=1.0, open_high=True),
            "max_iter": check_integer(self.max_iter, "max_iter", low=1),
            "level": check_number(self.level, "level", low=0.0, high=1.0, open_low=True, open_high=True),
        }
        if self.initial_dual is not None:
            checked["initial_dual"] = check_number(self.initial_dual, "initial_dual", low=0.0, open_low=True)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def settings(self) -> dict[str, Any]:
        """Return what a result should record."""
        names = ("theta1", "theta2", "divergence", "rtol", "max_iter", "initial_dual", "level", "keep_rows")
        return {**{name: getattr(self, name) for name in names}, "groups": self.groups is not None}

    @property
    def price_of_weights(self) -> Divergence:
        """The divergence with its price."""
        return divergence_of(self.divergence, self.theta2)
