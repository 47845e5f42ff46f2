"""`agreement --model` and `compare --data` on random tables and models: every number as by hand.

``python tests/cli/test_random_models.py 300`` tries that many seeds of each command and prints what is wrong.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import posterior_agreement

CLASSES = (
    [0, 1],
    [1, 2, 3],
    ["no", "yes"],
    ["cat", "dog", "fox"],
    [False, True],
    [-1, 1],
    ["10", "9"],
)
MODELS: tuple[Callable[[], Any], ...] = (
    lambda: RandomForestClassifier(7, random_state=0),
    lambda: LogisticRegression(max_iter=500),
    lambda: HistGradientBoostingClassifier(max_iter=5),
    GaussianNB,
    lambda: KNeighborsClassifier(5),
    lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
)
AS_RANKED: dict[str, Any] = {"prior": "predicted"}
"""How `compare` measures agreement where it is not told."""
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".csv.gz")


@dataclass
class Case:
    """Models in files, two tables of the same rows in files, and what stands in them."""

    models: dict[str, Any]
    rows: dict[str, pd.DataFrame]
    labels: np.ndarray
    files: dict[str, str]
    typed: list[str]


def written(seed: int, n_models: int) -> Case:
    """Write a random case into the present folder."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 120))
    classes = np.array(CLASSES[rng.integers(len(CLASSES))])
    center = rng.normal(size=(len(classes), 3))
    place = rng.permutation(np.arange(3 * n) % len(classes))
    numbers = center[place] + rng.normal(size=(3 * n, 3))
    table = pd.DataFrame(numbers, columns=["length", "width", "mass"])
    if rng.random() < 0.4:
        table["count"] = rng.poisson(3 + 2 * place)
    if words := rng.random() < 0.4:
        table["site"] = rng.choice(["north", "south", "east coast"], 3 * n)
    if gaps := rng.random() < 0.3:
        table.loc[rng.random(3 * n) < 0.1, "width"] = np.nan
    labels = classes[place]
    made = {}
    for k in range(n_models):
        model = MODELS[rng.integers(len(MODELS))]()
        scale = [SimpleImputer()] if gaps else [StandardScaler()]
        if words:
            numeric = [name for name in table if name != "site"]
            model = make_pipeline(
                make_column_transformer(
                    (make_pipeline(*scale), numeric), (OneHotEncoder(sparse_output=False), ["site"])
                ),
                model,
            )
        elif gaps or rng.random() < 0.5:
            model = make_pipeline(*scale, model)
        made[f"m{k}"] = model.fit(table[2 * n :], labels[2 * n :])
        joblib.dump(made[f"m{k}"], f"m{k}.joblib")
    before = table[:n].reset_index(drop=True)
    after = before.copy()
    after[["length", "mass"]] += rng.uniform(0.1, 1.5) * rng.normal(size=(n, 2))
    known = labels[:n]
    beside = {}
    if rng.random() < 0.7:
        beside["sample_id"] = (
            [f"s{k}" for k in rng.permutation(n)] if rng.random() < 0.5 else np.arange(n) + 7
        )
    labelled = rng.random() < 0.7
    if labelled:
        beside["kind"] = known
    shuffled = "sample_id" in beside and rng.random() < 0.7
    files = {}
    for name, frame in (("before", before), ("after", after)):
        whole = frame.assign(**beside)
        if rng.random() < 0.5:
            whole = whole[list(rng.permutation(whole.columns))]
        if shuffled and name == "after":
            whole = whole.sample(frac=1.0, random_state=seed)
        files[name] = f"{name}{ENDINGS[rng.integers(len(ENDINGS))]}"
        _write(whole, files[name])
    typed = ["--trust"]
    if labelled:
        typed += ["--label", "kind"]
    if "sample_id" in beside and rng.random() < 0.5:
        typed += ["--id", "sample_id"]
    rows = {name: _columns_of(frame) for name, frame in (("before", before), ("after", after))}
    return Case(made, rows, known if labelled else np.empty(0), files, typed)


