"""Figure 2: the most sensitive distribution of a logistic regression in the plane, under cross-entropy.

The base risk is near 0.1 and 0.5 counts as broken. "theta1 = infinity" is infinite here; the paper's experiments
use 100.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _plane import PRICES, boundary_distance, clouds, draw_boundary

from shiftmetrics import Perturbation, model_stability
from shiftmetrics.views import plot

CLAIMS = {
    "weights_near_boundary": Claim(
        "With theta1 = infinity weight is added to rows near the boundary.",
        "mean distance to the boundary by the weight that is added, over the plain mean",
        "<",
        0.5,
    ),
    "few_rows": Claim(
        "They are a limited number of rows.",
        "effective share of the rows with theta1 = infinity",
        "<",
        0.25,
    ),
    "many_move": Claim(
        "With theta2 = infinity a significant number of rows is perturbed.",
        "share of the rows that move by more than 0.5",
        ">",
        0.1,
    ),
    "moderate_moves": Claim(
        "With theta1 = theta2 = 0.4 the moves are smaller than with moves alone.",
        "root-mean-square move, both over moves alone",
        "<",
        1.0,
    ),
    "moderate_weights": Claim(
        "and the weights are more even than with weights alone.",
        "log of the effective share of the rows, both minus weights alone",
        ">",
        0.0,
    ),
    "hundred": Claim(
        "theta1 = 100 stands for theta1 = infinity.",
        "relative difference of the stability",
        "<",
        0.01,
    ),
}


def results(seed: int) -> dict:
    """Return the result at each pair of prices, and at the price of 100 that stands for infinity."""
    model, points, labels = clouds(seed)
    prices = {**PRICES, "hundred": (100.0, 0.2)}
    options = {"loss": "log_loss", "perturbation": Perturbation(cost="unit", bounds=None)}
    return {
        name: model_stability(model, points, labels, 0.5, theta1=theta1, theta2=theta2, **options)
        for name, (theta1, theta2) in prices.items()
    }


def measure(seed: int, quick: bool) -> dict:
    model, points, _ = clouds(seed)
    found = results(seed)
    weights, moves, both = (found[name] for name in PRICES)
    distance = boundary_distance(model, points)
    exact, stand_in = weights.value, found["hundred"].value
    return {
        "weights_near_boundary": float(
            np.average(distance, weights=np.maximum(weights.plan.weights - 1.0, 0.0))
            / distance.mean()
        ),
        "few_rows": weights.plan.effective_sample_fraction,
        "many_move": float((moves.plan.distances > 0.5).mean()),
        "moderate_moves": both.plan.rms_distance / moves.plan.rms_distance,
        "moderate_weights": float(
            np.log(both.plan.effective_sample_fraction / weights.plan.effective_sample_fraction)
        ),
        "hundred": abs(stand_in / exact - 1),
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    model, _, labels = clouds(0)
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    for ax, (name, result) in zip(axes, results(0).items(), strict=False):
        plot(result, ax, labels=labels, kind="sample")
        draw_boundary(ax, model)
        ax.set_title(f"{name}: R = {result.value:.3f}", loc="left")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=20)
