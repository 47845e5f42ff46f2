"""The same shifts between other digits (experiment 5b), the similarity of features, and beta in both experiments.

In experiment 5b the digits of the reference are not those of the shifted sample: pairs are of one class. Cosine
similarities are between the features of one digit before and after the shift, as in experiment 5a.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import LEARNERS, trained

from shiftmetrics import posterior_agreement
from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.distances import feature_distance

FACTORS = (1, 2, 3, 4, 5)
CLAIMS = {
    "lower": Claim(
        "Other digits on both sides lower the agreement: experiment 5b against 5a.",
        "agreement in 5b minus 5a, mean over learners and factors, in nats",
        "<",
        0.0,
    ),
    "erm_first": Claim(
        "ERM scores highest at one shifted factor, between the sources.",
        "agreement of ERM minus that of each rival, in nats",
        ">",
        0.0,
    ),
    "lisa_best": Claim(
        "LISA scores highest at three and five shifted factors.",
        "agreement of LISA minus that of each rival, mean of both, in nats",
        ">",
        0.0,
    ),
    "texture": Claim(
        "Features break off when the texture shifts: their similarity falls most at the fifth factor.",
        "fall of the cosine similarity at the fifth factor minus that at each other, mean over the learners",
        ">",
        0.0,
    ),
    "beta_lisa": Claim(
        "beta of LISA is higher for the same digits (5a) than for others (5b).",
        "log beta in 5a minus 5b at five factors, LISA",
        ">",
        0.0,
    ),
    "beta_erm": Claim(
        "For ERM it is lower (printed 2.3 against 3.0).",
        "log beta in 5a minus 5b at five factors, ERM",
        "<",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = trained(seed, quick)
    pairs = pair_samples(
        digits.labels,
        digits.other_labels,
        method="label",
        labels=digits.labels,
        reference_labels=digits.other_labels,
        rng=seed,
    )
    rows, others = np.asarray(pairs.rows), np.asarray(pairs.reference_rows)
    same, apart, cosine = ({name: [] for name in LEARNERS} for _ in range(3))
    for name in LEARNERS:
        before, other = digits.scores(name, digits.tests[0]), digits.scores(name, digits.other)
        features = digits.features(name, digits.tests[0])
        for count in FACTORS:
            after = digits.scores(name, digits.tests[count])
            same[name].append(posterior_agreement(after, before))
            apart[name].append(posterior_agreement(after[rows], other[others]))
            moved = digits.features(name, digits.tests[count])
            seen = moved.any(axis=1) & features.any(
                axis=1
            )  # a digit without any active unit has no direction
            distance = feature_distance(moved[seen], features[seen], method="cosine")
            cosine[name].append(1.0 - distance.value)
    value = {
        kind: {name: [one.value for one in table[name]] for name in LEARNERS}
        for kind, table in (("5a", same), ("5b", apart))
    }
    log_beta = {
        kind: {name: float(np.log(np.clip(table[name][-1].beta, 1e-6, 1e6))) for name in LEARNERS}
        for kind, table in (("5a", same), ("5b", apart))
    }
    erm, irm, lisa = (np.array(value["5b"][name]) for name in LEARNERS)
    falls = np.array([-np.diff([1.0, *cosine[name]]) for name in LEARNERS])
    everywhere = {kind: np.mean([value[kind][name] for name in LEARNERS]) for kind in value}
    return {
        "lower": float(everywhere["5b"] - everywhere["5a"]),
        "erm_first": {"IRM": erm[0] - irm[0], "LISA": erm[0] - lisa[0]},
        "lisa_best": {
            "ERM": (lisa - erm)[[2, 4]].mean(),
            "IRM": (lisa - irm)[[2, 4]].mean(),
        },
        "texture": {
            f"factor {count}": float((falls[:, -1] - falls[:, count - 1]).mean())
            for count in FACTORS[:-1]
        },
        "beta_lisa": log_beta["5a"]["LISA"] - log_beta["5b"]["LISA"],
        "beta_erm": log_beta["5a"]["ERM"] - log_beta["5b"]["ERM"],
        "value": value,
        "cosine": cosine,
        "log_beta": log_beta,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
    for name in LEARNERS:
        line = np.mean([one["value"]["5b"][name] for one in runs], axis=0)
        axes[0].plot(FACTORS, line, marker=".", label=name)
        axes[1].plot(
            FACTORS, np.mean([one["cosine"][name] for one in runs], axis=0), marker=".", label=name
        )
    places = np.arange(len(LEARNERS))
    for shift, kind in ((-0.19, "5a"), (0.19, "5b")):
        logs = np.array([[one["log_beta"][kind][name] for name in LEARNERS] for one in runs])
        axes[2].bar(places + shift, np.exp(logs.mean(axis=0)), 0.36, label=f"experiment {kind}")
    axes[0].set(xlabel="shifted factors", ylabel="agreement (nats)", title="Other digits (5b)")
    axes[1].set(xlabel="shifted factors", ylabel="cosine similarity", title="Features, same digits")
    axes[2].set(ylabel="beta", title="beta, five factors")
    axes[2].set_xticks(places, LEARNERS)
    axes[0].legend()
    axes[2].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
