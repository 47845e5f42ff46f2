"""Small results of every kind, awkward ones among them: what all outputs of an answer are tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from shiftmetrics import (
    compare_agreement,
    diff_models,
    kernel_entropic_novelty,
    posterior_agreement,
)
from shiftmetrics.decisions import (
    audit_samples,
    diff_scores,
    diff_tokens,
    make_passport,
    monitor_batch,
)
from shiftmetrics.decisions.metrics.metrics import diff_metric
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.tables.register import read_file
from shiftmetrics.views import Context, Rows
from token_examples import TinyModel, given_line, token_log

CLASSES = np.array(["cat", "<b>狗</b>", "a very long name of a class " * 3])
"""Names with markup, of another script, and longer than any column."""

N = 120


def labels(seed: int = 0) -> np.ndarray:
    """Return the true classes."""
    return np.random.default_rng(seed).integers(0, 3, N)


def scores(noise: float, seed: int = 1) -> np.ndarray:
    """Return scores of the true classes with noise."""
    return 3.0 * np.eye(3)[labels()] + np.random.default_rng(seed).normal(0.0, noise, (N, 3))


def answers_of(noise: float, seed: int = 1) -> np.ndarray:
    """Return the names of the predicted classes."""
    return CLASSES[scores(noise, seed).argmax(axis=1)]


def table(seed: int, **columns: Any) -> pd.DataFrame:
    """Return a sample of two columns with an answer and a label."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=160)
    known = {"x": x, "city": rng.choice(["A", "B"], 160), "guess": x > 0, "paid": x > 0}
    return pd.DataFrame(known | columns)


def _new_city(**columns: Any) -> pd.DataFrame:
    frame = table(1, **columns)
    frame.loc[100:139, "city"] = "<i>Zürich & 北京</i>"
    return frame


def _worse() -> Any:
    current = _new_city()
    current.loc[:49, "paid"] = ~current.loc[:49, "paid"]
    return audit_samples(table(0), current, model="guess", label="paid")


def _monitored(moved: float, errors: bool = False) -> Any:
    passport = make_passport(table(0), model="guess", label="paid")
    state = None
    for seed in range(6):
        batch = table(2 + seed)
        batch["x"] += moved
        if errors:
            batch["paid"] = ~batch["paid"]
        result = monitor_batch(passport, batch, state=state)
        state = result.state
    return result


def _points(new: int, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(60, 2)), rng.normal(9.0, 0.3, size=(new, 2))])


def _compared(*noises: float) -> Any:
    named = {
        f"{CLASSES[place % 3]}{place}": (scores(noise, 4 + place), scores(0.1))
        for place, noise in enumerate(noises)
    }
    return compare_agreement(named)


def _score_table(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"q<{place}>" for place in range(len(values))], "score": values})


def _scores(failed: int = 0) -> Any:
    old = np.tile([0.0, 0.5, 1.0], 40)
    new = np.where(np.arange(N) % 7 == 0, 0.0, old)
    old[:failed] = np.nan
    return diff_scores(_score_table(old), _score_table(new), allow=0.02)


def _metric() -> Any:
    return diff_metric(answers_of(1.0), answers_of(2.0, 2), "f1_macro", labels=CLASSES[labels()])


KINDS: dict[str, Callable[[], Any]] = {
    "diff: labelled": lambda: diff_models(
        answers_of(1.0), answers_of(2.5, 2), labels=CLASSES[labels()], allow=0.01
    ),
    "diff: better": lambda: diff_models(
        answers_of(4.0), answers_of(0.5, 2), labels=CLASSES[labels()], groups=labels() % 2
    ),
    "diff: no labels": lambda: diff_models(scores(1.0), scores(2.5, 2), allow=0.01),
    "diff: nothing changed": lambda: diff_models(answers_of(1.0), answers_of(1.0), allow=0.01),
    "diff: one class": lambda: diff_models(["a"] * N, ["a"] * N, labels=["a"] * N),
    "diff: ties": lambda: diff_models(np.full((N, 3), 1 / 3), scores(1.0), labels=labels()),
    "scores": _scores,
    "scores: some failed": lambda: _scores(failed=9),
    "metric": _metric,
    "audit: changed": lambda: audit_samples(table(0), _new_city()),
    "audit: worse": _worse,
    "audit: the same": lambda: audit_samples(table(0), table(5)),
    "audit: copies": lambda: audit_samples(
        table(0), pd.concat([table(5)[:40]] * 4, ignore_index=True)
    ),
    "monitor: no alarm": lambda: _monitored(0.0),
    "monitor: samples": lambda: _monitored(4.0),
    "monitor: errors": lambda: _monitored(0.0, errors=True),
    "agreement": lambda: posterior_agreement(scores(2.5), scores(0.5), resampling=0.95),
    "agreement: no interval": lambda: posterior_agreement(scores(1.5), scores(0.5)),
    "agreement: unchanged": lambda: posterior_agreement(scores(0.5), scores(0.5)),
    "agreement: constant": lambda: posterior_agreement(np.zeros((N, 3)), np.zeros((N, 3))),
    "stability": lambda: stability_criterion(
        ZeroOneLoss(np.maximum(np.random.default_rng(6).normal(1, 1, N), 0)), 0.4
    ),
    "stability: weights": lambda: stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5),
    "stability: broken": lambda: stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.2),
    "stability: holds": lambda: stability_criterion(FixedLoss([0.0] * 4), 0.2),
    "novelty": lambda: kernel_entropic_novelty(_points(30), _points(0, 7), bandwidth=1.0),
    "novelty: missing": lambda: kernel_entropic_novelty(_points(0, 7), _points(30), bandwidth=1.0),
    "novelty: nothing": lambda: kernel_entropic_novelty(_points(0), _points(0, 7), bandwidth=1.0),
    "compare": lambda: _compared(3.0, 0.5, 0.2),
    "compare: ties": lambda: _compared(1.0, 1.0, 1.0, 1.0, 1.0),
}
"""What makes each of them."""


def tokens(folder: Any) -> Any:
    """Return the comparison of two logs of tokens, which are written to a folder."""
    texts = np.random.default_rng(8).integers(0, 40, (12, 15)).tolist()
    files = []
    for name, noise in (("old", 0.0), ("new", 0.3)):
        model = TinyModel(0, noise)
        lines = [given_line(model, f"r{place}", text, 3) for place, text in enumerate(texts)]
        files.append(token_log(folder / f"{name}.jsonl", lines))
    return diff_tokens(*(read_file(file, file.stem) for file in files))


def context_of(name: str) -> Context:
    """Return the rows behind a result, where its page shows some."""
    rows = {}
    if name.startswith("agreement: no"):
        rows[name] = Rows(
            scores=scores(1.5),
            reference_scores=scores(0.5),
            class_names=list(CLASSES),
            labels=CLASSES[labels()],
        )
    files = {
        "OLD": "old.csv",
        "NEW": "new 北京.csv",
        "FILE": "losses.csv",
        "BATCH": "june.csv",
        "REFERENCE": "may 北京.csv",
        "SHIFTED": "june.csv",
        "TEST": "june.csv",
        "CURRENT": "june.csv",
    }
    return Context(
        rows=rows,
        files=files,
        command="shiftmetrics it",
        description="Made up.",
        read=["Took id as the id."],
    )
