"""Tables that follow the year, and batches of single months."""

import numpy as np
import pandas as pd


def month_of(rng, month, n=120, year=2023, moved=0.0):
    """Return rows of a month: the temperature follows the year, the place does not."""
    cold = np.cos(2 * np.pi * month / 12)
    days = rng.integers(0, 28, n)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp(year=year, month=month, day=1) + pd.to_timedelta(days, "D"),
            "temp": 12 - 10 * cold + rng.normal(0, 3, n) + moved,
            "wind": rng.gamma(2, 3, n),
            "site": rng.choice(["a", "b", "c"], n),
        }
    )
    # A model that errs more in winter.
    wrong = rng.random(n) < 0.1 + 0.08 * cold
    frame["label"] = frame["wind"] > 5
    frame["guess"] = frame["label"] ^ wrong
    return frame


def year_of(rng, n=120, months=range(1, 13)):
    """Return a year in random order."""
    parts = [month_of(rng, month, n, year=2022) for month in months]
    return pd.concat(parts).sample(frac=1.0, random_state=1).reset_index(drop=True)
