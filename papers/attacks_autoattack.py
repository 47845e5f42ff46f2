"""Figures 14 to 16: APGD with the cross-entropy and the DLR loss, and FAB: agreement beside AFR_T.

Attacks of strength 32/255 on readers of 500 digits, where appendix F.1 has CIFAR-10 and five strengths.
"""

import numpy as np
from _claims import Claim
from _digit_models import NAMES, RATIOS, attacked, readers, sizes
from _experiment import run

from shiftmetrics import Computing, Resampling
from shiftmetrics.agreement import agreement_curves

POWER = 32
APGD = ("apgd-ce", "apgd-dlr")
ATTACKS = (*APGD, "fab")
CLAIMS = {
    "separates": Claim(
        "Under both forms of APGD agreement tells the robust from the undefended model.",
        "smaller difference of agreement at ratio 1, robust minus undefended, in nats",
        ">",
        0.0,
    ),
    "falls": Claim(
        "Under each attack agreement falls with the ratio, for the undefended model.",
        "largest mean rise of agreement from one ratio to the next, in nats",
        "<",
        0.0,
    ),
    "alike": Claim(
        "The attacks tell the same story: both forms of APGD give nearly the same agreement.",
        "|agreement under CE minus under DLR| of the robust model at ratio 1, in nats",
        "<",
        0.2,
    ),
    "minimum_early": Claim(
        "Under APGD agreement is at its minimum at a ratio well below 1.",
        "smallest ratio within 0.05 nats of the lowest agreement, undefended, APGD-CE",
        "<",
        0.9,
    ),
    "afr_blind": Claim(
        "AFR_T does not single out the undefended model.",
        "AFR_T of robust minus undefended, APGD-CE, mean over the ratios above 0",
        "<=",
        0.0,
    ),
    "stable_order": Claim(
        "Agreement has the robust model first at every ratio above 0, under both forms of APGD.",
        "smallest agreement of robust minus another model, in nats",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    kinds = ("agreement", "afr_t")
    curve = {attack: {kind: {} for kind in kinds} for attack in ATTACKS}
    for attack in ATTACKS:
        for name in NAMES:
            made = attacked(digits, name, attack, POWER)
            frame = agreement_curves(
                digits.scores(name, made.x_adv),
                digits.scores(name),
                ratios=RATIOS,
                labels=digits.labels,
                perturbation_sizes=sizes(made),
                resampling=Resampling(rng=seed),  # the order of rows that were moved equally far
                computing=Computing(progress=False),
            ).to_frame()
            for kind in kinds:
                curve[attack][kind][name] = frame[kind].to_numpy()
    agreement = {attack: curve[attack]["agreement"] for attack in ATTACKS}
    plain, rates = agreement["apgd-ce"]["undefended"], curve["apgd-ce"]["afr_t"]
    return {
        "separates": float(
            min(
                agreement[one]["adversarial"][-1] - agreement[one]["undefended"][-1] for one in APGD
            )
        ),
        "falls": float(max(np.diff(agreement[one]["undefended"]).mean() for one in ATTACKS)),
        "alike": float(
            abs(agreement["apgd-ce"]["adversarial"][-1] - agreement["apgd-dlr"]["adversarial"][-1])
        ),
        "minimum_early": float(RATIOS[np.argmax(plain <= plain.min() + 0.05)]),
        "afr_blind": float((rates["adversarial"] - rates["undefended"])[1:].mean()),
        "stable_order": {
            name: float(
                min(
                    (agreement[one]["adversarial"] - agreement[one][name])[1:].min() for one in APGD
                )
            )
            for name in ("undefended", "weak")
        },
        "curve": curve,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(10, 5), layout="constrained", sharey="row")
    for row, (kind, label) in enumerate((("agreement", "agreement (nats)"), ("afr_t", "AFR_T"))):
        for column, attack in enumerate(ATTACKS):
            ax = axes[row, column]
            for name in NAMES:
                ax.plot(
                    RATIOS,
                    np.mean([one["curve"][attack][kind][name] for one in runs], axis=0),
                    label=name,
                )
            ax.set(xlabel="adversarial ratio", title=attack.upper() if row == 0 else "")
        axes[row, 0].set_ylabel(label)
    axes[1, 0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
