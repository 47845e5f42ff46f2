"""The attacks of section 4.1 on photographs: networks for four classes of CIFAR-10, at 16 pixels.

A network of two convolutions learns from 4,000 airplanes, frogs, horses and ships, plainly and against its own worst
cases; the weak defence is JPEG with a reverse sigmoid. 300 others are attacked, by PGD over its power and by FMN.
"""

import io
import itertools

import numpy as np
import torch
from _claims import Claim
from _digit_models import NAMES, Readers, Training, attacked, draw_ratios, ratio_curves, trained
from _experiment import data_folder, run
from PIL import Image

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.learners import Adversarial

CLASSES = (0, 6, 7, 8)
POWERS = (2, 4, 8, 16)
CLAIMS = {
    "separates": Claim(
        "Agreement tells the robust from the undefended model at every power.",
        "smallest difference of agreement over the powers, robust minus undefended, in nats",
        ">",
        0.0,
    ),
    "power": Claim(
        "It falls with the power of the attack.",
        "mean rise of agreement from one power to the next for the undefended model, in nats",
        "<",
        0.0,
    ),
    "ratio": Claim(
        "It falls with the adversarial ratio, for the undefended and the robust model.",
        "mean rise of agreement from one ratio to the next at 8/255, larger of the two, in nats",
        "<",
        0.0,
    ),
    "weak": Claim(
        "The weak defence scores below the robust model in agreement at every power.",
        "smallest difference of agreement over the powers, robust minus weak, in nats",
        ">",
        0.0,
    ),
    "early": Claim(
        "AFR_T overrates the undefended model where the attack is weak: agreement has fallen further by then.",
        "agreement minus AFR_T, each over its value without attack, undefended, 2/255",
        "<",
        0.0,
    ),
    "unbounded": Claim(
        "FMN, without a bound, misleads every model: AFR_P is near 0 at ratio 1.",
        "largest AFR_P at ratio 1 over undefended and robust",
        "<",
        0.1,
    ),
}


def network(seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 12, 3, padding=1), torch.nn.ELU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(12, 24, 3, padding=1), torch.nn.ELU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(24 * 16, len(CLASSES)),
    )  # fmt: skip


def photographs(seed: int, quick: bool) -> Readers:
    """Return the three models of one seed, with the photographs that took no part in training."""
    n_test, n = (100, 500) if quick else (300, 4300)
    with np.load(data_folder("cifar10_jpeg") / "train_20000.npz") as arrays:
        jpeg, offsets, labels = arrays["jpeg"], arrays["offsets"], arrays["labels"]
    ends = list(itertools.pairwise(offsets))
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(labels, CLASSES)))[:n]
    images = np.stack(
        [np.asarray(Image.open(io.BytesIO(jpeg[slice(*ends[row])].tobytes()))) for row in rows]
    )
    x = torch.tensor(images / 255, dtype=torch.float32).permute(0, 3, 1, 2)
    y = torch.tensor([CLASSES.index(label) for label in labels[rows]])
    worst = Adversarial(radius=8 / 255, n_steps=4, low=0.0, high=1.0)
    training = Training(network, epochs=3 if quick else 12, worst=worst)
    rows_16 = torch.nn.functional.avg_pool2d(x, 2), y
    return trained("photographs", seed, quick, rows_16, n_test, training)


def measure(seed: int, quick: bool) -> dict:
    pictures = photographs(seed, quick)
    before = {name: pictures.scores(name) for name in NAMES}
    agreement, afr_t = {name: [] for name in NAMES}, {name: [] for name in NAMES}
    for name, power in itertools.product(NAMES, POWERS):
        after = pictures.scores(name, attacked(pictures, name, "pgd", power).x_adv)
        agreement[name].append(posterior_agreement(after, before[name]).value)
        afr_t[name].append(float((after.argmax(axis=1) == pictures.labels).mean()))
    curves = {
        kind: ratio_curves(pictures, kind, power)["agreement"]
        for kind, power in (("pgd", 8), ("fmn", 0))
    }
    unbounded = ratio_curves(pictures, "fmn")["afr_p"]
    values = {name: np.array(one) for name, one in agreement.items()}
    accuracy = {
        name: float((one.argmax(axis=1) == pictures.labels).mean()) for name, one in before.items()
    }
    return {
        "separates": float((values["adversarial"] - values["undefended"]).min()),
        "power": float(np.diff(values["undefended"]).mean()),
        "ratio": float(max(np.diff(curves["pgd"][name]).mean() for name in NAMES[:2])),
        "weak": float((values["adversarial"] - values["weak"]).min()),
        "early": float(
            values["undefended"][0] / np.log(4) - afr_t["undefended"][0] / accuracy["undefended"]
        ),
        "unbounded": float(max(unbounded[name][-1] for name in NAMES[:2])),
        "agreement": agreement,
        "afr_t": afr_t,
        "curves": curves,
        "accuracy": accuracy,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
    for ax, kind, label in (
        (axes[0], "agreement", "agreement (nats)"),
        (axes[1], "afr_t", "AFR_T"),
    ):
        for name in NAMES:
            table = np.array([one[kind][name] for one in runs])
            ax.errorbar(
                POWERS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2, label=name
            )
        ax.set(xlabel="bound of PGD (255ths)", ylabel=label)
    axes[0].legend(fontsize=8)
    for ax, kind, title in ((axes[2], "pgd", "PGD, 8/255"), (axes[3], "fmn", "FMN")):
        draw_ratios(ax, [one["curves"][kind] for one in runs], "agreement (nats)")
        ax.set_title(title)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=5)
