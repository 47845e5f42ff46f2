"""The model under attack: losses of its logits, checks of its outputs, and its evaluation mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError

RowLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Maps logits of shape (n_samples, n_classes) and labels (n_samples,) to losses (n_samples,)."""


def margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return max_{k != y} z_k - z_y: positive exactly where the row is misclassified."""
    # The label is left out of the maximum over its rivals.
    labelled = logits.gather(1, y[:, None])
    others = logits.scatter(1, y[:, None], -torch.inf)
    return others.amax(dim=1) - labelled[:, 0]


def smooth_margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Return log sum_{k != y} exp z_k - z_y.

    Its gradient has the direction of the cross-entropy's, which is its softplus, and does not vanish where the
    model is sure.
    """
    labelled = logits.gather(1, y[:, None])
    others = logits.scatter(1, y[:, None], -torch.inf)
    return others.logsumexp(dim=1) - labelled[:, 0]


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Return -log softmax(z)_y."""
    return torch.nn.functional.cross_entropy(logits, y, reduction="none")


PROBABILITY_TOLERANCE = 1e-4


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Switch dropout, batch statistics and gradients of parameters off, and restore them afterwards."""
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
    """Wrap ``model`` so that its outputs are checked to be logits of shape (n_samples, n_classes).

    Raises
    ------
    TypeError
        If ``model`` cannot be called.
    """
    if not callable(model):
        expected = "a callable that maps a batch of inputs to logits"
        remedy = "Pass a torch.nn.Module or a function of one tensor."
        raise ArgumentTypeError("model", expected, type(model).__name__, remedy)

    def logits_of(x: Tensor) -> Tensor:
        logits = model(x)
        if not isinstance(logits, Tensor):
            expected = "a function that returns a torch.Tensor of logits"
            remedy = "A gradient attack needs a model in torch; others go to the black-box routes."
            raise ArgumentTypeError("model", expected, type(logits).__name__, remedy)
        if logits.ndim != 2 or logits.shape[0] != x.shape[0] or logits.shape[1] < 2:
            expected = "a function that returns logits of shape (n_samples, n_classes) with at least two classes"
            got = f"shape {tuple(logits.shape)} for {x.shape[0]} row(s)"
            raise ArgumentValueError(
                "model", expected, got, "Turn a single score s into the two logits (0, s)."
            )
        return logits

    return logits_of


def check_logits(logits: Tensor) -> None:
    """Raise a ValueError if logits are not finite, or are probabilities."""
    if not bool(torch.isfinite(logits).all()):
        row = int((~torch.isfinite(logits)).any(dim=1).nonzero()[0])
        got = f"{logits[row].tolist()} at row {row}"
        raise ArgumentValueError("model", "a function that returns finite logits", got)
    # Rows of probabilities: a margin of these has no gradient where the model is sure.
    sums = logits.sum(dim=1)
    if bool((logits >= 0).all()) and bool(((sums - 1.0).abs() < PROBABILITY_TOLERANCE).all()):
        got = "probabilities (rows are non-negative and sum to 1)"
        remedy = "Leave its softmax out, or take the logarithm: lambda x: model(x).clamp_min(1e-30).log()."
        raise ArgumentValueError("model", "a function that returns logits", got, remedy)


def check_class_labels(y: Tensor, n_classes: int) -> None:
    """Raise a ValueError unless every label is a class of the model."""
    if int(y.min()) < 0 or int(y.max()) >= n_classes:
        expected = f"labels from 0 to {n_classes - 1}, the classes of the model"
        got = f"labels from {int(y.min())} to {int(y.max())}"
        raise ArgumentValueError("y", expected, got, "Encode the classes as 0, 1, 2, ...")


def check_differentiable(logits_of: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> None:
    """Raise a TypeError if no gradient leads from the logits back to the inputs; warn if it is 0 everywhere."""
    # A gradient of None leads nowhere; one of 0 does, but not out of here.
    probe = x.clone().requires_grad_(True)
    margin = margin_loss(logits_of(probe), y)
    gradient = None
    if margin.requires_grad:
        (gradient,) = torch.autograd.grad(margin.sum(), probe, allow_unused=True)
    if gradient is None:
        raise ArgumentTypeError(
            "model",
            "differentiable in its input for a gradient attack",
            "logits without a gradient",
            "Look for detach(), no_grad(), NumPy or argmax inside it; a defence that is not differentiable needs "
            "a stand-in gradient (see JPEGDefence), and other models a black-box route.",
        )
    if not bool(gradient.any()):
        warnings.warn(
            f"The model's gradient in its input is 0 at each of the first {len(x)} row(s), so attacks find no "
            "direction. Look for rounding, steps or saturated scores inside it.",
            UserWarning,
            stacklevel=4,
        )
