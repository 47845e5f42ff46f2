"""Early stopping of LISA, which table 5.12 alone has (camelyon17), on the made folder of the experiment before.

LISA mixes pictures of one class from the two grounds. Validation pictures are paired as there, the three criteria
watch twenty epochs, and the test accuracy is the mean over all pictures.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _waterbirds import CRITERIA, accuracies, made_folder

CLAIMS = {
    "accuracy": Claim(
        "For LISA agreement selects a better network than accuracy.",
        "mean test accuracy, by agreement minus by accuracy, in points",
        ">",
        0.0,
    ),
    "rates": Claim(
        "For LISA AFR_P selects as agreement does.",
        "mean test accuracy, by agreement minus by AFR_P, in points; margin 0.5",
        "within",
        0.5,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    part = made_folder(seed)
    tests = [part("test", ground) for ground in (0, 1)]
    weights = [len(y) for _, y in tests]
    by_criterion = accuracies(part, tests, "LISA", seed, 3 if quick else 20)
    found = [float(np.average(by_criterion[one], weights=weights)) for one in CRITERIA]
    return {"accuracy": found[2] - found[0], "rates": found[2] - found[1], "found": found}


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, seeds=10)
