"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import as_array
from shiftmetrics._core.chunk_readers import chunks_of
from shiftmetrics._core.chunks import Chunks
from shiftmetrics._core.validation import first_few
from shiftmetrics.models import Decision, model_stability
from shiftmetrics.models import feature_stability as stability_of_features
from shiftmetrics.models.forests.reading import estimator_of
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion, stability_curve
from shiftmetrics.tools.cli.forms import parse_pairs
from shiftmetrics.tools.cli.objects import check_model, load_object
from shiftmetrics.tools.cli.outputs import CommandAnswer, Job
from shiftmetrics.tools.cli.readers import columns_in, read_source, stored_rows
from shiftmetrics.tools.cli.samples import Sample, read_rows, refuse_options, require_column
from shiftmetrics.tools.cli.signature import Call, measuring
from shiftmetrics.tools.cli.sources import Source, parse_source
from shiftmetrics.tools.cli.suspects import refuse_text
from shiftmetrics.views import Context, Rows

MODEL = "A model"
PANELS = {
    **dict.fromkeys(["losses", "distances"], "Losses or distances"),
    **dict.fromkeys(
        ["model", "target", "decide_at", "error_costs", "feature_stability", "by"], MODEL
    ),
}
TITLE = "Stability of a model"

WORDS = {
    "losses": "--losses", "distances": "--distances", "X": "FILE", "y": "--target", "model": "--model", "by": "--by",
}  # fmt: skip


@measuring(
    {stability_criterion: None, model_stability: MODEL},
    words=WORDS,
    leave_out=["atol", "n_resamples"],
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
            {"--target": target, "--feature-stability": feature_stability, **others},
            "go with --model",
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
    costs: dict[str, float] = {}
    for text in error_costs or []:
        costs |= parse_pairs(text, "--error-costs", "LABEL=COST", "ill=10")
    source = parse_source(file, "FILE")

    def compute() -> CommandAnswer:
        import pandas as pd

        fitted, notes = load_object(model, "--model")
        beside_rows = {**beside, "by": by, "target": target}
        sample = _read(source, id_column, beside_rows, leave_out=[target, weight])
        if source.files:
            refuse_options(
                {"--feature-stability": feature_stability}, "not go with several parquet files"
            )
        if sample.table is not None:
            kept, unseen = _columns_of(fitted, sample.table, target, (groups, by))
            if source.files:
                seen = [name for name in sample.table.columns if name not in unseen]
                kept = columns_in(sample.values, seen)
            sample.values = kept
            if unseen:
                names = first_few(unseen, 6)
                sample.notes.append(
                    f"Columns that describe rows and the model does not see: {names}."
                )
        if decide_at is not None or costs:
            known = {
                str(label): label for label in np.asarray(getattr(fitted, "classes_", [])).tolist()
            }
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
            labels=None
            if source.files or (call["loss"] == "squared" and label is None)
            else labels,
            table=None if source.files else sample.table,
        )
        if curve:
            results |= _curve(call, result, shown, sample.groups)
        if feature_stability:
            asked = call["theta2"] != call.declared["theta2"].default
            prices = {} if asked else {"theta2": math.inf}  # features are compared by moves alone
            groups_by = None if sample.by is None else pd.Series(sample.by, name=by)
            features = call(stability_of_features, *rows, by=groups_by, **prices, **given)
            results[features.title] = features
        facts = {
            "Model": Path(model).name,
            "Loss": call["loss"].replace("_", " "),
            "Moves found by": f"the {result.search.route} route",
        }
        description = f"{_name_of(fitted)} on {result.n_samples:,} rows in {source}."
        context = Context(description=description, facts=facts, rows={str(source): shown})
        return CommandAnswer(
            results=results, title=TITLE, context=context, notes=[*notes, *sample.notes]
        )

    return Job(inputs=[source], compute=compute)


def _read(
    source: Source,
    id_column: str | None,
    beside: dict[str, str | None],
    leave_out: Sequence[str | None],
    *,
    as_table: bool = False,
) -> Sample:
    """Read the file with its ids and the values that stand beside its rows; the table is without ``leave_out``.

    ``as_table`` names the columns of an array by their places.
    """
    if source.files:
        return _read_stored(source, id_column, beside, leave_out)
    content = read_source(source)
    if as_table and not hasattr(content, "columns"):
        content = _table_of(content, source)
    if hasattr(content, "columns"):
        ids = None
        if id_column is not None:
            ids = [
                str(name)
                for name in content[require_column(content.columns, id_column, "--id", "FILE")]
            ]
        left_out = [name for name in (id_column, *leave_out) if name in content.columns]
        table, beside_rows = (
            content.drop(columns=left_out),
            read_rows(content, beside, required=True),
        )
        return Sample(source=source, values=content, ids=ids, table=table, **beside_rows)
    if id_column is not None:
        raise ValueError(f"--id must name a column of a table, but FILE is {source}, an array.")
    return Sample(source=source, values=content, **read_rows(None, beside))


