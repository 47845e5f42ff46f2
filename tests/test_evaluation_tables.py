"""The lines of the page on language models make tables of what six tools write."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.decisions import diff_scores

PAGE = Path(__file__).resolve().parents[1] / "docs" / "language_models.md"
N = 12


def block(tool):
    """Return the lines that the page gives for a tool."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^{tool} \(.*?^```py\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert found, tool
    return found[1]


def table_of(tool, **known):
    names = {"json": json, "pd": pd, "Path": Path, **known}
    exec(block(tool), names)
    table = names["table"]
    # whatever else it holds, it is a table that is compared with itself
    result = diff_scores(table, table)
    assert result.counts.better == result.counts.worse == 0
    return table, result


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_evalplus():
    solved = {"base_status": "pass", "plus_status": "fail"}
    both = {"base_status": "pass", "plus_status": "pass"}
    entries = {f"HumanEval/{n}": [both, both if n % 2 else solved] for n in range(N)}
    Path("samples_eval_results.json").write_text(json.dumps({"eval": entries, "hash": "x"}))
    _, result = table_of("EvalPlus")
    assert (result.n_samples, result.counts.runs_old) == (N, 2)
    assert result.old_score == pytest.approx(0.75)


def test_alpaca_eval():
    rows = [
        {
            "instruction": f"Count to {n} aloud.",
            "preference": [1.0, 2.0, 1.5, 0.0, 1.2, None][n % 6],
        }
        for n in range(N)
    ]
    Path("annotations.json").write_text(json.dumps(rows))
    table, result = table_of("AlpacaEval")
    assert table["score"].dropna().round(1).tolist() == [0.0, 1.0, 0.5, 0.5, 0.2] * 2
    assert result.counts.failed_old == 2


def test_reward_bench():
    rows = [
        {
            "prompt": "Which?",
            "results": n % 2,
            "text_chosen": f"good {n}",
            "text_rejected": "bad",
            "scores_chosen": 1.0,
            "scores_rejected": 0.5,
        }
        for n in range(N)
    ]
    Path("MODEL_outputs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    _, result = table_of("RewardBench")
    assert (result.n_samples, result.old_score) == (N, 0.5)


def test_lighteval():
    pytest.importorskip("pyarrow")
    rows = [
        {"doc": {"query": f"q{n}", "id": str(n)}, "metric": {"em": n % 2}, "model_response": {}}
        for n in range(N)
    ]
    frame = pd.DataFrame(rows).drop(columns="model_response")
    frame.to_parquet("details_TASK_DATE.parquet")
    _, result = table_of("lighteval")
    assert (result.n_samples, result.old_score) == (N, 0.5)


def test_deepeval():
    tests = [
        SimpleNamespace(
            input=f"q{n}",
            metrics_data=[
                SimpleNamespace(name="Answer Relevancy", score=None if n == 3 else n / N),
                SimpleNamespace(name="Bias", score=0.0),
            ],
        )
        for n in range(N)
    ]
    _, result = table_of("DeepEval", result=SimpleNamespace(test_results=tests))
    assert (result.n_samples, result.counts.failed_old) == (N - 1, 1)


def test_ragas():
    frame = pd.DataFrame({"user_input": [f"q{n}" for n in range(N)], "faithfulness": 0.5})
    frame.loc[4, "faithfulness"] = np.nan
    _, result = table_of("Ragas", result=SimpleNamespace(to_pandas=lambda: frame))
    assert (result.n_samples, result.counts.failed_old) == (N - 1, 1)
    assert result.old_score == 0.5
