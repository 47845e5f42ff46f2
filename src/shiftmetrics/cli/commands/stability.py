"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import as_array
from shiftmetrics._core.result import format_percent
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.inputs.feature_samples import refuse_options
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import read_cells, typed_source
from shiftmetrics.cli.inputs.row_values import require_column, row_values
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.options import OPENING
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.models import feature_stability as stability_of_features
from shiftmetrics.models import model_stability
from shiftmetrics.models.reading.estimators import estimator_of
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion, stability_curve
from shiftmetrics.tables.array_scores import under_names
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import TypedTables
from shiftmetrics.tables.encoder.model_rows import model_rows
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.views import Context, Rows

MODEL = "A model"
PANELS = {
    **dict.fromkeys(["losses", "distances"], "Losses or distances"),
    **dict.fromkeys(["model", "target", "feature_stability"], MODEL),
}
TITLE = "Stability of a model"

WORDS = {
    "losses": "--losses", "distances": "--distances", "X": "FILE", "y": "--target", "model": "--model",
}  # fmt: skip


@dataclass(kw_only=True)
class StabilitySample:
    """The rows of a file.

    Attributes
    ----------
    source : Source
    values : DataFrame or ndarray
        What a model predicts on, or the table that holds losses.
    label, weight, groups, target : ndarray or None
        One entry for each row.
    ids : list of str or None
    table : DataFrame or None
        Columns that describe the rows.
    notes : list of str
    typed : TypedTables or None
        What the columns are.
    """

    source: Source
    values: Any
    label: Any = None
    weight: Any = None
    groups: Any = None
    target: Any = None
    ids: list[str] | None = None
    table: Any = None
    notes: list[str] = field(default_factory=list)
    typed: TypedTables | None = None


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
    feature_stability: bool = False,
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

    Example: `shiftmetrics stability patients.csv --model model.skops --target died --threshold 0.4`

    Parameters
    ----------
    file : FILE
        Losses or distances to an error; with --model, the rows.
    losses : COLUMN
        Column of losses, or its place in an array, from 0; rows may gain weight, not change.
    distances : COLUMN
        Column of distances to the nearest error, or its place: 0 if wrong already, inf if none.
    model : MODEL
        A fitted model: a file of skops or joblib, or module:attribute. Opening the last two needs --trust.
    target : COLUMN|FILE
        What the model predicts; --label does as well.
    feature_stability
        Also what changes of each feature alone do; without reweighting unless --theta2 is given.
    curve
        Also print the stability over risk thresholds.
    """
    beside = {"label": label, "weight": weight, "groups": groups}
    if model is None:
        # options of the other way to measure are errors, not ignored
        of_models = {"--target": target, "--feature-stability": feature_stability}
        refuse_options(of_models, "go with --model")
        call.refuse_all_but(stability_criterion, rule="go with --model")
        return _of_numbers(file, call, losses, distances, id_column, beside, curve=curve)
    refuse_options({"--losses": losses, "--distances": distances}, "not go with --model")
    call.refuse_all_but(model_stability, rule="not go with --model")
    target = target or label
    if target is None:
        raise ValueError("--target COLUMN must say what the model predicts, next to --model.")
    check_model(model)
    source = typed_source(file, "FILE")
    beside["target"] = target

    def compute() -> CommandAnswer:
        # opening a model runs code: not before everything else is right
        fitted, notes = load_object(model, "--model")
        sample = _read(source, id_column, beside, leave_out=[target, weight])
        if sample.table is not None:
            _keep_columns_of(fitted, sample, target, aside=(label, groups))
        rows = (fitted, sample.values, sample.target)
        given = {"sample_weight": sample.weight, "groups": sample.groups}
        # the whole model, then features one by one
        result = call(model_stability, *rows, **given)
        shown = _rows_of(sample)
        # the classes that it predicts are labels to show; the numbers of a regression are not
        if label is None and call["loss"] != "squared":
            shown = dataclasses.replace(shown, labels=sample.target)
        results = {str(source): result}
        if curve:
            results |= _curve(call, result, result.loss, sample)
        if feature_stability:
            # features are compared by perturbations alone, unless reweighting was asked for
            prices = {}
            if call["theta2"] == call.declared["theta2"].default:
                prices["theta2"] = math.inf
            features = call(stability_of_features, *rows, **prices, **given)
            results[features.title] = features
        facts = {
            "Model": Path(model).name,
            "Loss": call["loss"].replace("_", " "),
            "Changes found by": f"the {result.search.route} route",
        }
        description = f"{_name_of(fitted)} on {result.n_samples:,} rows in {source}."
        context = Context(description=description, facts=facts, rows={str(source): shown})
        notes = [*notes, *sample.notes, *_default_threshold(call, result)]
        return CommandAnswer(results=results, title=TITLE, context=context, notes=notes)

    return Job(inputs=[source], compute=compute)


def _default_threshold(call: Call, result: Any) -> list[str]:
    """Say which threshold was taken, where none is typed."""
    if call["threshold"] is not None:
        return []
    taken = format_percent(result.settings["threshold"])
    return [
        f"Broken is an error rate of {taken}, 10 points more than now: --threshold takes another."
    ]


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
    what, column = ("losses", losses) if losses is not None else ("distances", str(distances))
    source = typed_source(file, "FILE")
    sample = _read(source, id_column, beside, [column, *beside.values()], as_table=True)
    values = _column_of(sample, str(column), f"--{what}")
    name = str(source)

    def compute() -> CommandAnswer:
        # a distance is what a row needs to become an error; a loss is what it costs
        loss = call(ZeroOneLoss if what == "distances" else FixedLoss, values)
        result = call(stability_criterion, loss, sample_weight=sample.weight, groups=sample.groups)
        rows = _rows_of(sample)
        results = {name: result}
        if curve:
            results |= _curve(call, result, loss, sample)
        description = f"{what.capitalize()} of {len(values):,} rows in {name}."
        context = Context(description=description, rows={name: rows})
        notes = [*sample.notes, *_default_threshold(call, result)]
        return CommandAnswer(results=results, title=TITLE, context=context, notes=notes)

    return Job(inputs=[source], compute=compute)


def _read(
    source: Source,
    id_column: str | None,
    beside: dict[str, str | None],
    leave_out: Sequence[str | None],
    *,
    as_table: bool = False,
) -> StabilitySample:
    """Read the file with its ids and the values that stand beside its rows; the table is without ``leave_out``.

    ``as_table`` names the columns of an array by their places.
    """
    cells = read_cells(source)
    held: dict[str, Any]
    if cells.values is not None and not as_table:
        refuse_options({"--id": id_column}, f"name a column of a table, but FILE is {source}")
        held = {name: row_values(text, f"--{name}", None) for name, text in beside.items()}
        return StabilitySample(source=source, values=cells.values, **held)
    if cells.values is not None:
        cells = _named_by_place(cells)
    typed = decide_kinds([cells], decimal=OPENING.get().decimal)
    frame = typed.frames[0]
    ids = None
    if id_column is not None:
        require_column(frame.columns, id_column, "--id", "FILE")
        ids = [str(name) for name in frame[id_column]]
    held = {
        name: row_values(text, f"--{name}", frame, ids, required=True)
        for name, text in beside.items()
    }
    # a model reads cells as it was fitted on them
    rows = frame if as_table else model_rows(cells, typed, 0)
    left_out = [name for name in (id_column, *leave_out) if name in rows.columns]
    notes = [*cells.notes, *typed.notes]
    table = rows.drop(columns=left_out)
    return StabilitySample(
        source=source, values=rows, ids=ids, table=table, notes=notes, typed=typed, **held
    )


def _named_by_place(cells: Cells) -> Cells:
    """Return an array as a table whose columns are named by their places."""
    values = cells.values
    if values is not None and values.ndim > 2:
        raise ValueError(
            f"FILE must be a table or an array of rows and columns, got shape {values.shape}."
        )
    places = tuple(map(str, range(len(cells.frame.columns))))
    return under_names(cells, places)


def _column_of(sample: StabilitySample, column: str, option: str) -> Any:
    """Return the numbers of one column."""
    require_column(sample.values.columns, column, option, "FILE")
    if sample.typed is not None:
        sample.typed.check([column])
    values = sample.values[column]
    if values.dtype.kind not in "biuf":
        row, cell = next((place, cell) for place, cell in enumerate(values) if _is_no_number(cell))
        raise ValueError(
            f"{option} must hold numbers, got {str(cell)[:60]!r} in column {column!r}, row {row}. Correct or leave "
            "out such cells."
        )
    return np.asarray(as_array(values, option))


def _is_no_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return True
    return False


def _rows_of(sample: StabilitySample) -> Rows:
    """Return what the report may show of the rows."""
    return Rows(
        sample_weight=sample.weight,
        names=sample.ids,
        labels=sample.label,
        table=sample.table,
    )


def _curve(call: Call, result: Any, loss: Any, sample: StabilitySample) -> dict[str, Any]:
    """Return the stability over thresholds, from the base risk to beyond the threshold."""
    start = result.base_risk
    threshold = result.settings["threshold"]
    # a quarter of the way to the threshold each; where that is short, of the base risk
    step = max(threshold - start, 0.25 * max(start, 1e-3)) / 4
    thresholds = np.array([*(start + np.arange(1, 9) * step), threshold])
    # no error rate is above 1
    if isinstance(loss, ZeroOneLoss):
        thresholds = thresholds[thresholds <= 1.0]
    weights = {"sample_weight": sample.weight, "groups": sample.groups}
    curve = call(stability_curve, loss, thresholds, **weights)
    return {curve.title: curve}


def _name_of(model: Any) -> str:
    """Return what kind of model this is; of a pipeline, its steps."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return " then ".join(type(step).__name__ for step in steps) or type(model).__name__


