"""What each peer says of the same inputs, at its defaults: ``python tasks.py PEER FOLDER``, where it is installed.

Called by ``compare.py``, which writes the inputs. A line of JSON for each question: the peer's own answers, by the
name of what it calls them, and the CPU seconds of one answer.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

Answers = dict[str, bool]
"""True where the peer says that something changed, or that the new model is worse."""
Decide = Callable[[pd.DataFrame, pd.DataFrame], Answers]


def pairs(folder: Path) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read the pairs of tables of a folder."""
    for number in range(len(list(folder.glob("*_first.csv")))):
        yield (
            pd.read_csv(folder / f"{number}_first.csv"),
            pd.read_csv(folder / f"{number}_second.csv"),
        )


def asked(decide: Decide, folder: Path) -> dict[str, Any]:
    """Ask for each pair of a folder, and count."""
    said, seconds = [], []
    for first, second in pairs(folder):
        start = time.process_time()
        said.append(decide(first, second))
        seconds.append(time.process_time() - start)
    return {"counts": counted(said), "of": len(said), "seconds": median(seconds)}


def watched(decide: Decide, folder: Path, batch: int = 100) -> dict[str, Any]:
    """Hold batch after batch against the reference; a watcher has alarmed if one batch did."""
    said = []
    for reference, rows in pairs(folder):
        seen: Answers = {}
        for begin in range(0, len(rows), batch):
            for name, alarm in decide(reference, rows.iloc[begin : begin + batch]).items():
                seen[name] = seen.get(name, False) or alarm
        said.append(seen)
    return {"counts": counted(said), "of": len(said)}


def counted(said: list[Answers]) -> dict[str, int]:
    """Count the answers by their names."""
    return {name: sum(each[name] for each in said) for name in said[0]}


# --- ours ------------------------------------------------------------------------------------------------


def shiftmetrics() -> dict[str, Any]:
    """Return the decisions of this library."""
    from shiftmetrics import audit_samples, diff_models
    from shiftmetrics.decisions import make_passport, monitor_batch

    def audit(reference: pd.DataFrame, current: pd.DataFrame) -> Answers:
        return {"CHANGED": audit_samples(reference, current).verdict == "CHANGED"}

    def diff(old: pd.DataFrame, new: pd.DataFrame) -> Answers:
        verdict = diff_models(
            old["answer"].to_numpy(),
            new["answer"].to_numpy(),
            labels=old["label"].to_numpy(),
            allow=0.01,
        ).verdict
        return {"SAFE": verdict == "SAFE", "WORSE": verdict == "WORSE"}

    def monitor(folder: Path) -> dict[str, Any]:
        said = []
        for reference, rows in pairs(folder):
            passport, state, alarm = make_passport(reference), None, False
            for begin in range(0, len(rows), 100):
                result = monitor_batch(passport, rows.iloc[begin : begin + 100], state=state)
                state, alarm = result.state, alarm or result.exit_code == 1
            said.append({"alarm": alarm})
        return {"counts": counted(said), "of": len(said)}

    return {"audit": audit, "diff": diff, "monitor": monitor}


# --- peers -----------------------------------------------------------------------------------------------


def evidently() -> dict[str, Any]:
    """Return the preset of drift, and the tests that the preset of classification makes of a reference."""
    from evidently import BinaryClassification, DataDefinition, Dataset, Report
    from evidently.presets import ClassificationPreset, DataDriftPreset

    def drift(reference: pd.DataFrame, current: pd.DataFrame) -> Answers:
        data = [Dataset.from_pandas(each) for each in (current, reference)]
        count = Report([DataDriftPreset()]).run(*data).dict()["metrics"][0]["value"]
        return {"half of the columns": count["share"] >= 0.5, "any column": count["count"] > 0}

    def worse(old: pd.DataFrame, new: pd.DataFrame) -> Answers:
        kind = BinaryClassification(target="label", prediction_labels="answer")
        shape = DataDefinition(classification=[kind], categorical_columns=["label", "answer"])
        data = [Dataset.from_pandas(each, data_definition=shape) for each in (new, old)]
        ran = Report([ClassificationPreset()], include_tests=True).run(*data).dict()["tests"]
        failed = [each["name"] for each in ran if "FAIL" in str(each["status"])]
        return {
            "test of accuracy fails": any(name.startswith("Accuracy") for name in failed),
            "any test fails": bool(failed),
        }

    return {"audit": drift, "diff": worse, "watch": drift}


