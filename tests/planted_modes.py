"""Mixed tables of any size with one planted mode, inside or outside the range of the reference."""

import numpy as np
import pandas as pd


def mixed(n, rng):
    return pd.DataFrame(
        {
            "x0": rng.normal(size=n).round(4),
            "x1": rng.normal(size=n).round(4),
            "x2": rng.lognormal(3, 1, n).round(2),
            "c": rng.choice(list("abcde"), n),
            "d": rng.choice(["u", "v"], n, p=[0.7, 0.3]),
            "k": rng.integers(0, 60, n),
        }
    )


def with_planted(n, where, seed=0, fraction=0.08):
    """Return both samples and the rows of the mode."""
    rng = np.random.default_rng(seed)
    reference, current = mixed(n, rng), mixed(n, rng)
    rows = np.sort(rng.choice(n, int(fraction * n), replace=False))
    if where == "outside":
        current.loc[rows, "x0"] = rng.normal(4.4, 0.2, len(rows)).round(4)
    else:
        current.loc[rows, "x0"] = rng.normal(1.5, 0.12, len(rows)).round(4)
        current.loc[rows, "x1"] = rng.normal(-1.4, 0.12, len(rows)).round(4)
    current.loc[rows, "c"] = "b"
    return reference, current, rows
