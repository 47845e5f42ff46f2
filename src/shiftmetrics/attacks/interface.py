"""What all attacks take and return: their shared options, and `AttackResult`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, to_numpy
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_integer, describe


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackOptions:
    """Where inputs may move, what moves cost, and how an attack runs.

    Parameters
    ----------
    bounds : (low, high), optional
        Range of the inputs: numbers, or arrays in the shape of a row for bounds of each feature. Default: none.
    feature_costs : array in the shape of a row, optional
        Cost weights c > 0: distances are ``sqrt(sum_j c_j move_j^2)`` (l2) or ``max_j sqrt(c_j) |move_j|``
        (linf). An infinite cost freezes a feature. Default: 1.
    frozen : array of bool in the shape of a row, optional
        Features that may not move.
    batch_size : int, default 256
        Rows attacked at a time.
    rng : int, Generator or None, default 0
        Seed of random starts and moves; None for another seed in each call.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Raises
    ------
    ValueError
        If ``batch_size`` is not positive. Attacks check the other options against their inputs.

    Examples
    --------
    >>> from shiftmetrics.attacks import AttackOptions
    >>> AttackOptions(bounds=(0, 1), frozen=[True, False]).batch_size
    256
    """

    bounds: tuple[Any, Any] | None = None
    feature_costs: Any = None
    frozen: Any = None
    batch_size: int = 256
    rng: Any = 0
    progress: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", check_integer(self.batch_size, "batch_size", low=1))

    def settings(self) -> dict[str, Any]:
        """Return the options that change a result, for its ``settings``."""
        return {
            "bounds": self.bounds,
            "feature_costs": self.feature_costs,
            "frozen": self.frozen,
            "batch_size": self.batch_size,
            "rng": self.rng if isinstance(self.rng, int) else None,
        }


def options_of(value: AttackOptions | None) -> AttackOptions:
    """Return the options of a call, the defaults for None.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    """
    if value is None:
        return AttackOptions()
    if not isinstance(value, AttackOptions):
        raise TypeError(describe("options", "an AttackOptions or None", repr(value)))
    return value


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
        """Return one sentence: how many rows became errors, and how far they were moved."""
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
