"""The model under attack: any callable from inputs to logits, checked, in evaluation mode, left as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import describe
from shiftmetrics.attacks.losses import margin_loss

PROBABILITY_TOLERANCE = 1e-4


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Switch dropout, batch statistics and gradients of parameters off, and back to what they were afterwards."""
    is_module = isinstance(model, torch.nn.Module)
    modules = list(model.modules()) if is_module else []
    parameters = list(model.parameters()) if is_module else []
    modes = [module.training for module in modules]
    needed = [parameter.requires_grad for parameter in parameters]
    try:
        if is_module:
            model.eval()
            model.requires_grad_(False)
        # Attacks need gradients even when the caller has switched them off.
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for parameter, need in zip(parameters, needed, strict=True):
            parameter.requires_grad_(need)


def parameter_of(model: Any) -> Tensor | None:
    """Return a floating parameter (or buffer) of the model, whose dtype and device inputs should have."""
    if isinstance(model, torch.nn.Module):
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                return tensor
    return None


def checked(model: Any) -> Callable[[Tensor], Tensor]:
    """Wrap ``model`` so that what it returns is of shape (n_samples, n_classes), or an error says why not.

    Raises
    ------
    TypeError
        If ``model`` cannot be called.
    """
    if not callable(model):
        raise TypeError(
            describe(
                "model",
                "a callable that maps a batch of inputs to logits",
                type(model).__name__,
                "Pass a torch.nn.Module or a function of one tensor.",
            )
        )

    def logits_of(x: Tensor) -> Tensor:
        logits = model(x)
        if not isinstance(logits, Tensor):
            raise TypeError(
                describe(
                    "model",
                    "a function that returns a torch.Tensor of logits",
                    type(logits).__name__,
                    "A gradient attack needs a model in torch; others go to the black-box routes.",
                )
            )
        if logits.ndim != 2 or logits.shape[0] != x.shape[0] or logits.shape[1] < 2:
            raise ValueError(
                describe(
                    "model",
                    "a function that returns logits of shape (n_samples, n_classes) with at least two classes",
                    f"shape {tuple(logits.shape)} for {x.shape[0]} row(s)",
                    "Turn a single score s into the two logits (0, s).",
                )
            )
        return logits

    return logits_of


def check_logits(logits: Tensor) -> None:
    """Raise a ValueError if the model's answers are not finite, or are probabilities."""
    if not bool(torch.isfinite(logits).all()):
        row = int((~torch.isfinite(logits)).any(dim=1).nonzero()[0])
        raise ValueError(
            describe("model", "a function that returns finite logits", f"{logits[row].tolist()} at row {row}")
        )
    sums = logits.sum(dim=1)
    if bool((logits >= 0).all()) and bool(((sums - 1.0).abs() < PROBABILITY_TOLERANCE).all()):
        raise ValueError(
            describe(
                "model",
                "a function that returns logits",
                "probabilities (rows are non-negative and sum to 1)",
                "Leave its softmax out, or take the logarithm: lambda x: model(x).clamp_min(1e-30).log().",
            )
        )


def check_differentiable(logits_of: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> None:
    """Raise a TypeError if no gradient leads from the logits back to the inputs; warn if it is 0 everywhere."""
    probe = x.clone().requires_grad_(True)
    margin = margin_loss(logits_of(probe), y)
    gradient = None
    if margin.requires_grad:
        (gradient,) = torch.autograd.grad(margin.sum(), probe, allow_unused=True)
    if gradient is None:
        raise TypeError(
            "model must be differentiable in its input for a gradient attack, got logits without a gradient. "
            "Look for detach(), no_grad(), NumPy or argmax inside it; a defence that is not differentiable needs "
            "a stand-in gradient (see JPEGDefence), and other models a black-box route."
        )
    if not bool(gradient.any()):
        warnings.warn(
            f"The model's gradient in its input is 0 at each of the first {len(x)} row(s), so attacks find no "
            "direction. Look for rounding, steps or saturated scores inside it.",
            UserWarning,
            stacklevel=5,
        )


class CallableModule(torch.nn.Module):
    """A function of one tensor as a module, for libraries that take nothing else."""

    def __init__(self, function: Callable[[Tensor], Tensor], device: torch.device) -> None:
        super().__init__()
        self.function = function
        # some libraries ask the first parameter where the model lives
        self.anchor = torch.nn.Parameter(torch.zeros(0, device=device), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the function's answer."""
        return self.function(x)


def as_module(model: Any, device: torch.device) -> torch.nn.Module:
    """Return ``model`` itself if it is a module, else a module that calls it."""
    return model if isinstance(model, torch.nn.Module) else CallableModule(model, device).eval()
