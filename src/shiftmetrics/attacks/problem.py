"""Options of attacks, and checked samples under attack, in coordinates where the cost of a perturbation is a norm.

A sample x becomes ``x + perturbation / scale``, with ``scale = sqrt(feature_costs)``, so that the weighted distance
``sqrt(sum_j cost_j (x'_j - x_j)^2)`` is the length of the perturbation. Bounds become a box of perturbations, and a
frozen feature is a box of width 0. A perturbation has shape ``(n_features,)``, whatever the shape of an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import (
    check_finite,
    check_integer,
    check_vector,
)
from shiftmetrics.attacks.geometry import Norm, random_move, row_norm
from shiftmetrics.attacks.model import RowLoss, margin_loss


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackOptions:
    """Which perturbations are allowed, what they cost, and how an attack runs.

    Parameters
    ----------
    bounds : (low, high), optional
        Range of the inputs: numbers, or arrays in the shape of a sample for bounds of each feature. Default: none.
    feature_costs : array in the shape of a sample, optional
        Cost weights c > 0: distances are ``sqrt(sum_j c_j move_j^2)`` (l2) or ``max_j sqrt(c_j) |move_j|``
        (linf). An infinite cost freezes a feature. Default: 1.
    frozen : array of bool in the shape of a sample, optional
        Features that may not change.
    batch_size : int, default 256
        Samples attacked at a time.
    rng : int, Generator or None, default 0
        Seed of random starts and perturbations; None for another seed in each call.
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


def attack_options(value: AttackOptions | None) -> AttackOptions:
    """Return the options of a call, the defaults for None.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    """
    if value is None:
        return AttackOptions()
    if not isinstance(value, AttackOptions):
        raise ArgumentTypeError("options", "an AttackOptions or None", value=value)
    return value


