"""Figure 7: three training methods over the prices of moves and weights, on employment and on covid patients.

ACS Employment of Massachusetts, four years, in the place of ACS Public Coverage; the covid patients are the paper's.
1,000 rows to train on and 500 to evaluate, where the paper has 2,000, and AT climbs by 10 steps (the paper: 20). AT
and tilted ERM pick one of the paper's ten penalties, 0.1 to 1. Logistic regressions stand beside the networks for
covid; theta1 = infinity stands beside 100 in the experiment on the price of infinity.

A threshold that no reweighting reaches gets an R at theta1 = 100 that says how large 100 is: the table below has them
by the hundred and thousand. The orders are therefore counts of seeds, judged by the exact binomial interval.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _prices import METHODS, ahead
from _tables import classifier, draw_values, people, stabilities

MODELS = {
    "employment": ("employment", (16,)),
    "covid": ("covid", (16,)),
    "covid, logistic": ("covid", ()),
}
_SAYS = {
    "employment": "Employment",
    "covid": "Covid",
    "covid, logistic": "Covid, logistic regressions in the place of networks",
}
_ORDERS = {
    "at_erm": ("AT is more stable than ERM under corruption", "(0.2, inf)"),
    "at_tilted": ("AT is more stable than tilted ERM under corruption", "(0.2, inf)"),
    "tilted_erm": ("tilted ERM is more stable than ERM under reweighting", "(100, 0.2)"),
    "tilted_at": ("tilted ERM is more stable than AT under reweighting", "(100, 0.2)"),
}
CLAIMS = {
    f"{name}: {order}": Claim(
        f"{_SAYS[name]}: {says}.",
        f"fraction of the seeds with the larger R at theta = {price}",
        ">",
        0.5,
    )
    for name in MODELS
    for order, (says, price) in _ORDERS.items()
} | {
    "spread": Claim(
        "The uncertainty of R grows as theta1 does.",
        "log of the standard error of ERM's R on covid at theta = (100, 0.2) over that at (0.2, inf)",
        ">",
        0.0,
    )
}


def measure(seed: int, quick: bool) -> dict:
    n_train, n_evaluation = (100, 20) if quick else (1000, 500)
    values, errors = {}, {}
    for name, (data, hidden) in MODELS.items():
        table = people(data, seed, n_train=n_train, n_evaluation=n_evaluation)
        X, y, _ = table.parts["evaluation"]
        values[name] = {}
        for method in METHODS:
            model = classifier(table, method, seed, hidden=hidden, n_steps=10, quick=quick)
            found = stabilities(model, X, y, quick=quick)
            values[name][method] = [one.value for one in found]
            errors[name, method] = [one.standard_error for one in found]
    ratios = {}
    for name, by_method in values.items():
        erm, at, tilted = (np.log(by_method[method]) for method in METHODS)
        ratios[f"{name}: at_erm"] = at[0] - erm[0]
        ratios[f"{name}: at_tilted"] = at[0] - tilted[0]
        ratios[f"{name}: tilted_erm"] = tilted[-1] - erm[-1]
        ratios[f"{name}: tilted_at"] = tilted[-1] - at[-1]
    spread = errors["covid", "ERM"]
    return {**ratios, "spread": float(np.log(spread[-1] / spread[0])), "values": values}


def conclude(one: dict) -> dict:
    """Return which method has the larger R in a seed."""
    found = {}
    for name, by_method in one["values"].items():
        erm, at, tilted = (by_method[method] for method in METHODS)
        found[f"{name}: at_erm"] = ahead(at[0], erm[0])
        found[f"{name}: at_tilted"] = ahead(at[0], tilted[0])
        found[f"{name}: tilted_erm"] = ahead(tilted[-1], erm[-1])
        found[f"{name}: tilted_at"] = ahead(tilted[-1], at[-1])
    return found


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for ax, name in zip(axes, MODELS, strict=True):
        for method in METHODS:
            draw_values(ax, [one["values"][name][method] for one in runs], method)
        ax.set(yscale="log", xlabel="theta1, theta2", ylabel="stability R", title=name)
        ax.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, conclude=conclude, seeds=10)
