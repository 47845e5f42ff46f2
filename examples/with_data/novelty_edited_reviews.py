"""
What gives an edited review away?
=================================

People rewrote film reviews so that praise became blame, changing as few words as they could. So the edited reviews
that are negative began as praise. Set against reviews that were negative from the start, by other writers about other
films: is there anything new in them? A model of sentiment sees one class on both sides.

Needs ``imdb_counterfactual`` (``imdb_counterfactual_pairs.parquet``; Kaushik, Hovy and Lipton, "Learning the
Difference that Makes a Difference with Counterfactually-Augmented Data", ICLR 2020) and pyarrow: set
SHIFTMETRICS_DATA to the folder that holds it.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from shiftmetrics import kernel_entropic_novelty, write_report
from shiftmetrics.adapters.embeddings import embed, fit_encoder
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.views import Context, Rows
from shiftmetrics_lab.datasets import load

pairs = (
    Path(os.environ.get("SHIFTMETRICS_DATA", ""))
    / "imdb_counterfactual"
    / "imdb_counterfactual_pairs.parquet"
)
if not pairs.is_file():
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds imdb_counterfactual to run this example."
    )
edited, original = load("text_pairs", pairs)

# %%
# Half of the pairs give the edited reviews, the other half the originals: no review stands on both sides. (An edited
# review is so like its own original that relabelled pairs differ *more* than the true ones do. ``paired=True`` swaps
# each with its own original instead: see the end.)
order = np.random.default_rng(0).permutation(len(edited))
first, second = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
texts, references = edited.take(first), original.take(second)

# %%
# Frequencies of words in 20 latent dimensions, compared by their angle.
everything = edited.X + original.X
encoder = fit_encoder("tfidf", everything, n_components=20)
words = fit_encoder("tfidf", everything)


def novelty(name, sample, reference):
    """Print what is new in the texts of `sample`, and the words that set its first mode apart."""
    features, reference_features = (
        embed(sample.X, encoder=encoder),
        embed(reference.X, encoder=encoder),
    )
    result = kernel_entropic_novelty(features, reference_features, kernel="cosine")
    frequencies = pd.DataFrame(
        embed(sample.X, encoder=words), columns=words.model.get_feature_names_out()
    )
    print(f"{name}\n  {result.headline()}")
    for mode in result.new:
        typical = frequencies.iloc[mode.members()].mean() - frequencies.mean()
        print("  words:", ", ".join(typical.nlargest(8).index))
    return result


# %%
# All edited reviews against all originals, and the negative ones alone against negative and positive originals.
novelty("edited against original", texts, references)
negative = texts.where(label="negative")
result = novelty(
    "edited, now negative, against original negative", negative, references.where(label="negative")
)
novelty(
    "edited, now negative, against original positive", negative, references.where(label="positive")
)

# %%
# All pairs, each swapped with its own original or not. Relabelled freely, as if they were strangers, they hide what
# editing did to the words: a warning says so.
features, reference_features = embed(edited.X, encoder=encoder), embed(original.X, encoder=encoder)
for paired in (True, False):
    both = kernel_entropic_novelty(
        features,
        reference_features,
        kernel="cosine",
        resampling=NoveltyResampling(paired=paired),
    )
    print(f"paired={paired}: {both.headline()}")

# %%
# The report shows the texts of each mode.
reference = references.where(label="negative")
rows = Rows(texts=negative.X, reference_texts=reference.X)
context = Context(
    description="Reviews edited to be negative, against reviews that always were.",
    rows={"reviews": rows},
)
path = write_report(
    {"reviews": result}, "reviews_report.html", title="Edited reviews", context=context
)
print(f"{path}: {Path(path).stat().st_size / 1e3:.0f} kB")
