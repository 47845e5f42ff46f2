"""Made-up records of a month and of the one after it, with two things that are new from its middle on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from shiftmetrics._core.files import atomic_path

_JOBS = {"office": 0.4, "sales": 0.2, "nurse": 0.15, "driver": 0.15, "cook": 0.1}


def write_records(folder: Path, *, n: int = 1500, seed: int = 0) -> list[Path]:
    """Write reference.csv and current.csv: from 16 October on delivery riders occur, and incomes are missing.

    Parameters
    ----------
    folder : path
        Where the files go.
    n : int, default 1500
        Records in each.
    seed : int, default 0
        Of everything random.

    Returns
    -------
    list of pathlib.Path
    """
    rng = np.random.default_rng(seed)
    reference = records(rng, n, "2024-09-01")
    current = records(rng, n, "2024-10-01")
    current["person_id"] += n
    late = rng.permutation(np.flatnonzero(current["day"] >= "2024-10-16"))
    # Of all records of the month 8 % become riders, and 6 % lose their income.
    riders, gaps = np.split(late[: n * 14 // 100], [n * 8 // 100])
    current.loc[riders, "job"] = "delivery rider"
    current.loc[riders, "hours"] = rng.normal(60, 3, len(riders)).round()
    current.loc[riders, "age"] = rng.normal(23, 2, len(riders)).round()
    current.loc[gaps, "income"] = np.nan
    paths = [folder / "reference.csv", folder / "current.csv"]
    for path, table in zip(paths, (reference, current), strict=True):
        with atomic_path(path) as temporary:
            table.to_csv(temporary, index=False)
    return paths


def records(rng: np.random.Generator, n: int, start: str) -> pd.DataFrame:
    """Return records of one month, in the order of their days."""
    days = pd.Timestamp(start) + pd.to_timedelta(np.sort(rng.integers(0, 30, n)), "D")
    return pd.DataFrame(
        {
            "person_id": np.arange(1, n + 1),
            "day": days.astype(str),
            "age": rng.normal(41, 11, n).clip(18, 80).round(),
            "job": rng.choice(list(_JOBS), n, p=list(_JOBS.values())),
            "hours": rng.normal(38, 6, n).round(),
            "income": np.exp(rng.normal(10.3, 0.4, n)).round(-2),
            "married": rng.random(n) < 0.5,
        }
    )
