"""Tasks of novelty: kinds of rows that the reference lacks, withheld from real data, and splits of one distribution.

A case is drawn from a space (rows of one kind of data, with the kind of each row): the reference gets no row of the
kinds that are new, the sample a stated share of them. Who reads a case sees the two samples; the kinds only judge.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

FOLDER = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
SHARES = (0.05, 0.1, 0.2, 0.03, 0.15, 0.08, 0.3, 0.4)
"""Shares of the sample that are new, given to the cases in turn."""


@dataclass(frozen=True)
class Space:
    """Rows of one source, the kind of each row, and how many components stand for wide rows (0: as they are)."""

    rows: np.ndarray
    kinds: np.ndarray
    n_components: int = 0


@dataclass(frozen=True)
class Case:
    """Two samples, and the new kind of each row of the first: 0 where the row is of a kind that the reference has."""

    name: str
    sample: np.ndarray
    reference: np.ndarray
    kinds: np.ndarray

    @property
    def share(self) -> float:
        """Share of the sample that is new."""
        return float((self.kinds > 0).mean())


# Spaces -------------------------------------------------------------------------------------------


def bundled(load: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Space:
    """Return one of scikit-learn's own data sets."""
    return Space(*load(return_X_y=True))


def beans() -> Space:
    """Shapes of seven varieties of beans, scaled to [0, 1] by their source."""
    data = np.load(FOLDER / "uci_beans_wine" / "beans.npz")
    return Space(data["X"].astype(float), data["y"])


def wine_colour() -> Space:
    """Chemistry of white (0) and red (1) wines, in the units of the laboratory."""
    data = np.load(FOLDER / "uci_beans_wine" / "wine.npz")
    return Space(data["X"].astype(float), data["is_red"])


def mnist() -> Space:
    """Pictures of digits, and as kinds 10 and 11 the first and the last generation of a generator of digits."""
    real = np.load(FOLDER / "mnist_test" / "mnist_t10k.npz")
    made = np.load(FOLDER / "mnist_wgan_generations" / "wgan_mnist.npz")["images"]
    pictures = np.concatenate([real["images"], made[0], made[-1]]).reshape(-1, 784) / 255.0
    return Space(pictures, np.concatenate([real["labels"], np.repeat([10, 11], len(made[0]))]), 50)


def codes(width: int) -> Space:
    """Latent codes of digits, from an autoencoder."""
    data = np.load(FOLDER / "mnist_vae_codes" / "vae_codes.npz")
    return Space(data[f"codes{width}"].astype(float), data[f"labels{width}"])


def network() -> Space:
    """Outputs of a weak network (53 % right) for pictures of ten classes."""
    data = np.load(FOLDER / "cifar10_logit_zoo" / "log_probs.npz")
    found = int(np.flatnonzero(data["model_names"] == "netcal_lenet-5")[0])
    return Space(np.maximum(data["log_probs"][found], -20.0).astype(float), data["labels"])


def texts() -> Space:
    """Sentences and reviews of six sources by TF-IDF: films (0, 1), shops (2), premises, captions, questions."""
    folder = FOLDER / "imdb_counterfactual"
    few = pd.read_parquet(folder / "aeon_attacks.parquet")
    long = pd.read_parquet(folder / "imdb_counterfactual_pairs.parquet")["text_original"].iloc[:400]
    sources = ["rtmr", "yelp", "mnli", "snli", "qqp"]
    words = [re.sub(r"\[\[|\]\]", "", text) for text in [*long, *few["ori_text"]]]
    matrix = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(words).toarray()
    return Space(
        matrix, np.r_[np.zeros(len(long)), [1 + sources.index(name) for name in few["dataset"]]], 20
    )


def one_hot(table: pd.DataFrame, kinds: np.ndarray, categories: Sequence[str] = ()) -> Space:
    """Numbers as they are, and a column of 0 and 1 for each value of the columns of texts and of ``categories``."""
    coded = table.astype(dict.fromkeys(categories, str))
    return Space(pd.get_dummies(coded, dtype=float).to_numpy(dtype=float), np.asarray(kinds))


