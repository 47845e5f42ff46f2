"""The model under attack: any callable from inputs to logits, checked, in evaluation mode, left as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from shiftmetrics._core.validation import describe

PROBABILITY_TOLERANCE = 1e-4


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Switch dropout and batch statistics off, and every part of the model back to its mode afterwards."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    modes = [module.training for module in modules]
    try:
        if modules:
            model.eval()
        # Attacks need gradients even when the caller has switched them off.
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


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


def check_differentiable(logits: Tensor) -> None:
    """Raise a TypeError if no gradient leads from the logits back to the inputs."""
    if not logits.requires_grad:
        raise TypeError(
            "model must be differentiable in its input for a gradient attack, got logits without a gradient. "
            "Look for detach(), no_grad(), NumPy or argmax inside it; a defence that is not differentiable needs "
            "a stand-in gradient (see JPEGDefence), and other models a black-box route."
        )
