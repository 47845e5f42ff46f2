"""Figure 6: stability of networks that predict income, by three training methods, over the prices.

Adult in the place of ACS Income; 1,000 rows to train on and 1,000 to evaluate (the paper: 2,000 each), networks of 16
hidden units, and a cross-entropy of 3 as broken. AT and tilted ERM pick one of the paper's ten penalties by the
accuracy on 250 rows of validation; AT climbs by 5 steps (the paper: 20).

With theta1 = infinity no row moves, and a network whose largest loss is below 3 cannot be broken: R is infinite. The
paper's 100 in its place gives such networks an R that is a price of moving them, and says how large 100 is. The
orders are therefore counts of seeds, judged by the exact binomial interval.
"""

import numpy as np
from _experiment import run
from _income import CLAIMS, conclude
from _prices import METHODS, TILTED
from _tables import (
    draw_values,
    kept_value,
    people,
    price_names,
    stabilities,
    stability,
    trained,
)

EVEN = (0.4, 0.4)


def measure(seed: int, quick: bool) -> dict:
    n = 100 if quick else 1000
    table = people("income", seed, n_train=n, n_evaluation=n)
    X, y, _ = table.parts["evaluation"]
    models = {method: trained(table, method, seed, n_steps=5, quick=quick) for method in METHODS}
    found = {name: stabilities(one.model, X, y, quick=quick) for name, one in models.items()}
    erm = found["ERM"]
    excess = [one.plan.excess_risk for one in erm[:-1]]
    ends = [models[TILTED].models[temperature] for temperature in (0.1, 1.0)]
    cold, warm = (stability(model, X, y, EVEN).value for model in ends)
    one, again = (stability(models["ERM"].model, X, y, EVEN, seed=k).value for k in (0, 1))
    others = [part[:n] for part in table.parts["test"][:2]]
    elsewhere = stability(models["ERM"].model, *others, EVEN).value
    return {
        "penalty": float(np.log(cold / warm)),
        "sampling": float(abs(np.log(elsewhere / one)) - abs(np.log(again / one))),
        "shares": [one.corruption / (one.corruption + one.reweighting) for one in excess],
        "risks": [
            one.search.trace.risks[:-1] if one.search.trace else [one.plan.risk] for one in erm
        ],
        "values": {name: [kept_value(one) for one in results] for name, results in found.items()},
        "errors": [one.standard_error for one in erm],
        "penalties": {name: one.picked for name, one in models.items()},
        "scores": {name: list(one.scores.values()) for name, one in models.items()},
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    names = price_names(runs[0]["risks"])
    shares = np.mean([one["shares"] for one in runs], axis=0)
    left.bar(names[:-1], shares, label="corruption")
    left.bar(names[:-1], 1 - shares, bottom=shares, label="reweighting")
    left.set(xlabel="theta1, theta2", ylabel="share of the excess risk", title="ERM")
    left.legend()
    for name, risks in zip(names, runs[0]["risks"], strict=True):
        middle.plot(range(1, len(risks) + 1), risks, marker=".", label=name)
    middle.axhline(3.0, color="0.6", linewidth=1)
    middle.set(xlabel="round of the search", ylabel="risk of the worst case", title="ERM, one seed")
    middle.legend(title="theta1, theta2", fontsize=8)
    for method in METHODS:
        draw_values(right, [one["values"][method] for one in runs], method)
    right.set(
        yscale="log", xlabel="theta1, theta2", ylabel="stability R", title=f"{len(runs)} seeds"
    )
    right.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, conclude=conclude, seeds=10)
