"""First principal components of the features of two environments during training (experiment 5c).

At three stages of training with ERM and IRM, digits in the two source environments, which differ in hue, are
projected on the first component of each. A high error between the projections says that the shift drives the
features, a high variance within classes that the class does not.
"""

import numpy as np
import torch
from _claims import Claim
from _experiment import run
from _factor_models import FOUR_OR_NINE, PENALTY, drawn, joined, mnist, network, nines

from shiftmetrics_lab.distances import pca_alignment
from shiftmetrics_lab.learners import ERM, IRM, fit
from shiftmetrics_lab.learners.selection import predict_scores
from shiftmetrics_lab.shifts.factors import ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.environments import split_instances

STAGES = (2, 6, 12)
CLAIMS = {
    "error": Claim(
        "IRM ends with a lower error between the two domains than ERM.",
        "cross-domain error of IRM minus ERM at the last stage",
        "<",
        0.0,
    ),
    "variance": Claim(
        "IRM ends with a lower variance within classes than ERM.",
        "class-conditional variance of IRM minus ERM at the last stage",
        "<",
        0.0,
    ),
    "both": Claim(
        "IRM lowers both during training.",
        "change of each from the first to the last stage, IRM",
        "<",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    environments = [
        spec.replace(shape=FOUR_OR_NINE) for spec in ENVIRONMENTS["discriminability"][:2]
    ]
    sizes = {"train 0": 500, "train 1": 500, "test": 128}
    parts = split_instances(mnist()[1], sizes, shape=FOUR_OR_NINE, rng=seed)
    sources = [nines(drawn(parts[f"train {j}"], [environments[j]], seed))[0] for j in (0, 1)]
    x, labels = joined(sources)
    y = torch.from_numpy(labels)
    domain = np.repeat([0, 1], [len(images) for images, _ in sources])
    (first, labels), (second, _) = nines(drawn(parts["test"], environments, seed))
    stages = (1, 2, 3) if quick else STAGES
    found = {}
    for name, objective in (("ERM", ERM()), ("IRM", IRM(penalty=PENALTY))):
        model, done = network(seed, n_classes=2), 0
        found[name] = []
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for stage in stages:
            options = {
                "domain": domain,
                "batch_size": 32,
                "optimizer": optimizer,
                "rng": seed + stage,
            }
            gentle = IRM(penalty=1.0) if name == "IRM" and not done else objective
            fit(model, x, y, objective=gentle, epochs=stage - done, progress=False, **options)
            done = stage
            features = [predict_scores(model[:-1], images) for images in (second, first)]
            aligned = pca_alignment(*features, labels=labels)
            within = [aligned.parts[key] for key in ("class_variance", "reference_class_variance")]
            pair = [aligned.parts[key] for key in ("reference_projections", "projections")]
            found[name].append(
                {"error": aligned.value, "variance": float(np.mean(within)), "pair": pair}
            )
    ends = {name: found[name][-1] for name in found}
    numbers = {
        name: [[one["error"], one["variance"]] for one in stages] for name, stages in found.items()
    }
    return {
        "error": ends["IRM"]["error"] - ends["ERM"]["error"],
        "variance": ends["IRM"]["variance"] - ends["ERM"]["variance"],
        "both": {key: ends["IRM"][key] - found["IRM"][0][key] for key in ("error", "variance")},
        "numbers": numbers,
        **({"found": found, "labels": labels} if seed == 0 else {}),
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(STAGES), figsize=(9, 5.6), layout="constrained")
    for row, (name, stages) in enumerate(runs[0]["found"].items()):
        for column, one in enumerate(stages):
            ax = axes[row, column]
            ax.scatter(*one["pair"], c=runs[0]["labels"], cmap="tab10", s=8)
            ax.plot([-2.5, 2.5], [-2.5, 2.5], "--", color="0.6", linewidth=1)
            title = f"{name}: error {one['error']:.2f}, variance {one['variance']:.2f}"
            ax.set(xlabel="z0", ylabel="z1")
            ax.set_title(title, fontsize=9)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
