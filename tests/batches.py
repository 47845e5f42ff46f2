"""Batches of a table that is watched, and the passport of its reference."""

import numpy as np
import pandas as pd

from shiftmetrics.decisions.monitor.profile import make_passport

JOBS = ["cook", "nurse", "clerk"]


def table(rng, n, moved=0.0):
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x + moved,
            "y": rng.normal(size=n),
            "job": rng.choice(JOBS, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "label": np.where(rng.random(n) < 0.1, x < 0, x > 0),
        }
    )


def passport_of(rng, model, n=1000, **options):
    return make_passport(table(rng, n), model=model, label="label", **options)