def adult(column: str, *, kept: bool) -> Space:
    """People by a coded column, which stays in the table (``kept``) or does not."""
    table = pd.read_csv(FOLDER / "tabular_fairness_classics" / "adult.csv.gz")
    kinds = pd.factorize(table[column], sort=True)[0]
    return one_hot(table.drop(columns=[] if kept else [column]), kinds)


def households() -> Space:
    """People by their place in the household, from their other answers to a census."""
    table = pd.read_parquet(FOLDER / "acs_employment_ma_2015_2018" / "employment.parquet").iloc[
        :20_000
    ]
    left = table.drop(columns=["RELP", "year", "prediction", "predicted_probability", "employed"])
    coded = [name for name in left if name not in ("AGEP", "SCHL")]
    return one_hot(left.astype(float), table["RELP"].to_numpy(), coded)


def patients() -> Space:
    """Patients by age: 1 below 20 years, 2 above 85; all columns but the outcome."""
    table = pd.read_csv(FOLDER / "covid_sivep" / "covid_sivep.csv.gz")
    age = table["Age"].to_numpy()
    kinds = np.where(age < 20, 1, np.where(age > 85, 2, 0))
    return one_hot(table.drop(columns="is_dead"), kinds, ["Ethnicity", "Region"])


BUNDLED: dict[str, Callable[[], Space]] = {
    "digits": lambda: bundled(datasets.load_digits),
    "cancer": lambda: bundled(datasets.load_breast_cancer),
    "wine": lambda: bundled(datasets.load_wine),
    "iris": lambda: bundled(datasets.load_iris),
}
FILES: dict[str, Callable[[], Space]] = {
    "beans": beans,
    "wine colour": wine_colour,
    "mnist": mnist,
    "codes 16": lambda: codes(16),
    "codes 20": lambda: codes(20),
    "network": network,
    "texts": texts,
    "occupations": lambda: adult("occupation", kept=False),
    "countries": lambda: adult("native-country", kept=True),
    "households": households,
    "patients": patients,
}


@functools.cache
def space(name: str) -> Space:
    """Return a space by its name, read once."""
    return (BUNDLED | FILES)[name]()


# Cases --------------------------------------------------------------------------------------------

SINGLE: dict[str, tuple[Sequence[int], int]] = {
    "digits": (range(10), 500),
    "cancer": ((0, 1), 180),
    "wine": (range(3), 60),
    "iris": (range(3), 50),
    "beans": (range(7), 500),
    "wine colour": ((0, 1), 500),
    "mnist": ((1, 3, 5, 7, 8, 11), 500),
    "codes 16": ((0, 4, 9), 500),
    "codes 20": ((2, 4, 5, 6, 9), 500),
    "network": ((0, 1, 6, 9), 1000),
    "texts": (range(1, 6), 250),
    "occupations": ((5, 10, 4), 1000),
    "countries": ((26, 5), 1000),
    "households": ((2, 16, 17), 1000),
    "patients": ((1, 2), 1000),
}
"""Kinds that are withheld one at a time, and rows of a sample."""

SEVERAL: dict[str, tuple[Sequence[tuple[int, ...]], int]] = {
    "digits": (((0, 6), (1, 7, 9), (2, 4), (3, 5, 8)), 500),
    "beans": (((0, 3), (1, 4), (2, 5, 6)), 500),
    "mnist": (((0, 7), (1, 2, 9), (6, 8)), 500),
    "codes 20": (((0, 7), (1, 5, 8), (3, 6)), 500),
    "network": (((1, 6), (0, 4, 9)), 1000),
    "texts": (((2, 5), (3, 4)), 250),
}
"""Kinds that are withheld together: each is 8 to 12 % of the sample."""

