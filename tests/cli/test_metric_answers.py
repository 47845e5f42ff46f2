"""``diff --metric``, as it is typed."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.metric_answers import check_alone
from shiftmetrics.decisions import MetricDiffResult, diff_metric


@pytest.fixture
def files(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    words = np.array(["ham", "spam"])
    frames = []
    for name in ("old", "new"):
        answers = np.where(rng.random(300) < 0.85, y, 1 - y)
        frame = pd.DataFrame({"id": np.arange(300), "answer": words[answers], "label": words[y]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frames.append(frame)
    monkeypatch.chdir(tmp_path)
    return frames


def test_the_answer_is_that_of_the_function(files, run):
    done = run(
        "diff", "old.csv", "new.csv", "--metric", "f1", "--positive", "spam", "--allow", "0.01",
        "--changed", "changed.csv", "--json", "diff.json",
    )  # fmt: skip
    expected = diff_metric(*files, "f1", labels="label", positive="spam", allow=0.01)
    assert done.exit_code == expected.exit_code
    read = MetricDiffResult.from_json("diff.json")
    assert read.value == expected.value
    assert read.verdict == expected.verdict
    assert len(pd.read_csv("changed.csv")) == len(expected.rows.id)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["--metric", "f1"], "--positive"),
        (["--metric", "f7"], "--metric"),
        (["--metric", "f1_macro", "--plan", "5"], "--plan"),
        (["--metric", "f1_macro", "--population", "these"], "--population"),
        (["--metric", "f1_macro", "--tolerance", "1"], "--tolerance"),
        (["--metric", "roc_auc", "--positive", "spam"], "OLD"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_option(files, run, typed, named):
    done = run("diff", "old.csv", "new.csv", *typed)
    assert done.exit_code == 2
    assert named in done.stderr


def test_other_options_are_named():
    check_alone({"--costs": None, "--peek": False, "--again": []})
    with pytest.raises(ValueError, match="--peek"):
        check_alone({"--costs": None, "--peek": True})
