"""The options that all attacks share, documented once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

_SUBJECT = """model : callable
        Maps a tensor of inputs to logits of shape (n_samples, n_classes). A ``torch.nn.Module`` is attacked in
        evaluation mode and put back into the mode it was in; gradients of parameters are left alone.
    X : Tensor or array of shape (n_samples, ...)
        Inputs of any shape, float32 or float64. Arrays become tensors of the model's dtype (of torch's default
        dtype for a model that is no module).
    y : array of shape (n_samples,)
        The labels: integers from 0 to n_classes - 1."""

_OPTIONS = """bounds : (low, high), optional
        Range of the inputs: numbers, or arrays in the shape of a row for bounds of each feature. Default: none.
    feature_costs : array in the shape of a row, optional
        Cost weights c > 0: distances are ``sqrt(sum_j c_j move_j^2)`` (l2) or ``max_j sqrt(c_j) |move_j|``
        (linf). An infinite cost freezes a feature. Default: 1.
    frozen : array of bool in the shape of a row, optional
        Features that may not move.
    batch_size : int, default 256
        Rows attacked at a time.
    rng : int, Generator or None
        Seed of what is random.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds."""

_RESULT = """AttackResult
        ``x_adv``, ``distance`` and ``success``, recomputed from the model at the end."""

_ERRORS = """TypeError
        If the model cannot be called, is not differentiable in its input, or an argument is of the wrong type.
    ValueError
        If inputs lie outside the bounds, labels are no classes of the model, shapes do not fit, or the model
        returns probabilities; the message says what was seen."""


def shared_options(function: Function) -> Function:
    """Fill the placeholders of an attack's docstring with the descriptions that all attacks share."""
    if function.__doc__:
        function.__doc__ = (
            function.__doc__.replace("{subject}", _SUBJECT)
            .replace("{options}", _OPTIONS)
            .replace("{result}", _RESULT)
            .replace("{errors}", _ERRORS)
        )
    return function
