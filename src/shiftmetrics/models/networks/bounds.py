"""Certified distances to the nearest error of perceptrons, by linear relaxation.

Inside a ball around a sample each activation lies between two straight lines. Put backwards through the layers, the
lines bound the lead of the label over a rival class from below by a linear function of the input (CROWN, Zhang, Weng,
Chen, Hsieh, Daniel, arXiv:1811.00866), whose least value in the ball is its value at the centre less the radius times
the norm of its slope. Where it is positive, no input of the ball is an error. The largest such radius is bisected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.models.reading.model import ModelProblem

_BISECTIONS = 24
_MOST_DOUBLINGS = 40
_TANGENTS = 20  # bisections for a line through the end of an interval that touches the curve
_SAFETY = 1e-6  # relative; of the radius, for rounding


class Lines(NamedTuple):
    """Straight lines that bound an activation over an interval: slopes and offsets below and above it."""

    below: FloatArray
    below_at_0: FloatArray
    above: FloatArray
    above_at_0: FloatArray


class Activation(NamedTuple):
    """An activation and its derivative; ``leak`` is the slope left of 0 of one in two straight pieces."""

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    leak: float | None = None


class Layer(NamedTuple):
    """An affine layer and the activation after it, None at the end."""

    weights: FloatArray
    bias: FloatArray
    activation: Activation | None


def _sigmoid(x: FloatArray) -> FloatArray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _leaky(leak: float) -> Activation:
    def value(x: FloatArray) -> FloatArray:
        return np.maximum(x, 0.0) + leak * np.minimum(x, 0.0)

    def slope(x: FloatArray) -> FloatArray:
        return np.where(x > 0.0, 1.0, leak)

    return Activation(value, slope, leak)


def _slope_of_tanh(x: FloatArray) -> FloatArray:
    return 1.0 - np.tanh(x) ** 2


def _slope_of_sigmoid(x: FloatArray) -> FloatArray:
    value = _sigmoid(x)
    return value * (1.0 - value)


_TANH = Activation(np.tanh, _slope_of_tanh)
_SIGMOID = Activation(_sigmoid, _slope_of_sigmoid)


def layers_of(module: nn.Module) -> list[Layer] | None:
    """Return the layers of a perceptron, or None where it is something else.

    A perceptron is a sequence of dense layers, each with an activation (ReLU, leaky ReLU, tanh, sigmoid) or none.
    """
    layers: list[Layer] = []
    for part in _flat(module):
        # A hook may change what a layer returns: the bound would be one of another network.
        if not _is_as_written(part):
            return None
        # In evaluation mode, on rows of features, all three return what they get.
        if type(part) in (nn.Identity, nn.Dropout, nn.Flatten):
            continue
        if type(part) is nn.Linear:
            weights = _numbers(part.weight)
            bias = np.zeros(len(weights))
            if part.bias is not None:
                bias = _numbers(part.bias)
            if layers and layers[-1].activation is None:  # two affine maps are one
                last = layers.pop()
                bias = bias + weights @ last.bias
                weights = weights @ last.weights
            layers.append(Layer(weights, bias, None))
            continue
        activation = _activation_of(part)
        if activation is None or not layers or layers[-1].activation is not None:
            return None
        layers[-1] = layers[-1]._replace(activation=activation)
    # The bounds are on leads between logits, which an activation at the end would bend.
    if not layers or layers[-1].activation is not None:
        return None
    return layers


def _numbers(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.detach().cpu().double().numpy())


def _flat(module: nn.Module) -> list[nn.Module]:
    if type(module) is not nn.Sequential or not _is_as_written(module):
        return [module]
    return [inner for part in module for inner in _flat(part)]


def _is_as_written(part: nn.Module) -> bool:
    """Return True if a module does what its class does: no hooks, and no forward of its own."""
    return not (part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part))


def _activation_of(part: nn.Module) -> Activation | None:
    if type(part) is nn.ReLU:
        return _leaky(0.0)
    if type(part) is nn.LeakyReLU and 0.0 <= part.negative_slope <= 1.0:
        return _leaky(part.negative_slope)
    if type(part) is nn.Tanh:
        return _TANH
    if type(part) is nn.Sigmoid:
        return _SIGMOID
    return None


# Lines around activations.


def _lines(activation: Activation, low: FloatArray, high: FloatArray) -> Lines:
    """Return lines below and above an activation between two ends."""
    if activation.leak is not None:
        return _lines_of_two_pieces(activation.leak, low, high)
    return _lines_of_s_shape(activation, low, high)


def _lines_of_two_pieces(leak: float, low: FloatArray, high: FloatArray) -> Lines:
    """Bound ``max(x, leak x)``: by itself on one piece, else by its chord from above and a ray from below."""
    bent = (low < 0.0) & (high > 0.0)
    own = np.where(high <= 0.0, leak, 1.0)
    width = np.where(bent, high - low, 1.0)
    rise = (high - leak * low) / width
    chord = np.where(bent, rise, own)
    at_0 = leak * low - chord * low
    above_at_0 = np.where(bent, at_0, 0.0)
    # Of the rays through 0, that of the longer piece leaves the smaller area.
    ray = np.where(high > -low, 1.0, leak)
    below = np.where(bent, ray, own)
    return Lines(below, np.zeros_like(below), chord, above_at_0)


def _lines_of_s_shape(activation: Activation, low: FloatArray, high: FloatArray) -> Lines:
    """Bound a function that is convex left of 0 and concave right of it, and odd up to a constant.

    Where the interval is on one side of 0, a chord and a tangent at the middle do. Else the upper line passes through
    the lower end and touches the curve right of 0, unless the chord lies above the curve; the lower line likewise.
    """
    value = activation.value
    slope = activation.slope
    middle = 0.5 * (low + high)
    width = np.maximum(high - low, 1e-12)
    rise = value(high) - value(low)
    chord = rise / width
    # A chord of no width is a tangent.
    has_width = high - low > 1e-12
    chord = np.where(has_width, chord, slope(middle))
    upper_touch = _touching(activation, low, high)
    lower_touch = -_touching_mirrored(activation, low, high)
    concave = low >= 0.0
    convex = high <= 0.0
    # From above: a tangent where concave, the chord where convex or where it is above the curve at the upper end.
    above_point = np.where(concave, middle, upper_touch)
    chord_is_above = slope(high) >= chord
    above_chord = convex | (~concave & chord_is_above)
    above = np.where(above_chord, chord, slope(above_point))
    of_chord = value(low) - chord * low
    of_tangent = value(above_point) - above * above_point
    above_at_0 = np.where(above_chord, of_chord, of_tangent)
    # From below: a tangent where convex, the chord where concave or where it is below the curve at the lower end.
    below_point = np.where(convex, middle, lower_touch)
    chord_is_below = slope(low) >= chord
    below_chord = concave | (~convex & chord_is_below)
    below = np.where(below_chord, chord, slope(below_point))
    of_chord = value(high) - chord * high
    of_tangent = value(below_point) - below * below_point
    below_at_0 = np.where(below_chord, of_chord, of_tangent)
    return Lines(below, below_at_0, above, above_at_0)


def _touching(activation: Activation, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a point right of 0 whose tangent is not below the curve at ``low``, nearly through it.

    The tangent at t passes ``low`` at value(t) + slope(t) (low - t), which grows with t: the upper end of the
    bisected bracket is on the safe side.
    """
    start = np.zeros_like(low)
    end = np.maximum(high, 0.0)
    for _ in range(_TANGENTS):
        point = 0.5 * (start + end)
        rise = activation.slope(point) * (low - point)
        tangent = activation.value(point) + rise
        safe = tangent >= activation.value(low)
        end = np.where(safe, point, end)
        start = np.where(safe, start, point)
    return end


