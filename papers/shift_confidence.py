"""Figure 8: mean confidence of the three learners over the number of shifted factors, and beta at five of them.

Confidence is the largest posterior probability at beta = 1, a mean over 490 fours and nines of MNIST.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import LEARNERS, trained
from scipy.special import softmax
from scipy.stats import spearmanr

from shiftmetrics import posterior_agreement

FACTORS = (0, 1, 2, 3, 4, 5)
CLAIMS = {
    "falls": Claim(
        "Confidence falls with the number of shifted factors.",
        "mean Spearman correlation over the learners",
        "<",
        0.0,
    ),
    "source": Claim(
        "It stays where the shift is one between the sources.",
        "confidence at one factor minus at none, mean over the learners",
        ">",
        -0.05,
    ),
    "erm_declines": Claim(
        "ERM starts with a high confidence and declines.",
        "confidence of ERM at five factors minus at none",
        "<",
        0.0,
    ),
    "irm_stable": Claim(
        "IRM remains stable.",
        "confidence of IRM at five factors minus at none; margin 0.05",
        "within",
        0.05,
    ),
    "lisa_highest": Claim(
        "LISA has the highest confidence at every number of shifted factors.",
        "confidence of LISA minus that of each rival, smallest over one to five factors",
        ">",
        0.0,
    ),
    "lisa_beta": Claim(
        "LISA has the highest beta at five shifted factors.",
        "log beta of LISA minus that of each rival",
        ">",
        0.0,
    ),
    "beta": Claim(
        "A more confident model has a higher beta at five shifted factors.",
        "Spearman correlation of confidence and beta over the learners",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = trained(seed, quick)
    confidence, beta = {}, {}
    for name in LEARNERS:
        scores = [digits.scores(name, digits.tests[count]) for count in FACTORS]
        confidence[name] = [float(softmax(one, axis=1).max(axis=1).mean()) for one in scores]
        beta[name] = posterior_agreement(scores[-1], scores[0]).beta
    log_beta = {name: float(np.log(max(beta[name], 1e-6))) for name in LEARNERS}
    lisa = np.array(confidence["LISA"])
    last = [confidence[name][-1] for name in LEARNERS]
    return {
        "falls": float(
            np.mean([spearmanr(confidence[name], FACTORS).statistic for name in LEARNERS])
        ),
        "source": float(np.mean([confidence[name][1] - confidence[name][0] for name in LEARNERS])),
        "beta": float(spearmanr(last, [beta[name] for name in LEARNERS]).statistic),
        "erm_declines": confidence["ERM"][-1] - confidence["ERM"][0],
        "irm_stable": confidence["IRM"][-1] - confidence["IRM"][0],
        "lisa_highest": {
            name: float((lisa - confidence[name])[1:].min()) for name in ("ERM", "IRM")
        },
        "lisa_beta": {name: log_beta["LISA"] - log_beta[name] for name in ("ERM", "IRM")},
        "confidence": confidence,
        "log_beta": log_beta,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
    for name in LEARNERS:
        table = np.array([one["confidence"][name] for one in runs])
        left.errorbar(
            FACTORS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2, label=name
        )
    logs = np.array([[one["log_beta"][name] for name in LEARNERS] for one in runs])
    right.bar(LEARNERS, np.exp(logs.mean(axis=0)), 0.5)
    left.set(xlabel="shifted factors", ylabel="mean confidence, beta = 1", title="Confidence")
    right.set(ylabel="beta", title="beta, five shifted factors")
    left.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
