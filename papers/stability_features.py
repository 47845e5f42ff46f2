"""Figure 8: the most sensitive features, and the accuracy of the worst racial group under targeted training.

Adult in the place of ACS Income, and ACS Employment of Massachusetts, four years, in that of ACS Public Coverage.
2,000 rows to train on and 2,000 to evaluate, as in the paper, all others to test (the paper: 5,000). 40 % errors are
broken at theta = (1, 0.25). AT climbs by 5 steps (the paper: 20) and picks one of three penalties, 0.1, 0.3 and 1.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _tables import classifier, people, sensitivities

DATA = {"income": "race_", "employment": "RAC1P_"}
MODELS = {"network": (16,), "logistic": ()}
LEAST = 200
"""Groups of fewer people, such as the 97 American Indians of employment, are left out: their accuracy is luck."""
CLAIMS = {
    f"{data}: {key}": Claim(f"{data.capitalize()}: {sentence}", statistic, relation, bound)
    for data, order in (("income", ">"), ("employment", "<"))
    for key, sentence, statistic, relation, bound in (
        (
            "simpler",
            f"the logistic regression is {'less' if order == '>' else 'more'} sensitive than the network.",
            "log of the mean R of the five most sensitive features, logistic over network",
            order,
            0.0,
        ),
        (
            "race",
            "a racial feature is among the five most sensitive ones of both models.",
            "rank of the most sensitive racial feature, the worse of both models",
            "<=",
            5.0,
        ),
        (
            "worst",
            "the network is worse for one racial group than on the average.",
            "accuracy minus that of the worst group",
            ">",
            0.02,
        ),
        (
            "targeted",
            "training against moves of the most sensitive racial feature is best for the worst group.",
            "its accuracy there minus that of network, logistic regression and AT of all races",
            ">",
            0.0,
        ),
    )
}


def accuracies(model, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float]:
    """Return the accuracy of all rows, and of the worst group of at least 200."""
    X, y, groups = rows
    right = model.predict(X) == y
    names, counts = np.unique(groups, return_counts=True)
    return float(right.mean()), min(
        float(right[groups == one].mean()) for one in names[counts >= LEAST]
    )


def on_one_table(data: str, seed: int, quick: bool) -> dict:
    n_train, n_evaluation = (200, 40) if quick else (2000, 2000)
    table = people(data, seed, n_train=n_train, n_evaluation=n_evaluation)
    races = [i for i, name in enumerate(table.columns) if name.startswith(DATA[data])]
    models = {
        name: classifier(table, "ERM", seed, hidden=hidden, quick=quick)
        for name, hidden in MODELS.items()
    }
    ranked = {name: sensitivities(model, table, quick=quick) for name, model in models.items()}
    most_sensitive = next(
        column for column, _ in ranked["network"] if column.startswith(DATA[data])
    )
    target = table.columns.index(most_sensitive)
    for name, features in (("AT", races), ("targeted AT", [target])):
        models[name] = classifier(table, "AT", seed, features=features, n_steps=5, quick=quick)
    parts = {name: accuracies(model, table.parts["test"]) for name, model in models.items()}
    worst = {name: low for name, (_, low) in parts.items()}
    means = {name: np.mean([value for _, value in one[:5]]) for name, one in ranked.items()}
    ranks = [
        next(i for i, (column, _) in enumerate(one, start=1) if column.startswith(DATA[data]))
        for one in ranked.values()
    ]
    targeted = worst.pop("targeted AT")
    return {
        f"{data}: simpler": float(np.log(means["logistic"] / means["network"])),
        f"{data}: race": max(ranks),
        f"{data}: worst": parts["network"][0] - worst["network"],
        f"{data}: targeted": {name: targeted - low for name, low in worst.items()},
        f"{data}: top": {
            name: [[column, value] for column, value in one[:5]] for name, one in ranked.items()
        },
        f"{data}: accuracy": parts,
    }


def measure(seed: int, quick: bool) -> dict:
    return {key: value for data in DATA for key, value in on_one_table(data, seed, quick).items()}


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(14, 6), layout="constrained")
    for row, data in zip(axes, DATA, strict=True):
        for ax, model in zip(row, MODELS, strict=False):
            columns, values = zip(*reversed(runs[0][f"{data}: top"][model]), strict=True)
            ax.barh(
                columns,
                values,
                color=["C3" if name.startswith(DATA[data]) else "C0" for name in columns],
            )
            ax.set(xlabel="stability R (race: red)", title=f"{data}, {model}, one seed")
            ax.locator_params(axis="x", nbins=5)
        table = [one[f"{data}: accuracy"] for one in runs]
        for place, (label, marker) in enumerate((("all", "o"), ("worst race", "s"))):
            values = np.array([[one[name][place] for name in table[0]] for one in table])
            row[2].errorbar(
                list(table[0]),
                values.mean(axis=0),
                values.std(axis=0),
                fmt=marker,
                capsize=3,
                label=label,
            )
        row[2].set(ylabel="accuracy", title=f"{data}, {len(runs)} seeds")
        row[2].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
