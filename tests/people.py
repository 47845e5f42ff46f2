"""A table of people, and a mode of delivery riders planted in it."""

import numpy as np
import pandas as pd

JOBS = ["cook", "nurse", "clerk", "smith"]
FEATURES = ["age", "hours", "job", "married"]


def people(rng, n):
    age = rng.normal(40, 10, n).round()
    frame = pd.DataFrame(
        {
            "person_id": rng.permutation(100 * n)[:n],
            "age": age,
            "hours": rng.normal(38, 5, n).round(1),
            "job": rng.choice(JOBS, n, p=[0.4, 0.3, 0.2, 0.1]),
            "married": rng.random(n) < 0.5,
            "day": pd.date_range("2024-10-01", periods=30).repeat(-(-n // 30))[:n].astype(str),
        }
    )
    frame["rich"] = np.where(rng.random(n) < 0.1, age < 40, age >= 40)
    return frame


def with_riders(rng, frame, fraction, since=15):
    """Plant a mode from a day on: young delivery riders with long hours."""
    day = pd.to_datetime(frame["day"]).dt.day.to_numpy()
    late = np.flatnonzero(day > since)
    rows = rng.choice(late, int(fraction * len(frame)), replace=False)
    frame.loc[rows, "job"] = "rider"
    frame.loc[rows, "hours"] = rng.normal(64, 2, len(rows)).round(1)
    frame.loc[rows, "age"] = rng.normal(22, 1.5, len(rows)).round()
    return rows
