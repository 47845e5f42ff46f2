"""Confidence and beta of ERM and IRM where a factor is tied to the digit in training (experiment 7).

Both are between the two sources of test set 1, which shows the combinations that training withheld, of the network
that agreement selected. A printed beta of 0 is where the gradient search for beta ends at its boundary.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _selection import FACTORS, overlap

DESIGNS = ("ZGO", "1-CGO", "2-CGO", "3-CGO", "ZSO")
METHODS = ("ERM", "IRM")
FLOOR = 1e-3
CLAIMS = {
    "erm": Claim(
        "ERM is not robust at all (beta = 0) until all combinations occur (ZSO).",
        "beta of ERM at each of ZGO to 3-CGO, at most 1,000, mean over the factors",
        "<=",
        0.01,
    ),
    "irm": Claim(
        "IRM has beta* above 1 at 2- and 3-CGO.",
        "log beta* of IRM, mean over both and over the factors",
        ">",
        0.0,
    ),
    "irm_earlier": Claim(
        "At 2- and 3-CGO beta* of IRM is above that of ERM.",
        "log beta*, IRM minus ERM, mean over both and over the factors",
        ">",
        0.0,
    ),
    "full": Claim(
        "beta* is highest where all combinations occur.",
        "log beta* at ZSO minus that at each other design, mean over methods and factors",
        ">",
        0.0,
    ),
    "agreement": Claim(
        "Agreement on withheld combinations grows with the overlap in training.",
        "agreement at ZSO minus at ZGO, mean over methods and factors, in nats",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    found = overlap(seed, quick)
    designs = [design for design in DESIGNS if f"hue {design} ERM" in found]
    table = {
        kind: np.array(
            [[[found[f"{f} {d} {m}"][kind] for d in designs] for m in METHODS] for f in FACTORS]
        )
        for kind in ("beta", "agreement", "confidence")
    }
    logs = np.log(np.clip(table["beta"], FLOOR, 1 / FLOOR))
    late = [design in ("2-CGO", "3-CGO") for design in designs]
    return {
        "erm": dict(zip(designs[:-1], np.exp(logs)[:, 0, :-1].mean(axis=0), strict=True)),
        "irm": float(logs[:, 1, late].mean()),
        "irm_earlier": float((logs[:, 1, late] - logs[:, 0, late]).mean()),
        "full": {
            design: float((logs[..., -1] - logs[..., i]).mean())
            for i, design in enumerate(designs[:-1])
        },
        "agreement": float((table["agreement"][..., -1] - table["agreement"][..., 0]).mean()),
        "designs": designs,
        "log_beta": logs,
        "values": table["agreement"],
        "confidence": table["confidence"],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    designs = runs[0]["designs"]
    places = np.arange(len(designs))
    figure, axes = pyplot.subplots(
        2, 3, figsize=(11, 5.6), layout="constrained", sharex=True, sharey="col"
    )
    kinds = {"confidence": "mean confidence", "log_beta": "beta*", "values": "agreement (nats)"}
    for row, factor in enumerate(FACTORS):
        for ax, (kind, label) in zip(axes[row], kinds.items(), strict=True):
            for position, method in enumerate(METHODS):
                table = np.array([one[kind] for one in runs])[:, row, position]
                middle, ends = table.mean(axis=0), table.std(axis=0)
                low, high = middle - ends, middle + ends
                if kind == "log_beta":
                    middle, low, high = np.exp(middle), np.exp(low), np.exp(high)
                    ax.set_yscale("log")
                shift = places + 0.16 * (position - 0.5)
                ax.errorbar(
                    shift, middle, (middle - low, high - middle), fmt="o", capsize=3, label=method
                )
            ax.set(ylabel=label, title=f"Tied {factor}")
            ax.set_xticks(places, designs)
    axes[0, 0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=15)
