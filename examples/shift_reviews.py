"""
Agreement is not accuracy: reviews under three attacks
======================================================

A bag-of-words classifier of film reviews under three edits of growing power: random characters, adjectives that side
with the review's sentiment, and adjectives against it. Amplification *raises* the accuracy, and lowers the agreement
all the same: predictions change. This is figure 10 of Carvalho et al. (arXiv:2503.16271) with a smaller model.

Needs the counterfactually augmented IMDB reviews of Kaushik et al. (2020): set SHIFTMETRICS_DATA to the folder that
holds ``imdb_counterfactual/imdb_counterfactual_pairs.parquet``.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from shiftmetrics import posterior_agreement
from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.shifts import CharacterEdits, SentimentWords

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds imdb_counterfactual to run this example.")
file = Path(folder) / "imdb_counterfactual" / "imdb_counterfactual_pairs.parquet"
train, test = (load("text_pairs", file, split=split)[1] for split in ("train", "test"))

# %%
# The model: words and pairs of words, and a logistic regression. A binary margin is one score a row.
model = make_pipeline(TfidfVectorizer(min_df=2, ngram_range=(1, 2)), LogisticRegression(C=10.0))
model.fit(train.X, train.y)
reference = model.decision_function(test.X)
print(f"{len(test)} reviews, accuracy {model.score(test.X, test.y):.3f} before any attack")

# %%
# Attacks of 2 ** W edits. The labels tell amplification and contradiction which side to take.
attacks = {
    "Levenshtein": CharacterEdits(),
    "amplification": SentimentWords(test.y),
    "contradiction": SentimentWords(test.y, agree=False),
}
powers = range(7)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
for name, attack in attacks.items():
    agreement, accuracy = [], []
    for power in powers:
        texts = attack(test.X, strength=2**power, rng=0)
        agreement.append(posterior_agreement(model.decision_function(texts), reference).normalized)
        accuracy.append(model.score(texts, test.y))
    print(f"{name:15s} agreement", *(f"{value:.2f}" for value in agreement))
    print(f"{'':15s} accuracy ", *(f"{value:.2f}" for value in accuracy))
    axes[0].plot(powers, agreement, marker="o", label=name)
    axes[1].plot(powers, accuracy, marker="o")
axes[0].set(xlabel="shift power W", ylabel="normalized agreement", title="Without labels")
axes[1].set(xlabel="shift power W", ylabel="accuracy", title="With labels")
axes[0].legend(frameon=False)
plt.show()
