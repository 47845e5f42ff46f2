"""Section 4.1: theta1 = infinity beside 100, the temperature that tilted ERM picks, and what R varies with.

The income networks of figure 6, by 1,000 rows to train on and 500 to evaluate: ERM, and tilted ERM with each of the
paper's ten temperatures, of which the accuracy on 250 rows of validation picks one. With theta1 = infinity no row
moves, and a network whose largest loss is below 3 cannot be broken: R is infinite. The paper's 100 in its place gives
such a network an R that is a price of moving, and says how large 100 is.

Our search draws nothing where all columns slide: two of its seeds give one R, and only the sample is left to vary.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _prices import TILTED, ahead
from _tables import kept_value, people, stability, trained

CORRUPTION, EVEN, HUNDRED, INFINITY = (0.2, np.inf), (0.4, 0.4), (100.0, 0.2), (np.inf, 0.2)
CLAIMS = {
    "tilted_reweighting": Claim(
        "Tilted ERM is more stable than ERM under reweighting, theta1 = infinity.",
        "fraction of the seeds with the larger R at theta = (inf, 0.2)",
        ">",
        0.5,
    ),
    "out_of_reach": Claim(
        "No reweighting alone brings tilted ERM to a cross-entropy of 3 (our check).",
        "fraction of the seeds in which R is infinite at theta = (inf, 0.2)",
        ">",
        0.5,
    ),
    "hundred": Claim(
        "theta1 = 100 stands for theta1 = infinity where the threshold is in reach: ERM.",
        "relative difference of R",
        "<",
        0.01,
    ),
    "picked": Claim(
        "Validation tells the ten temperatures apart (our check).",
        "largest minus smallest accuracy on 250 rows, over two standard errors of one",
        ">",
        1.0,
    ),
    "penalty": Claim(
        "The temperature decides: a lower one is more stable (our check).",
        "log of R at theta = (0.4, 0.4), temperature 0.1 over 1.0",
        ">",
        0.0,
    ),
    "sampling": Claim(
        "The randomness of sampling is the primary factor of R's deviation.",
        "|log ratio| of ERM's R on two samples minus that by two seeds of the search, theta = (0.4, 0.4)",
        ">",
        0.0,
    ),
    "cost": Claim(
        "theta1 = infinity brings a statistical cost.",
        "log of the relative standard error of ERM's R at theta = (inf, 0.2) over that at (0.2, inf)",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    n_train, n = (100, 50) if quick else (1000, 500)
    table = people("income", seed, n_train=n_train, n_evaluation=n)
    X, y, _ = table.parts["evaluation"]
    erm = trained(table, "ERM", seed, quick=quick).model
    tilted = trained(table, TILTED, seed, quick=quick)
    corruption, even, hundred, infinity = (
        stability(erm, X, y, price) for price in (CORRUPTION, EVEN, HUNDRED, INFINITY)
    )
    again = stability(erm, X, y, EVEN, seed=1).value
    elsewhere = stability(erm, *(part[:n] for part in table.parts["test"][:2]), EVEN).value
    by_temperature = {
        temperature: kept_value(stability(tilted.models[temperature], X, y, INFINITY))
        for temperature in tilted.models
    }
    cold, warm = (stability(tilted.models[one], X, y, EVEN).value for one in (0.1, 1.0))
    return {
        "penalty": float(np.log(cold / warm)),
        "seeds": abs(np.log(again / even.value)),
        "samples": abs(np.log(elsewhere / even.value)),
        "hundred": 1.0 - hundred.value / infinity.value,
        "cost": float(
            np.log(infinity.standard_error / infinity.value)
            - np.log(corruption.standard_error / corruption.value)
        ),
        "erm": infinity.value,
        "tilted": by_temperature,
        "tilted_hundred": stability(tilted.model, X, y, HUNDRED).value,
        "temperature": tilted.picked,
        "scores": list(tilted.scores.values()),
    }


def conclude(one: dict) -> dict:
    """Return what follows from the values of a seed."""
    picked, scores = one["tilted"][str(one["temperature"])], one["scores"]
    error = np.sqrt(max(scores) * (1 - max(scores)) / 250)
    return {
        "tilted_reweighting": ahead(picked, one["erm"]),
        "out_of_reach": picked is None,
        "picked": float((max(scores) - min(scores)) / (2 * error)),
        "sampling": one["samples"] - one["seeds"],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    temperatures = list(runs[0]["tilted"])
    beyond = [sum(one["tilted"][name] is None for one in runs) for name in temperatures]
    left.bar(temperatures, beyond, color="C1")
    left.set(
        xlabel="temperature", ylabel="seeds", title="threshold out of reach, theta1 = infinity"
    )
    right.plot(temperatures, runs[0]["scores"], color="C0", label="one seed")
    for one in runs[1:]:
        right.plot(temperatures, one["scores"], color="C0", alpha=0.5)
    picked = [str(one["temperature"]) for one in runs]
    right.plot(picked, [max(one["scores"]) for one in runs], "o", color="C3", label="picked")
    right.set(xlabel="temperature", ylabel="accuracy on 250 rows", title="validation")
    right.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, conclude=conclude, seeds=10)