def _keep_columns_of(
    model: Any, sample: StabilitySample, target: str, aside: Sequence[str | None]
) -> None:
    """Keep the columns that the model predicts on as the values of the sample, and note the others.

    A model that was fitted on a table names its columns; any other gets all but those of ``aside``, as an array if
    these are numbers.

    Raises
    ------
    ValueError
        If the table lacks a column of the model, or the target is one of them.
    """
    frame = sample.table
    # what scikit-learn keeps of the table that a model was fitted on
    known = getattr(estimator_of(model), "feature_names_in_", None)
    if known is None:
        values = frame.drop(columns=[name for name in set(aside) if name in frame])
        sample.values = values
        if all(dtype.kind in "iuf" for dtype in values.dtypes):
            sample.values = values.to_numpy(dtype=np.float64)
    else:
        if target in known:
            raise ValueError(
                f"--target must name what --model predicts, got {target!r}, which it predicts from."
            )
        missing = [str(name) for name in known if name not in frame.columns]
        if missing:
            raise ValueError(
                f"FILE must have the columns that --model was fitted on, got none called {first_few(missing, 8)}; "
                f"it has {first_few(map(str, frame.columns), 8)}."
            )
        values = frame[list(known)]
        sample.values = values
    unseen = [name for name in frame.columns if name not in values.columns]
    if unseen:
        names = first_few(unseen, 6)
        sample.notes.append(f"Columns that describe rows and the model does not see: {names}.")