@dataclass(frozen=True, eq=False)
class AttackProblem:
    """Rows, labels and the set of perturbations.

    Attributes
    ----------
    model : callable
        Maps inputs to checked logits.
    x : Tensor of shape (n_samples, ...)
        The rows.
    y : Tensor of shape (n_samples,)
        Their labels.
    norm : {"l2", "linf"}
        Norm of a perturbation.
    cost : Tensor of shape (n_features,)
        Feature costs.
    free : Tensor of shape (n_features,)
        1 where a feature may change, 0 where it is frozen.
    lower, upper : Tensor in the shape of a row
        The bounds, infinite where there are none.
    radius : Tensor of shape (n_samples,)
        The longest perturbation of an attack of given strength; inf for the others.
    """

    model: Callable[[Tensor], Tensor]
    x: Tensor
    y: Tensor
    norm: Norm
    cost: Tensor
    free: Tensor
    lower: Tensor
    upper: Tensor
    radius: Tensor

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.x.shape[0]

    @cached_property
    def scale(self) -> Tensor:
        """Square roots of the costs."""
        return self.cost.sqrt()

    @cached_property
    def box(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest perturbations, each of shape (n_samples, n_features)."""
        # In coordinates of perturbations: a bound minus the row, times the root of its cost.
        low = (self.lower - self.x).flatten(1) * self.scale
        high = (self.upper - self.x).flatten(1) * self.scale
        return low.where(self.free > 0, 0.0), high.where(self.free > 0, 0.0)

    def take(self, rows: Tensor | slice) -> AttackProblem:
        """Return the problem of some rows alone."""
        return replace(self, x=self.x[rows], y=self.y[rows], radius=self.radius[rows])

    def zeros(self) -> Tensor:
        """Return perturbations of length 0, of shape (n_samples, n_features)."""
        return torch.zeros_like(self.x.reshape(self.n_samples, -1))

    def points(self, perturbation: Tensor) -> Tensor:
        """Return the perturbed inputs, in the shape of the inputs."""
        return self.x + (perturbation / self.scale).reshape(self.x.shape)

    def settled(self, perturbation: Tensor) -> Tensor:
        """Return the perturbed inputs inside the bounds, and equal where frozen, to the last bit."""
        # Dividing by the scale and adding to the row rounds, so bounds are put right again afterwards.
        x_adv = torch.minimum(torch.maximum(self.points(perturbation), self.lower), self.upper)
        return torch.where(self.free.reshape(x_adv.shape[1:]) > 0, x_adv, self.x)

    def distance(self, x_adv: Tensor) -> FloatArray:
        """Return the distance of each row to its perturbed input, in float64."""
        # Of the inputs that the model saw, not of the perturbation that led there, which was rounded on the way.
        perturbation = (to_float64(x_adv) - to_float64(self.x)).reshape(self.n_samples, -1)
        perturbation = perturbation * np.sqrt(to_float64(self.cost))
        order = 2 if self.norm == "l2" else np.inf
        return np.asarray(np.linalg.norm(perturbation, ord=order, axis=1))

    def clip(self, perturbation: Tensor) -> Tensor:
        """Return the perturbations with every feature inside its bounds, and frozen ones unchanged."""
        low, high = self.box
        return torch.minimum(torch.maximum(perturbation, low), high)

    def random(self, radius: Tensor, generator: torch.Generator) -> Tensor:
        """Return random perturbations of at most ``radius`` (one for each row), inside the bounds."""
        return self.clip(random_move(self.zeros(), self.free, radius, self.norm, generator))

    def logits(self, perturbation: Tensor) -> Tensor:
        """Return the logits at the perturbed inputs, without a gradient."""
        with torch.no_grad():
            return self.model(self.points(perturbation))

    def margins(self, perturbation: Tensor) -> Tensor:
        """Return ``margin_loss`` at the perturbed inputs: positive where they are misclassified."""
        return margin_loss(self.logits(perturbation), self.y)

    def gradient(self, perturbation: Tensor, loss: RowLoss) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of each row, its gradient in the perturbation, and the logits.

        Only the gradient in the input is computed: parameters keep their ``.grad``, and it takes less time.
        """
        with torch.enable_grad():
            perturbation = perturbation.detach().requires_grad_(True)
            logits = self.model(self.points(perturbation))
            value = loss(logits, self.y)
            # Rows do not interact, so the gradient of the sum holds that of each row.
            (gradient,) = torch.autograd.grad(value.sum(), perturbation)
        return value.detach(), gradient * self.free, logits.detach()

    def within(self, gradient: Tensor, perturbation: Tensor) -> Tensor:
        """Return the gradient without the features that it pushes against a bound they have reached.

        They cannot follow; counted in, they would make the boundary look nearer than it is, and waste length.
        """
        low, high = self.box
        blocked = ((gradient < 0) & (perturbation <= low)) | (
            (gradient > 0) & (perturbation >= high)
        )
        return gradient.masked_fill(blocked, 0.0)

    def reach(self) -> Tensor:
        """Return the longest perturbation that each row's bounds allow, inf without bounds."""
        low, high = self.box
        return row_norm(torch.maximum(low.abs(), high.abs()), self.norm)


def attack_problem(
    model: Callable[[Tensor], Tensor],
    X: Any,
    y: Any,
    *,
    norm: Norm,
    options: AttackOptions,
    strength: Any,
    like: Tensor | None,
) -> AttackProblem:
    """Check the arguments of all attacks and return the problem of all rows.

    Parameters
    ----------
    model : callable
        Maps inputs to checked logits.
    X, y, norm, options, strength
        As the user gave them; ``strength`` is None for attacks that look for the nearest error.
    like : Tensor or None
        A tensor of the model's dtype and device.
    """
    x = _check_x(X, like)
    lower, upper = _check_bounds(options.bounds, x)
    costs = 1.0 if options.feature_costs is None else options.feature_costs
    cost = _row_array(costs, "feature_costs", x)
    if not bool((cost > 0).all()):
        remedy = "An infinite cost freezes a feature."
        raise ArgumentValueError("feature_costs", "positive", f"{float(cost.min()):g}", remedy)
    frozen = False if options.frozen is None else options.frozen
    # A feature of infinite cost is frozen; its cost is 1, so that no product with it is NaN.
    still = (_row_array(frozen, "frozen", x) != 0) | torch.isinf(cost)
    cost = cost.where(~still, 1.0).flatten()
    if bool(still.all()):
        expected = "a mask that leaves a feature free"
        raise ArgumentValueError("frozen", expected, "all features frozen", "Free one of them.")
    # The longest perturbation goes from corner to corner of the bounds.
    width = (upper - lower).where(~still, 0.0).flatten() * cost.sqrt()
    furthest = float(row_norm(width[None], norm))
    return AttackProblem(
        model=model,
        x=x,
        y=_check_y(y, x),
        norm=norm,
        cost=cost,
        free=(~still).to(x.dtype).flatten(),
        lower=lower,
        upper=upper,
        radius=_check_strength(strength, x, furthest),
    )


def _check_strength(strength: Any, x: Tensor, furthest: float) -> Tensor:
    """Return one radius for each row; a strength beyond the width of the bounds is an error of units."""
    if strength is None:
        return torch.full_like(x.flatten(1)[:, 0], torch.inf)
    given = np.broadcast_to(strength, len(x)) if np.ndim(strength) == 0 else strength
    radius = check_vector(given, "strength", length=len(x), low=0.0)
    if radius.max() > furthest * (1 + 1e-6):
        remedy = (
            "It is in the units of X: write 8/255 for 8 of 255 grey levels of images in [0, 1]."
        )
        expected = f"at most {furthest:g}, the width of bounds"
        raise ArgumentValueError("strength", expected, f"{radius.max():g}", remedy)
    return torch.tensor(radius, dtype=x.dtype, device=x.device)


def _check_x(X: Any, like: Tensor | None) -> Tensor:
    """Return the inputs as a tensor: tensors of numbers as they are, others in the dtype of the model."""
    array = as_array(X, "X")
    if array.ndim < 2 or math.prod(array.shape) == 0:
        expected = "a batch of shape (n_samples, ...) with at least one row and one feature"
        remedy = "Add an axis: X[None] for one input, X[:, None] for one feature."
        raise ArgumentValueError("X", expected, f"shape {tuple(array.shape)}", remedy)
    check_finite(array, "X")
    # Tensors stay where they are; arrays go to the device of the model.
    if isinstance(array, Tensor):
        x = array.detach()
        device = x.device
    else:
        x = torch.as_tensor(np.array(array))
        device = x.device if like is None else like.device
    if not isinstance(array, Tensor) or not x.is_floating_point():
        dtype = torch.get_default_dtype() if like is None else like.dtype
        x = x.to(device, dtype)
    if x.dtype not in (torch.float32, torch.float64):
        remedy = "The small steps of an attack get lost in half precision: use X.float() and model.float()."
        raise ArgumentTypeError("X", "float32 or float64", str(x.dtype), remedy)
    return x.clone()


def _check_y(y: Any, x: Tensor) -> Tensor:
    labels = to_float64(as_array(y, "y"))
    if labels.shape != (x.shape[0],):
        expected = f"one label for each of the {x.shape[0]} rows"
        raise ArgumentValueError("y", expected, f"shape {labels.shape}")
    # Labels that are no classes of the model are found once its logits are known.
    broken = labels[labels != np.round(labels)]
    if broken.size:
        remedy = "Encode the classes as 0, 1, ..."
        raise ArgumentValueError("y", "integers", f"{broken[0]:g}", remedy)
    return torch.tensor(labels, dtype=torch.int64, device=x.device)


def _check_bounds(bounds: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bounds of each feature, infinite where there are none; all inputs must lie inside."""
    if bounds is None:
        bounds = (-math.inf, math.inf)
    expected = "a pair (lowest, highest) with lowest <= highest everywhere, or None"
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ArgumentValueError("bounds", expected, value=bounds)
    lower = _row_array(bounds[0], "bounds[0]", x)
    upper = _row_array(bounds[1], "bounds[1]", x)
    if not bool((lower <= upper).all()):
        raise ArgumentValueError("bounds", expected, value=bounds)
    # Inputs may lie beyond a bound by a rounding of their units.
    slack = 1e-6 * (upper - lower).clamp_max(1e6)
    outside = (x < lower - slack) | (x > upper + slack)
    if bool(outside.any()):
        row = int(outside.flatten(1).any(dim=1).nonzero()[0])
        expected = f"inside bounds, from {float(lower.min()):g} to {float(upper.max()):g}"
        got = f"values from {float(x.min()):g} to {float(x.max()):g} (first outside at row {row})"
        remedy = "Scale X, or pass the bounds that it has; normalisation belongs inside the model."
        raise ArgumentValueError("X", expected, got, remedy)
    return lower, upper


def _row_array(value: Any, argument: str, x: Tensor) -> Tensor:
    """Return ``value`` in the shape of one row of ``x``."""
    array = np.asarray(to_float64(as_array(value, argument)))
    shape = tuple(x.shape[1:])
    try:
        array = np.broadcast_to(array, shape)
    except ValueError as error:
        expected = f"a number or an array that fits a row, of shape {shape}"
        raise ArgumentValueError(argument, expected, f"shape {array.shape}") from error
    if np.isnan(array).any():
        raise ArgumentValueError(argument, "free of NaN", "NaN")
    return torch.as_tensor(array.copy()).to(dtype=x.dtype, device=x.device)
