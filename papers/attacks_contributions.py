"""Tables 4.3 and 4.4: what right, wrong, misled and changed digits add to the agreement, exactly and approximately.

The exact parts are sums over the four groups of pairs. The thesis leaves the fourth group out, and approximates each
part from the mean confidence of its group.
"""

import numpy as np
from _claims import Claim
from _digit_models import NAMES, attacked, readers
from _experiment import run

from shiftmetrics.agreement import agreement_contributions
from shiftmetrics.lab.published import approximate_contributions

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
        "The approximation overestimates the loss from misled digits.",
        "approximate over exact part of the misled digits, undefended, PGD",
        ">",
        1.0,
    ),
    "ranking": Claim(
        "It keeps the ranking of the models under PGD.",
        "correlation of approximate and exact log PA over the models",
        ">",
        0.9,
    ),
    "adversarial_dominates": Claim(
        "Under FMN more digits are misled than misread anyway, in every model.",
        "smallest ratio of the misled to the wrong and unchanged digits",
        ">",
        1.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    exact, near, counts, log_pa = {}, {}, {}, {}
    for attack, power in ATTACKS.items():
        for name in NAMES:
            made = attacked(digits, name, attack, power)
            case = f"{attack} {name}"
            result = agreement_contributions(
                digits.scores(name, made.x_adv), digits.scores(name), digits.labels
            )
            parts = result.contributions.groups
            exact[case] = {group: part.log_pa for group, part in parts.items()}
            counts[case] = {group: part.n_samples for group, part in parts.items()}
            near[case] = {
                group: part.overlap_log_pa
                for group, part in approximate_contributions(result).items()
            }
            log_pa[case] = result.log_pa
    fourth = list(next(iter(exact.values())))[-1]
    pgd, fmn = ([f"{attack} {name}" for name in NAMES] for attack in ATTACKS)
    approximate = [sum(near[case].values()) for case in pgd]
    groups = list(exact[pgd[0]])
    wrong, misled = groups[1], groups[2]
    return {
        "exact": max(abs(sum(exact[case].values()) - log_pa[case]) for case in exact),
        "three": max(abs(exact[case][fourth] / log_pa[case]) for case in exact),
        "overestimates": near[pgd[0]][misled] / exact[pgd[0]][misled],
        "ranking": float(np.corrcoef(approximate, [log_pa[case] for case in pgd])[0, 1]),
        "adversarial_dominates": min(
            counts[case][misled] / max(counts[case][wrong], 1) for case in fmn
        ),
        "parts": exact,
        "approximate": near,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, attack in zip(axes, ATTACKS, strict=True):
        cases = [f"{attack} {name}" for name in NAMES]
        for shift, kind, alpha in ((-0.2, "parts", 1.0), (0.2, "approximate", 0.5)):
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
        ax.set(title=attack.upper(), ylabel="part of log PA (nats): exact, approximate")
        ax.set_xticks(range(len(NAMES)), NAMES)
    axes[0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
