"""What a route finds for blocks of samples that stay where they are, and the blocks together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics.models.routes import ROUTES
from shiftmetrics.models.worst_case import WorstCase, as_candidates, unreached
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    Kind,
    Loss,
    Reach,
    Transform,
    ZeroOneLoss,
)
from shiftmetrics.stability.passes import blocks_of


@dataclass(frozen=True, eq=False)
class MappedWorstCase:
    """What a route finds for blocks of samples, whose points stay there.

    Attributes
    ----------
    route : str
        Its name.
    found : WorstCase
        The losses and distances.
    y : array of shape (n_samples,)
        Positions of the labels, or values.
    unconfirmed : array of shape (n_samples,)
        For how many samples each stands whose nearest error the model, asked again, takes for right.
    n_queries : int
        Rows that the model predicted.
    """

    route: str
    found: WorstCase
    y: npt.NDArray[Any]
    unconfirmed: FloatArray
    n_queries: int


def joined(parts: Sequence[MappedWorstCase]) -> MappedWorstCase:
    """Put what was found for blocks of samples together."""
    worst_cases = [part.found for part in parts]
    loss = _joined_losses([found.loss for found in worst_cases])
    # A lower bound of all blocks needs one of each block; the loss itself is one where it is exact.
    lower = None
    bounds = [found.loss if found.kind == "exact" else found.lower for found in worst_cases]
    if loss.kind != "exact" and None not in bounds:
        lower = _joined_losses(cast(list[Loss], bounds))
    # Each warning once, in the order of the blocks.
    warnings = dict.fromkeys(text for found in worst_cases for text in found.warnings)
    if isinstance(loss, ZeroOneLoss) and loss.kind == "upper_bound":
        warnings |= dict.fromkeys(unreached(np.asarray(loss.distances)))
    # Where blocks took several routes, the one that is tried last is named.
    order = ["weights", *ROUTES]
    return MappedWorstCase(
        route=max((part.route for part in parts), key=order.index),
        found=replace(worst_cases[0], loss=loss, lower=lower, warnings=tuple(warnings)),
        y=np.concatenate([part.y for part in parts]),
        unconfirmed=np.concatenate([part.unconfirmed for part in parts]),
        n_queries=sum(part.n_queries for part in parts),
    )


def _joined_losses(parts: Sequence[Loss]) -> Loss:
    """Return the loss of blocks of samples together."""
    if all(isinstance(part, FixedLoss) for part in parts):
        kinds: Any = [type(part) for part in parts if type(part) is not FixedLoss]
        join = kinds[0] if kinds else FixedLoss
        losses = np.concatenate([cast(FixedLoss, part).losses for part in parts])
        return cast(Loss, join(losses))
    kind: Kind = next((part.kind for part in parts if part.kind != "exact"), "exact")
    if all(isinstance(part, ZeroOneLoss) for part in parts):
        nearest = np.concatenate([cast(ZeroOneLoss, part).distances for part in parts])
        return ZeroOneLoss(nearest, kind=kind)
    # Blocks with fewer candidates get some that are infinitely far.
    candidates = [as_candidates(part) for part in parts]
    width = max(part.n_candidates for part in candidates)
    all_losses = []
    all_distances = []
    for part in candidates:
        padding = ((0, 0), (0, width - part.n_candidates))
        all_losses.append(np.pad(part.losses, padding, constant_values=0.0))
        all_distances.append(np.pad(part.distances, padding, constant_values=math.inf))
    return CandidateLoss(np.concatenate(all_losses), np.concatenate(all_distances), kind=kind)


@dataclass(frozen=True, eq=False)
class MappedLoss(Loss):
    """The loss of out-of-core data, laid out again for each block: closed forms of linear models.

    Attributes
    ----------
    codes, targets : Chunks
        Those of the samples.
    chunked : ChunkedProblem
        What finds the worst case of a block.
    first : Loss
        That of a few samples.
    lower : bool
        Whether this is the lower bound of the worst cases.
    """

    codes: Any
    targets: Any
    chunked: Any
    first: Loss
    lower: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.first.kind)
        object.__setattr__(self, "row_bytes", self.chunked.row_bytes)

    @property
    def on_workers(self) -> bool:
        """Whether its samples stay where they are: always."""
        return True

    def take(self, rows: IntArray | slice) -> Any:
        """Return the loss of some of the samples, in memory."""
        _, found = self.chunked.worst_case_of(self.chunked.block(rows))
        return found.lower if self.lower else found.loss

    def base(self, rows: slice) -> FloatArray:
        """Return the losses of ``rows`` before any change."""
        loss: Loss = self.take(rows)
        return loss.base(slice(0, loss.n_samples))

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        loss: Loss = self.take(rows)
        return loss.transform(dual, theta1, slice(0, loss.n_samples))

    def _rest(self, rows: slice) -> Reach:
        loss: Loss = self.take(rows)
        return loss.reach(math.inf, slice(0, loss.n_samples))

    def _reach(self, rows: slice) -> Reach:
        loss: Loss = self.take(rows)
        return loss.reach(1.0, slice(0, loss.n_samples))

    def lift(self, risk: float, rows: slice) -> Transform | None:
        """Return the changes that raise every sample to the loss ``risk``."""
        loss: Loss = self.take(rows)
        return loss.lift(risk, slice(0, loss.n_samples))

    def largest_dual(self, theta1: float) -> float:
        """Return the least of all blocks."""
        least = self.first.largest_dual(theta1)
        if least in (0.0, math.inf):
            return least
        duals = map_blocks(lambda rows: self.take(rows).largest_dual(theta1), blocks_of(self))
        return float(min(duals))

    def describe(self) -> dict[str, Any]:
        """Return what `settings` should record of this loss."""
        return self.first.describe()
