"""A table of visits, some of which are paid."""

import numpy as np
import pandas as pd


def visits(rng, n):
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "visit_id": np.arange(n) + 1000,
            "x": x.round(3),
            "city": rng.choice(["A", "B"], n),
            "day": pd.date_range("2024-10-01", periods=20).repeat(-(-n // 20))[:n].astype(str),
        }
    )
    frame["paid"] = np.where(rng.random(n) < 0.1, x < 0, x > 0).astype(int)
    return frame
