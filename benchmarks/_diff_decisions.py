"""Is the new model better, from few labels? Real pairs of models, all of whose labels are known and then hidden.

For each pair the labels of 20, 50, 100 and 200 changed rows are drawn 500 times, and the interval of the library is
asked whether it holds the true difference of the accuracies. The rival labels as many rows drawn uniformly from all
of them, which is what one does without looking at what changes. Whoever peeks looks after every label, and is right
only if all intervals hold. Verdicts are those of ``allow=0.01``, both ways round: the new model in place of the old
one, and the old one in place of the new.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import header, table
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import Interval
from shiftmetrics.decisions.diff.diff import verdict_on_difference
from shiftmetrics.decisions.labelling.anytime import difference_sequence
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.paired import future_interval

LABELS = (20, 50, 100, 200)
ALLOW = 0.01
N_TRAIN, N_TEST = 4000, 6000
N_FUTURE = 500
"""Rows of a labelled test set, drawn from the pair's rows with replacement: they stand for a population."""


@dataclass(frozen=True)
class Pair:
    """What the change does in each row: 1 fixed, -1 broken, 0 neither; and where the answer changes."""

    name: str
    signs: np.ndarray
    changed: np.ndarray
    two_classes: bool

    @property
    def difference(self) -> float:
        """New minus old accuracy."""
        return float(self.signs.mean())

    @property
    def rate(self) -> float:
        """Fraction of changed rows."""
        return float(self.changed.mean())


@dataclass
class Score:
    """What repeated labelling of one pair says, for one number of labels."""

    held: list[bool] = field(default_factory=list)
    half: list[float] = field(default_factory=list)
    uniform_half: list[float] = field(default_factory=list)
    normal_half: list[float] = field(default_factory=list)
    normal_held: list[bool] = field(default_factory=list)
    decided: int = 0
    wrong: int = 0


def pair_of(name: str, old: np.ndarray, new: np.ndarray, y: np.ndarray) -> Pair:
    signs = (new == y).astype(int) - (old == y).astype(int)
    return Pair(name, signs, old != new, len(np.unique(y)) == 2)


def pairs() -> Iterator[Pair]:
    """Yield the pairs of the data that are there; without a folder, models of scikit-learn's sets."""
    folder = os.environ.get("SHIFTMETRICS_DATA")
    if folder:
        yield from _networks(Path(folder))
        yield from _tables(Path(folder))
        return
    for name, load in (("digits", load_digits), ("tumours", load_breast_cancer)):
        X, y = load(return_X_y=True)
        yield from _fitted(name, pd.DataFrame(X), y)


def _networks(folder: Path) -> Iterator[Pair]:
    with np.load(folder / "cifar10_logit_zoo" / "logits.npz") as stored:
        y = stored["labels"]
        scores = dict(zip(stored["model_names"].tolist(), stored["logits"], strict=True))
    with np.load(folder / "cifar10_logit_zoo" / "log_probs.npz") as stored:
        scores |= dict(zip(stored["model_names"].tolist(), stored["log_probs"], strict=True))
    answers = {name: part.argmax(axis=1) for name, part in scores.items()}
    for old, new in (
        ("resnet20", "resnet56"), ("resnet44", "resnet56"), ("vgg16_bn", "vgg19_bn"),
        ("mobilenetv2_x0_75", "mobilenetv2_x1_4"), ("repvgg_a0", "repvgg_a2"), ("shufflenetv2_x0_5", "resnet32"),
        ("kerrigan_preresnet-110", "kerrigan_densenet-bc-L190-k40"), ("netcal_wideresnet-16-4", "resnet20"),
    ):  # fmt: skip
        yield pair_of(f"CIFAR-10: {old} > {new}", answers[old], answers[new], y)
    scores_56 = scores["resnet56"]
    step = np.abs(scores_56).max() / 7.0
    yield pair_of(
        "CIFAR-10: resnet56 > its scores in 4 bits", answers["resnet56"],
        np.round(scores_56 / step).argmax(axis=1), y,
    )  # fmt: skip
    with np.load(folder / "imagenet16h_noise" / "imagenet16h.npz") as stored:
        y = stored["labels"]
        found = stored["log_probs"].argmax(axis=3)
        names = stored["model_names"].tolist()
    for old, new in (("googlenet", "vgg19"), ("resnet152", "alexnet"), ("vgg19", "densenet161")):
        yield pair_of(
            f"ImageNet-16H: {old} > {new}",
            found[0, names.index(old)],
            found[0, names.index(new)],
            y,
        )
    yield pair_of(
        "ImageNet-16H: densenet161, noise 80 > 95",
        found[0, names.index("densenet161")], found[1, names.index("densenet161")], y,
    )  # fmt: skip


