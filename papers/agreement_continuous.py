"""Two posteriors over a real parameter, the mean of a sample, and the temperature at which they agree best.

The risk of a mean c on n values x is R(c) = sum (x - c)^2, its posterior on a grid of c is proportional to
exp(-beta R(c)). A single observation with the grid as its classes gives the agreement of two such posteriors by
quadrature; where the grid is wide and fine, its maximum stands at beta* = 1 / (n d^2), with d the distance of the
two sample means.
"""

import numpy as np
from _claims import Claim
from _experiment import run

from shiftmetrics import posterior_agreement

VALUES = 25
GRID = np.linspace(-6.0, 6.0, 4001)
FACTORS = np.logspace(-2.0, 2.0, 41)
CLAIMS = {
    "maximum": Claim(
        "The agreement of two posteriors over a real parameter has its maximum at a finite beta* > 0.",
        "|beta* n d^2 - 1|, with d the distance of the sample means",
        "<",
        0.05,
    ),
    "underfit": Claim(
        "A lower beta gives wide posteriors that agree less.",
        "agreement at beta* minus that at beta* / 100, in nats",
        ">",
        0.0,
    ),
    "overfit": Claim(
        "A higher beta gives narrow posteriors that follow the noise and agree less.",
        "agreement at beta* minus that at 100 beta*, in nats",
        ">",
        0.0,
    ),
}


def risks(values: np.ndarray) -> np.ndarray:
    """Return minus the risk of each mean on the grid, as the scores of one observation."""
    return -((values[:, None] - GRID) ** 2).sum(axis=0, keepdims=True)


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, VALUES))
    scores, reference = risks(one), risks(other)
    best = posterior_agreement(scores, reference)
    curve = [
        posterior_agreement(scores, reference, beta=best.beta * factor).value for factor in FACTORS
    ]
    distance = one.mean() - other.mean()
    return {
        "maximum": abs(best.beta * VALUES * distance**2 - 1),
        "underfit": best.value - curve[0],
        "overfit": best.value - curve[-1],
        "beta": best.beta,
        "curve": curve,
        "means": [one.mean(), other.mean()],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
    first = runs[0]
    for ax, factor, title in zip(
        axes, (0.01, 1.0, 100.0), ("beta* / 100", "beta*", "100 beta*"), strict=False
    ):
        for mean in first["means"]:
            posterior = np.exp(-first["beta"] * factor * VALUES * (GRID - mean) ** 2)
            ax.plot(GRID, posterior / (posterior.sum() * (GRID[1] - GRID[0])))
        ax.set(xlabel="mean c", ylabel="posterior density", title=title, xlim=(-2, 2))
    for one in runs:
        axes[3].plot(FACTORS, one["curve"], color="0.6", linewidth=1)
    axes[3].plot(FACTORS, first["curve"])
    axes[3].set(xscale="log", xlabel="beta / beta*", ylabel="agreement (nats)", title="Agreement")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=20)
