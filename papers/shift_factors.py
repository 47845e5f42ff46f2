"""Agreement over the number of shifted factors and the share of shifted pictures (experiment 5a).

ERM, IRM and LISA read the same digits before and after one to five factors shift; the first shift is between the two
sources of training. Log agreements are never positive (one is printed without its sign).
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import LEARNERS, trained
from scipy.stats import spearmanr

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.shifts import mix

RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
FACTORS = (1, 2, 3, 4, 5)
CLAIMS = {
    "power": Claim(
        "Agreement falls with the number of shifted factors.",
        "mean Spearman correlation over the learners, all pictures shifted",
        "<",
        0.0,
    ),
    "ratio": Claim(
        "Agreement falls with the share of shifted pictures at every number of factors.",
        "largest mean rise from one share to the next over learners and factors, in nats",
        "<",
        0.0,
    ),
    "source": Claim(
        "Agreement tells source from target: it is highest where the shift is one between the sources.",
        "agreement at one factor minus the largest at more, mean over the learners, in nats",
        ">",
        0.0,
    ),
    "lisa_first": Claim(
        "LISA scores highest at one shifted factor.",
        "agreement of LISA minus that of each rival, one factor, in nats",
        ">",
        0.0,
    ),
    "irm_later": Claim(
        "IRM scores highest at two to five shifted factors.",
        "agreement of IRM minus that of each rival, mean over the factors, in nats",
        ">",
        0.0,
    ),
    "discriminates": Claim(
        "Agreement tells ERM from IRM more clearly than AFR_P does.",
        "relative difference of ERM and IRM, agreement minus AFR_P, mean over the factors",
        ">",
        0.0,
    ),
    "weak_robust": Claim(
        "At each share of shifted pictures agreement tells the weak learner from the robust one (paper, figure 7).",
        "agreement of LISA minus that of ERM, at each share, mean over the factors, in nats",
        ">",
        0.0,
    ),
    "trend": Claim(
        "From two shifted factors on LISA is the most robust, then IRM, then ERM (paper, figure 7).",
        "agreement of LISA minus IRM, and of IRM minus ERM, mean over two to five factors, in nats",
        ">",
        0.0,
    ),
    "erm_first": Claim(
        "At one shifted factor ERM scores highest (paper, figure 7).",
        "agreement of ERM minus that of each rival, one factor, in nats",
        ">",
        0.0,
    ),
    "levels_off": Claim(
        "Agreement levels off after some factors, while AFR goes on falling (paper, figure 7).",
        "fall from three to five factors over that from none, AFR_P minus agreement, mean over the learners",
        ">",
        0.0,
    ),
    "sign": Claim(
        "A log agreement can be positive (291.8 is printed for ERM at three factors).",
        "largest log agreement over learners and factors",
        ">",
        0.0,
    ),
}


def apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return relative differences; 0 where both numbers are 0."""
    return np.abs(one - other) / np.maximum(one + other, 1e-12)


def late_part(curve) -> float:
    """Return the fall from three to five factors as a part of that from none to five."""
    return float((curve[3] - curve[5]) / max(curve[0] - curve[5], 1e-3))


def measure(seed: int, quick: bool) -> dict:
    digits = trained(seed, quick)
    agreement = {name: np.empty((len(RATIOS), len(FACTORS))) for name in LEARNERS}
    log_pa, afr_p = [], {name: [] for name in LEARNERS}
    for name in LEARNERS:
        before = digits.scores(name, digits.tests[0])
        for column, count in enumerate(FACTORS):
            after = digits.scores(name, digits.tests[count])
            afr_p[name].append(np.mean(after.argmax(axis=1) == before.argmax(axis=1)))
            for row, ratio in enumerate(RATIOS):
                mixed = mix(after, before, ratio=ratio, rng=seed).sample
                result = posterior_agreement(mixed, before)
                agreement[name][row, column] = result.value
                log_pa.append(result.log_pa)
    full = {name: agreement[name][-1] for name in LEARNERS}
    erm, irm, lisa = (full[name] for name in LEARNERS)
    rates = np.array(afr_p["ERM"]), np.array(afr_p["IRM"])
    return {
        "power": float(
            np.mean([np.nan_to_num(spearmanr(full[name], FACTORS).statistic) for name in LEARNERS])
        ),
        "ratio": float(
            max(np.diff(agreement[name], axis=0).mean(axis=0).max() for name in LEARNERS)
        ),
        "source": float(np.mean([full[name][0] - full[name][1:].max() for name in LEARNERS])),
        "lisa_first": {"ERM": lisa[0] - erm[0], "IRM": lisa[0] - irm[0]},
        "irm_later": {
            "ERM": (irm - erm)[1:].mean(),
            "LISA": (irm - lisa)[1:].mean(),
        },
        "discriminates": float((apart(erm, irm) - apart(*rates)).mean()),
        "weak_robust": {
            f"share {ratio:g}": float(gap)
            for ratio, gap in zip(
                RATIOS, (agreement["LISA"] - agreement["ERM"]).mean(axis=1), strict=True
            )
        },
        "trend": {"LISA over IRM": (lisa - irm)[1:].mean(), "IRM over ERM": (irm - erm)[1:].mean()},
        "erm_first": {"IRM": erm[0] - irm[0], "LISA": erm[0] - lisa[0]},
        "levels_off": float(
            np.mean(
                [
                    late_part([1.0, *afr_p[name]]) - late_part([np.log(2), *full[name]])
                    for name in LEARNERS
                ]
            )
        ),
        "sign": max(log_pa),
        "agreement": agreement,
        "afr_p": afr_p,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(LEARNERS) + 1, figsize=(12, 3.2), layout="constrained")
    for ax, name in zip(axes, LEARNERS, strict=False):
        table = np.mean([one["agreement"][name] for one in runs], axis=0)
        for ratio, line in zip(RATIOS, table, strict=True):
            color = pyplot.cm.viridis(1 - ratio)
            ax.plot(FACTORS, line, marker=".", color=color, label=f"share {ratio:g}")
        ax.set(xlabel="shifted factors", ylabel="agreement (nats)", title=name, ylim=(0, np.log(2)))
        rates = np.mean([one["afr_p"][name] for one in runs], axis=0)
        axes[-1].plot(FACTORS, rates, marker=".", label=name)
    axes[0].legend(fontsize=8)
    axes[-1].set(xlabel="shifted factors", ylabel="AFR_P", title="All shifted", ylim=(0, 1.02))
    axes[-1].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
