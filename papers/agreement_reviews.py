"""Film reviews under edits of characters, and with words that amplify or contradict their sentiment (experiment 3).

A logistic regression on TF-IDF stands for the DistilBERT of the thesis. The power W means 2^W edits, or words, in
each review; the reviews are the 488 test reviews of the counterfactual IMDb set.
"""

import numpy as np
import pandas as pd
from _claims import Claim
from _experiment import data_folder, run
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.shifts import CharacterEdits, SentimentWords

POWERS = tuple(range(11))
CLAIMS = {
    "falls": Claim(
        "Agreement falls with the number of edits.",
        "Spearman correlation of agreement with the power",
        "<",
        -0.9,
    ),
    "accuracy_stays": Claim(
        "Accuracy stays at its maximum up to four edits in each review.",
        "accuracy without edits minus that after four",
        "<",
        0.005,
    ),
    "first_edit": Claim(
        "Agreement drops with the first edit.",
        "loss of agreement over log 2 by one edit",
        ">",
        0.001,
    ),
    "lowest": Claim(
        "After 2^9 edits agreement has reached its minimum.",
        "agreement over log 2 after 2^9 edits minus its lowest at any power",
        "<=",
        0.0,
    ),
    "amplified": Claim(
        "Words that amplify the sentiment raise the accuracy.",
        "accuracy after 2^4 amplifying words minus that without",
        ">",
        0.0,
    ),
    "amplified_agreement": Claim(
        "Agreement measures them as a lack of robustness all the same.",
        "loss of agreement over log 2 by 2^4 amplifying words",
        ">",
        0.0,
    ),
    "contradicted": Claim(
        "Words that contradict it lower accuracy and agreement.",
        "smaller of the losses of accuracy and of agreement over log 2, by 2^4 words",
        ">",
        0.05,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    pairs = pd.read_parquet(
        data_folder("imdb_counterfactual") / "imdb_counterfactual_pairs.parquet"
    )
    train, test = pairs[pairs["split"] == "train"], pairs[pairs["split"] == "test"]
    train = train.sample(frac=0.8, random_state=seed)
    test = test[:100] if quick else test
    texts, labels = test["text_original"], test["label_original"].to_numpy()
    model = make_pipeline(TfidfVectorizer(min_df=3), LogisticRegression(C=10.0))
    model.fit(train["text_original"], train["label_original"])
    right = labels == model.classes_[1]
    before = model.decision_function(texts)
    shifts = {
        "edits": CharacterEdits(),
        "amplified": SentimentWords(labels),
        "contradicted": SentimentWords(labels, agree=False),
    }
    agreement, accuracy = {}, {}
    for name, shift in shifts.items():
        powers = POWERS if name == "edits" else POWERS[:6]
        after = [
            model.decision_function(shift(texts, strength=2**power, rng=seed)) for power in powers
        ]
        agreement[name] = [posterior_agreement(one, before).value / np.log(2) for one in after]
        accuracy[name] = [float(((one > 0) == right).mean()) for one in after]
    plain, whole = float(((before > 0) == right).mean()), 1.0
    edits = agreement["edits"]
    return {
        "falls": float(spearmanr(edits, POWERS).statistic),
        "accuracy_stays": plain - accuracy["edits"][2],
        "first_edit": whole - edits[0],
        "lowest": edits[9],
        "amplified": accuracy["amplified"][4] - plain,
        "amplified_agreement": whole - agreement["amplified"][4],
        "contradicted": min(
            plain - accuracy["contradicted"][4], whole - agreement["contradicted"][4]
        ),
        "agreement": agreement,
        "accuracy": accuracy,
    }


def conclude(one: dict) -> dict:
    """Return how far agreement still falls after 2^9 edits: 0 where it has reached its minimum."""
    agreement = one["agreement"]["edits"]
    return {"lowest": agreement[min(9, len(agreement) - 1)] - min(agreement)}


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True)
    for ax, kind, label in zip(
        axes, ("agreement", "accuracy"), ("agreement / log 2", "accuracy"), strict=True
    ):
        for name in runs[0][kind]:
            table = np.array([one[kind][name] for one in runs])
            ax.plot(POWERS[: table.shape[1]], table.mean(axis=0), marker="o", label=name)
        ax.set(xlabel="power W: 2^W edits or words in each review", ylabel=label)
    axes[0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, conclude=conclude, seeds=10)
