"""Figures 4.12, B.14 and B.15: distances between outputs and between features over the adversarial ratio.

Beside the agreement: the Wasserstein and Jensen-Shannon distance of the outputs, the Frechet and cosine distance of
the features, which are the last hidden layer of each network.
"""

import numpy as np
import torch
from _claims import Claim
from _digit_models import attacked, draw_ratios, readers, sizes
from _experiment import run

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.distances import feature_distance, output_distance

RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
MODELS = ("undefended", "adversarial")
KINDS = {
    "agreement": "agreement (nats)",
    "wasserstein": "Wasserstein of outputs",
    "jensen_shannon": "Jensen-Shannon of outputs",
    "frechet": "Frechet of features",
    "cosine": "cosine of features",
}
CLAIMS = {
    **{
        kind: Claim(
            f"The distance ({label}) grows with the adversarial ratio.",
            "its rise from ratio 0.2 to 1 over its value at 1, undefended, PGD",
            ">",
            0.0,
        )
        for kind, label in KINDS.items()
        if kind != "agreement"
    },
    "outputs_separate": Claim(
        "The Wasserstein distance of the outputs tells the robust from the undefended model.",
        "robust over undefended, PGD at ratio 1",
        "<",
        1.0,
    ),
    "features_separate": Claim(
        "The Frechet distance of the features does so as well.",
        "robust over undefended, PGD at ratio 1",
        "<",
        1.0,
    ),
}


def features(model: torch.nn.Sequential, x: torch.Tensor) -> np.ndarray:
    """Return what the last layer sees."""
    with torch.no_grad():
        return model[:-1](x).numpy().astype(float)


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    curves = {}
    for name in MODELS:
        made = attacked(digits, name, "pgd", 16)
        order = np.argsort(sizes(made), kind="stable")
        attacked_x = torch.as_tensor(made.x_adv)
        for ratio in RATIOS:
            x = digits.x.clone()
            rows = torch.as_tensor(order[: round(ratio * len(order))])
            x[rows] = attacked_x[rows]
            before, after = digits.scores(name), digits.scores(name, x)
            model = digits.models[name]
            points, reference = features(model, x), features(model, digits.x)
            values = {
                "agreement": posterior_agreement(after, before).value,
                "wasserstein": output_distance(
                    after, before, method="wasserstein", progress=False
                ).value,
                "jensen_shannon": output_distance(after, before, progress=False).value,
                "frechet": feature_distance(points, reference).value,
                "cosine": feature_distance(points, reference, method="cosine").value,
            }
            for kind, value in values.items():
                curves.setdefault(kind, {}).setdefault(name, []).append(value)
    plain = {kind: curves[kind]["undefended"] for kind in KINDS}
    robust = {kind: curves[kind]["adversarial"] for kind in KINDS}
    return {
        **{
            kind: (plain[kind][-1] - plain[kind][0]) / plain[kind][-1]
            for kind in KINDS
            if kind != "agreement"
        },
        "outputs_separate": robust["wasserstein"][-1] / plain["wasserstein"][-1],
        "features_separate": robust["frechet"][-1] / plain["frechet"][-1],
        "curves": curves,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(KINDS), figsize=(14, 3), layout="constrained")
    for ax, (kind, label) in zip(axes, KINDS.items(), strict=True):
        draw_ratios(ax, [one["curves"][kind] for one in runs], label, RATIOS)
    axes[0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
