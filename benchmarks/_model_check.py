"""Is what is said of a model true? Errors nearer than "exact" says, or than a certificate allows, are searched for.

The search knows nothing of the model but its predictions: it scans each column for places where these change, adds
every number that the fitted object holds, takes the neighbours of both in the dtype of the column, and tries them
together, nearest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shiftmetrics import Search, ZeroOneLoss, model_stability, stability_criterion
from shiftmetrics.models.reading.model import problem_of

N_TRIED = 12  # rows
N_POINTS = 2500  # for each of them
N_SCANNED = 800  # values of a column
MOST_NUMBERS = 400  # of a fitted object


@dataclass(frozen=True)
class Verdict:
    """What became of one model: "true", "refused", "false" or "foreign"; how it was answered, and why."""

    word: str
    kind: str = ""
    route: str = ""
    why: str = ""


def verdict_of(model: Any, X: Any, y: Any, *, loss: str = "zero_one", seed: int = 0) -> Verdict:
    """Ask for the stability of a model, and try to refute the answer."""
    threshold = None
    if loss != "zero_one":
        threshold = 4.0 * float(np.var(np.asarray(y, dtype=np.float64))) + 1.0
    options = {"loss": loss, "computing": Search(progress=False, n_queries=300)}
    try:
        result = model_stability(model, X, y, threshold, resampling=None, **options)
    except Exception as error:
        text = f"{type(error).__name__}: {str(error)[:150]}"
        if type(error).__module__.startswith("shiftmetrics"):
            return Verdict("refused", why=text)
        return Verdict("foreign", why=text)
    answered = {"kind": result.kind, "route": result.search.route}
    try:
        why = _refuted(model, X, y, loss, threshold, result, np.random.default_rng(seed))
    except Exception as error:
        return Verdict(
            "foreign", why=f"check: {type(error).__name__}: {str(error)[:150]}", **answered
        )
    if why:
        return Verdict("false", why=why, **answered)
    return Verdict("true", **answered)


def _refuted(
    model: Any,
    X: Any,
    y: Any,
    loss: str,
    threshold: float | None,
    result: Any,
    rng: np.random.Generator,
) -> str:
    """Return what is wrong with a result; nothing where nothing was found."""
    n_samples = len(X)
    problem = problem_of(model, X, y, loss=loss, search=Search(progress=False))
    base = problem.losses(problem.codes, np.arange(n_samples))
    if abs(base.mean() - result.base_risk) > 1e-5 * (1.0 + abs(base.mean())):
        return f"its risk is {base.mean():.6g}, not {result.base_risk:.6g}"
    rows = result.changed_rows()
    if isinstance(X, pd.DataFrame) and not rows.dtypes.equals(X.dtypes):
        return f"changed rows have the dtypes {set(map(str, rows.dtypes))}"
    if loss != "zero_one":
        return ""
    changed = np.asarray(result.plan.distances)[:n_samples] > 0.0
    predicted = np.asarray(problem.rule.predict(rows)).ravel()
    right = predicted[:n_samples][changed] == np.asarray(y)[changed]
    if right.any():
        return f"{int(right.sum())} of {int(changed.sum())} changed rows are right"
    told = np.asarray(result.search.loss.distances, dtype=np.float64)
    known = told.copy()
    values = _values(model, problem, rng)
    tried = rng.permutation(np.flatnonzero(told > 0.0))[:N_TRIED]
    for row in tried:
        known[row] = min(known[row], _nearest(problem, values, row, told[row], rng))
    if result.kind == "exact":
        nearer = known < told * (1.0 - 1e-7) - 1e-12
        if nearer.any():
            row = int(np.flatnonzero(nearer)[0])
            return f"row {row}: an error {known[row]:.5g} away, not {told[row]:.5g}"
    reached = stability_criterion(
        ZeroOneLoss(known), result.settings["threshold"], resampling=None
    ).value
    if result.lower_bound is not None and result.lower_bound > reached * (1.0 + 1e-6):
        return f"certified {result.lower_bound:.6g}, but {reached:.6g} is reached"
    return ""


def _values(model: Any, problem: Any, rng: np.random.Generator) -> list[np.ndarray]:
    """Return, for each column, the codes at which something may happen."""
    held = np.array([*_numbers(model, 0), *range(-3, 4)], dtype=np.float64)
    if len(held) > MOST_NUMBERS:
        held = rng.choice(np.unique(held), MOST_NUMBERS)
    values = []
    for column, is_category in enumerate(problem.domain.categorical.tolist()):
        codes = problem.codes[:, column]
        codes = codes[~np.isnan(codes)]
        if is_category or not problem.domain.mutable[column]:
            values.append(np.unique(codes))
            continue
        low, high = codes.min(), codes.max()
        scan = np.linspace(low, high, N_SCANNED)
        found = [np.unique(codes), held]
        for row in rng.integers(problem.n_samples, size=4):
            points = np.repeat(problem.codes[row : row + 1], N_SCANNED, axis=0)
            points[:, column] = scan
            predicted = problem.predict(points)
            at = np.flatnonzero(predicted[1:] != predicted[:-1])
            found.extend([scan[at], scan[at + 1]])
        around = np.concatenate(found)
        for dtype in (np.float32, np.float64):
            narrow = around.astype(dtype)
            around = np.concatenate(
                [
                    around,
                    narrow,
                    np.nextafter(narrow, dtype(-np.inf)),
                    np.nextafter(narrow, dtype(np.inf)),
                ]
            )
        values.append(np.unique(around[(around >= low) & (around <= high)]))
    return values


def _numbers(held: Any, depth: int, seen: set[int] | None = None) -> Iterator[float]:
    """Yield the numbers that a fitted object holds."""
    seen = set() if seen is None else seen
    if depth > 7 or id(held) in seen:
        return
    seen.add(id(held))
    if isinstance(held, bool | str | bytes | np.random.Generator):
        return
    if isinstance(held, int | float | np.number):
        yield float(held)
    elif isinstance(held, np.ndarray):
        if held.dtype.kind in "fiu":
            yield from held.ravel()[:2000].astype(np.float64).tolist()
        elif held.dtype == object:
            for part in held.ravel()[:200]:
                yield from _numbers(part, depth + 1, seen)
    elif isinstance(held, dict):
        for part in list(held.values())[:200]:
            yield from _numbers(part, depth + 1, seen)
    elif isinstance(held, list | tuple):
        for part in held[:200]:
            yield from _numbers(part, depth + 1, seen)
    elif hasattr(held, "threshold") and hasattr(held, "children_left"):
        yield from held.threshold.tolist()
    elif hasattr(held, "__dict__"):
        yield from _numbers(vars(held), depth + 1, seen)


def _nearest(
    problem: Any, values: list[np.ndarray], row: int, limit: float, rng: np.random.Generator
) -> float:
    """Return the distance of the nearest error found below a limit; inf where none was."""
    start = problem.codes[row]
    domain = problem.domain
    points = np.repeat(start[None], N_POINTS, axis=0)
    reach = limit if np.isfinite(limit) else 10.0
    for column, choices in enumerate(values):
        if not domain.mutable[column] or np.isnan(start[column]):
            continue
        if domain.categorical[column]:
            taken = rng.choice(choices, N_POINTS)
            stays = rng.random(N_POINTS) < 0.6
        else:
            near = choices[np.abs(choices - start[column]) <= reach * domain.unit[column]]
            taken = rng.uniform(-1.0, 1.0, N_POINTS) * reach * domain.unit[column] + start[column]
            special = rng.random(N_POINTS) < 0.7
            if near.size:
                taken[special] = rng.choice(near, int(special.sum()))
            stays = rng.random(N_POINTS) < 0.4
        points[:, column] = np.where(stays, start[column], taken)
    starts = np.repeat(start[None], N_POINTS, axis=0)
    points = domain.clip(points, starts)
    for (
        column,
        dtype,
    ) in domain.narrow.items():  # as they can be written in the dtypes of the columns
        points[:, column] = points[:, column].astype(dtype)
    points = domain.clip(points, starts)
    distances = domain.distances(points, starts)
    inside = np.flatnonzero(distances < limit * (1.0 - 1e-7) - 1e-12)
    if not inside.size:
        return np.inf
    wrong = problem.predict(points[inside]) != problem.y[row]
    return float(distances[inside][wrong].min(initial=np.inf))
