"""The audit: planted and withheld modes of mixed tables, since when, accuracy without labels, and the monitor.

Each part sets what a user takes from the answer beside what the user would have concluded without it: features coded
by hand, an accuracy that is taken as unchanged, windows of Kolmogorov-Smirnov tests.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _machine import table
from scipy import stats
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics._core.options import Computing
from shiftmetrics.decisions import audit_samples, make_passport
from shiftmetrics.decisions.audit.unlabelled import estimate_without_labels
from shiftmetrics.decisions.monitor.alarm import Alarm
from shiftmetrics.decisions.monitor.monitor import MonitorState
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.tables.encoder import TableEncoder

FOLDER = Path(os.environ.get("SHIFTMETRICS_DATA", ""))
CLASSICS = "tabular_fairness_classics"
START = pd.Timestamp("2024-10-01")


def adult() -> pd.DataFrame:
    """Census records with words and gaps."""
    frame = pd.read_csv(FOLDER / CLASSICS / "adult.csv.gz", na_values="?")
    return frame.drop(columns="fnlwgt")


def german() -> pd.DataFrame:
    """Applications for credit, mostly codes."""
    return pd.read_csv(FOLDER / CLASSICS / "german_credit.csv.gz")


def compas() -> pd.DataFrame:
    """Records of defendants, with gaps and several hundred charges."""
    frame = pd.read_csv(FOLDER / CLASSICS / "compas_two_years.csv.gz")
    return frame.drop(columns=["age_cat", "score_text"])


def covid() -> pd.DataFrame:
    """Patients: age, and many yes-or-no columns."""
    frame = pd.read_csv(FOLDER / "covid_sivep" / "covid_sivep.csv.gz")
    return frame.drop(columns="Days_hospital_to_outcome")


def employment() -> pd.DataFrame:
    """Answers to a survey: age, and codes that are categories."""
    frame = pd.read_parquet(FOLDER / "acs_employment_ma_2015_2018" / "employment.parquet")
    frame = frame.drop(columns=["prediction", "predicted_probability"])
    codes = [name for name in frame.columns if name not in ("AGEP", "employed", "year")]
    frame[codes] = frame[codes].astype(str)
    return frame


# Planted modes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """Two samples, the rows of each planted mode, and the first day on which they occur."""

    name: str
    reference: pd.DataFrame
    current: pd.DataFrame
    rows: tuple[np.ndarray, ...]
    first_day: str


def planted(name: str, frame: pd.DataFrame, fraction: float, seed: int, n: int = 3000) -> Planted:
    """Plant two modes in the second half of thirty days: an unseen level, or rare flags, with numbers; and a gap."""
    rng = np.random.default_rng(seed)
    n = min(n, len(frame) // 2)
    order = rng.permutation(len(frame))[: 2 * n]
    reference = frame.iloc[order[:n]].reset_index(drop=True)
    current = frame.iloc[order[n:]].reset_index(drop=True).copy()
    days = np.sort(rng.integers(0, 30, n))
    current["day"] = (START + pd.to_timedelta(days, "D")).astype(str)
    late = rng.permutation(np.flatnonzero(days >= 15))
    k = int(fraction * n)
    first, second = late[:k], late[k : 2 * k]
    words = [c for c in frame if _is_word(frame[c]) and frame[c].nunique() > 2][:2]
    flags = [c for c in frame if not _is_word(frame[c]) and frame[c].nunique() == 2]
    flags.sort(key=lambda c: frame[c].mean())
    numbers = [
        c for c in frame if pd.api.types.is_numeric_dtype(frame[c]) and frame[c].nunique() > 10
    ]
    for column in words:
        current[column] = current[column].astype(object)
        current.loc[first, column] = "unheard-of"
    if not words:
        current.loc[first, flags[:3]] = frame[flags[:3]].max().to_numpy()
    for column in numbers[:2]:
        high = frame[column].quantile(0.98)
        spread = max(float(frame[column].std()), 1e-9)
        current[column] = current[column].astype(float)
        current.loc[first, column] = rng.normal(high, 0.05 * spread, k).round(2)
    gap = next(c for c in reversed(list(numbers)) if not frame[c].isna().any())
    current[gap] = current[gap].astype(float)
    current.loc[second, gap] = np.nan
    return Planted(
        f"{name} {100 * fraction:g} %",
        reference,
        current,
        (first, second),
        str((START + pd.Timedelta(15, "D")).date()),
    )


def _is_word(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column.dtype)


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "adult": adult,
    "german": german,
    "compas": compas,
    "covid": covid,
    "employment": employment,
}


def judge_planted(quick: bool) -> None:
    """Print precision, recall and date of planted modes."""
    rows = []
    for name, load in TABLES.items():
        frame = load()
        for fraction in (0.08, 0.03):
            for seed in range(1 if quick else 10):
                case = planted(name, frame, fraction, seed)
                start = time.perf_counter()
                result = audit_samples(case.reference, case.current, time="day", rng=seed)
                seconds = time.perf_counter() - start
                for place, truth in enumerate(case.rows):
                    modes = result.changes.new
                    overlaps = [len(np.intersect1d(mode.rows, truth)) for mode in modes]
                    best = int(np.argmax(overlaps)) if overlaps else -1
                    found = overlaps[best] if overlaps else 0
                    n_members = len(modes[best].rows) if found else 0
                    change = modes[best].change if found else None
                    day = change.period if change is not None else ""
                    apart = (
                        abs((pd.Timestamp(day) - pd.Timestamp(case.first_day)).days) if day else 99
                    )
                    rows.append(
                        {
                            "table": name,
                            "fraction": fraction,
                            "mode": ("level", "gap")[place],
                            "precision": found / n_members if n_members else 0.0,
                            "recall": found / len(truth),
                            "day": float(apart <= 1),
                            "seconds": seconds,
                            "modes": len(modes),
                        }
                    )
    frame = pd.DataFrame(rows)
    means = frame.groupby(["table", "fraction", "mode"]).mean(numeric_only=True).reset_index()
    print(
        "Planted modes: precision, recall, day within one of the right one, modes found (2 are there)"
    )
    print(table(list(means.columns), [[_cell(value) for value in row] for row in means.to_numpy()]))
    overall = frame[["precision", "recall", "day"]].mean()
    print("all:", ", ".join(f"{key} {value:.3f}" for key, value in overall.items()))


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


# Withheld modes: the encoder beside features coded by hand ----------------------------------------------


def by_hand(reference: pd.DataFrame, current: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Code a table as a user does by hand: scaled numbers with imputed gaps, and one-hot words."""
    coder = make_column_transformer(
        (
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    coder.fit(pd.concat([reference, current]))
    return coder.transform(reference), coder.transform(current)


WITHHELD = {
    "adult": [
        ("workclass", "Self-emp-inc"),
        ("occupation", "Farming-fishing"),
        ("marital-status", "Widowed"),
        ("education", "Masters"),
    ],
    "german": [("purpose", "A41"), ("housing", "A153"), ("property", "A124")],
    "compas": [("race", "Hispanic"), ("c_charge_degree", "M"), ("sex", "Female")],
    "covid": [("Region", 1), ("Ethnicity", 1), ("Sex", 1)],
    "employment": [("RAC1P", "2"), ("MIL", "2"), ("CIT", "5")],
}
"""Groups that the reference lacks; the column that names them is hidden from both samples."""


def judge_encoder(quick: bool) -> None:
    """Print how often withheld groups are found on features of the encoder, and on features coded by hand."""
    rows = []
    for name, groups in WITHHELD.items():
        frame = TABLES[name]()
        for column, level in groups[: 1 if quick else None]:
            is_group = (frame[column] == level).to_numpy()
            for seed in range(1 if quick else 3):
                rng = np.random.default_rng(seed)
                hidden = frame.drop(columns=column)
                others = rng.permutation(np.flatnonzero(~is_group))
                group = rng.permutation(np.flatnonzero(is_group))
                n = min(1000, len(others) // 2)
                k = min(n // 7, len(group))
                reference = hidden.iloc[others[:n]].reset_index(drop=True)
                current = hidden.iloc[np.r_[others[n : 2 * n - k], group[:k]]].reset_index(
                    drop=True
                )
                truth = np.arange(len(current)) >= len(current) - k
                encoder = TableEncoder.fit(reference, current)
                for coding, (base, now) in {
                    "encoder": (encoder.transform(reference), encoder.transform(current)),
                    "by hand": by_hand(reference, current),
                }.items():
                    options = NoveltyResampling(rng=seed)
                    result = kernel_entropic_novelty(
                        now, base, resampling=options, computing=Computing(progress=False)
                    )
                    top = np.argsort(-result.row_scores)[:k]
                    rows.append(
                        {
                            "table": name,
                            "coding": coding,
                            "detected": float(result.p_value <= 0.05),
                            "right among the newest": float(truth[top].mean()),
                        }
                    )
    means = pd.DataFrame(rows).groupby(["table", "coding"]).mean(numeric_only=True).reset_index()
    print("Withheld groups, 14 % of the sample, their column hidden")
    print(table(list(means.columns), [[_cell(value) for value in row] for row in means.to_numpy()]))


# Accuracy without labels --------------------------------------------------------------------------------


def domains() -> Iterator[tuple[str, pd.DataFrame, np.ndarray, np.ndarray]]:
    """Yield pairs of natural domains: a table with its label, and which rows are the source and the target."""
    frame = employment()
    for year in (2016, 2017, 2018):
        yield (
            f"employment {year}",
            frame.drop(columns="year"),
            frame["year"] == 2015,
            frame["year"] == year,
        )
    yield "employment 60+", frame.drop(columns="year"), frame["AGEP"] < 60, frame["AGEP"] >= 60
    frame = adult()
    yield "adult, women", frame, frame["sex"] == "Male", frame["sex"] == "Female"
    yield (
        "adult, state",
        frame,
        frame["workclass"] == "Private",
        frame["workclass"].isin(["State-gov", "Local-gov"]),
    )
    frame = compas()
    yield "compas, race", frame, frame["race"] == "African-American", frame["race"] == "Caucasian"
    frame = covid()
    for region in (1, 2, 3):
        yield f"covid, region {region}", frame, frame["Region"] == 4, frame["Region"] == region
    frame = german()
    yield "german, purpose", frame, frame["purpose"] != "A43", frame["purpose"] == "A43"
    # Groups whose own column is hidden: the rule had no part of these pairs when it was chosen.
    for name, groups in WITHHELD.items():
        frame = TABLES[name]()
        for column, level in groups:
            is_group = frame[column] == level
            yield f"{name}, {column} hidden", frame.drop(columns=column), ~is_group, is_group


LABELS = {
    "employment": "employed",
    "adult": "income-per-year",
    "compas": "two_year_recid",
    "covid": "is_dead",
    "german": "credit",
}
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def judge_unlabelled(quick: bool) -> None:
    """Print errors of the estimate without labels beside "unchanged", its refusals and its coverage."""
    rows = []
    for name, frame, source, target in list(domains())[: 2 if quick else None]:
        label = LABELS[name.replace(",", " ").split()[0]]
        features = frame.drop(columns=label)
        rng = np.random.default_rng(0)
        known, new = (
            rng.permutation(np.flatnonzero(np.asarray(side))) for side in (source, target)
        )
        n = min(2000, len(known) // 3)
        train, reference, fresh = known[:n], known[n : 2 * n], known[2 * n : 3 * n]
        for kind, rows_now in (("shift", new[:2000]), ("no shift", fresh)):
            if len(rows_now) < 200:
                continue
            base = frame.iloc[reference].reset_index(drop=True)
            now = features.iloc[rows_now].reset_index(drop=True)
            # What has no counterpart is the same for all models.
            changes = audit_samples(base.drop(columns=label), now).changes
            for model_name, build in MODELS.items():
                coder = make_column_transformer(
                    (
                        make_pipeline(SimpleImputer(), StandardScaler()),
                        make_column_selector(dtype_include="number"),
                    ),
                    (
                        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                        make_column_selector(dtype_exclude="number"),
                    ),
                )
                model = make_pipeline(coder, build()).fit(
                    features.iloc[train], frame[label].iloc[train]
                )
                found = estimate_without_labels(
                    model.predict_proba(base[features.columns]),
                    np.searchsorted(model.classes_, base[label]),
                    model.predict_proba(now),
                    unmatched_fraction=changes.unmatched_fraction,
                )
                truth = float((model.predict(now) == frame[label].iloc[rows_now].to_numpy()).mean())
                refused = found.low is None
                rows.append(
                    {
                        "kind": kind,
                        "pair": name,
                        "model": model_name,
                        "fall": found.reference_accuracy - truth,
                        "error": abs(found.estimate - truth),
                        "unchanged": abs(found.reference_accuracy - truth),
                        "refused": float(refused),
                        "covered": np.nan if refused else float(found.low <= truth <= found.high),
                        "half width": np.nan if refused else 0.5 * (found.high - found.low),
                    }
                )
    frame = pd.DataFrame(rows)
    frame["fall"] = pd.cut(
        frame["fall"], [-1.0, 0.03, 0.1, 1.0], labels=["to 3 points", "3 to 10", "over 10"]
    )
    frame["group"] = np.where(frame["pair"].str.endswith("hidden"), "column hidden", "domains")
    keys = ["kind", "group", "fall"]
    shown = ["refused", "covered", "half width", "error", "unchanged"]
    groups = frame.groupby(keys, observed=True)
    means = groups[shown].mean().assign(cells=groups.size()).reset_index()
    kept = frame[frame["refused"] == 0].groupby(keys, observed=True)[["error", "unchanged"]].mean()
    means = means.merge(kept.add_prefix("kept: ").reset_index(), on=keys, how="left")
    print(f"Accuracy without labels, {len(frame)} cells, by how far the accuracy fell")
    print(table(list(means.columns), [[_cell(value) for value in row] for row in means.to_numpy()]))


# The monitor ----------------------------------------------------------------------------------------------


def ks_windows(
    reference: np.ndarray, stream: np.ndarray, size: int = 500, alpha: float = 0.05
) -> int:
    """Return the first window in which some column differs, by tests at one level for all columns; 0 for none."""
    n_windows = len(stream) // size
    for window in range(n_windows):
        part = stream[window * size : (window + 1) * size]
        p_values = [
            stats.ks_2samp(reference[:, c], part[:, c], method="asymp").pvalue
            for c in range(part.shape[1])
        ]
        if min(p_values) * part.shape[1] * n_windows <= alpha:
            return window + 1
    return 0


def running_mean(hits: np.ndarray, sizes: np.ndarray, threshold: float, alpha: float = 0.05) -> int:
    """Return the look at which an asymptotic running mean of errors passes a threshold; 0 for never."""
    n = np.cumsum(sizes)
    mean = np.cumsum(hits) / n
    spread = np.sqrt(np.maximum(mean * (1 - mean), 1e-9))
    rho = np.sqrt((-2 * np.log(alpha) + np.log(-2 * np.log(alpha) + 1)) / 100)
    radius = spread * np.sqrt(
        2 * (n * rho**2 + 1) / (n**2 * rho**2) * np.log(np.sqrt(n * rho**2 + 1) / (2 * alpha))
    )
    above = np.flatnonzero(mean - radius > threshold)
    return int(above[0]) + 1 if len(above) else 0


def judge_monitor(quick: bool) -> None:
    """Print false alarms and delays of labelled errors, and of rows of real tables."""
    rng = np.random.default_rng(0)
    runs = 40 if quick else 200
    rows = []
    for error in (0.08, 0.2):
        for rise, start in ((0.0, 1001), (0.1, 100), (0.2, 100)):
            looks = {"e-process": [], "running mean": []}
            for _ in range(runs):
                errors = int(rng.binomial(2000, error))
                alarm = Alarm.against("errors", errors, 2000, alpha=0.025)
                hits = rng.binomial(10, np.where(np.arange(1000) < start, error, error + rise))
                for count in hits:
                    alarm = alarm.update(int(count), 10)
                    if alarm.raised:
                        break
                looks["e-process"].append(alarm.raised_at)
                looks["running mean"].append(running_mean(hits, np.full(1000, 10), errors / 2000))
            for method, found in looks.items():
                at = np.array(found)
                early = (at > 0) & (at <= start)
                delay = at[at > start] - start
                rows.append(
                    [
                        f"{error:g}",
                        f"+{rise:g}",
                        method,
                        f"{early.mean():.3f}",
                        f"{np.median(delay):.0f}" if len(delay) else "-",
                    ]
                )
    print(
        "Labelled errors, 10 a look, 1,000 looks: false alarms before the change, median delay after it"
    )
    print(table(["error", "rise", "method", "false", "delay"], rows))
    rows = []
    for name, load in TABLES.items():
        frame = load()
        order = rng.permutation(len(frame))
        reference = frame.iloc[order[: len(order) // 2]].head(3000).reset_index(drop=True)
        rest = frame.iloc[order[len(order) // 2 :]].reset_index(drop=True)
        passport = make_passport(reference)
        numbers = passport.encoder.transform(reference)
        changed = planted(name, frame, 0.2, 1).current.drop(columns="day")
        for kind, source in (("no change", rest), ("a fifth new", changed)):
            found, rival = [], []
            for _ in range(5 if quick else 20):
                state = MonitorState.start(passport)
                stream = source.iloc[rng.integers(0, len(source), 100 * 50)].reset_index(drop=True)
                for look in range(100):
                    state = state.update(passport.count(stream.iloc[50 * look : 50 * look + 50]))
                found.append(min([a.raised_at for a in state.rows if a.raised], default=0))
                rival.append(10 * ks_windows(numbers, passport.encoder.transform(stream)))
            rows.append([name, kind, *(_alarms(np.array(at)) for at in (found, rival))])
    print(
        "Rows, 50 a look, 100 looks: fraction of runs with an alarm, median look of the first one"
    )
    print(table(["table", "stream", "e-processes", "KS on windows of 500"], rows))


def _alarms(at: np.ndarray) -> str:
    raised = at[at > 0]
    return f"{len(raised) / len(at):.2f}" + (
        f", look {np.median(raised):.0f}" if len(raised) else ""
    )


def main(*, quick: bool) -> None:
    """Print all parts."""
    if not FOLDER.name:
        print("The audit is judged on real tables: set SHIFTMETRICS_DATA to their folder.")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge_planted(quick)
        judge_encoder(quick)
        judge_unlabelled(quick)
        judge_monitor(quick)
