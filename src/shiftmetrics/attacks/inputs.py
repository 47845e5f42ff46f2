"""From what users hold to tensors: inputs, labels, bounds, costs and frozen features, all checked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.validation import (
    check_finite,
    check_integer,
    check_number,
    check_rng,
    check_vector,
    describe,
)
from shiftmetrics.attacks.geometry import Norm
from shiftmetrics.attacks.problem import Problem

DEFAULT_BATCH = 256

Bounds: TypeAlias = tuple[Any, Any] | None
"""Lowest and highest value of every feature: numbers, or arrays in the shape of a row."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Checked inputs; ``problems`` cuts them into batches."""

    x: Tensor
    y: Tensor
    as_numpy: bool
    norm: Norm
    cost: Tensor | None  # (n_features,), without the frozen features
    free: Tensor | None
    lower: Tensor | None  # in the shape of a row
    upper: Tensor | None
    radius: Tensor  # (n_samples,), inf without a given strength
    batch_size: int
    rng: np.random.Generator

    def problems(self, model: Callable[[Tensor], Tensor]) -> Iterator[tuple[slice, Problem, torch.Generator]]:
        """Yield rows, the problem of these rows, and a seeded generator on their device."""
        for start in range(0, self.x.shape[0], self.batch_size):
            rows = slice(start, min(start + self.batch_size, self.x.shape[0]))
            generator = torch.Generator(device=self.x.device)
            generator.manual_seed(int(self.rng.integers(2**62)))
            yield rows, self._problem(model, rows), generator

    def clamp(self, x: Tensor) -> Tensor:
        """Return ``x`` inside the bounds to the last bit, whatever rounding did."""
        if self.lower is None or self.upper is None:
            return x
        return torch.minimum(torch.maximum(x, self.lower), self.upper)

    def distance(self, x_adv: Tensor, x: Tensor) -> FloatArray:
        """Return the distance of each row, in float64."""
        move = to_float64(x_adv).reshape(x.shape[0], -1) - to_float64(x).reshape(x.shape[0], -1)
        if self.cost is not None:
            move = move * np.sqrt(to_float64(self.cost))
        return np.asarray(np.linalg.norm(move, ord=2 if self.norm == "l2" else np.inf, axis=1))

    def _problem(self, model: Callable[[Tensor], Tensor], rows: slice) -> Problem:
        x = self.x[rows]
        scale = None if self.cost is None else self.cost.sqrt()
        low = high = None
        if self.lower is not None and self.upper is not None:
            low, high = (self.lower - x).flatten(1), (self.upper - x).flatten(1)
            if scale is not None:
                low, high = low * scale, high * scale
        if self.free is not None:
            if low is None or high is None:
                low, high = (
                    torch.full_like(x.flatten(1), -torch.inf),
                    torch.full_like(x.flatten(1), torch.inf),
                )
            low, high = low.where(self.free > 0, 0.0), high.where(self.free > 0, 0.0)
        return Problem(model, x, self.y[rows], self.norm, scale, self.free, low, high, self.radius[rows])


def check_inputs(
    X: Any,
    y: Any,
    like: Tensor | None,
    *,
    norm: Norm,
    bounds: Bounds,
    feature_costs: Any,
    frozen: Any,
    strength: Any,
    batch_size: int | None,
    rng: Any,
) -> Inputs:
    """Check and convert the arguments that all attacks share; ``like`` has the model's dtype and device."""
    x, as_numpy = _check_x(X, like)
    shape = x.shape[1:]
    lower, upper = _check_bounds(bounds, x)
    cost = None if feature_costs is None else _row_array(feature_costs, "feature_costs", x, np.float64)
    if cost is not None and not bool((cost > 0).all()):
        raise ValueError(
            describe(
                "feature_costs", "positive", f"{float(cost.min()):g}", "An infinite cost freezes a feature."
            )
        )
    still = torch.zeros(shape, dtype=torch.bool, device=x.device)
    if frozen is not None:
        still = _row_array(frozen, "frozen", x, np.bool_) > 0
    if cost is not None:
        still = still | torch.isinf(cost)
        cost = cost.where(~still, 1.0).flatten()
    if bool(still.all()):
        raise ValueError(
            describe(
                "frozen", "a mask that leaves a feature free", "all features frozen", "Free one of them."
            )
        )
    furthest = math.inf
    if lower is not None and upper is not None:
        width = (upper - lower).where(~still, 0.0).flatten() * (1.0 if cost is None else cost.sqrt())
        furthest = float(torch.linalg.vector_norm(width, ord=2 if norm == "l2" else math.inf))
    return Inputs(
        x=x,
        y=_check_y(y, x),
        as_numpy=as_numpy,
        norm=norm,
        cost=None if cost is None or bool((cost == 1).all()) else cost,
        free=(~still).to(x.dtype).flatten() if bool(still.any()) else None,
        lower=lower,
        upper=upper,
        radius=_check_strength(strength, x, furthest),
        batch_size=check_integer(DEFAULT_BATCH if batch_size is None else batch_size, "batch_size", low=1),
        rng=check_rng(rng),
    )


def check_labels(y: Tensor, n_classes: int) -> None:
    """Raise a ValueError unless every label is a class of the model."""
    if int(y.min()) < 0 or int(y.max()) >= n_classes:
        raise ValueError(
            describe(
                "y",
                f"labels from 0 to {n_classes - 1}, the classes of the model",
                f"labels from {int(y.min())} to {int(y.max())}",
                "Encode the classes as 0, 1, 2, ...",
            )
        )


