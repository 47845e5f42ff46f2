"""Tables 4.3 and 4.4: what right, wrong, misled and changed digits add to the agreement, exactly and approximately.

The exact parts are sums over the four groups of pairs. The thesis leaves the fourth group out, and approximates each
part from the mean lack of confidence delta of its group: log(1 - 2 delta) or log delta for each pair. Where 2 delta
is 1 or more that has no value, and the term before the last simplification stands in. That term, with the sizes of
the groups, is also shown for itself (ours).
"""

import numpy as np
from _claims import Claim
from _digit_models import NAMES, attacked, readers
from _experiment import run
from scipy.stats import kendalltau

from shiftmetrics.agreement import agreement_contributions
from shiftmetrics_lab.published import approximate_contributions

ATTACKS = {"pgd": 16, "fmn": 0}
CLAIMS = {
    "exact": Claim(
        "Four groups of pairs make up the log agreement exactly (our correction).",
        "largest |sum of the four parts - log PA| over the models, in nats",
        "<",
        1e-6,
    ),
    "three": Claim(
        "Three groups make it up.",
        "share of log PA that the fourth group adds, largest over models and attacks",
        "<",
        0.01,
    ),
    "overestimates": Claim(
        "The approximation overestimates the penalties.",
        "thesis' log PA over the exact one, PGD, smallest over the models",
        ">",
        1.0,
    ),
    "ranking": Claim(
        "It keeps the ranking of the models under PGD.",
        "Kendall's tau of the thesis' and the exact log PA over the models",
        ">",
        0.9,
    ),
    "defined": Claim(
        "The formula of the thesis has a value in every group (our check).",
        "groups with 2 delta of 1 or more, over models and attacks",
        "<=",
        0.0,
    ),
    "overestimates_ours": Claim(
        "So does the term before the last simplification (our comparison).",
        "its log PA over the exact one, PGD, smallest over the models",
        ">",
        1.0,
    ),
    "ranking_ours": Claim(
        "It keeps the ranking of the models under PGD (our comparison).",
        "Kendall's tau of its and the exact log PA over the models",
        ">",
        0.9,
    ),
    "sampling_part": Claim(
        "Under PGD most of a robust model's loss is that of sampling, not of the attack.",
        "thesis' part of right and wrong digits over that of misled ones, robust, PGD",
        ">",
        1.0,
    ),
    "adversarial_dominates": Claim(
        "Under FMN more digits are misled than misread anyway, in every model.",
        "smallest ratio of N_ADV to N_MIS, as the thesis counts them",
        ">",
        1.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    exact, thesis, overlap, log_pa, ratios = {}, {}, {}, {}, {}
    undefined = 0
    for attack, power in ATTACKS.items():
        for name in NAMES:
            made = attacked(digits, name, attack, power)
            case = f"{attack} {name}"
            before, after = digits.scores(name), digits.scores(name, made.x_adv)
            result = agreement_contributions(after, before, digits.labels)
            near = approximate_contributions(result)
            exact[case] = {
                group: part.log_pa for group, part in result.contributions.groups.items()
            }
            overlap[case] = {group: part.overlap_log_pa for group, part in near.items()}
            thesis[case] = {
                group: overlap[case][group] if part.paper_log_pa is None else part.paper_log_pa
                for group, part in near.items()
            }
            undefined += sum(part.paper_log_pa is None for part in near.values())
            log_pa[case] = result.log_pa
            right = np.mean(before.argmax(axis=1) == digits.labels)
            same = np.mean(before.argmax(axis=1) == after.argmax(axis=1))
            ratios[case] = right * (1 - same) / max((1 - right) * same, 1 / len(before))
    groups = list(exact["pgd undefended"])
    pgd, fmn = ([f"{attack} {name}" for name in NAMES] for attack in ATTACKS)
    truth = np.array([log_pa[case] for case in pgd])
    totals = {
        key: np.array([sum(parts[case].values()) for case in pgd])
        for key, parts in (("thesis", thesis), ("overlap", overlap))
    }
    robust = thesis["pgd adversarial"]
    return {
        "exact": max(abs(sum(exact[case].values()) - log_pa[case]) for case in exact),
        "three": max(abs(exact[case][groups[3]] / log_pa[case]) for case in exact),
        "overestimates": float((totals["thesis"] / truth).min()),
        "ranking": float(kendalltau(totals["thesis"], truth).statistic),
        "defined": undefined,
        "overestimates_ours": float((totals["overlap"] / truth).min()),
        "ranking_ours": float(kendalltau(totals["overlap"], truth).statistic),
        "sampling_part": (robust[groups[0]] + robust[groups[1]]) / robust[groups[2]],
        "adversarial_dominates": min(ratios[case] for case in fmn),
        "parts": exact,
        "thesis": thesis,
        "overlap": overlap,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, attack in zip(axes, ATTACKS, strict=True):
        cases = [f"{attack} {name}" for name in NAMES]
        for shift, kind, alpha in ((-0.2, "parts", 1.0), (0.2, "thesis", 0.5)):
            floor = np.zeros(len(NAMES))
            for position, group in enumerate(runs[0]["parts"][cases[0]]):
                heights = np.mean(
                    [[one[kind][case][group] for case in cases] for one in runs], axis=0
                )
                label = group.replace("_", " ") if kind == "parts" else None
                color = f"C{position}"
                place = np.arange(len(NAMES)) + shift
                ax.bar(place, heights, 0.36, bottom=floor, color=color, alpha=alpha, label=label)
                floor = floor + heights
        ax.set(title=attack.upper(), ylabel="part of log PA (nats): exact, thesis")
        ax.set_xticks(range(len(NAMES)), NAMES)
    axes[0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
