"""The command ``diff`` on scores and on logs of evaluations, as a user types it."""

import json

import numpy as np
import pandas as pd
import pytest

from evaluation_logs import inspect_archive, inspect_log, inspect_sample
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval


@pytest.fixture
def judged(tmp_path):
    """Write two tables of grades; return their paths and the grades."""
    rng = np.random.default_rng(1)
    old = rng.choice([0.0, 0.5, 1.0], 200)
    new = np.where(rng.random(200) < 0.1, 0.0, old)
    paths = []
    for name, grades in (("old", old), ("new", new)):
        path = tmp_path / f"{name}.csv"
        pd.DataFrame({"id": np.arange(200), "judge": grades}).to_csv(path, index=False)
        paths.append(path)
    return paths, old, new


@pytest.mark.parametrize("allow", [0.2, 0.05, 0.01])
def test_grades_decide_the_exit_code(run, judged, allow):
    paths, old, new = judged
    done = run("diff", *paths, "--scores", "judge", "--allow", allow)
    interval = paired_mean_interval(new - old, 1.0)
    code = 3
    if interval.low > -allow:
        code = 0
    elif interval.high < -allow:
        code = 1
    assert done.exit_code == code, done.output
    assert f"{int((new < old).sum())} worse" in done.output


def test_an_archive_of_a_log_is_read_as_it_is_written(run, tmp_path):
    paths = []
    for name, right in (("old", 3), ("new", 4)):
        samples = [inspect_sample(f"q{n}", {"match": "C" if n % right else "I"}) for n in range(24)]
        paths.append(inspect_archive(tmp_path / f"{name}.eval", inspect_log(samples)))
    done = run("diff", *paths, "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["n_samples"] == 24
    assert found["old_score"] == pytest.approx(16 / 24)
    assert found["new_score"] == pytest.approx(18 / 24)


def test_an_unknown_score_is_refused_by_its_option(fails, judged):
    paths, _, _ = judged
    assert fails("diff", *paths, "--scores", "jury").startswith("--scores must be")
