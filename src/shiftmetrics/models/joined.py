"""What a route finds for blocks of rows, without their points, put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.blackbox import unreached
from shiftmetrics.models.route import ROUTES, as_candidates
from shiftmetrics.stability.losses import CandidateLoss, FixedLoss, Kind, Loss, ZeroOneLoss


class MappedAnswer(NamedTuple):
    """What a route finds for rows, without their points.

    Attributes
    ----------
    route : str
        Its name.
    loss, lower : Loss
        As in `Answer`.
    y : array of shape (n_samples,)
        Positions of the labels, or values.
    unconfirmed : array of shape (n_samples,)
        For how many rows each stands whose nearest error the model, asked again, takes for right.
    n_queries : int
        Rows that the model predicted.
    warnings : tuple of str
        What the caller should know.
    """

    route: str
    loss: Loss
    lower: Loss | None
    y: npt.NDArray[Any]
    unconfirmed: FloatArray
    n_queries: int
    warnings: tuple[str, ...]


def joined(parts: Sequence[MappedAnswer]) -> MappedAnswer:
    """Put what was found for blocks of rows together."""
    loss = _joined_losses([part.loss for part in parts])
    # A lower bound of all blocks needs one of each block; the loss itself is one where it is exact.
    lower = None
    if loss.kind != "exact" and all(part.lower is not None or part.loss.kind == "exact" for part in parts):
        lower = _joined_losses([part.loss if part.lower is None else part.lower for part in parts])
    # Each warning once, in the order of the blocks.
    warnings = dict.fromkeys(text for part in parts for text in part.warnings)
    if isinstance(loss, ZeroOneLoss) and loss.kind == "upper_bound":
        warnings |= dict.fromkeys(unreached(np.asarray(loss.distances)))
    # Where blocks took several routes, the one that is tried last is named.
    names = {part.route for part in parts}
    if len(names) == 1:
        (route,) = names
    else:
        route = max(names, key=list(ROUTES).index)
    return MappedAnswer(
        route=route,
        loss=loss,
        lower=lower,
        y=np.concatenate([part.y for part in parts]),
        unconfirmed=np.concatenate([part.unconfirmed for part in parts]),
        n_queries=sum(part.n_queries for part in parts),
        warnings=tuple(warnings),
    )


def _joined_losses(parts: Sequence[Loss]) -> Loss:
    """Return the loss of blocks of rows together."""
    kind: Kind = next((part.kind for part in parts if part.kind != "exact"), "exact")
    if all(isinstance(part, FixedLoss) for part in parts):
        fixed: Any = next((type(part) for part in parts if type(part) is not FixedLoss), FixedLoss)
        return cast(FixedLoss, fixed(np.concatenate([cast(FixedLoss, part).losses for part in parts])))
    if all(isinstance(part, ZeroOneLoss) for part in parts):
        return ZeroOneLoss(np.concatenate([cast(ZeroOneLoss, part).distances for part in parts]), kind=kind)
    # Blocks with fewer candidates get some that are infinitely far.
    candidates = [as_candidates(part) for part in parts]
    width = max(part.n_candidates for part in candidates)
    losses = []
    distances = []
    for part in candidates:
        missing = ((0, 0), (0, width - part.n_candidates))
        losses.append(np.pad(part.losses, missing, constant_values=0.0))
        distances.append(np.pad(part.distances, missing, constant_values=math.inf))
    return CandidateLoss(np.concatenate(losses), np.concatenate(distances), kind=kind)
