"""Figure 5: the risk of the shifted sample converges to the threshold, for cross-entropy and the 0/1 loss.

Cross-entropy follows the gradient steps of the paper's Algorithms 1 (KL) and 2 (chi-squared), corrected. The 0/1
loss has no gradient: its dual price is bisected, and each step shows the error rate of the worst case at that price.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _plane import boundary_distance, clouds
from scipy.optimize import brentq

from shiftmetrics import Perturbation, model_stability
from shiftmetrics_lab.published import model_stability_adam

DIVERGENCES = ("kl", "chi2")
MOVES = Perturbation(cost="unit", bounds=None)
CLAIMS = {
    "cross_entropy": Claim(
        "The risk under cross-entropy converges to the threshold of 0.5, for both divergences.",
        "largest distance of the last risk from 0.5",
        "<",
        0.01,
    ),
    "zero_one": Claim(
        "The error rate under the 0/1 loss converges to the threshold of 30 %.",
        "largest distance of the error rate from 0.3 after 40 halvings, up to one row",
        "<=",
        1 / 200,
    ),
    "closer": Claim(
        "The distance from the threshold falls over the steps.",
        "mean distance over the second half of the steps, over that of the first half",
        "<",
        1.0,
    ),
    "value": Claim(
        "The steps end at the stability itself.",
        "largest relative distance of their value from the exact one",
        "<",
        0.01,
    ),
    "price": Claim(
        "The halvings end at the dual price of the exact route (our check of the two).",
        "largest relative distance of the prices",
        "<",
        1e-6,
    ),
}


def error_rate(price: float, squared: np.ndarray, divergence: str, theta: float = 0.4) -> float:
    """Return the error rate of the worst case at a dual price: rows move across where that pays, and weigh more."""
    gain = np.maximum(price - theta * squared, 0.0)
    if divergence == "kl":
        weights = np.exp((gain - gain.max()) / theta)
    else:
        spare = brentq(
            lambda c: np.maximum(gain - c, 0).mean() - 2 * theta, gain.min() - 2 * theta, gain.max()
        )
        weights = np.maximum(gain - spare, 0.0)
    return float(weights[gain > 0].sum() / weights.sum())


def bisection(squared: np.ndarray, threshold: float, divergence: str) -> tuple[list[float], float]:
    """Return the error rates along 40 halvings of the price, and the last price."""
    low, high, rates = 0.0, 16.0, []
    for _ in range(40):
        middle = (low + high) / 2
        rates.append(error_rate(middle, squared, divergence))
        low, high = (middle, high) if rates[-1] < threshold else (low, middle)
    return rates, high


def measure(seed: int, quick: bool) -> dict:
    model, points, labels = clouds(seed)
    wrong = model.predict(points) != labels
    squared = np.where(wrong, 0.0, boundary_distance(model, points) ** 2)
    risks, rates, ratios, errors, prices = {}, {}, [], [], []
    for divergence in DIVERGENCES:
        options = {"divergence": divergence, "perturbation": MOVES}
        steps = model_stability_adam(model, points, labels, 0.5, progress=False, **options)
        risks[divergence] = np.asarray(steps.parts["trace_risk"])
        away = np.abs(risks[divergence] - 0.5)
        ratios.append(away[len(away) // 2 :].mean() / away[: len(away) // 2].mean())
        errors.append(abs(steps.value / steps.parts["exact_value"] - 1))
        rates[divergence], price = bisection(squared, 0.3, divergence)
        prices.append(
            abs(price / model_stability(model, points, labels, 0.3, **options).slopes.threshold - 1)
        )
    return {
        "cross_entropy": max(abs(trace[-1] - 0.5) for trace in risks.values()),
        "zero_one": max(abs(trace[-1] - 0.3) for trace in rates.values()),
        "closer": max(ratios),
        "value": max(errors),
        "price": max(prices),
        **({"risks": risks, "rates": rates} if seed == 0 else {}),
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for divergence in DIVERGENCES:
        left.plot(runs[0]["risks"][divergence], label=divergence)
        right.plot(runs[0]["rates"][divergence], marker=".", label=divergence)
    left.axhline(0.5, color="0.6", linestyle="--")
    right.axhline(0.3, color="0.6", linestyle="--")
    left.set(xlabel="step", ylabel="mean cross-entropy", title="Cross-entropy")
    right.set(xlabel="halving", ylabel="error rate", title="0/1 loss")
    left.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
