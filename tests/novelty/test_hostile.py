"""Hostile input, hundreds of times in a child process: an answer or a refusal in words, never a dead interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

from shiftmetrics.novelty.score.routes import METHODS

TESTS = Path(__file__).parents[1]
SCRIPT = """
import math
import sys

import numpy as np

METHOD, CASES = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, sys.argv[3])

from calls import novelty


def rows(rng, n, columns):
    kind = rng.integers(14)
    x = rng.normal(size=(n, columns))
    if kind == 0:
        x[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf])
    elif kind == 1:
        x[:] = rng.choice([0.0, 1.0, -1e300, 1e-320])
    elif kind == 2:
        x = x[rng.integers(max(1, n // 5), size=n)]
    elif kind == 3:
        x = x * 10.0 ** rng.integers(-320, 308)
    elif kind == 4:
        x[rng.integers(n)] *= 1e200
    elif kind == 5:
        x = np.sign(x) * 1.7e308
    elif kind == 6:
        x = np.round(x).astype(rng.choice(["int8", "int64", "uint8", "bool", "float16", "float32"]))
    elif kind == 7:
        x[:, rng.integers(columns)] = 7.0
    elif kind == 8:
        x = x + 10.0 ** rng.integers(0, 17)
    elif kind == 9:
        x = np.asfortranarray(x)[::-1, ::-1]
    elif kind == 10:
        x[: n // 2] = x[n // 2 : n // 2 + n // 2] + 1e-9
    return x


def kernel(rng):
    kind = rng.integers(8)
    if kind == 0:
        return "cosine"
    if kind == 1:
        return lambda a, b: a @ b.T
    if kind == 2:
        return lambda a, b: 1.0 - np.abs(a[:, :1] - b[:, 0])
    if kind == 3:
        return lambda a, b: np.full((len(a), len(b)), rng.choice([0.0, 1.0, -1.0, np.nan]))
    return "gaussian"


outcomes = {"answer": 0, "refusal": 0}
for seed in range(CASES):
    rng = np.random.default_rng(seed)
    n, m = (int(size) for size in rng.choice([1, 2, 3, 10, 60, 300], p=[0.06, 0.18, 0.19, 0.19, 0.19, 0.19], size=2))
    columns = int(rng.choice([1, 2, 3, 8, 70]))
    x, y = rows(rng, n, columns), rows(rng, m, columns if rng.random() < 0.95 else columns + 1)
    if rng.random() < 0.2 and n == m:
        y = x.copy()
    arguments = {
        "kernel": kernel(rng),
        "method": METHOD,
        "eta": float(rng.choice([1.0, 2.5, 10.0, 1e6, 0.5, math.nan], p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])),
        "rtol": float(rng.choice([0.0, 1e-12, 1e-3, 1.0])),
    }
    if rng.random() < 0.3:
        arguments["n_landmarks"] = int(rng.integers(0, 40))
    if METHOD == "cosine" and rng.random() < 0.9:
        arguments["kernel"] = "cosine"
    if arguments["kernel"] == "gaussian" and rng.random() < 0.6:
        arguments["bandwidth"] = float(rng.choice([1e-300, 1e-8, 0.3, 1.0, 1e8, 1e300, 0.0, -1.0, math.inf]))
    if rng.random() < 0.3:
        shares = [0.3, 0.5, 0.1, 0.099, 0.001]
        arguments["sample_weight"] = rng.choice([0.0, 1.0, 1e-300, 1e300, -1.0], p=shares, size=n)
    if rng.random() < 0.3:
        arguments["reference_weight"] = rng.uniform(size=m) ** 50
    arguments["paired"] = bool(n == m and rng.random() < 0.4)
    arguments["n_resamples"] = int(rng.choice([19, 2], p=[0.9, 0.1]))  # 2 are too few, and refused
    if rng.random() < 0.2:
        arguments["confidence_level"] = float(rng.choice([0.5, 0.9]))
    try:
        with np.errstate(all="ignore"):
            result = novelty(x, y, **arguments)
            scores = result.point_novelty(y) if result.score.total else np.zeros(1)
            memberships = [mode.score(x) for mode in (*result.new[:2], *result.missing[:2])]
            memberships += [result.row_scores, result.reference_row_scores, result.score_rows(y)]
    except (ValueError, TypeError, MemoryError) as error:
        assert " must " in str(error) or " needs " in str(error), error
        outcomes["refusal"] += 1
        continue
    outcomes["answer"] += 1
    assert math.isfinite(result.value), (seed, result.value)
    assert -1e-12 <= result.value <= math.log(n) + 1e-9, (seed, result.value)
    assert 0.0 <= result.score.total <= 1.0, (seed, result.score.total)
    low = result.fraction_interval.low
    p_values = result.p_value, result.test.missing_p_value
    for share in (result.fraction, result.missing_fraction, low, *p_values):
        assert 0.0 <= share <= 1.0, (seed, share)
    assert not math.isnan(result.error_bound), seed
    assert math.isfinite(result.error_bound) or not result.status.ok, seed
    assert np.isfinite(result.score.eigenvalues).all(), seed
    for array in (scores, *memberships):
        assert (array >= 0.0).all() and (array <= 1.0).all(), seed
print(outcomes["answer"], outcomes["refusal"])
"""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cases", [15, pytest.param(250, marks=pytest.mark.slow)])
def test_hostile_input_never_kills_the_interpreter(method: str, cases: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, method, str(cases), str(TESTS)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    answers, refusals = (int(number) for number in ended.stdout.split())
    assert answers + refusals == cases
    assert answers > cases // 5
    assert refusals > cases // 5
