"""Novelty: what is new in a sample, and in which rows, beside the rivals that a user would try instead.

Each method sees the same cases. It is judged by what a user takes from its answer: is anything new (at the level
.05), which kinds, which rows, how much of the sample; and whether another seed says the same.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import _novelty_tasks as tasks
import numpy as np
from _machine import table
from _novelty_rivals import LEVEL, RIVALS, Answer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics._core.options import Computing
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.novelty.modes.contrast import nearest_known

Method = Callable[[tasks.Case, int], Answer]


def layer(case: tasks.Case, seed: int) -> Answer:
    """Return the library's answer, at its defaults."""
    result = kernel_entropic_novelty(
        case.sample,
        case.reference,
        resampling=NoveltyResampling(rng=seed),
        computing=Computing(progress=False),
    )
    kinds = [mode.top(len(case.sample)) for mode in result.new]
    members = np.zeros(len(case.sample), dtype=bool)
    for mode in result.new:
        members[mode.members()] = True
    return Answer(
        p_value=result.p_value,
        scores=result.row_scores,
        kinds=kinds,
        members=members,
        share=result.fraction,
        interval=(result.fraction_interval.low, result.fraction_interval.high),
        n_lost=len(result.missing),
        columns=[
            [int(column.name.split()[-1]) for column in mode.columns[:3]] for mode in result.new
        ],
    )


OURS = "shiftmetrics"
METHODS: dict[str, Method] = {OURS: layer, **RIVALS}


@dataclass(frozen=True)
class Judged:
    """One answer beside the truth."""

    detected: bool
    share: float
    found: int
    wanted: int
    false: int
    split: int
    purity: float
    recall: float
    error: float
    precision: float
    covered: float
    bound: float
    apart: float
    lost: int
    same: float
    seconds: float


def judge(job: tuple[str, tasks.Case, bool]) -> Judged:
    """Return how well a method answers a case; with another seed also whether it says the same."""
    name, case, again = job
    warnings.simplefilter("ignore")
    start = time.process_time()
    answer = METHODS[name](case, 0)
    seconds = time.process_time() - start
    detected = answer.p_value <= LEVEL
    truth = case.kinds > 0
    found, false, split = kinds_found(case, answer) if detected else (0, 0, 0)
    members = answer.members if answer.members is not None and answer.members.any() else None
    return Judged(
        detected=detected,
        share=case.share,
        found=found,
        wanted=len(np.unique(case.kinds[truth])),
        false=false,
        split=split,
        purity=float(truth[members].mean()) if members is not None else np.nan,
        recall=float(members[truth].mean()) if members is not None and truth.any() else np.nan,
        error=abs(answer.share - case.share),
        precision=float(average_precision_score(truth, answer.scores)) if truth.any() else np.nan,
        covered=float(answer.interval[0] <= case.share <= answer.interval[1])
        if np.isfinite(answer.interval[0])
        else np.nan,
        bound=answer.interval[0] / case.share if case.share else np.nan,
        apart=columns_apart(case, answer),
        lost=answer.n_lost,
        same=float((METHODS[name](case, 1).p_value <= LEVEL) == detected) if again else np.nan,
        seconds=seconds,
    )


def columns_apart(case: tasks.Case, answer: Answer) -> float:
    """Return how well the columns that are named part true members from the nearest known rows, or NaN.

    The area under the curve of a linear discriminant of these columns, cross-validated; the mean over modes.
    """
    found = []
    for rows, columns in zip(answer.kinds, answer.columns, strict=False):
        kind = np.bincount(case.kinds[rows[:10]]).argmax()
        if kind == 0 or not columns:
            continue
        members = case.sample[case.kinds == kind]
        spread = case.reference.std(axis=0)
        spread[spread == 0.0] = 1.0
        near = case.reference[nearest_known(members / spread, case.reference / spread)]
        truth = np.arange(len(members) + len(near)) < len(members)
        if min(truth.sum(), (~truth).sum()) < 5:
            continue
        scores = cross_val_predict(
            make_pipeline(
                StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
            ),
            np.concatenate([members, near])[:, columns],
            truth,
            cv=5,
            method="decision_function",
        )
        found.append(roc_auc_score(truth, scores))
    return mean(found)