def _tables(folder: Path) -> Iterator[Pair]:
    classics = folder / "tabular_fairness_classics"
    adults = pd.read_csv(classics / "adult.csv.gz", skipinitialspace=True)
    y = (adults.pop("income-per-year") == ">50K").to_numpy().astype(int)
    yield from _fitted("Adult", adults.drop(columns=["fnlwgt", "education"]), y)
    defendants = pd.read_csv(classics / "compas_two_years.csv.gz")
    y = defendants.pop("two_year_recid").to_numpy()
    kept = [
        "sex",
        "age",
        "race",
        "juv_fel_count",
        "juv_misd_count",
        "priors_count",
        "c_charge_degree",
    ]
    yield from _fitted("COMPAS", defendants[kept], y)
    loans = pd.read_csv(classics / "german_credit.csv.gz")
    yield from _fitted("German credit", loans, (loans.pop("credit") == 2).to_numpy().astype(int))
    patients = pd.read_csv(folder / "covid_sivep" / "covid_sivep.csv.gz")
    y = patients.pop("is_dead").to_numpy()
    yield from _fitted("COVID-19", patients.drop(columns="Days_hospital_to_outcome"), y)


def _fitted(name: str, X: pd.DataFrame, y: np.ndarray) -> Iterator[Pair]:
    """Yield logistic regression > boosting, and forest > boosting, all with their defaults."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    n_train = min(N_TRAIN, len(X) // 2)
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    words = [column for column in X if X[column].dtype.kind not in "biuf"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    answers = {}
    for model in (
        LogisticRegression(max_iter=2000),
        RandomForestClassifier(random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ):
        columns = make_column_transformer((encoder, words), remainder=StandardScaler())
        fitted = make_pipeline(columns, model).fit(X.iloc[train], y[train])
        answers[type(model).__name__] = fitted.predict(X.iloc[test])
    logistic, forest, boosting = answers.values()
    yield pair_of(f"{name}: logistic > boosting", logistic, boosting, y[test])
    yield pair_of(f"{name}: forest > boosting", forest, boosting, y[test])


@lru_cache(maxsize=100_000)
def exact(size: int, fixed: int, broken: int, neither: int, two: bool) -> tuple[int, int]:
    seen = Outcomes(fixed=fixed, broken=broken, neither=neither)
    return difference_interval(size, seen, two_classes=two)


def counted(signs: np.ndarray) -> tuple[int, int, int]:
    return int((signs == 1).sum()), int((signs == -1).sum()), int((signs == 0).sum())


def labelled(pair: Pair, n_labels: int, rng: np.random.Generator, score: Score) -> None:
    """Label rows once, by the plan and by the rival's, and keep what came of it."""
    n = len(pair.signs)
    signs = pair.signs[pair.changed]
    drawn = rng.permutation(signs)[:n_labels]
    low, high = exact(len(signs), *counted(drawn), pair.two_classes)
    truth = int(signs.sum())
    score.held.append(low <= truth <= high)
    score.half.append(0.5 * (high - low) / n)
    judge(score, low / n, high / n, truth / n)
    uniform = rng.permutation(pair.signs)[:n_labels]
    ends = exact(n, *counted(uniform), False)
    score.uniform_half.append(0.5 * (ends[1] - ends[0]) / n)
    half = 1.96 * uniform.std() / np.sqrt(n_labels)
    score.normal_half.append(half)
    score.normal_held.append(bool(abs(uniform.mean() - truth / n) <= half))


def judge(score: Score, low: float, high: float, truth: float) -> None:
    """Count the verdict on the new model, and that on the old one if it were the new one."""
    bound = Interval(low=-1.0, high=1.0, confidence_level=1.0)
    for sign in (1.0, -1.0):
        ends = sorted((sign * low, sign * high))
        verdict = verdict_on_difference(ALLOW, bound, Interval(low=ends[0], high=ends[1]))
        is_safe = sign * truth >= -ALLOW
        score.decided += verdict != "CANNOT TELL"
        score.wrong += verdict == ("WORSE" if is_safe else "SAFE")


