"""How often an audit says CHANGED of two halves of one table, for each kind of column, both halves as reference.

``python benchmarks/audit_nulls.py [--pairs 200] [--kinds prose,urls]``. At a level of 5 % at most one pair in twenty
may be called changed, up to the noise of so many pairs: 99 of 100 times no more than "chance allows".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from _machine import header, table
from scipy.stats import binom

from shiftmetrics import audit_samples
from shiftmetrics._core.exceptions import ArgumentValueError

LEVEL = 0.05
SIZES = ((150, 150), (300, 300), (100, 400))
"""Rows of the reference and of the current sample, in turn."""

_WORDS = """account address after again answer arrived bank before bill blue book box branch bus call card charge
    check city claim clean close coat cold company could customer date delay delivery door down driver early email
    error every extra fast fee file first food form free front garden gift glass good green hand help high home hour
    house invoice item kind large late letter line loan long lost machine mail map market meeting money month morning
    name never new night note number office old open order other paid paper part pay people phone place plan policy
    post price problem project question rate receipt red refund rent reply road room sale school second send service
    shop sign size small staff station stock street system table team ticket time today train travel tree trip truck
    update user visit wait walk water week white window work year"""
WORDS = np.array(_WORDS.split())
_NAMES = """Ada Alan Amal Anna Ben Carla Chen Dana Dev Elif Emma Farid Grace Hana
    Igor Ines Ivan Jana Jose Kai Lara Lena Li
    Luis Maja Mina Nils Noor Olga Omar Pia Ravi Rosa Sara Sven Tara Tom Uma Vera Wei Yara Zoe"""
NAMES = np.array(_NAMES.split())

Make = Callable[[int, np.random.Generator], pd.DataFrame]


def frequent_first(n_words: int) -> np.ndarray:
    """Return probabilities of Zipf's law."""
    weights = 1.0 / np.arange(1, n_words + 1)
    return weights / weights.sum()


def addresses(n, rng):
    streets = rng.choice(WORDS, n, p=frequent_first(len(WORDS)))
    numbers = rng.integers(1, 400, n)
    cities = rng.choice(NAMES, n, p=frequent_first(len(NAMES)))
    codes = rng.integers(10_000, 99_999, n)
    parts = zip(streets, numbers, codes, cities, strict=True)
    return pd.DataFrame(
        {"address": [f"{s.title()} Street {k}, {c} {city}" for s, k, c, city in parts]}
    )


def urls(n, rng):
    hosts = rng.choice(WORDS, n, p=frequent_first(len(WORDS)))
    pages = rng.choice(WORDS, (n, 2))
    numbers = rng.integers(0, 10_000, n)
    parts = zip(hosts, pages, numbers, strict=True)
    return pd.DataFrame(
        {"url": [f"https://{h}.example.org/{a}/{b}?id={k}" for h, (a, b), k in parts]}
    )


def names(n, rng):
    first = rng.choice(NAMES, n)
    last = rng.choice(NAMES, n, p=frequent_first(len(NAMES)))
    middle = rng.choice(list("ABCDEFGHKLM"), n)
    return pd.DataFrame(
        {"name": [f"{a} {b}. {c}son" for a, b, c in zip(first, middle, last, strict=True)]}
    )


def sentences(n, rng, least=5, most=40):
    weights = frequent_first(len(WORDS))
    lengths = rng.integers(least, most, n)
    return [" ".join(rng.choice(WORDS, length, p=weights)) for length in lengths]


def prose(n, rng):
    return pd.DataFrame({"remark": sentences(n, rng)})


def urls_with_prose(n, rng):
    return urls(n, rng).assign(remark=sentences(n, rng))


def codes(n, rng):
    letters = rng.choice(list("ABCDEF"), n, p=[0.5, 0.2, 0.15, 0.1, 0.04, 0.01])
    numbers = rng.geometric(0.05, n)
    return pd.DataFrame({"code": [f"{a}{b:03d}" for a, b in zip(letters, numbers, strict=True)]})