def _columns_of(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({"count": float}) if "count" in frame else frame


def _write(frame: pd.DataFrame, name: str) -> None:
    if name.endswith(".parquet"):
        frame.to_parquet(name, index=False)
    elif name.endswith(".jsonl"):
        frame.to_json(name, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(name, index=False, sep="\t" if name.endswith(".tsv") else ",")


def agreement_is_right(run: Callable[..., Any], seed: int) -> None:
    """Compare what `agreement` prints with the model's own probabilities."""
    case = written(seed, 1)
    model = case.models["m0"]
    done = run(
        "agreement", case.files["after"], case.files["before"], "--model", "m0.joblib", *case.typed,
        "--json", "-",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    new, old = (model.predict_proba(case.rows[name]) for name in ("after", "before"))
    expected = posterior_agreement(new, old, kind="proportions")
    assert found["value"] == pytest.approx(expected.value, abs=1e-6)
    changed = np.mean(new.argmax(axis=1) != old.argmax(axis=1))
    assert found["changes"]["disagreement"] == pytest.approx(changed, abs=1e-12)
    assert found["n_samples"] == len(new)


def comparison_is_right(run: Callable[..., Any], seed: int) -> None:
    """Compare the ranks that `compare` prints with scores by hand."""
    rng = np.random.default_rng(seed)
    case = written(seed, int(rng.integers(2, 5)))
    given = [f"{name}={name}.joblib" for name in case.models]
    paired = rng.random() < 0.6
    against = ["--reference", case.files["before"]] if paired else []
    done = run(
        "compare", *given, "--data", case.files["after"], *against, *case.typed, "--json", "-",
        "--resamples", "50",
    )  # fmt: skip
    if not paired and not len(case.labels) and len(case.models) == 2:
        assert done.exit_code == 2
        assert "--reference must be scores of the same rows" in done.stderr
        return
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    values = {model["name"]: model["value"] for model in found["models"]}
    assert set(values) == set(case.models)
    answers = {name: model.predict(case.rows["after"]) for name, model in case.models.items()}
    if len(case.labels):
        for name, answer in answers.items():
            macro = f1_score(case.labels, answer, average="macro")
            accuracy = np.mean(answer == case.labels)
            assert values[name] == pytest.approx((accuracy + macro) / 2, abs=1e-9)
    if paired:
        beside = {model["name"]: model["secondary_metrics"] for model in found["models"]}
        for name, model in case.models.items():
            new, old = (model.predict_proba(case.rows[when]) for when in ("after", "before"))
            unchanged = np.mean(new.argmax(axis=1) == old.argmax(axis=1))
            assert beside[name]["unchanged"] == pytest.approx(unchanged, abs=1e-12)
            one = posterior_agreement(new, old, kind="probabilities", floor=None, **AS_RANKED)
            assert beside[name]["normalized"] == pytest.approx(one.normalized, abs=1e-6)
            if len(case.models) == 2 and not len(case.labels):
                assert values[name] == pytest.approx(beside[name]["normalized"], abs=1e-12)
    best = max(values.values())
    first = found["models"][0]["name"]
    assert values[first] == pytest.approx(best, abs=1e-12)


CHECKS = {"agreement": agreement_is_right, "compare": comparison_is_right}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("command", CHECKS)
def test_numbers_of_random_models(run, place, command, seed):
    CHECKS[command](run, seed)


@pytest.mark.parametrize("seed", [1153, 1226])
def test_what_a_model_says_needs_no_evidence(run, place, seed):
    """Classes 1, 2, 3 of unlike columns, and no and yes in one of 0 and 1, were asked for."""
    agreement_is_right(run, seed)


def main(n_seeds: int) -> int:
    """Try many seeds, and print each that is not as by hand."""
    from typer.testing import CliRunner

    from shiftmetrics.cli.app import app

    wrong = 0
    for seed in range(1000, 1000 + n_seeds):
        for command, check in CHECKS.items():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                try:
                    check(lambda *typed: CliRunner().invoke(app, [str(one) for one in typed]), seed)
                except Exception:
                    wrong += 1
                    last = io.StringIO()
                    traceback.print_exc(limit=-1, file=last)
                    print(command, seed, last.getvalue()[-1500:], flush=True)
    print(f"{wrong} of {n_seeds * len(CHECKS)} calls are not as by hand")
    return wrong


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(int(sys.argv[1])) > 0)
