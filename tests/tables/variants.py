"""Files of predictions of which the right answer is known, because they are made from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import PredictionTables

CLASSES = {
    2: (["no", "yes"], ["neg", "pos"], ["0", "1"], ["-1", "1"], ["<=50K", ">50K"]),
    3: (["cat", "dog", "fox"], ["0", "1", "2"], ["1", "2", "3"], ["None", "NA", "ok"],
        ["class a", "class b", "class c"]),
    5: (list("abcde"), ["v1", "v2", "v3", "v4", "v5"]),
    10: ([str(place) for place in range(10)], [f"c{place}" for place in range(10)]),
}  # fmt: skip
FORMS = (
    "probabilities", "percentages", "logits", "log-probabilities", "answers", "answers and probabilities",
    "own threshold", "answers and confidence",
)  # fmt: skip
BEGINNINGS = ("", "p_", "prob_", ".pred_", "prob.")
BESIDE = (
    "latency_ms",
    "age",
    "weight",
    "fold",
    "epoch",
    "loss",
    "total",
    "confidence",
    "n_tokens",
    "feature",
)
ANSWER_NAMES = ("prediction", "predict", "response", "output_label", "model_says")


@dataclass(frozen=True)
class Variant:
    """Two files, perhaps labels, what is typed, and the right answer."""

    old: Cells
    new: Cells
    labels: Cells | None
    options: RoleOptions
    expected: tuple[int, int, float | None, float | None]
    about: str


def cells(frame: pd.DataFrame, argument: str = "OLD", name: str = "old.csv") -> Cells:
    """Return a table as a file of text gives it: columns of words as they are written."""
    words = frozenset(column for column in frame.columns if frame[column].dtype == object)
    return Cells(argument=argument, name=name, table=frame.reset_index(drop=True), written=words)


def numbers_of(tables: PredictionTables) -> tuple[int, int, float | None, float | None]:
    """Return the rows, the changed ones, and both accuracies."""
    old, new = (file.answers() for file in tables.files)
    known = tables.known
    accuracies: list[float | None] = [None, None]
    if known.any():
        accuracies = [float((part[known] == tables.truth[known]).mean()) for part in (old, new)]
    return len(tables.ids), int((old != new).sum()), accuracies[0], accuracies[1]


def variant(seed: int) -> Variant:
    """Make two files of predictions: classes, form, names, what stands beside, ids and labels all at random."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 3, 5, 10]))
    sets = CLASSES[n_classes]
    names = np.array(sets[rng.integers(len(sets))], dtype=object)
    n = int(rng.choice([60, 150]))
    truth = rng.choice(n_classes, n)
    noise = rng.normal(size=(n, n_classes))
    logits = [2.0 * np.eye(n_classes)[truth] + noise]
    logits.append(2.0 * np.eye(n_classes)[truth] + 0.7 * noise + 0.6 * rng.normal(size=noise.shape))
    form = str(rng.choice(FORMS))
    beginning = str(rng.choice(BEGINNINGS))
    answer_name = str(rng.choice(ANSWER_NAMES))
    beside = list(rng.choice(BESIDE, size=int(rng.integers(0, 4)), replace=False))
    own = {
        "age": rng.integers(18, 90, n),
        "weight": rng.uniform(0.5, 2.0, n),
        "fold": rng.integers(0, 5, n),
        "feature": rng.normal(size=n),
    }
    columns = []
    answers = []
    for model, scores in enumerate(logits):
        table, answer = _one_model(scores, form, names, beginning, answer_name)
        rows = [column for column in table.values() if column.dtype.kind == "f"]
        for name in beside:
            table[name] = _beside(str(name), rng, n, model, rows, own)
        columns.append(table)
        answers.append(answer)
    return _with_rows(
        rng,
        columns,
        answers,
        names[truth],
        f"{seed}: {form}, {list(names)}, {beginning!r}, {beside}",
    )


def _one_model(
    logits: np.ndarray, form: str, names: np.ndarray, beginning: str, answer_name: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the columns of one model, and its answers."""
    odds = np.exp(logits)
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    best = probabilities.argmax(axis=1)
    if form == "own threshold":
        raised = probabilities.copy()
        raised[:, 0] *= 1.3
        best = raised.argmax(axis=1)
    scores = {
        "percentages": 100.0 * probabilities,
        "logits": logits,
        "log-probabilities": np.log(probabilities),
    }.get(form, probabilities)
    table = {}
    if form not in ("answers", "answers and confidence"):
        table = {beginning + name: scores[:, place] for place, name in enumerate(names)}
    if form.startswith("answers") or form == "own threshold":
        # Thresholds of its own are served under the name of an answer.
        name = "prediction" if form == "own threshold" else answer_name
        table[name] = names[best]
    if form == "answers and confidence":
        table["score"] = probabilities.max(axis=1)
    return table, names[best]


def _beside(
    name: str,
    rng: np.random.Generator,
    n: int,
    model: int,
    scores: list[np.ndarray],
    own: dict[str, np.ndarray],
) -> np.ndarray:
    """Return a column that stands beside the predictions and is none."""
    if name in own:
        return own[name]
    if name == "epoch":
        return np.full(n, 3 + model)
    if name == "n_tokens":
        return rng.integers(5, 400, n)
    if name == "total" and len(scores) > 1:
        return np.sum(scores, axis=0)
    if name == "confidence" and len(scores) > 1:
        return np.max(scores, axis=0)
    return rng.gamma(2.0, 10.0, n)


def _with_rows(
    rng: np.random.Generator,
    columns: list[dict[str, np.ndarray]],
    answers: list[np.ndarray],
    truth: np.ndarray,
    about: str,
) -> Variant:
    """Give the rows ids, the second file another order, and labels in the files or in one of their own."""
    n = len(truth)
    id_name = str(rng.choice(["", "image_id", "case"]))
    ids = rng.permutation(10 * n)[:n]
    values = np.array([f"t{value}" for value in ids], dtype=object) if id_name == "case" else ids
    where = str(rng.choice(["none", "files", "typed", "labels"]))
    label = "species" if where == "typed" else "label"
    frames = []
    for table in columns:
        frame = pd.DataFrame(table)
        if where in ("files", "typed"):
            frame[label] = truth
        frame = frame[list(rng.permutation(frame.columns))]
        if id_name:
            frame.insert(0, id_name, values)
        frames.append(frame)
    if id_name:
        frames[1] = frames[1].iloc[rng.permutation(n)]
    labels = None
    if where == "labels":
        content = pd.DataFrame({"label": truth})
        if id_name:
            content.insert(0, id_name, values)
            content = content.iloc[rng.permutation(n)]
        labels = cells(content, "--labels", "labels.csv")
    accuracies: list[float | None] = [None, None]
    if where != "none":
        accuracies = [float((part == truth).mean()) for part in answers]
    return Variant(
        old=cells(frames[0]),
        new=cells(frames[1], "NEW", "new.csv"),
        labels=labels,
        options=RoleOptions(label=label if where == "typed" else None),
        expected=(n, int((answers[0] != answers[1]).sum()), accuracies[0], accuracies[1]),
        about=f"{about}, id {id_name!r}, labels in {where}",
    )
