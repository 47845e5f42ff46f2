"""Figure 9: the most sensitive features of models of covid mortality, and one logistic regression for each age group.

The paper's own 6,882 patients, 3,440 of them to train on and 3,441 to evaluate, as in the paper; 40 % errors count as
broken at theta = (1, 0.25), as in the paper.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _tables import classifier, people, sensitivities
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

AGES = ("under 40", "40 to 69", "70 and over")
MODELS = {"network": (16,), "logistic": ()}
CLAIMS = {
    "simpler": Claim(
        "The logistic regression is less sensitive than the network.",
        "log of the mean R of the five most sensitive features, logistic over network",
        ">",
        0.0,
    ),
    "age": Claim(
        "Both models are sensitive to age: it is among their five most sensitive features.",
        "rank of age, the worse of both models",
        "<=",
        5.0,
    ),
    "extremes": Claim(
        "For the youngest and the oldest, macro F1 is well below the accuracy.",
        "smaller gap of accuracy over macro F1 of the logistic regression",
        ">",
        0.1,
    ),
    "young": Claim(
        "A regression of its own raises macro F1 of the youngest patients.",
        "macro F1 of one regression for each age group minus that of one for all, under 40",
        ">",
        0.0,
    ),
    "old": Claim(
        "A regression of its own raises macro F1 of the oldest patients.",
        "the same, 70 and over",
        ">",
        0.0,
    ),
}


def scores(truth: np.ndarray, predicted: np.ndarray) -> list[float]:
    return [float((truth == predicted).mean()), float(f1_score(truth, predicted, average="macro"))]


def measure(seed: int, quick: bool) -> dict:
    table = people("covid", seed, n_train=2752, n_evaluation=60 if quick else 3441)
    ranked = {
        name: sensitivities(
            classifier(table, "ERM", seed, hidden=hidden, quick=quick), table, quick=quick
        )
        for name, hidden in MODELS.items()
    }
    parts = [
        np.concatenate(part)
        for part in zip(table.parts["train"], table.parts["validation"], strict=True)
    ]
    train_X, train_y, train_ages = parts
    test_X, test_y, test_ages = (
        np.concatenate(part)
        for part in zip(table.parts["evaluation"], table.parts["test"], strict=True)
    )
    everyone = LogisticRegression(max_iter=1000).fit(train_X, train_y)
    by_age = {}
    for age in AGES:
        known, asked = train_ages == age, test_ages == age
        own = LogisticRegression(max_iter=1000).fit(train_X[known], train_y[known])
        by_age[age] = [scores(test_y[asked], one.predict(test_X[asked])) for one in (everyone, own)]
    gains = {age: own[1] - shared[1] for age, (shared, own) in by_age.items()}
    means = {name: np.mean([value for _, value in one[:5]]) for name, one in ranked.items()}
    ranks = [[column for column, _ in one].index("Age") + 1 for one in ranked.values()]
    return {
        "simpler": float(np.log(means["logistic"] / means["network"])),
        "age": max(ranks),
        "extremes": min(by_age[age][0][0] - by_age[age][0][1] for age in (AGES[0], AGES[2])),
        "young": gains[AGES[0]],
        "old": gains[AGES[2]],
        "top": {name: [list(item) for item in one[:5]] for name, one in ranked.items()},
        "by_age": by_age,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    for ax, model in zip(axes, MODELS, strict=False):
        columns, values = zip(*reversed(runs[0]["top"][model]), strict=True)
        ax.barh(columns, values, color=["C3" if name == "Age" else "C0" for name in columns])
        ax.set(xlabel="stability R", title=f"{model}, one seed")
    table = np.array(
        [[one["by_age"][age] for age in AGES] for one in runs]
    )  # seed, age, model, score
    for ax, place, name in zip(axes[2:], (0, 1), ("accuracy", "macro F1"), strict=True):
        for which, label in enumerate(("one regression", "one for each age")):
            values = table[:, :, which, place]
            shift = np.arange(len(AGES)) + 0.35 * (which - 0.5)
            ax.bar(shift, values.mean(axis=0), 0.35, yerr=values.std(axis=0), label=label)
        ax.set_xticks(range(len(AGES)), AGES, fontsize=8)
        ax.set(title=name, ylim=(0, 1))
    axes[3].legend(fontsize=8, loc="lower center")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=6)