def peeked(pair: Pair, rng: np.random.Generator, score: Score) -> float:
    """Look after every label; return the half width after 50 of them."""
    n = len(pair.signs)
    signs = pair.signs[pair.changed]
    drawn = rng.permutation(signs)[: max(LABELS)]
    low, high = difference_sequence(drawn, len(signs))
    truth = int(signs.sum())
    score.held.append(bool((low <= truth + 1e-9).all() and (truth <= high + 1e-9).all()))
    # Whoever stops at the first verdict, and is judged there.
    bound = Interval(low=-1.0, high=1.0, confidence_level=1.0)
    for sign in (1.0, -1.0):
        lows, highs = (low, high) if sign > 0.0 else (-high, -low)
        decided = (lows / n > -ALLOW) | (highs / n < -ALLOW)
        if decided.any():
            first = int(np.argmax(decided))
            verdict = verdict_on_difference(
                ALLOW, bound, Interval(low=lows[first] / n, high=highs[first] / n)
            )
            is_safe = sign * truth / n >= -ALLOW
            score.decided += 1
            score.wrong += verdict == ("WORSE" if is_safe else "SAFE")
    place = min(50, len(drawn)) - 1
    return float(0.5 * (high[place] - low[place]) / n)


def future(pair: Pair, rng: np.random.Generator) -> bool:
    """Return True if the interval for future rows holds the difference of their population."""
    drawn = pair.signs[rng.integers(len(pair.signs), size=N_FUTURE)]
    fixed, broken, _ = counted(drawn)
    interval = future_interval(fixed, broken, N_FUTURE)
    return interval.low <= pair.difference <= interval.high


@dataclass
class Found:
    """Everything about one pair."""

    pair: Pair
    scores: dict[int, Score]
    peeking: Score
    future_held: list[bool]

    def line(self) -> list[object]:
        """Return its line of the table."""
        fifty = self.scores.get(50)
        widths = ["-"] * 5
        if fifty is not None:
            parts = (fifty.half, self.peeking.half, fifty.uniform_half, fifty.normal_half)
            ratio = np.mean(fifty.half) / np.mean(fifty.uniform_half)
            widths = [*(f"{100 * np.mean(part):.1f}" for part in parts), f"{ratio:.2f}"]
        covers = ["-"] * len(LABELS)
        for place, n_labels in enumerate(LABELS):
            if n_labels in self.scores:
                covers[place] = f"{np.mean(self.scores[n_labels].held):.3f}"
        return [
            self.pair.name,
            len(self.pair.signs),
            f"{100 * self.pair.rate:.1f} %",
            f"{100 * self.pair.difference:+.1f}",
            *covers,
            f"{np.mean(self.peeking.held):.3f}",
            f"{np.mean(self.future_held):.3f}",
            *widths,
        ]


def found_for(pair: Pair, seed: int, n_repeats: int) -> Found:
    """Label one pair again and again."""
    rng = np.random.default_rng(seed)
    n_changed = int(pair.changed.sum())
    scores = {n_labels: Score() for n_labels in LABELS if n_labels < n_changed}
    found = Found(pair, scores, Score(), [])
    for _ in range(n_repeats):
        for n_labels, score in scores.items():
            labelled(pair, n_labels, rng, score)
        found.peeking.half.append(peeked(pair, rng, found.peeking))
        found.future_held.append(future(pair, rng))
    return found


def summary(name: str, scores: list[Score]) -> list[str]:
    """Return the line of all pairs together."""
    held = [value for score in scores for value in score.held]
    normal = [value for score in scores for value in score.normal_held]
    n_verdicts = 2 * len(held)
    return [
        name,
        f"{np.mean(held):.3f}",
        f"{np.mean(normal):.3f}" if normal else "-",
        f"{sum(score.decided for score in scores) / n_verdicts:.2f}",
        f"{100 * sum(score.wrong for score in scores) / n_verdicts:.2f} %",
    ]


def main(*, quick: bool) -> None:
    """Print the tables: coverage and width by pair, and wrong verdicts."""
    start = time.perf_counter()
    print(header())
    chosen = list(pairs())
    chosen = chosen[:3] if quick else chosen
    n_repeats = 40 if quick else 500
    found = [found_for(pair, seed, n_repeats) for seed, pair in enumerate(chosen)]
    print(f"\n{len(found)} pairs, {n_repeats} repeats, 95 %; differences and half widths in points")
    columns = ["pair", "rows", "changed", "truth"]
    columns += [f"covers {n_labels}" for n_labels in LABELS]
    columns += [
        "peeking",
        "future",
        "half width 50",
        "peeking",
        "uniform",
        "uniform, normal",
        "ratio",
    ]
    print(table(columns, [part.line() for part in found]))
    rows = []
    for n_labels in LABELS:
        scores = [part.scores[n_labels] for part in found if n_labels in part.scores]
        if scores:
            rows.append(summary(f"{n_labels} labels", scores))
    rows.append(summary("peeking, up to 200", [part.peeking for part in found]))
    columns = [
        "labels",
        "covers",
        "uniform, normal covers",
        "decided at allow 0.01",
        "wrong verdicts",
    ]
    print(table(columns, rows, title="\nover all pairs"))
    print(f"\n{time.perf_counter() - start:.0f} s")
