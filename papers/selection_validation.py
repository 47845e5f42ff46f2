"""Early stopping by accuracy, AFR_P and agreement on five pairs of validation samples (experiment 6).

Two sources differ in the hue or the position of the digits. Validation pairs come from one source (SD), both (ID),
a source and a domain with one or five factors shifted (1F-MD, 5F-MD), or two other domains (OOD), and show other
digits, or the same with another jitter. 1,200 digits train, 350 pairs validate, 500 digits test. Each run records all
criteria of `_selection`; accuracies are means over six test sets, and the oracle chooses by them.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import EPOCHS, drawn, mnist
from _selection import paired, stopped, tested
from scipy import stats

from shiftmetrics_lab.shifts.factors import ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.environments import split_instances

FACTORS = ("hue", "position")
PAIRS = ("SD", "ID", "1F-MD", "5F-MD", "OOD")
PAIRINGS = ("other", "same")
METHODS = ("ERM", "IRM", "LISA")
CLAIMS = {
    **{
        f"source_{factor}": Claim(
            f"On pairs from the sources (SD, ID), agreement selects better networks than accuracy; {factor}.",
            "test accuracy, selected by agreement minus by accuracy, mean over the methods, in points",
            ">",
            0.0,
        )
        for factor in FACTORS
    },
    "shifted": Claim(
        "Validated on other domains (1F-MD, 5F-MD, OOD), agreement loses a little at most.",
        "the same difference, mean over the methods and both factors, in points",
        ">",
        -1.0,
    ),
    "unlike": Claim(
        "It gains most where validation stays on the sources.",
        "the difference on SD and ID minus that on the other pairs, in points",
        ">",
        0.0,
    ),
    "rates": Claim(
        "AFR_P selects as accuracy does: with other digits in the pairs both select the same network.",
        "share of runs and pairs in which both keep the same epoch",
        ">",
        0.9,
    ),
    "sampling": Claim(
        "Agreement gains more where the pairs show other digits than where they show the same.",
        "the difference with other digits minus that with the same, mean over all, in points",
        ">",
        0.0,
    ),
    "hue_harder": Claim(
        "Sources by hue make worse networks than sources by position, on test set 1.",
        "accuracy on test set 1, hue minus position, selected by accuracy, in points",
        "<",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    sizes = {"train 0": 600, "train 1": 600, "first": 350, "second": 350, "test": 500}
    if quick:
        sizes = dict.fromkeys(sizes, 80)
    parts = split_instances(mnist()[1], sizes, shape=(1, 4, 7, 9), rng=seed)
    kept, first_test, alike = {}, {}, []
    for factor in FACTORS:
        sources = ENVIRONMENTS[f"{factor} training"]
        train = [drawn(parts[f"train {j}"], [sources[j]], seed)[0] for j in (0, 1)]
        tests = drawn(parts["test"], ENVIRONMENTS[f"{factor} test"], seed)
        pairs = {}
        for name in PAIRS:
            ends = ENVIRONMENTS[f"{factor} validation {name}"]
            before = drawn(parts["first"], ends[:1], seed)[0]
            pairs[f"{name} same"] = before, drawn(parts["first"], ends[1:], seed + 1000)[0]
            other = drawn(parts["second"], ends[1:], seed)[0]
            pairs[f"{name} other"] = paired(before, other, seed)
        for method in METHODS:
            model, best = stopped(train, pairs, tests, method, seed, 2 if quick else EPOCHS)
            kept[factor, method] = tested(model, best, tests)
            alike += [
                best[f"{n} other accuracy"].epoch == best[f"{n} other afr_p"].epoch for n in PAIRS
            ]
        chosen = [
            kept[factor, method][f"{n} other accuracy"][1] for method in METHODS for n in PAIRS
        ]
        first_test[factor] = float(np.mean(chosen))
    means = {
        key: {name: float(np.mean(row)) for name, row in one.items()} for key, one in kept.items()
    }
    gain = {
        f"{factor} {pairing}": {
            method: [
                means[factor, method][f"{n} {pairing} published"]
                - means[factor, method][f"{n} {pairing} accuracy"]
                for n in PAIRS
            ]
            for method in METHODS
        }
        for factor in FACTORS
        for pairing in PAIRINGS
    }
    table = {case: np.mean(list(one.values()), axis=0) for case, one in gain.items()}
    other = {factor: table[f"{factor} other"] for factor in FACTORS}
    shifted = float(np.mean([row[2:] for row in other.values()]))
    return {
        **{f"source_{factor}": float(other[factor][:2].mean()) for factor in FACTORS},
        "shifted": shifted,
        "unlike": float(np.mean([row[:2] for row in other.values()])) - shifted,
        "rates": float(np.mean(alike)),
        "sampling": float(
            np.mean([table[f"{one} other"] - table[f"{one} same"] for one in FACTORS])
        ),
        "hue_harder": first_test["hue"] - first_test["position"],
        "gain": gain,
        "means": {" ".join(key): one for key, one in means.items()},
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        2, 2, figsize=(10, 6), layout="constrained", sharex=True, sharey=True
    )
    places = np.arange(len(PAIRS))
    for row, pairing in zip(axes, PAIRINGS, strict=True):
        for ax, factor in zip(row, FACTORS, strict=True):
            for shift, method in zip((-0.2, 0.0, 0.2), METHODS, strict=True):
                table = np.array([one["gain"][f"{factor} {pairing}"][method] for one in runs])
                half = (
                    stats.t.ppf(0.975, max(len(table) - 1, 1)) * stats.sem(table)
                    if len(table) > 1
                    else 0.0
                )
                ax.errorbar(
                    places + shift, table.mean(axis=0), half, fmt="o", capsize=3, label=method
                )
            ax.axhline(0.0, color="0.4", linewidth=0.8)
            ax.set_title(f"Sources by {factor}, {pairing} digits", fontsize=10)
            ax.set_xticks(places, PAIRS)
        row[0].set_ylabel("agreement minus accuracy\n(points on the tests)")
    axes[0, 0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=15)
