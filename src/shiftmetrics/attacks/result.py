"""What an attack returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, to_numpy
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackResult(Record):
    """Adversarial inputs, recomputed from the model when the attack has ended.

    Attributes
    ----------
    x_adv : torch.Tensor or ndarray, shape of ``X``
        Where each row was moved; a tensor when ``X`` was one. A row that a minimum-norm attack could not turn
        into an error stays where it was.
    distance : ndarray of shape (n_samples,)
        Unsquared distance from each row to ``x_adv`` in the norm of the attack, with its feature costs.
    success : ndarray of bool, shape (n_samples,)
        Whether the model's prediction at ``x_adv`` differs from the label.
    attack : str
        Name of the attack.
    norm : {"l2", "linf"}
        The norm of ``distance``.
    settings : dict
        All arguments, with versions.
    """

    x_adv: Any
    distance: FloatArray
    success: BoolArray
    attack: str = ""
    norm: str = "l2"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def robust_accuracy(self) -> float:
        """Share of rows that are still predicted as labelled (higher is better)."""
        return float(1.0 - np.mean(self.success))

    @property
    def distance_to_error(self) -> FloatArray:
        """Distance where the attack succeeded, inf elsewhere; 0 where a row was wrong without being moved."""
        return np.where(self.success, self.distance, np.inf)

    @property
    def median_distance(self) -> float:
        """Median of `distance_to_error`: inf when fewer than half of the rows could be turned."""
        return float(np.median(self.distance_to_error))

    def summary(self) -> str:
        """Say in one sentence how far the attack came."""
        reached = self.distance[self.success]
        text = f"{self.attack}: {int(self.success.sum())} of {self.success.size} rows are errors after the attack"
        if reached.size:
            text += f", at a median {self.norm} distance of {format_number(float(np.median(reached)))}"
        return text + "."

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, the inputs as a NumPy array whatever they were."""
        return {**super().to_dict(), "x_adv": to_numpy(self.x_adv)}
