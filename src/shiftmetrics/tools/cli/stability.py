"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import as_array
from shiftmetrics._core.validation import first_few
from shiftmetrics.models import Decision, model_stability
from shiftmetrics.models import feature_stability as stability_of_features
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion, stability_curve
from shiftmetrics.tools.cli.models import columns_of, name_of
from shiftmetrics.tools.cli.objects import check_model, load_object
from shiftmetrics.tools.cli.outputs import Answer, Job
from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import Sample, read_rows, refuse_options, require_column
from shiftmetrics.tools.cli.signature import Call, measuring
from shiftmetrics.tools.cli.sources import Source, parse_source
from shiftmetrics.tools.cli.suspects import refuse_text
from shiftmetrics.views import Context, Rows

MODEL = "A model"
PANELS = {
    **dict.fromkeys(["losses", "distances"], "Losses or distances"),
    **dict.fromkeys(["model", "target", "decide_at", "error_costs", "feature_stability", "by"], MODEL),
}
TITLE = "Stability of a model"

WORDS = {
    "losses": "--losses", "distances": "--distances", "X": "FILE", "y": "--target", "model": "--model", "by": "--by",
}  # fmt: skip


@measuring(
    {stability_criterion: None, model_stability: MODEL},
    words=WORDS,
    leave_out=["atol", "memory_limit", "n_draws"],
    panels=PANELS,
)
def stability(
    file: str,
    *,
    call: Call,
    losses: str | None = None,
    distances: str | None = None,
    model: str | None = None,
    target: str | None = None,
    decide_at: float | None = None,
    error_costs: list[str] | None = None,
    feature_stability: bool = False,
    by: str | None = None,
    curve: bool = False,
    groups: str | None = None,
    id_column: str | None = None,
    label: str | None = None,
    weight: str | None = None,
) -> Job:
    """Find how little it takes to break the model: the least shift that lifts its risk to a threshold.

    FILE holds one value a row: a loss (--losses), or the distance to the nearest error (--distances), unsquared. Or
    it holds the rows that a --model predicts on, with their --target. Its other columns describe the rows: the report
    says which of them gain weight in the worst case.

    Example: `shiftmetrics stability patients.csv --distances distance --threshold 0.4 --report report.html`

    Example: `shiftmetrics stability patients.csv --model model.joblib --trust --target died --threshold 0.4`

    Parameters
    ----------
    file : FILE
        Losses or distances to an error; with --model, the rows.
    losses : COLUMN
        Column of losses, or its place in an array, from 0; rows may gain weight, not move.
    distances : COLUMN
        Column of distances to the nearest error, or its place: 0 if wrong already, inf if none.
    model : MODEL
        A fitted model: a file of skops or joblib, or module:attribute. Opening the last two needs --trust.
    target : COLUMN|FILE
        What the model predicts.
    decide_at
        The probability from which on a row is of the second class, in place of the model's own decision.
    error_costs : LABEL=COST
        Cost of an error on rows of a label, such as ill=10; 1 for the others. May be repeated.
    feature_stability
        Also what moves of each feature alone do; without reweighting unless --theta2 is given.
    by : COLUMN|FILE
        With --feature-stability: also within each group of rows; many numbers are cut at quartiles.
    curve
        Also print the stability over risk thresholds.
    """
    beside = {"label": label, "weight": weight, "groups": groups}
    if model is None:
        others = {"--decide-at": decide_at, "--error-costs": error_costs, "--by": by}
        refuse_options(
            {"--target": target, "--feature-stability": feature_stability, **others}, "go with --model"
        )
        call.refuse_all_but(stability_criterion, rule="go with --model")
        return _of_numbers(file, call, losses, distances, id_column, beside, curve=curve)
    refuse_options({"--losses": losses, "--distances": distances}, "not go with --model")
    call.refuse_all_but(model_stability, rule="not go with --model")
    if target is None:
        raise ValueError("--target COLUMN must say what the model predicts, next to --model.")
    if not feature_stability:
        refuse_options({"--by": by}, "go with --feature-stability")
    check_model(model)
    costs = _costs(error_costs or [])
    source = parse_source(file, "FILE")

    def compute() -> Answer:
        fitted, notes = load_object(model, "--model")
        sample = _read(source, id_column, {**beside, "by": by, "target": target}, leave_out=[target, weight])
        if sample.table is not None:
            sample.values, unseen = columns_of(fitted, sample.table, target, (groups, by))
            if unseen:
                names = first_few(unseen, 6)
                sample.notes.append(f"Columns that describe rows and the model does not see: {names}.")
        if decide_at is not None or costs:
            known = {str(label): label for label in np.asarray(getattr(fitted, "classes_", [])).tolist()}
            by_label = {known.get(label, label): cost for label, cost in costs.items()}
            fitted = Decision(fitted, decide_at, by_label or None)
        rows = (fitted, sample.values, sample.target)
        given = {"sample_weight": sample.weight, "groups": sample.groups}
        result = call(model_stability, *rows, **given)
        results = {str(source): result}
        labels = sample.target if label is None else sample.label
        shown = Rows(
            loss=result.loss,
            sample_weight=sample.weight,
            names=sample.ids,
            labels=None if call["loss"] == "squared" and label is None else labels,
            table=sample.table,
        )
        if curve:
            results |= _curve(call, result, shown, sample.groups)
        if feature_stability:
            asked = call["theta2"] != call.declared["theta2"].default
            prices = {} if asked else {"theta2": math.inf}  # features are compared by moves alone
            features = call(stability_of_features, *rows, by=_named(sample.by, by), **prices, **given)
            results[features.title] = features
        facts = {
            "File": str(source),
            "Model": Path(model).name,
            "Loss": call["loss"].replace("_", " "),
            "Risk that counts as broken": f"{call['threshold']:g}",
            "Moves found by": f"the {result.route} route",
        }
        description = f"{name_of(fitted)} on {result.n_samples:,} rows in {source}."
        context = Context(description=description, facts=facts, rows={str(source): shown})
        return Answer(results=results, title=TITLE, context=context, notes=[*notes, *sample.notes])

    return Job(inputs=[source], compute=compute)