def ids_that_are_none(n, rng):
    # Customers that come again: an id of the customer, none of the row.
    customers = np.minimum(rng.zipf(1.6, n), 5_000)
    return pd.DataFrame({"customer_id": customers, "order": rng.integers(10**6, 10**7, n)})


def counts(n, rng):
    return pd.DataFrame({"visits": rng.poisson(1.3, n), "items": rng.negative_binomial(1, 0.1, n)})


def heavy_tails(n, rng):
    return pd.DataFrame({"loss": rng.standard_cauchy(n), "size": rng.pareto(0.8, n)})


def dates(n, rng):
    seconds = rng.integers(0, 400 * 86_400, n)
    return pd.DataFrame({"seen": pd.Timestamp("2023-01-01") + pd.to_timedelta(seconds, "s")})


def money(n, rng):
    amounts = rng.lognormal(3, 1.2, n)
    return pd.DataFrame({"price": [f"${amount:,.2f}" for amount in amounts]})


def booleans(n, rng):
    return pd.DataFrame(
        {name: rng.random(n) < p for name, p in {"a": 0.5, "b": 0.1, "c": 0.01}.items()}
    )


def constants_with_exceptions(n, rng):
    flag = np.where(rng.random(n) < 0.01, rng.choice(["no", "maybe"], n), "yes")
    return pd.DataFrame({"flag": flag, "discount": (rng.random(n) < 0.02) * rng.normal(9, 3, n)})


def mixture(n, rng):
    wait = rng.exponential(5, n)
    wait[rng.random(n) < 0.1] = np.nan
    other = pd.concat([codes(n, rng), counts(n, rng), dates(n, rng), booleans(n, rng)], axis=1)
    return other.assign(wait=wait, remark=sentences(n, rng), size=rng.pareto(0.8, n))


KINDS: dict[str, Make] = {
    "addresses": addresses,
    "urls": urls,
    "urls, prose": urls_with_prose,
    "names": names,
    "prose": prose,
    "codes": codes,
    "ids that are none": ids_that_are_none,
    "counts": counts,
    "heavy tails": heavy_tails,
    "dates": dates,
    "money": money,
    "booleans": booleans,
    "constants with exceptions": constants_with_exceptions,
    "mixtures": mixture,
}


def verdicts_of(make: Make, number: int) -> list[str]:
    """Return the verdicts of both directions on the halves of one table; "refused" where nothing can be compared."""
    rng = np.random.default_rng(number)
    n_reference, n_current = SIZES[number % len(SIZES)]
    whole = make(n_reference + n_current, rng)
    order = rng.permutation(len(whole))
    halves = [whole.iloc[np.sort(order[:n_reference])], whole.iloc[np.sort(order[n_reference:])]]
    halves = [half.reset_index(drop=True) for half in halves]
    found = []
    for reference, current in (halves, halves[::-1]):
        try:
            found.append(audit_samples(reference, current, rng=number).verdict)
        except ArgumentValueError:
            found.append("refused")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--kinds", default=",".join(KINDS).replace("urls, prose", "urls+prose"))
    options = parser.parse_args()
    print(header())
    most = int(binom.ppf(0.99, options.pairs, LEVEL))
    rows = []
    for name in options.kinds.replace("urls+prose", "urls; prose").split(","):
        make = KINDS[name.replace(";", ",")]
        start = time.perf_counter()
        found = np.array([verdicts_of(make, number) for number in range(options.pairs)])
        seconds = (time.perf_counter() - start) / found.size
        said = [int((found[:, side] == "CHANGED").sum()) for side in (0, 1)]
        refused = int((found == "refused").sum())
        rows.append((name, *said, refused, most, f"{seconds:.1f}"))
        print(rows[-1], flush=True)
    heads = ("columns", "CHANGED", "swapped", "refused", "chance allows", "seconds")
    print(f"of {options.pairs} pairs")
    print(table(heads, rows))


if __name__ == "__main__":
    main()