def _check_strength(strength: Any, x: Tensor, furthest: float) -> Tensor:
    """Return one radius for each row; a strength beyond the width of the bounds is a slip of units."""
    if strength is None:
        return torch.full_like(x.flatten(1)[:, 0], torch.inf)
    if np.ndim(strength) == 0:
        radius = np.full(x.shape[0], check_number(strength, "strength", low=0.0))
    else:
        radius = check_vector(strength, "strength", length=x.shape[0], low=0.0)
    if radius.max() > furthest * (1 + 1e-6):
        raise ValueError(
            describe(
                "strength",
                f"at most {furthest:g}, the width of bounds",
                f"{radius.max():g}",
                "It is in the units of X: write 8/255 for 8 of 255 grey levels of images in [0, 1].",
            )
        )
    return torch.tensor(radius, dtype=x.dtype, device=x.device)


def _check_x(X: Any, like: Tensor | None) -> tuple[Tensor, bool]:
    array = as_array(X, "X")
    if array.ndim < 2 or math.prod(array.shape) == 0:
        raise ValueError(
            describe(
                "X",
                "a batch of shape (n_samples, ...) with at least one row and one feature",
                f"shape {tuple(array.shape)}",
                "Add an axis: X[None] for one input, X[:, None] for one feature.",
            )
        )
    check_finite(array, "X")
    as_numpy = not isinstance(array, Tensor)
    dtype = torch.get_default_dtype() if like is None else like.dtype
    x = torch.as_tensor(np.array(array) if as_numpy else array.detach())
    if as_numpy or not x.is_floating_point():
        x = x.to(dtype=dtype, device=x.device if like is None or not as_numpy else like.device)
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            describe(
                "X",
                "float32 or float64",
                str(x.dtype),
                "The small steps of an attack get lost in half precision: use X.float() and model.float().",
            )
        )
    return x.clone(), as_numpy


def _check_y(y: Any, x: Tensor) -> Tensor:
    labels = to_float64(as_array(y, "y"))
    if labels.shape != (x.shape[0],):
        raise ValueError(
            describe("y", f"one label for each of the {x.shape[0]} rows", f"shape {labels.shape}")
        )
    if not np.array_equal(labels, np.round(labels)):
        raise ValueError(
            describe(
                "y",
                "integers",
                f"{labels[labels != np.round(labels)][0]:g}",
                "Encode the classes as 0, 1, ...",
            )
        )
    return torch.tensor(labels, dtype=torch.int64, device=x.device)


def _check_bounds(bounds: Bounds, x: Tensor) -> tuple[Tensor | None, Tensor | None]:
    low_seen, high_seen = float(x.min()), float(x.max())
    if bounds is None:
        if x.ndim == 4 and low_seen >= 0.0 and (high_seen <= 1.0 or high_seen <= 255.0):
            warnings.warn(
                f"X looks like images (values from {low_seen:g} to {high_seen:g}) but bounds is None, so "
                "adversarial inputs may leave the range of pixels. Pass bounds=(0, 1) or bounds=(0, 255), or "
                "bounds=(-inf, inf) if that is meant.",
                UserWarning,
                stacklevel=5,
            )
        return None, None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(describe("bounds", "a pair (lowest, highest) or None", repr(bounds)))
    lower = _row_array(bounds[0], "bounds[0]", x, np.float64)
    upper = _row_array(bounds[1], "bounds[1]", x, np.float64)
    if not bool((lower <= upper).all()):
        raise ValueError(describe("bounds", "a pair with lowest <= highest everywhere", repr(bounds)))
    slack = 1e-6 * (upper - lower).clamp_max(1e6)
    outside = (x < lower - slack) | (x > upper + slack)
    if bool(outside.any()):
        row = int(outside.flatten(1).any(dim=1).nonzero()[0])
        raise ValueError(
            describe(
                "X",
                f"inside bounds, from {float(lower.min()):g} to {float(upper.max()):g}",
                f"values from {low_seen:g} to {high_seen:g} (first outside at row {row})",
                "Scale X, or pass the bounds that it has; normalisation belongs inside the model.",
            )
        )
    width = float((upper - lower).max())
    if math.isfinite(width) and 0.0 < high_seen - low_seen < 0.01 * width:
        warnings.warn(
            f"X spans {low_seen:g} to {high_seen:g}, less than 1 % of bounds "
            f"({float(lower.min()):g} to {float(upper.max()):g}). Are these the bounds of X?",
            UserWarning,
            stacklevel=5,
        )
    return lower, upper


def _row_array(value: Any, argument: str, x: Tensor, dtype: Any) -> Tensor:
    """Return ``value`` in the shape of one row of ``x``."""
    array = np.asarray(to_float64(as_array(value, argument)))
    shape = tuple(x.shape[1:])
    try:
        array = np.broadcast_to(array, shape)
    except ValueError as error:
        raise ValueError(
            describe(
                argument, f"a number or an array that fits a row, of shape {shape}", f"shape {array.shape}"
            )
        ) from error
    if np.isnan(array).any():
        raise ValueError(describe(argument, "free of NaN", "NaN"))
    if dtype is np.bool_ and not np.isin(array, (0.0, 1.0)).all():
        raise ValueError(describe(argument, "a mask of True and False", f"values up to {array.max():g}"))
    return torch.as_tensor(array.copy()).to(dtype=x.dtype, device=x.device)