def _table_of(content: Any, source: Source) -> Any:
    import pandas as pd

    values = np.asarray(content)
    if values.ndim > 2:
        raise ValueError(
            f"FILE must be a table or an array of rows and columns, got shape {values.shape}. "
            f"Choose a part, such as {source.example}."
        )
    frame = pd.DataFrame(values)
    return frame.set_axis(list(map(str, frame.columns)), axis=1)


def _read_stored(
    source: Source,
    id_column: str | None,
    beside: dict[str, str | None],
    leave_out: Sequence[str | None],
) -> Sample:
    """Return parquet files as they are stored, with one value a row in memory; the table is one without rows."""
    refuse_options({"--id": id_column}, "be left out for several parquet files")
    stored = stored_rows(source)
    table = _chunks_of(stored, source.argument).empty
    held: dict[str, Any] = {}
    for name, text in beside.items():
        if text is None or text not in table.columns:
            held |= read_rows(table, {name: text}, required=True)
        else:
            held[name] = columns_in(stored, [text])
            if name != "target":
                parts = _chunks_of(held[name], source.argument).map(np.ravel)
                held[name] = np.concatenate(parts)
    left_out = [name for name in leave_out if name in table.columns]
    return Sample(source=source, values=stored, table=table.drop(columns=left_out), **held)


def _chunks_of(stored: Any, argument: str) -> Chunks:
    found = chunks_of(stored, argument)
    assert found is not None
    return found


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
    source = parse_source(file, "FILE")
    sample = _read(source, id_column, beside, [column, *beside.values()], as_table=True)
    if source.files:
        require_column(_chunks_of(sample.values, "FILE").empty.columns, column, f"--{what}", "FILE")
        values: Any = _chunks_of(columns_in(sample.values, [column]), f"--{what}").converted(
            np.ravel
        )
    else:
        chosen = sample.values[[require_column(sample.values.columns, column, f"--{what}", "FILE")]]
        refuse_text(chosen, f"--{what}")
        values = np.asarray(as_array(chosen[column], f"--{what}"))
    name = str(source)

    def compute() -> CommandAnswer:
        loss = call(ZeroOneLoss, values) if what == "distances" else call(FixedLoss, values)
        result = call(stability_criterion, loss, sample_weight=sample.weight, groups=sample.groups)
        rows = Rows(
            loss=loss,
            sample_weight=sample.weight,
            names=sample.ids,
            labels=sample.label,
            table=None if source.files else sample.table,
        )
        results = {name: result, **(_curve(call, result, rows, sample.groups) if curve else {})}
        context = Context(
            description=f"{what.capitalize()} of {len(values):,} rows in {name}.",
            rows={name: rows},
        )
        return CommandAnswer(results=results, title=TITLE, context=context, notes=sample.notes)

    return Job(inputs=[sample.source], compute=compute)


def _curve(call: Call, result: Any, rows: Rows, groups: Any) -> dict[str, Any]:
    """Return the stability over thresholds, from the base risk to beyond the threshold."""
    start, threshold = result.base_risk, call["threshold"]
    thresholds = start + np.arange(1, 9) * max(threshold - start, 0.25 * max(start, 1e-3)) / 4
    curve = call(
        stability_curve,
        rows.loss,
        [*thresholds, threshold],
        sample_weight=rows.sample_weight,
        groups=groups,
    )
    return {curve.title: curve}


def _name_of(model: Any) -> str:
    """Return what kind of model this is; of a pipeline, its steps."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return " then ".join(type(step).__name__ for step in steps) or type(model).__name__


def _columns_of(
    model: Any, frame: Any, target: str, aside: Sequence[str | None]
) -> tuple[Any, list[Any]]:
    """Return what the model predicts on, and the names of the other columns.

    A model that was fitted on a table names its columns; any other gets all of them, as an array if it was fitted on
    one. Columns of ``aside``, those of ``--groups`` and ``--by``, are left out until the number of columns is right.

    Raises
    ------
    ValueError
        If the table lacks a column of the model, or the target is one of them.
    """
    model = estimator_of(model)
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        if target in set(known):
            raise ValueError(
                f"--target must name what --model predicts, got {target!r}, which it predicts from."
            )
        missing = [str(name) for name in known if name not in set(frame.columns)]
        if missing:
            raise ValueError(
                f"FILE must have the columns that --model was fitted on, got none called {first_few(missing, 8)}; "
                f"it has {first_few(map(str, frame.columns), 8)}."
            )
        return frame[list(known)], [name for name in frame.columns if name not in set(known)]
    width = getattr(model, "n_features_in_", None)
    unseen: list[Any] = []
    for name in dict.fromkeys(aside):
        if name in frame.columns and frame.shape[1] - len(unseen) != width:
            unseen.append(name)
    rest = frame.drop(columns=unseen)
    numeric = all(rest[name].dtype.kind in "iuf" for name in rest.columns)
    return (rest.to_numpy(dtype=np.float64) if width is not None and numeric else rest), unseen