def _costs(texts: Sequence[str]) -> dict[str, float]:
    """Read ``ill=10`` as the cost of an error on rows of a label."""
    costs: dict[str, float] = {}
    for text in texts:
        label, _, cost = text.rpartition("=")
        try:
            costs[label] = float(cost)
        except ValueError:
            raise ValueError(
                f"--error-costs must be LABEL=COST, got {text!r}. An example is ill=10."
            ) from None
    return costs


def _read(
    source: Source, id_column: str | None, beside: dict[str, str | None], leave_out: Sequence[str | None]
) -> Sample:
    """Read the file with its ids and the values that stand beside its rows; the table is without ``leave_out``."""
    content = read_source(source)
    if hasattr(content, "columns"):
        ids = None
        if id_column is not None:
            ids = [str(name) for name in content[require_column(content, id_column, "--id", "FILE")]]
        left_out = [name for name in (id_column, *leave_out) if name in content.columns]
        table, beside_rows = content.drop(columns=left_out), read_rows(content, beside, required=True)
        return Sample(source=source, values=content, ids=ids, table=table, **beside_rows)
    if id_column is not None:
        raise ValueError(f"--id must name a column of a table, but FILE is {source}, an array.")
    return Sample(source=source, values=content, **read_rows(None, beside))


def _of_numbers(
    file: str,
    call: Call,
    losses: str | None,
    distances: str | None,
    id_column: str | None,
    beside: dict[str, str | None],
    *,
    curve: bool,
) -> Job:
    """Measure from one loss or distance a row."""
    if (losses is None) == (distances is None):
        raise ValueError(
            "--losses COLUMN or --distances COLUMN must say which numbers to take and what they are."
        )
    what, column = ("distances", str(distances)) if losses is None else ("losses", losses)
    sample = _read(parse_source(file, "FILE"), id_column, beside, leave_out=[column, *beside.values()])
    values, name = _one_value_a_row(sample, what, column), str(sample.source)

    def compute() -> Answer:
        loss = call(ZeroOneLoss, values) if what == "distances" else call(FixedLoss, values)
        result = call(stability_criterion, loss, sample_weight=sample.weight, groups=sample.groups)
        rows = Rows(
            loss=loss, sample_weight=sample.weight, names=sample.ids, labels=sample.label, table=sample.table
        )
        results = {name: result, **(_curve(call, result, rows, sample.groups) if curve else {})}
        threshold = f"{call['threshold']:g}"
        context = Context(
            description=f"{what.capitalize()} of {len(values):,} rows in {name}.",
            facts={"File": name, "Measured": what, "Risk that counts as broken": threshold},
            rows={name: rows},
        )
        return Answer(results=results, title=TITLE, context=context, notes=sample.notes)

    return Job(inputs=[sample.source], compute=compute)


def _one_value_a_row(sample: Sample, what: str, column: str) -> Any:
    """Return the column of losses or distances; in an array, that at a place.

    Raises
    ------
    ValueError
        If the file has no such column.
    """
    source, content = sample.source, sample.values
    if sample.is_table:
        column = require_column(content, column, f"--{what}", "FILE")
        refuse_text(content[[column]], f"--{what}")
        return np.asarray(as_array(content[column], f"--{what}"))
    values = sample.numbers()
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(
            f"FILE must be a table or an array of rows and columns, got shape {values.shape}. "
            f"Choose a part, such as {source.example}."
        )
    if not (column.isdecimal() and int(column) < values.shape[1]):
        raise ValueError(
            f"--{what} must be a place below {values.shape[1]} in the array {source}, got {column!r}. "
            "The first column is 0."
        )
    return values[:, int(column)]


def _named(values: Any, by: str | None) -> Any:
    """Return the group of each row with the name that groups get, such as ``SEX = 2``."""
    import pandas as pd

    return None if values is None else pd.Series(np.asarray(values), name=by)


def _curve(call: Call, result: Any, rows: Rows, groups: Any) -> dict[str, Any]:
    """Return the stability over thresholds, from the base risk to beyond the threshold."""
    start, threshold = result.base_risk, call["threshold"]
    thresholds = start + np.arange(1, 9) * max(threshold - start, 0.25 * max(start, 1e-3)) / 4
    curve = call(
        stability_curve, rows.loss, [*thresholds, threshold], sample_weight=rows.sample_weight, groups=groups
    )
    return {curve.title: curve}