def _touching_mirrored(activation: Activation, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the same for the curve turned by half a turn around its centre."""
    centre = activation.value(np.zeros(1))
    turned = Activation(
        lambda x: 2.0 * centre - activation.value(-x),
        lambda x: activation.slope(-x),
    )
    return _touching(turned, -high, -low)


# Bounds in a ball.


def _least(
    layers: list[Layer],
    lines: list[Lines],
    slopes: FloatArray,
    start: FloatArray,
    radius: FloatArray,
) -> FloatArray:
    """Return lower bounds of linear functions of an affine layer's output, in the balls around samples.

    Parameters
    ----------
    layers : list of Layer
        The layers up to that one.
    lines : list of Lines
        Of the activations before it, each of shape (n_samples, n_units).
    slopes : array of shape (n_samples, n_functions, n_outputs)
        The functions.
    start : array of shape (n_samples, n_units)
        Output of the first layer at the samples.
    radius : array of shape (n_samples,)
    """
    offsets: FloatArray = np.zeros(slopes.shape[:2])
    for depth in range(len(layers) - 1, 0, -1):
        offsets = offsets + slopes @ layers[depth].bias
        slopes = slopes @ layers[depth].weights
        # A positive slope takes the line below the activation, a negative one the line above.
        line = lines[depth - 1]
        up = np.maximum(slopes, 0.0)
        down = np.minimum(slopes, 0.0)
        offsets = offsets + np.einsum("nfu,nu->nf", up, line.below_at_0)
        offsets = offsets + np.einsum("nfu,nu->nf", down, line.above_at_0)
        from_below = up * line.below[:, None]
        slopes = from_below + down * line.above[:, None]
    at_sample = offsets + np.einsum("nfu,nu->nf", slopes, start)
    # In a Euclidean ball a linear function falls by at most the radius times the norm of its slope.
    in_inputs = slopes @ layers[0].weights
    steepness = np.linalg.norm(in_inputs, axis=2)
    return np.asarray(at_sample - radius[:, None] * steepness)


def certified(
    layers: list[Layer],
    start: FloatArray,
    y: FloatArray,
    radius: FloatArray,
) -> BoolArray:
    """Return the samples of which no input within ``radius`` is an error.

    Parameters
    ----------
    layers : list of Layer
        The perceptron, in inputs whose distance is Euclidean.
    start : array of shape (n_samples, n_units)
        Output of the first layer at the samples.
    y : array of shape (n_samples,)
        Positions of their labels.
    radius : array of shape (n_samples,)
    """
    n = len(start)
    lines: list[Lines] = []
    for depth in range(1, len(layers)):
        # The interval of each unit: the least value of itself, and of its negative.
        below = layers[:depth]
        n_units = len(below[-1].bias)
        units = np.broadcast_to(np.eye(n_units), (n, n_units, n_units))
        low = _least(below, lines, units, start, radius)
        high = -_least(below, lines, -units, start, radius)
        activation = below[-1].activation
        assert activation is not None
        high = np.maximum(low, high)  # rounding may cross them
        lines.append(_lines(activation, low, high))
    # The lead of the label over each rival class.
    n_classes = len(layers[-1].bias)
    everyone = np.arange(n)
    leads = np.repeat(-np.eye(n_classes)[None], n, axis=0)
    leads[everyone, :, y] += 1.0
    least = _least(layers, lines, leads, start, radius)
    least[everyone, y] = np.inf
    return np.asarray((least > 0.0).all(axis=1))


def certified_radii(
    problem: ModelProblem,
    module: nn.Module,
    cut: float,
    most: FloatArray,
) -> FloatArray | None:
    """Return a lower bound on the distance of each sample to its nearest error; None where none is known.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples.
    module : torch.nn.Module
        The network that scores coded points.
    cut : float
        Where the decision cuts the score of the second of two classes.
    most : array of shape (n_samples,)
        Distances of known errors, beyond which nothing is certified; 0 at errors.
    """
    layers = layers_of(module)
    if layers is None or problem.domain.mutable_flips:
        return None
    last = layers[-1]
    if len(last.bias) == 1:  # one column of scores is the lead of the second class
        weights = np.concatenate([np.zeros_like(last.weights), last.weights])
        bias = np.array([0.0, last.bias[0]])
        last = Layer(weights, bias, None)
    if cut != 0.0:
        last = last._replace(bias=last.bias - [0.0, cut])
    layers[-1] = last
    # Inputs in units of distance; columns that cannot change have no slope.
    first = layers[0]
    start = problem.codes @ first.weights.T + first.bias
    scale = np.where(problem.domain.numeric, problem.domain.unit, 0.0)
    layers[0] = first._replace(weights=first.weights * scale)
    # Double where no error is known, then bisect.
    y = problem.y
    low = np.zeros(problem.n_samples)
    high = np.where(np.isfinite(most), most, 1.0)
    for _ in range(_MOST_DOUBLINGS):
        sure = certified(layers, start, y, high)
        growing = np.isinf(most) & sure
        if not growing.any():
            break
        low = np.where(growing, high, low)
        high = np.where(growing, 2.0 * high, high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        sure = certified(layers, start, y, middle)
        low = np.where(sure, middle, low)
        high = np.where(sure, high, middle)
    return low * (1.0 - _SAFETY)
