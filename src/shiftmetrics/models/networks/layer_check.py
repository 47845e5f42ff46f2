"""Whether the layers that a certificate reads are the network: compared at rows, between them and beyond."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.networks.bounds import layers_of
from shiftmetrics.models.networks.network import Network

_MOST_ROWS = 200
_TOLERANCE = 1e-3  # of the largest score; networks may compute in 32 bits


def reproduces(network: Network, codes: FloatArray) -> bool:
    """Return True if the layers of a perceptron give the scores of its network, at rows and at points between."""
    layers = layers_of(network.module)
    if layers is None:
        return False
    rng = np.random.default_rng(0)
    rows = codes[:_MOST_ROWS]
    others = rng.permutation(rows)
    # Attacks leave the rows, so that the layers must agree between and beyond them, too.
    fraction = rng.uniform(-1.0, 2.0, (len(rows), 1))
    points = np.concatenate([rows, rows + fraction * (others - rows)])
    values = points
    for layer in layers:
        values = values @ layer.weights.T + layer.bias
        if layer.activation is not None:
            values = layer.activation.value(values)
    if values.shape[1] == 1:  # the lead of the second class
        values = np.concatenate([np.zeros_like(values), values], axis=1)
    if network.cut != 0.0:
        values = values - [0.0, network.cut]
    expected = network.scores(points)
    scale = 1.0 + np.abs(expected).max()
    return bool((np.abs(values - expected) <= _TOLERANCE * scale).all())
