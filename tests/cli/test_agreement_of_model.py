"""`agreement --model`: rows in place of scores; and rows that are given as scores by mistake."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge

from shiftmetrics import posterior_agreement


@pytest.fixture
def wines(tmp_path, monkeypatch):
    """Write a forest, rows of wines, and the same rows with noise in another order."""
    monkeypatch.chdir(tmp_path)
    features, kinds = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(30, random_state=0).fit(features[::2], kinds[::2])
    joblib.dump(model, "model.joblib")
    rows = features[1::2].reset_index(drop=True)
    noise = np.random.default_rng(0).normal(size=rows.shape)
    shifted = rows + 0.7 * rows.std().to_numpy() * noise
    for name, frame, order in (("rows", rows, 1), ("shifted", shifted, -1)):
        frame = frame.assign(bottle_id=np.arange(len(rows)), kind=kinds[1::2].to_numpy())
        frame[::order].to_csv(f"{name}.csv", index=False)
    return model, rows, shifted


def test_the_model_is_asked_for_its_probabilities(run, wines):
    model, rows, shifted = wines
    done = run(
        "agreement", "shifted.csv", "rows.csv", "--model", "model.joblib", "--trust",
        "--label", "kind", "--json", "-",
    )  # fmt: skip
    expected = posterior_agreement(
        model.predict_proba(shifted), model.predict_proba(rows), kind="proportions"
    )
    found = json.loads(done.stdout)
    assert found["value"] == pytest.approx(expected.value, abs=1e-9)
    assert found["changes"]["disagreement"] == expected.changes.disagreement


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--model model.joblib", "--trust"),
        ("--model gone.joblib --trust", "existing file"),
        ("--model ridge.joblib --trust", "predict_proba"),
        ("--model other.joblib --trust", "SHIFTED: model must be"),
        ("", "several columns of numbers that may be the prediction"),
    ],
)
def test_what_is_no_answer_is_one_sentence(run, wines, typed, said):
    _, rows, _ = wines
    joblib.dump(Ridge().fit(rows, rows["ash"]), "ridge.joblib")
    other = rows.rename(columns={"ash": "sand"})
    joblib.dump(RandomForestClassifier(3).fit(other, np.arange(len(other)) % 2), "other.joblib")
    done = run("agreement", "shifted.csv", "rows.csv", "--label", "kind", *typed.split())
    assert done.exit_code == 2
    assert said in done.output


def test_whole_numbers_in_every_column_are_rows(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "counts.csv"
    pd.DataFrame(rng.integers(0, 9, (40, 4)), columns=list("abcd")).to_csv(path, index=False)
    done = run("agreement", path, path)
    assert done.exit_code == 2
    assert "whole numbers in every column" in done.output


@pytest.mark.parametrize(
    "kind", ["logits", "log probabilities", "votes", "one-hot", "constant classes"]
)
def test_scores_of_every_kind_pass(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    logits = 8 * rng.normal(size=(60, 5)) + np.array([0, 0, 0, 0, -30])
    log_probabilities = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    scores = {
        "logits": logits,
        "log probabilities": log_probabilities,
        "constant classes": logits * np.array([1, 1, 0, 0, 0]),
        "votes": rng.multinomial(25, np.ones(5) / 5, 60),
        "one-hot": np.eye(5)[rng.integers(0, 5, 60)].astype(int),
    }[kind]
    path = tmp_path / "scores.csv"
    pd.DataFrame(scores, columns=list("abcde")).to_csv(path, index=False)
    typed = ["--columns", "a,b,c,d,e"] if kind == "constant classes" else []
    done = run("agreement", path, path, *typed)
    assert done.exit_code == 0, done.output
