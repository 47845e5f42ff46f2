"""Layers of images as affine maps: their matrix where it is small, else a certified bound on their spectral norm."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from shiftmetrics._core.arrays import FloatArray

_MOST_ENTRIES = 2**20  # of a matrix that is written out
_MOST_WORK = 2**31  # multiplications to look at all frequencies of a convolution
_ROUNDING = 1.0 + 1e-9
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Stretch:
    """A map of which no more is known than a bound on how much it stretches.

    Attributes
    ----------
    norm : float
        No two inputs are brought farther apart than by this factor.
    shape : pair of int
        Lengths of its outputs and inputs, as a matrix has them.
    """

    norm: float
    shape: tuple[int, int]


def shape_after(part: nn.Module, shape: Shape) -> Shape:
    """Return the shape of one row after a part that takes rows of ``shape``."""
    with torch.no_grad():
        seen = copy.deepcopy(part).cpu().double().eval()(torch.zeros(1, *shape, dtype=torch.float64))
    return tuple(seen.shape[1:])


def spatial_map(part: nn.Module, shape: Shape) -> FloatArray | Stretch | None:
    """Return the matrix of a convolution or pooling on rows of ``shape``, or how much it stretches, if known."""
    if not isinstance(part, nn.Conv2d | nn.AvgPool2d | nn.AdaptiveAvgPool2d | nn.MaxPool2d):
        return None
    sizes = math.prod(shape_after(part, shape)), math.prod(shape)
    if isinstance(part, nn.MaxPool2d):
        norm = _norm_of_largest(part)
    elif sizes[0] * sizes[1] <= _MOST_ENTRIES:
        return _matrix(part, shape)
    elif isinstance(part, nn.Conv2d):
        norm = _norm_of_convolution(part, shape)
    else:
        norm = _norm_of_mean(part, shape)
    return None if norm is None else Stretch(norm * _ROUNDING, sizes)


def _matrix(part: nn.Module, shape: Shape) -> FloatArray:
    """Write a linear part out, from what it makes of each pixel alone."""
    exact = copy.deepcopy(part).cpu().double().eval()
    if getattr(exact, "bias", None) is not None:
        exact.register_parameter("bias", None)
    pixels = torch.eye(math.prod(shape), dtype=torch.float64).reshape(-1, *shape)
    with torch.no_grad():
        return np.ascontiguousarray(exact(pixels).flatten(1).numpy().T)


def _norm_of_convolution(part: nn.Conv2d, shape: Shape) -> float | None:
    """Bound the spectral norm of a convolution of padded images.

    On a torus as large as the padded image, the convolution has all its outputs and more: its norm is at most the
    largest of the matrices of all frequencies there (H. Sedghi, V. Gupta, P. Long, arXiv:1805.10408). Where these
    are too many, the root of the largest row sum times the largest column sum.
    """
    if part.padding_mode != "zeros":
        return None
    weight = np.asarray(part.weight.detach().cpu().double().numpy())
    kernels = np.split(weight, part.groups)
    spans = [step * (side - 1) for step, side in zip(part.dilation, part.kernel_size, strict=True)]
    if isinstance(part.padding, str):
        added = [0, 0] if part.padding == "valid" else spans
    else:
        added = [2 * int(pad) for pad in part.padding]
    torus = [size + more for size, more in zip(shape[1:], added, strict=True)]
    n_out, n_in = len(kernels[0]), weight.shape[1]
    if math.prod(torus) * part.groups * n_out * n_in * min(n_out, n_in) > _MOST_WORK:
        sums = np.abs(weight).sum(axis=(2, 3))
        columns = max(float(part_of.sum(axis=0).max()) for part_of in np.split(sums, part.groups))
        return math.sqrt(float(sums.sum(axis=1).max()) * columns)
    return max(_largest_frequency(kernel, torus, part.dilation) for kernel in kernels)


def _largest_frequency(kernel: FloatArray, torus: list[int], dilation: tuple[int, ...]) -> float:
    spread = np.zeros((*kernel.shape[:2], *torus))
    spread[
        :, :, : kernel.shape[2] * dilation[0] : dilation[0], : kernel.shape[3] * dilation[1] : dilation[1]
    ] = kernel
    waves = np.fft.rfft2(spread)  # of real kernels: the other half is its conjugate
    waves = np.moveaxis(waves, (0, 1), (-2, -1)).reshape(-1, *kernel.shape[:2])
    return max(
        float(np.linalg.norm(block, ord=2, axis=(1, 2)).max())
        for block in np.array_split(waves, 16)
        if len(block)
    )


def _norm_of_mean(part: nn.Module, shape: Shape) -> float | None:
    """Return the norm of means of windows that do not overlap: the root of one over their area."""
    if isinstance(part, nn.AdaptiveAvgPool2d):
        wanted = _pair(part.output_size)
        sides = [size if out is None else out for size, out in zip(shape[1:], wanted, strict=True)]
        if any(size % out for size, out in zip(shape[1:], sides, strict=True)):
            return None
        return math.sqrt(math.prod(sides) / math.prod(shape[1:]))
    assert isinstance(part, nn.AvgPool2d)
    kernel, stride = _pair(part.kernel_size), _pair(part.stride)
    apart = all(step >= side for step, side in zip(stride, kernel, strict=True))
    if not apart or part.ceil_mode or part.divisor_override or not part.count_include_pad:
        return None
    return 1.0 / math.sqrt(math.prod(kernel))


def _norm_of_largest(part: nn.MaxPool2d) -> float | None:
    """Bound how far apart the largest of windows are: each pixel counts in all windows that hold it."""
    if part.return_indices or _pair(part.dilation) != (1, 1):
        return None
    kernel, stride = _pair(part.kernel_size), _pair(part.stride)
    return math.sqrt(math.prod(-(-side // step) for side, step in zip(kernel, stride, strict=True)))


def _pair(value: object) -> tuple[int, int]:
    if isinstance(value, tuple | list):
        return value[0], value[1]
    return value, value  # type: ignore[return-value]
