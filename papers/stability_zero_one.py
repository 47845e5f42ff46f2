"""Figures 3 and 4: the most sensitive distribution of a logistic regression in the plane, under the 0/1 loss.

The loss is 1 where the label differs from the decision (printed the other way round), and ties are split between
two points.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _plane import PRICES, boundary_distance, clouds, draw_boundary

from shiftmetrics import Perturbation, model_stability
from shiftmetrics.views import plot

THRESHOLDS = (0.2, 0.4, 0.6, 0.8)
CLAIMS = {
    "at_the_boundary": Claim(
        "Rows that move stop at the boundary.",
        "largest distance of a moved row from the boundary, with moves alone",
        "<",
        1e-3,
    ),
    "only_moves": Claim(
        "With theta2 = infinity rows move and no weight changes.",
        "effective share of the rows with theta2 = infinity",
        ">=",
        1.0 - 1e-9,
    ),
    "only_weights": Claim(
        "With theta1 = infinity weights change and no row moves.",
        "share of the rows that move with theta1 = infinity",
        "<=",
        0.0,
    ),
    "deeper": Claim(
        "A higher threshold moves more rows: 20, 40, 60, 80 %.",
        "smallest increase of the share moved from one threshold to the next",
        ">",
        0.0,
    ),
    "one_point": Claim(
        "One point for each row is enough (Remark 4).",
        "rows that the least shift to 30.25 % splits between two places, with moves alone",
        "<=",
        0.0,
    ),
    "reached": Claim(
        "The error rate of the most sensitive sample is the threshold.",
        "largest distance of its error rate from the threshold",
        "<",
        1e-9,
    ),
}


def results(seed: int) -> tuple[dict, dict]:
    """Return the results of figure 3, by prices, and of figure 4, by threshold."""
    model, points, labels = clouds(seed)
    moves = Perturbation(cost="unit", bounds=None)
    third = {
        name: model_stability(
            model, points, labels, 0.3, theta1=theta1, theta2=theta2, perturbation=moves
        )
        for name, (theta1, theta2) in PRICES.items()
    }
    fourth = {
        risk: model_stability(
            model, points, labels, risk, theta1=1.0, theta2=0.25, perturbation=moves
        )
        for risk in THRESHOLDS
    }
    return third, fourth


def measure(seed: int, quick: bool) -> dict:
    model, points, labels = clouds(seed)
    third, fourth = results(seed)
    tied = model_stability(
        model,
        points,
        labels,
        0.3025,
        theta1=0.2,
        theta2=np.inf,
        perturbation=Perturbation(cost="unit", bounds=None),
    )
    moved = third["only moves"]
    gone = moved.plan.distances > 0
    places = np.asarray(moved.changed_rows())[gone]
    shares = [fourth[risk].plan.changed_fraction for risk in THRESHOLDS]
    risks = [(third[name].plan.risk, 0.3) for name in PRICES] + [
        (fourth[risk].plan.risk, risk) for risk in THRESHOLDS
    ]
    return {
        "at_the_boundary": float(boundary_distance(model, places).max()),
        "only_moves": moved.plan.effective_sample_fraction,
        "only_weights": third["only weights"].plan.changed_fraction,
        "deeper": float(np.diff(shares).min()),
        "one_point": 0 if tied.plan.splits is None else len(tied.plan.splits.rows),
        "reached": max(abs(risk - threshold) for risk, threshold in risks),
        "shares": shares,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    model, _, labels = clouds(0)
    third, fourth = results(0)
    figure, axes = pyplot.subplots(2, 4, figsize=(13, 6.6), layout="constrained")
    titled = [(f"{name}, 30 %", result) for name, result in third.items()]
    titled += [(f"error rate {risk:.0%}", result) for risk, result in fourth.items()]
    for ax, (title, result) in zip((*axes[0, :3], *axes[1]), titled, strict=True):
        plot(result, ax, labels=labels, kind="sample")
        draw_boundary(ax, model)
        ax.set_title(f"{title}: R = {result.value:.3f}", loc="left")
    axes[0, 3].axis("off")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=20)
