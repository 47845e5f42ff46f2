"""Does it pay to label more where a model is unsure? Exact intervals from two strata of confidence, against uniform.

The models are the newer ones of the pairs of `_diff_decisions.py` and three of each table, 24 in all. Half of the
rows are a labelled reference, from which the cut and the numbers of labels are chosen; of the others, at most 2,000,
labels are drawn. The interval of two strata inverts the exact distribution of the weighted count, in the worst of all
ways in which the errors may lie over the strata that a tenth of the error probability does not rule out.

    SHIFTMETRICS_DATA=FOLDER python benchmarks/label_strata.py [--repeats 200] [--labels 20,50,100,200,689]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import header, table
from scipy.stats import hypergeom
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics.decisions.labelling.exact import count_interval

ERROR = 0.05
SPENT = 0.005
"""Part of the error probability that rules out ways in which errors lie over the strata."""
MOST_ROWS = 2000
NETWORKS = (
    "resnet56", "vgg19_bn", "mobilenetv2_x1_4", "repvgg_a2", "resnet32", "kerrigan_densenet-bc-L190-k40",
    "resnet20", "shufflenetv2_x0_5",
)  # fmt: skip
NOISE = ("vgg19", "alexnet", "densenet161")


@dataclass(frozen=True)
class Cell:
    """Confidences and right answers of a model: in the labelled reference, and in the rows to label."""

    name: str
    known: np.ndarray
    known_right: np.ndarray
    confidence: np.ndarray
    right: np.ndarray

    @property
    def ideal(self) -> float:
        """Width by ten strata of known spread and the best numbers of labels, over that of uniform labels."""
        parts = np.array_split(self.right[np.argsort(self.confidence, kind="stable")], 10)
        spread = sum(len(part) * part.std() for part in parts) / len(self.right)
        return float(spread / self.right.std())


def cell(name, chances, y, later=None) -> Cell:
    """Split rows at random; the rows to label may be other versions of themselves."""
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    a = order[:half][:MOST_ROWS]
    b = order[half:][:MOST_ROWS]
    now = chances if later is None else later
    right = [side.argmax(axis=1) == y for side in (chances, now)]
    return Cell(name, chances.max(axis=1)[a], right[0][a], now.max(axis=1)[b], right[1][b])


def cells(folder: Path) -> Iterator[Cell]:
    chances = {}
    for file, key in (("logits", "logits"), ("log_probs", "log_probs")):
        with np.load(folder / "cifar10_logit_zoo" / f"{file}.npz") as stored:
            if file == "logits":
                y = stored["labels"]
            for name, scores in zip(stored["model_names"].tolist(), stored[key], strict=True):
                weights = np.exp(scores.astype(float) - scores.max(axis=1, keepdims=True))
                chances[name] = weights / weights.sum(axis=1, keepdims=True)
    for name in NETWORKS:
        yield cell(f"CIFAR-10 {name}", chances[name], y)
    with np.load(folder / "imagenet16h_noise" / "imagenet16h.npz") as stored:
        y = stored["labels"]
        shares = np.exp(stored["log_probs"].astype(float))
        names = stored["model_names"].tolist()
    for name in NOISE:
        yield cell(f"ImageNet-16H {name}", shares[0, names.index(name)], y)
    place = names.index("densenet161")
    yield cell("ImageNet-16H, noise 80 > 95", shares[0, place], y, shares[1, place])
    classics = folder / "tabular_fairness_classics"
    frame = pd.read_csv(classics / "adult.csv.gz", skipinitialspace=True)
    y = frame.pop("income-per-year") == ">50K"
    yield from fitted("Adult", frame.drop(columns=["fnlwgt", "education"]), y)
    frame = pd.read_csv(classics / "compas_two_years.csv.gz")
    kept = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "priors_count"]
    yield from fitted("COMPAS", frame[[*kept, "c_charge_degree"]], frame["two_year_recid"])
    frame = pd.read_csv(classics / "german_credit.csv.gz")
    y = frame.pop("credit") == 2
    yield from fitted("German credit", frame, y)
    frame = pd.read_csv(folder / "covid_sivep" / "covid_sivep.csv.gz")
    y = frame.pop("is_dead")
    yield from fitted("COVID-19", frame.drop(columns="Days_hospital_to_outcome"), y)


def fitted(name: str, frame: pd.DataFrame, labels: pd.Series) -> Iterator[Cell]:
    """Yield three models of one table."""
    y = labels.to_numpy().astype(int)
    order = np.random.default_rng(0).permutation(len(frame))
    n_train = min(4000, len(frame) // 2)
    train, test = order[:n_train], order[n_train:][:6000]
    words = [column for column in frame if frame[column].dtype.kind not in "biuf"]
    coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    for model in (
        LogisticRegression(max_iter=2000),
        RandomForestClassifier(random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ):
        columns = make_column_transformer((coder, words), remainder=StandardScaler())
        built = make_pipeline(columns, model).fit(frame.iloc[train], y[train])
        yield cell(f"{name} {type(model).__name__}", built.predict_proba(frame.iloc[test]), y[test])


class TwoStrata:
    """Labels drawn from two strata, and the exact interval of how many rows are right in both together."""

    def __init__(self, sizes: tuple[int, int], drawn: tuple[int, int]) -> None:
        self.sizes = sizes
        self.drawn = drawn
        self._found: dict[tuple[int, int], tuple[int, int]] = {}

    @cached_property
    def chances(self) -> list[np.ndarray]:
        """Probability of each count (columns) for each number of right rows (lines), in each stratum."""
        return [
            hypergeom.pmf(np.arange(n + 1)[None, :], size, np.arange(size + 1)[:, None], n)
            for size, n in zip(self.sizes, self.drawn, strict=True)
        ]

    @cached_property
    def tails(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of at least, and of fewer than, each count of the second stratum."""
        none = np.zeros((self.sizes[1] + 1, 1))
        fewer = np.concatenate([none, np.cumsum(self.chances[1], axis=1)], axis=1)
        return fewer[:, -1:] - fewer, fewer

    def interval(self, counts: tuple[int, int]) -> tuple[int, int]:
        if counts not in self._found:
            self._found[counts] = self._interval(counts)
        return self._found[counts]

    def _interval(self, counts: tuple[int, int]) -> tuple[int, int]:
        # What each stratum alone does not rule out.
        ranges = [
            np.arange(low, high + 1)
            for low, high in (
                count_interval(size, n, count, 1.0 - SPENT / 2)
                for size, n, count in zip(self.sizes, self.drawn, counts, strict=True)
            )
        ]
        weights = [size / n for size, n in zip(self.sizes, self.drawn, strict=True)]
        seen = weights[0] * counts[0] + weights[1] * counts[1]
        # For each count of the first stratum, the counts of the second with an estimate as extreme as the one seen.
        least = (seen - weights[0] * np.arange(self.drawn[0] + 1)) / weights[1]
        high_counts = np.clip(np.ceil(least - 1e-9), 0, self.drawn[1] + 1).astype(int)
        low_counts = np.clip(np.floor(least + 1e-9) + 1, 0, self.drawn[1] + 1).astype(int)
        first = self.chances[0][ranges[0]]
        totals = ranges[0][:, None] + ranges[1][None, :]
        above = first @ self.tails[0][ranges[1]][:, high_counts].T
        below = first @ self.tails[1][ranges[1]][:, low_counts].T
        tail = (ERROR - SPENT) / 2
        return int(totals[above > tail].min()), int(totals[below > tail].max())