def nannyml() -> dict[str, Any]:
    """Return the two calculators of drift with their default thresholds; the reference is cut into ten chunks."""
    import nannyml as nml

    def drift(reference: pd.DataFrame, current: pd.DataFrame) -> Answers:
        names = list(reference.columns)
        univariate = nml.UnivariateDriftCalculator(
            column_names=names, chunk_size=max(len(reference) // 10, 1)
        ).fit(reference)
        together = nml.DataReconstructionDriftCalculator(
            column_names=names, chunk_size=max(len(reference) // 10, 1)
        ).fit(reference)
        each, joint = (
            found.calculate(current.reset_index(drop=True)).filter(period="analysis").to_df()
            for found in (univariate, together)
        )
        alarms = each.loc[:, [name for name in each.columns if name[-1] == "alert"]]
        return {
            "any column": bool(alarms.to_numpy().any()),
            "all columns together": bool(joint["reconstruction_error", "alert"].any()),
        }

    return {"audit": drift, "watch": drift}


def alibi_detect() -> dict[str, Any]:
    """Return the detector of tables, which corrects for the number of columns; words are numbers, gaps are -1."""
    from alibi_detect.cd import TabularDrift

    def coded(reference: pd.DataFrame, current: pd.DataFrame) -> tuple[Any, Any, dict[int, None]]:
        rows = pd.concat([reference, current], ignore_index=True)
        words = [name for name in rows if not pd.api.types.is_float_dtype(rows[name])]
        for name in words:
            rows[name] = pd.factorize(rows[name])[0]
        values = rows.fillna(-1).to_numpy(dtype=np.float64)
        places = {list(rows.columns).index(name): None for name in words}
        return values[: len(reference)], values[len(reference) :], places

    def drift(reference: pd.DataFrame, current: pd.DataFrame) -> Answers:
        first, second, places = coded(reference, current)
        detector = TabularDrift(first, p_val=0.05, categories_per_feature=places or None)
        return {"is_drift": bool(detector.predict(second)["data"]["is_drift"])}

    return {"audit": drift, "watch": drift}


def deepchecks() -> dict[str, Any]:
    """Return its check of single columns and that of all together, each with its default condition."""
    from deepchecks.tabular import Dataset
    from deepchecks.tabular.checks import FeatureDrift, MultivariateDrift

    def drift(reference: pd.DataFrame, current: pd.DataFrame) -> Answers:
        words = [name for name in reference if not pd.api.types.is_float_dtype(reference[name])]
        data = [Dataset(each, cat_features=words) for each in (reference, current)]
        single = FeatureDrift().add_condition_drift_score_less_than()
        joint = MultivariateDrift().add_condition_overall_drift_value_less_than()
        return {
            "any column": not single.run(*data).passed_conditions(),
            "all columns together": not joint.run(*data).passed_conditions(),
        }

    return {"audit": drift}


PEERS = {
    each.__name__: each for each in (shiftmetrics, evidently, nannyml, alibi_detect, deepchecks)
}


def main(peer: str, folder: Path) -> None:
    """Answer all questions that the peer has an answer to."""
    tasks = PEERS[peer]()
    for task, decide in tasks.items():
        asks = {"audit": asked, "diff": asked, "watch": watched}.get(task)
        for case in sorted((folder / ("monitor" if task == "watch" else task)).iterdir()):
            found = decide(case) if asks is None else asks(decide, case)
            print(json.dumps({"task": task, "case": case.name, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