NULL_ROWS = ((500, 500), (100, 100), (250, 750), (1000, 100), (60, 1200), (1000, 1000), (200, 400))


def has_files() -> bool:
    """Return whether the folder of real data is there."""
    return FOLDER.is_dir() and (FOLDER / "mnist_test").is_dir()


def names() -> list[str]:
    """Return the spaces that can be read here."""
    return [*BUNDLED, *(FILES if has_files() else ())]


def singles(every: int = 1) -> Iterator[Case]:
    """Draw one case for each withheld kind; ``every`` takes only each so many."""
    listed = [(name, kind) for name in names() for kind in SINGLE[name][0]]
    for number, ((name, kind), share) in enumerate(
        zip(listed, itertools.cycle(SHARES), strict=False)
    ):
        if number % every == 0:
            rows = SINGLE[name][1]
            least = min(1.0, 6 / rows)  # fewer than six rows are no kind that anybody could judge
            yield withheld(
                name, (kind,), rows, max(share, least), ratio=(1, 1, 1, 4, 0.25)[number % 5]
            )


def several(every: int = 1) -> Iterator[Case]:
    """Draw one case for each group of withheld kinds."""
    listed = [(name, kinds) for name in names() if name in SEVERAL for kinds in SEVERAL[name][0]]
    for number, (name, kinds) in enumerate(listed):
        if number % every == 0:
            yield withheld(
                name, kinds, SEVERAL[name][1], (0.08, 0.1, 0.12)[number % 3] * len(kinds)
            )


def nulls(count: int) -> Iterator[Case]:
    """Draw two samples of one distribution, of several sizes, each space in turn."""
    turns = zip(itertools.cycle(names()), range(count), strict=False)
    for name, number in turns:
        data, (n, m) = space(name), NULL_ROWS[number % len(NULL_ROWS)]
        rng = np.random.default_rng(1000 + number)
        scale = min(1.0, len(data.rows) / (n + m))
        n, m = max(10, int(scale * n)), max(10, int(scale * m))
        order = rng.permutation(len(data.rows))
        yield made(f"{name} {number}", data, order[:n], order[n : n + m], np.zeros(n, dtype=int))


def withheld(
    name: str, kinds: tuple[int, ...], n: int, share: float, *, ratio: float = 1.0, seed: int = 0
) -> Case:
    """Draw a sample with a share of rows of ``kinds``, and a reference of ``ratio`` times its rows without any."""
    data = space(name)
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {kinds}".encode())])
    known = rng.permutation(np.flatnonzero(~np.isin(data.kinds, kinds)))
    each = round(share * n / len(kinds))
    new = [rng.permutation(np.flatnonzero(data.kinds == kind))[:each] for kind in kinds]
    n_known = n - sum(len(rows) for rows in new)
    if n_known + ratio * n > len(known):  # a small space: both samples give way alike
        n_known = round(len(known) * n_known / (n_known + ratio * n))
    numbers = np.repeat(np.arange(1, len(kinds) + 1), [len(rows) for rows in new])
    rows = np.concatenate([known[:n_known], *new])
    reference = known[n_known : n_known + round(ratio * n)]
    label = f"{name} {'+'.join(map(str, kinds))}"
    return made(label, data, rows, reference, np.r_[np.zeros(n_known, dtype=int), numbers])


def made(
    label: str, data: Space, rows: np.ndarray, reference: np.ndarray, kinds: np.ndarray
) -> Case:
    """Return the case of these rows, wide rows by the components of both samples together."""
    both = data.rows[np.concatenate([rows, reference])]
    if data.n_components:
        # TF-IDF rows of 0 and more keep their origin, and pictures lose their mean, as is usual for each.
        reduce = TruncatedSVD if "texts" in label else PCA
        both = reduce(min(data.n_components, len(both) - 1), random_state=0).fit_transform(both)
    return Case(label, both[: len(rows)], both[len(rows) :], kinds)
