"""What stands beside stability is drawn by the same call: how steps settle."""

import matplotlib.pyplot as plt
import numpy as np

from shiftmetrics_lab.published import stability_criterion_adam
from shiftmetrics_lab.published.adam import AdamSteps

LOSSES = np.random.default_rng(0).exponential(size=200)


def test_gradient_steps_draw_how_the_risk_comes_to_the_threshold() -> None:
    def loss(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log1p(np.exp(-points[:, 0])), -1.0 / (1.0 + np.exp(points))

    result = stability_criterion_adam(
        loss, LOSSES[:, None], 0.7, steps=AdamSteps(n_steps=40, n_inner=5)
    )
    axes = result.plot()
    assert axes.get_xlabel() == "step"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), result.parts["trace_risk"])
    assert len(axes.lines[0].get_xdata()) == 41
    plt.close("all")