def kinds_found(case: tasks.Case, answer: Answer, count: int = 10) -> tuple[int, int, int]:
    """Return how many classes are found, how many modes are false, and how many show a kind that another shows.

    A kind is found where a mode's first ``count`` rows are to at least .8 of it. A mode is false where most of those
    rows are of no new kind.
    """
    found: list[int] = []
    false = 0
    for rows in answer.kinds:
        kinds = case.kinds[rows[:count]]
        false += int((kinds > 0).mean() < 0.5)
        found += [
            int(kind) for kind in np.unique(kinds[kinds > 0]) if (kinds == kind).mean() >= 0.8
        ]
    return len(set(found)), false, len(found) - len(set(found))


def mean(values: Iterable[Any]) -> float:
    """Return the mean of the numbers among ``values``, or NaN."""
    numbers = [value for value in values if np.isfinite(value)]
    return float(np.mean(numbers)) if numbers else np.nan


def of(part: int, whole: int) -> str:
    """Return a count beside what it is a part of."""
    return f"{part} of {whole}"


def verdicts(name: str, one: list[Judged], more: list[Judged], null: list[Judged]) -> list[object]:
    """Return what a method says of whole samples."""
    few, both = [found for found in one if found.share < 0.08], one + more
    said = [found for found in both if found.detected]
    again = [found.same for found in one if np.isfinite(found.same)]
    return [
        name,
        of(sum(found.detected for found in one), len(one)),
        of(sum(found.found for found in one), len(one)),
        of(sum(found.found for found in few), len(few)),
        of(sum(found.found for found in more), sum(found.wanted for found in more)),
        of(sum(found.false > 0 for found in said), len(said)),
        of(sum(found.split > 0 for found in said), len(said)),
        of(sum(found.lost > 0 for found in both), len(both)) if name == OURS else "-",
        of(sum(found.detected for found in null), len(null)),
        of(int(sum(again)), len(again)),
    ]


def amounts(name: str, one: list[Judged], more: list[Judged], null: list[Judged]) -> list[object]:
    """Return how well a method tells how much is new, and in which rows; alone / several."""
    parts = one, more
    said = [[found for found in part if found.detected] for part in parts]
    covered = [[found.covered for found in part if np.isfinite(found.covered)] for part in parts]
    return [
        name,
        " / ".join(f"{mean(found.purity for found in part):.2f}" for part in said),
        " / ".join(f"{mean(found.recall for found in part):.2f}" for part in said),
        " / ".join(f"{mean(found.precision for found in part):.3f}" for part in parts),
        " / ".join(f"{mean(found.error for found in part):.3f}" for part in parts),
        " / ".join(of(int(sum(part)), len(part)) for part in covered) if covered[0] else "-",
        " / ".join(f"{mean(found.bound for found in part):.2f}" for part in said),
        " / ".join(f"{mean(found.apart for found in part):.2f}" for part in said),
        mean(found.seconds for found in one + more + null),
    ]


VERDICTS = (
    "method",
    "detected",
    "class found",
    "under 8 %",
    "of several",
    "a false mode",
    "a class twice",
    "a false missing mode",
    "null called new",
    "same by seed",
)
AMOUNTS = (
    "method",
    "purity of members",
    "recall",
    "average precision",
    "error of the fraction",
    "interval covers",
    "lower bound, of the truth",
    "three columns part (AUC)",
    "CPU seconds",
)


def main(*, quick: bool) -> None:
    """Print the tables of decisions."""
    every = 6 if quick else 1
    parts = [
        list(tasks.singles(every)),
        list(tasks.several(every)),
        list(tasks.nulls(12 if quick else 100)),
    ]
    if not tasks.has_files():
        print(
            "novelty: SHIFTMETRICS_DATA names no folder of real data; only scikit-learn's sets are judged"
        )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    answered = {}
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        for name in METHODS:
            jobs = [[(name, case, part is parts[0]) for case in part] for part in parts]
            answered[name] = [list(pool.map(judge, part)) for part in jobs]
    counts = (
        "{} classes withheld alone, {} groups of classes, {} splits of one distribution".format(
            *map(len, parts)
        )
    )
    rows = [verdicts(name, *found) for name, found in answered.items()]
    print(table(VERDICTS, rows, title=f"what is new, by the verdict: {counts}"))
    print()
    rows = [amounts(name, *found) for name, found in answered.items()]
    print(table(AMOUNTS, rows, title="how much is new, and which rows: alone / several"))
