"""The first solve of a process: it loads nothing that a warm one does without."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from shiftmetrics._core.confidence import student_quantile

SCRIPT = """
import json, sys, time
import numpy as np
from shiftmetrics.stability import HingeLoss, stability_criterion
margins = np.random.default_rng(0).normal(1.0, 1.0, 1000)
before = set(sys.modules)
start = time.process_time()
result = stability_criterion(HingeLoss(margins, 1.5), 1.0)
seconds = time.process_time() - start
assert result.interval is not None
print(json.dumps({"loaded": sorted(set(sys.modules) - before), "seconds": seconds}))
"""


def test_the_first_interval_loads_no_library() -> None:
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    answer = json.loads(output)
    assert not [name for name in answer["loaded"] if name.split(".")[0] in ("scipy", "tqdm")]
    assert len(answer["loaded"]) <= 3


@pytest.mark.parametrize("freedom", [1.0, 5.5, 39.0, 40.0, 57.3, 1e3, 1e7])
def test_quantiles_are_those_of_student(freedom: float) -> None:
    for probability in (0.51, 0.8, 0.95, 0.975, 0.995, 0.9999, 0.9999999):
        exact = stats.t.ppf(probability, freedom)
        assert student_quantile(probability, freedom) == pytest.approx(exact, rel=1e-6)
        assert np.isfinite(exact)
