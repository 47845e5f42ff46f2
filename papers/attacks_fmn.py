"""FMN, the attack to the nearest error, over the adversarial ratio: agreement, AFR_T and AFR_P.

The distance of each digit is its own. At ratio alpha the digits under the alpha quantile of it are attacked.
"""

from _claims import Claim
from _digit_models import KINDS, draw_ratios, ratio_curves, readers
from _experiment import run

CLAIMS = {
    "falls": Claim(
        "Agreement falls with the adversarial ratio for the undefended and the robust model.",
        "agreement at ratio 1 minus at 0.1, the larger of the two, in nats",
        "<",
        0.0,
    ),
    "effective": Claim(
        "An attack without a bound misleads every model: AFR_P is near 0 at ratio 1.",
        "largest AFR_P at ratio 1 over undefended and robust",
        "<",
        0.1,
    ),
    "transition": Claim(
        "Agreement shows the collapse of the compressing defence earlier than AFR_P does.",
        "agreement over its value at ratio 0, minus AFR_P, weak model, mean over the ratios above 0",
        "<",
        0.0,
    ),
    "weak_best": Claim(
        "For ratios from 0.3 to 0.6 the compressing defence scores above the others (paper, figure 5).",
        "agreement of the weak model minus each other's, mean over the ratios, in nats",
        ">",
        0.0,
    ),
    "robust_weakest": Claim(
        "At ratio 0.5 the robust model is the weakest (paper, figure 6).",
        "agreement of the robust model minus each other's, in nats",
        "<",
        0.0,
    ),
    "overrated": Claim(
        "AFR_T overrates the undefended model: at ratio 0.5 it is above that of the robust one.",
        "AFR_T, undefended minus robust, at ratio 0.5",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    curve = ratio_curves(readers(seed, quick), "fmn")
    agreement, afr_p, afr_t = (curve[kind] for kind in ("agreement", "afr_p", "afr_t"))
    known = ("undefended", "adversarial")
    weak = agreement["weak"]
    return {
        "falls": float(max(agreement[name][-1] - agreement[name][1] for name in known)),
        "effective": float(max(afr_p[name][-1] for name in known)),
        "transition": float((weak / weak[0] - afr_p["weak"])[1:].mean()),
        "weak_best": {name: float((weak - agreement[name])[3:7].mean()) for name in known},
        "robust_weakest": {
            name: float(agreement["adversarial"][5] - agreement[name][5])
            for name in ("undefended", "weak")
        },
        "overrated": float(afr_t["undefended"][5] - afr_t["adversarial"][5]),
        "curve": curve,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
    for ax, (kind, label) in zip(axes, KINDS.items(), strict=True):
        draw_ratios(ax, [one["curve"][kind] for one in runs], label)
    axes[0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
