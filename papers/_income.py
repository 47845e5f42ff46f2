"""What `stability_income.py` claims, and what follows for it from the numbers of a seed."""

from __future__ import annotations

import numpy as np
from _claims import Claim
from _prices import METHODS, TILTED, ahead

CLAIMS = {
    "corruption": Claim(
        "A lower theta1 shifts the excess risk to corruption (6a).",
        "smallest fall of corruption's share of it from one theta1 to the next, up to 100",
        ">",
        0.0,
    ),
    "converges": Claim(
        "The risk converges to the threshold of 3 at all prices (6b).",
        "largest distance of the last round's risk from 3",
        "<",
        0.01,
    ),
    "at_corruption": Claim(
        "Adversarial training is more stable than ERM under corruption (6c).",
        "log of R at theta = (0.2, inf), AT over ERM",
        ">",
        0.0,
    ),
    "at_best": Claim(
        "Adversarial training is more stable than tilted ERM under corruption.",
        "fraction of the seeds with the larger R at theta = (0.2, inf)",
        ">",
        0.5,
    ),
    "tilted_reweighting": Claim(
        "Tilted ERM is more stable than ERM under reweighting.",
        "fraction of the seeds with the larger R at theta = (inf, 0.2)",
        ">",
        0.5,
    ),
    "tilted_best": Claim(
        "Tilted ERM is more stable than adversarial training under reweighting.",
        "fraction of the seeds with the larger R at theta = (inf, 0.2)",
        ">",
        0.5,
    ),
    "both": Claim(
        "Both are more stable than ERM at all prices.",
        "fraction of the seeds in which AT and tilted ERM have the larger R at all six prices",
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
        "Validation tells the ten temperatures of tilted ERM apart (our check).",
        "largest minus smallest accuracy on 250 rows, over two standard errors of one",
        ">",
        1.0,
    ),
    "penalty": Claim(
        "The temperature that is picked decides (our check): a lower one is more stable.",
        "log of R at theta = (0.4, 0.4), temperature 0.1 over 1.0",
        ">",
        0.0,
    ),
    "spread": Claim(
        "The uncertainty of R grows as theta1 does (section 4.1).",
        "log of the standard error of ERM's R at theta = (100, 0.2) over that at (0.2, inf)",
        ">",
        0.0,
    ),
    "sampling": Claim(
        "The randomness of sampling is the primary factor of R's deviation (section 4.1).",
        "|log ratio| of ERM's R on two samples minus that by two seeds of the search, at theta = (0.4, 0.4)",
        ">",
        0.0,
    ),
    "cost": Claim(
        "theta1 = infinity brings a statistical cost (section 4.1).",
        "log of the relative standard error of ERM's R at theta = (inf, 0.2) over that at (0.2, inf)",
        ">",
        0.0,
    ),
}


def conclude(one: dict) -> dict:
    """Return what follows from the values at the prices: the first is corruption alone, the last infinity."""
    erm, at, tilted = (one["values"][method] for method in METHODS)
    errors, scores = one["errors"], one["scores"][TILTED]
    beaten = [
        ahead(value, low) for own in (at, tilted) for value, low in zip(own, erm, strict=True)
    ]
    error_of_score = np.sqrt(max(scores) * (1 - max(scores)) / 250)
    return {
        "corruption": float(-np.diff(one["shares"]).max()),
        "converges": max(abs(risks[-1] - 3.0) for risks in one["risks"]),
        "at_corruption": float(np.log(at[0] / erm[0])),
        "at_best": ahead(at[0], tilted[0]),
        "tilted_reweighting": ahead(tilted[-1], erm[-1]),
        "tilted_best": ahead(tilted[-1], at[-1]),
        "both": all(beaten),
        "out_of_reach": tilted[-1] is None,
        "hundred": 1.0 - erm[-2] / erm[-1],
        "picked": float((max(scores) - min(scores)) / (2 * error_of_score)),
        "spread": float(np.log(errors[-2] / errors[0])),
        "cost": float(np.log(errors[-1] / erm[-1]) - np.log(errors[0] / erm[0])),
    }