def two_strata(part: Cell, n: int, towards: float) -> tuple[float, TwoStrata]:
    """Choose cut and numbers by the reference: ``towards`` 0 in proportion to size, 1 Neyman's."""
    best = None
    for cut in np.quantile(part.confidence, np.arange(0.1, 0.95, 0.05)):
        low = part.confidence <= cut
        share = np.array([low.mean(), 1.0 - low.mean()])
        sides = part.known <= cut, part.known > cut
        rates = np.array(
            [(part.known_right[s].sum() + 1.0) / (s.sum() + 2.0) for s in sides], dtype=float
        )
        spread = np.sqrt(rates * (1.0 - rates))
        variance = (share * spread**2).sum()
        if towards:
            variance = (share @ spread) ** 2
        if min(share) * len(low) >= 20 and (best is None or variance < best[0]):
            best = variance, float(cut), share, share * spread / (share @ spread)
    _, cut, share, neyman = best
    n_low = int((part.confidence <= cut).sum())
    n_high = len(part.confidence) - n_low
    first = round(n * float((1.0 - towards) * share[0] + towards * neyman[0]))
    first = min(max(first, 2, n - n_high), n - 2, n_low)
    return cut, TwoStrata((n_low, n_high), (first, n - first))


@cache
def uniform(size: int, n: int, count: int) -> tuple[int, int]:
    return count_interval(size, n, count)


DESIGNS = {"in proportion": 0.0, "halfway": 0.5, "Neyman": 1.0}


def judged(part: Cell, n: int, repeats: int) -> list[float]:
    """Return coverage and half width of uniform labels, then coverage and relative width of each design."""
    rng = np.random.default_rng(1)
    size = len(part.right)
    truth = int(part.right.sum())
    found = [uniform(size, n, int(rng.permutation(part.right)[:n].sum())) for _ in range(repeats)]
    width = float(np.mean([high - low for low, high in found]))
    line = [float(np.mean([low <= truth <= high for low, high in found])), 0.5 * width / size]
    for towards in DESIGNS.values():
        cut, strata = two_strata(part, n, towards)
        sides = part.right[part.confidence <= cut], part.right[part.confidence > cut]
        found = [
            strata.interval(
                tuple(
                    int(rng.permutation(side)[:k].sum())
                    for side, k in zip(sides, strata.drawn, strict=True)
                )
            )
            for _ in range(repeats)
        ]
        line.append(float(np.mean([low <= truth <= high for low, high in found])))
        line.append(float(np.mean([high - low for low, high in found])) / width)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--labels", default="20,50,100,200,689")
    asked = parser.parse_args()
    print(header())
    parts = list(cells(Path(os.environ["SHIFTMETRICS_DATA"])))
    print(f"ideal width: {np.mean([part.ideal for part in parts]):.3f} of uniform")
    lines = []
    for n in map(int, asked.labels.split(",")):
        # of a sample that is nearly all labelled nothing is left to tell
        fit = [part for part in parts if n < 0.9 * len(part.right)]
        means = np.array([judged(part, n, asked.repeats) for part in fit])
        lines.append(
            [n, len(fit), *(f"{mean:.3f}" for mean in means.mean(axis=0)),
             *(f"{low:.3f}" for low in means[:, 2::2].min(axis=0))]
        )  # fmt: skip
        print(lines[-1], flush=True)
    heads = ["labels", "cells", "covers", "half width"]
    heads += [f"{name}: {what}" for name in DESIGNS for what in ("covers", "width")]
    print(table([*heads, *(f"{name}: worst" for name in DESIGNS)], lines))


if __name__ == "__main__":
    main()
