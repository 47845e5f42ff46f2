"""The first solve of a process: it loads nothing that a warm one does without."""

import json
import subprocess
import sys

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
