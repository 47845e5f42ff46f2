"""A forest's own numbers: thresholds where float32 rounds across them."""

import numpy as np

from shiftmetrics.models.forests.forest import edge_for_float32


def test_edges_are_where_float32_rounds_across_the_threshold() -> None:
    rng = np.random.default_rng(0)
    thresholds = np.concatenate(
        [rng.normal(size=500), rng.normal(size=500) * 1e-30, [0.0, -0.0, 1e30, 16777216.0]]
    )
    for strict in (False, True):
        given = thresholds.astype(np.float32).astype(np.float64) if strict else thresholds
        edge = edge_for_float32(given, strict=strict)
        beyond = np.nextafter(edge, np.inf)
        if strict:
            assert (edge.astype(np.float32) < given).all()
            assert (beyond.astype(np.float32) >= given).all()
        else:
            assert (edge.astype(np.float32) <= given).all()
            assert (beyond.astype(np.float32) > given).all()
