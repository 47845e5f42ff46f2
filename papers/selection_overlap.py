"""Early stopping by seven criteria where a factor is tied to the digit in training (experiment 7, table 1).

Sevens, fours and nines have a hue, or a position, of their own (ZGO), share one, two or three of them (1- to 3-CGO),
or all (ZSO). 1,200 digits train, 350 pairs of the same design validate, 500 digits in test sets 1 to 5 show what
training withheld. The best epoch by test set 1 is the most that a choice can gain; the thesis chose its optimiser so.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _selection import CRITERIA, FACTORS, overlap
from _table_1 import above_printed
from scipy import stats

DESIGNS = ("ZGO", "1-CGO", "2-CGO", "3-CGO", "ZSO")
METHODS = ("ERM", "IRM")
GAIN = "accuracy on test set 1, mean over 1- to 3-CGO and methods, {} minus validation accuracy, in points"
CLAIMS = {
    **{
        f"compound_{factor}": Claim(
            f"With some overlap (1- to 3-CGO) agreement selects better networks than accuracy; tied {factor}.",
            GAIN.format("agreement (uniform prior, Adam)"),
            ">",
            0.0,
        )
        for factor in FACTORS
    },
    "printed_gain": Claim(
        "Table 1: with some overlap ERM gains the printed points on test set 1; tied hue.",
        "gain of agreement (uniform prior, Adam) over validation accuracy minus the printed gain, in points",
        ">=",
        0.0,
    ),
    "oracle": Claim(
        "Such a gain can be had by choosing the epoch (our check: the best epoch by the test set itself).",
        "gain of the best epoch by test set 1 minus the printed gain, ERM, tied hue, in points",
        ">=",
        0.0,
    ),
    "all_tests": Claim(
        "Agreement selects better networks on all test sets, with one to five factors shifted.",
        "the gain on the mean of test sets 1 to 5, both factors, in points",
        ">",
        0.0,
    ),
    "middle": Claim(
        "Agreement gains more with some overlap than with none or with all (ZGO, ZSO).",
        "gain on test set 1 with some overlap minus that of ZGO and ZSO, in points",
        ">",
        0.0,
    ),
    "rates": Claim(
        "AFR_P as a criterion gains over accuracy as well.", GAIN.format("AFR_P"), ">", 0.0
    ),
    "opportunities": Claim(
        "Networks read withheld combinations the better the more overlap there was in training.",
        "Spearman correlation of accuracy on test set 1 with the overlap, mean over factors and methods",
        ">",
        0.5,
    ),
    "irm": Claim(
        "Agreement gains with IRM as with ERM.",
        "gain on test set 1 with some overlap, each method, mean over both factors, in points",
        ">",
        0.0,
    ),
    **{
        f"ours_{name}": Claim(
            f"{words} gains over accuracy (our comparison).", GAIN.format(words), ">", 0.0
        )
        for name, words in (
            ("agreement", "Exact agreement, uniform prior,"),
            ("predicted", "Exact agreement, prior of the predictions,"),
            ("last", "The last epoch"),
        )
    },
}


def measure(seed: int, quick: bool) -> dict:
    found = overlap(seed, quick)
    designs = [design for design in DESIGNS if f"hue {design} ERM" in found]
    some = [design.endswith("CGO") for design in designs]
    tests = {
        case: {name: np.array(row) for name, row in one["tests"].items()}
        for case, one in found.items()
    }

    def gains(criterion: str) -> np.ndarray:
        """Return what a criterion gains over accuracy, by factor, method, design and test set."""
        found = [
            tests[case][criterion] - tests[case]["accuracy"]
            for factor in FACTORS
            for method in METHODS
            for case in cases(factor, method)
        ]
        return np.reshape(found, (len(FACTORS), len(METHODS), len(designs), 6))

    def cases(factor: str, method: str) -> list[str]:
        return [f"{factor} {design} {method}" for design in designs]

    gain, best = gains("published"), gains("oracle")
    middle = gain[:, :, some]
    hue = FACTORS.index("hue")
    order = [
        stats.spearmanr(
            range(len(designs)), [tests[case]["accuracy"][1] for case in cases(factor, method)]
        ).statistic
        for factor in FACTORS
        for method in METHODS
    ]
    return {
        **{
            f"compound_{factor}": float(middle[i, :, :, 1].mean())
            for i, factor in enumerate(FACTORS)
        },
        "all_tests": float(middle[..., 1:].mean()),
        "middle": float(middle[..., 1].mean() - gain[:, :, np.logical_not(some), 1].mean()),
        "printed_gain": above_printed(gain[hue, 0, :, 1], designs),
        "oracle": above_printed(best[hue, 0, :, 1], designs),
        "rates": float(gains("afr_p")[:, :, some, 1].mean()),
        **{
            f"ours_{name}": float(gains(name)[:, :, some, 1].mean())
            for name in ("agreement", "predicted", "last")
        },
        "criteria": {name: gains(name)[..., 1] for name in CRITERIA},
        "opportunities": float(np.nan_to_num(order).mean()),
        "irm": dict(zip(METHODS, middle[..., 1].mean(axis=(0, 2)), strict=True)),
        "designs": designs,
        "gain": gain,
        "accuracy": [
            [[tests[one]["accuracy"] for one in cases(f, m)] for m in METHODS] for f in FACTORS
        ],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    designs = runs[0]["designs"]
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 6), layout="constrained", sharey="row")
    places = np.arange(len(designs))
    for row, kind in zip(axes, ("accuracy", "gain"), strict=True):
        for column, factor in enumerate(FACTORS):
            for position, method in enumerate(METHODS):
                for test, style in ((1, "o"), (5, "^")):
                    table = np.array([one[kind] for one in runs])[:, column, position, :, test]
                    half = stats.t.ppf(0.975, len(table) - 1) * stats.sem(table)
                    shift = 0.18 * (position - 0.5) + 0.07 * (test == 5)
                    options = {"fmt": style, "capsize": 3, "color": f"C{position}"}
                    row[column].errorbar(
                        places + shift,
                        table.mean(axis=0),
                        half,
                        label=f"{method}, test set {test}",
                        **options,
                    )
            row[column].set_title(f"Tied {factor}", fontsize=10)
            row[column].set_xticks(places, designs)
    axes[0, 0].set_ylabel("accuracy, selected by accuracy\n(points)")
    axes[1, 0].set_ylabel("agreement minus accuracy\n(points)")
    for ax in axes[1]:
        ax.axhline(0.0, color="0.4", linewidth=0.8)
    axes[0, 0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=15)
