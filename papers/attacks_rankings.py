"""Table 4.5: agreement, AFR_P and AFR_T side by side under PGD and FMN, and how stable their rankings are.

Six models: the three readers of digits, and the robust one behind each of three noises of growing size, so that a
ranking has something to order. Rankings are compared over the adversarial ratio, and over the power of PGD, by
Kendall's tau.
"""

import itertools
from dataclasses import replace

import numpy as np
import torch
from _claims import Claim
from _digit_models import KINDS, POWERS, Readers, draw_ratios, ratio_curves, readers
from _experiment import run
from scipy.stats import kendalltau

RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
CLAIMS = {
    "stable_pgd": Claim(
        "Over the adversarial ratio the ranking by agreement is more stable than that by AFR_P, under PGD.",
        "mean Kendall tau between ratios, agreement minus AFR_P",
        ">",
        0.0,
    ),
    "stable_fmn": Claim(
        "The same under FMN.",
        "mean Kendall tau between ratios, agreement minus AFR_P",
        ">",
        0.0,
    ),
    "stable_power": Claim(
        "Over the power of PGD, with all digits attacked, it is more stable as well.",
        "mean Kendall tau between powers, agreement minus AFR_P",
        ">",
        0.0,
    ),
    "aligned_pgd": Claim(
        "Under PGD agreement ranks as AFR_T does.",
        "mean Kendall tau of agreement with AFR_T, minus that with AFR_P",
        ">",
        0.0,
    ),
    "aligned_fmn": Claim(
        "Under FMN agreement ranks as AFR_P does.",
        "mean Kendall tau of agreement with AFR_P, minus that with AFR_T",
        ">",
        0.0,
    ),
}


class Noisy(torch.nn.Module):
    """A model whose first weights are disturbed: less sure, and less right."""

    def __init__(self, model: torch.nn.Sequential, size: float, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.model = torch.nn.Sequential(*model)
        weight = model[1].weight
        noise = size * weight.std() * torch.randn(weight.shape, generator=generator)
        self.register_buffer("noise", noise.detach())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = self.model[0](x)
        return self.model[2:](self.model[1](flat) + flat @ self.noise.T)


def with_noise(digits: Readers, seed: int) -> Readers:
    """Return the readers and three disturbed copies of the robust one."""
    robust = digits.models["adversarial"]
    copies = {f"noise {size}": Noisy(robust, size, seed) for size in (0.5, 1.0, 1.5)}
    return replace(digits, models={**digits.models, **copies})


def between(curves: np.ndarray) -> float:
    """Return the mean Kendall tau of the rankings at two ratios or powers, of curves with one row for each model."""
    pairs = itertools.combinations(curves.T, 2)
    return float(np.mean([kendalltau(one, other).statistic for one, other in pairs]))


def across(curves: np.ndarray, others: np.ndarray) -> float:
    """Return the mean Kendall tau of two measures' rankings at one ratio."""
    pairs = zip(curves.T, others.T, strict=True)
    return float(np.nanmean([kendalltau(one, other).statistic for one, other in pairs]))


def measure(seed: int, quick: bool) -> dict:
    digits = with_noise(readers(seed, quick), seed)
    found = {}
    for attack, power in {"pgd": 16, "fmn": 0}.items():
        curves = ratio_curves(digits, attack, power, RATIOS)
        found[attack] = {kind: np.stack(list(curves[kind].values())) for kind in KINDS}
    whole = [ratio_curves(digits, "pgd", power, (1.0,)) for power in POWERS[:: 2 if quick else 1]]
    powers = {
        kind: np.array([[one[kind][name][0] for one in whole] for name in digits.models])
        for kind in KINDS
    }
    pgd, fmn = found["pgd"], found["fmn"]
    return {
        "stable_pgd": between(pgd["agreement"]) - between(pgd["afr_p"]),
        "stable_fmn": between(fmn["agreement"]) - between(fmn["afr_p"]),
        "stable_power": between(powers["agreement"]) - between(powers["afr_p"]),
        "aligned_pgd": across(pgd["agreement"], pgd["afr_t"])
        - across(pgd["agreement"], pgd["afr_p"]),
        "aligned_fmn": across(fmn["agreement"], fmn["afr_p"])
        - across(fmn["agreement"], fmn["afr_t"]),
        "curves": found,
        "models": list(digits.models),
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(10.5, 5.4), layout="constrained")
    for row, attack in zip(axes, ("pgd", "fmn"), strict=True):
        for ax, (kind, label) in zip(row, KINDS.items(), strict=True):
            tables = [one["curves"][attack][kind] for one in runs]
            curves = [dict(zip(runs[0]["models"], table, strict=True)) for table in tables]
            draw_ratios(ax, curves, label, RATIOS)
            ax.set_title(attack.upper())
    axes[1, 1].legend(fontsize=8, loc="lower left")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
