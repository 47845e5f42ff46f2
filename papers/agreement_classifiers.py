"""Random, constant and perfect classifiers over the class balance p, and the printed values at p = 1/2.

The targets of N rows are drawn with P(Y = 1) = p. Each classifier predicts two samples of these rows with a
margin of 1: the perfect one predicts the targets, the constant one class 0, the random one a permutation of the
targets each time.
"""

import math

import numpy as np
from _claims import Claim
from _experiment import run

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.published import posterior_agreement_adam

ROWS = 1000
BALANCES = np.round(np.linspace(0.05, 0.95, 19), 2)
CLAIMS = {
    "robust": Claim(
        "Perfect and constant classifiers are robust at every p: their log agreement is 0.",
        "largest |log PA| of the two over p",
        "<",
        1e-6,
    ),
    "separates": Claim(
        "Agreement tells the random classifier from the constant one at every p between 0 and 1.",
        "smallest gap of log PA between constant and random, over p, per row in nats",
        ">",
        0.0,
    ),
    "accuracy_blind": Claim(
        "Accuracy is driven by the task: it tells apart a constant and a perfect one, equally robust.",
        "accuracy of the perfect minus the constant classifier at p = 1/2",
        ">",
        0.4,
    ),
    "minimum": Claim(
        "The random classifier reaches the lower bound -N log 2 at p = 1/2.",
        "log PA over -N log 2 at p = 1/2",
        ">",
        0.99,
    ),
    "plateau": Claim(
        "It stays at the lower bound for p from 0.3 to 0.7.",
        "log PA over -N log 2 at p = 0.3",
        ">",
        0.99,
    ),
    "entropy": Claim(
        "Its log agreement is -N Hb(p^2 + (1 - p)^2) for large N (our correction of the plateau).",
        "largest relative distance to it over p, log PA per row in nats",
        "<",
        0.06,
    ),
    "printed_beta": Claim(
        "beta* = 12.33 for the perfect classifier, by Adam from beta = 1 as stated.",
        "|beta after 100 epochs - 12.33|",
        "<",
        0.02,
    ),
    "corrected_beta": Claim(
        "beta* = 12.33 by Adam from beta = 0.1 on batches of 16 with the summed loss (our reading of the run).",
        "|beta after 100 epochs - 12.33|",
        "<",
        0.02,
    ),
}


def scores(predictions: np.ndarray) -> np.ndarray:
    """Return scores of two classes with a margin of 1 for the predicted one."""
    return np.stack([1.0 - predictions, predictions], axis=1)


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    found = {"perfect": [], "constant": [], "random": [], "accuracy": []}
    for p in BALANCES:
        targets = rng.permutation(np.arange(ROWS) < round(p * ROWS)).astype(float)
        guesses = rng.permutation(targets), rng.permutation(targets)
        pairs = {
            "perfect": (targets, targets),
            "constant": (0 * targets, 0 * targets),
            "random": guesses,
        }
        for name, (one, other) in pairs.items():
            found[name].append(posterior_agreement(scores(one), scores(other)).log_pa)
        found["accuracy"].append(
            [1.0, float((targets == 0).mean()), float((guesses[0] == targets).mean())]
        )
    random, constant = np.array(found["random"]), np.array(found["constant"])
    agreed = BALANCES**2 + (1 - BALANCES) ** 2
    expected = agreed * np.log(agreed) + (1 - agreed) * np.log(1 - agreed)
    middle, plateau = int(np.argmin(abs(BALANCES - 0.5))), int(np.argmin(abs(BALANCES - 0.3)))
    perfect = scores((np.arange(ROWS) < ROWS // 2).astype(float))
    stated = posterior_agreement_adam(perfect, perfect, epochs=100, rng=seed)
    batches = {"epochs": 100, "batch_size": 16, "reduction": "sum", "beta0": 0.1}
    corrected = posterior_agreement_adam(perfect, perfect, **batches, rng=seed)
    return {
        "robust": float(np.abs([found["perfect"], found["constant"]]).max()),
        "separates": float((constant - random).min() / ROWS),
        "accuracy_blind": found["accuracy"][middle][0] - found["accuracy"][middle][1],
        "minimum": float(random[middle] / (-ROWS * math.log(2))),
        "plateau": float(random[plateau] / (-ROWS * math.log(2))),
        "entropy": float(np.abs(random / ROWS - expected).max()),
        "printed_beta": abs(stated.beta - 12.33),
        "corrected_beta": abs(corrected.beta - 12.33),
        **found,
        "expected": expected * ROWS,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for name in ("perfect", "constant", "random"):
        left.plot(BALANCES, np.mean([run[name] for run in runs], axis=0), label=name)
    left.plot(BALANCES, runs[0]["expected"], "k:", label="-N Hb(p² + (1 - p)²)")
    left.axhline(-ROWS * math.log(2), color="0.6", linestyle="--", label="-N log 2")
    left.set(xlabel="P(Y = 1)", ylabel="log agreement (nats)", title="Agreement")
    accuracy = np.mean([run["accuracy"] for run in runs], axis=0)
    for column, name in enumerate(("perfect", "constant", "random")):
        right.plot(BALANCES, accuracy[:, column], label=name)
    right.set(xlabel="P(Y = 1)", ylabel="accuracy", title="Accuracy")
    left.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
