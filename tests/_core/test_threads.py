"""One thread for each matrix product while blocks have threads of their own, and as many as before afterwards."""

import json
import os
import subprocess
import sys

import pytest
import threadpoolctl

from shiftmetrics._core.blocks import one_blas_thread


def counts() -> list[int]:
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_products_keep_to_one_thread_inside() -> None:
    before = counts()
    with one_blas_thread():
        assert set(counts()) <= {1}
    assert counts() == before


def test_the_limit_ends_with_an_error() -> None:
    before = counts()
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert counts() == before


MEASURES = """
import json
import numpy as np
from shiftmetrics import ZeroOneLoss, kernel_entropic_novelty, posterior_agreement, stability_criterion

rng = np.random.default_rng(0)
scores, rows = rng.normal(size=(900, 40)), rng.normal(size=(2, 500, 30))
results = (
    posterior_agreement(scores + rng.normal(size=scores.shape), scores),
    stability_criterion(ZeroOneLoss(rng.exponential(size=20_000)), 0.4),
    kernel_entropic_novelty(rows[0] + 0.3, rows[1]),
)
print(json.dumps([(result.value, result.error_bound) for result in results]))
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_values_by_no_more_than_their_bounds() -> None:
    found = []
    for threads in ("1", "4"):
        settings = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads
        )
        done = subprocess.run(
            [sys.executable, "-c", MEASURES],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    for (first, first_bound), (second, second_bound) in zip(*found, strict=True):
        assert abs(first - second) <= first_bound + second_bound
