"""The audit: what changed in a sample against a reference, since when, and whether a model is worse on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import Status, settings_of
from shiftmetrics._core.validation import check_number, check_rng, seed_of
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.audit.column_causes import with_causes
from shiftmetrics.decisions.audit.column_changes import ColumnChange, compared_columns
from shiftmetrics.decisions.audit.column_pictures import column_pictures
from shiftmetrics.decisions.audit.dated_search import DatedSearch
from shiftmetrics.decisions.audit.mode_causes import with_cause
from shiftmetrics.decisions.audit.modelled import (
    Modelled,
    audited_models,
    judged,
    known_answers,
    label_plan,
)
from shiftmetrics.decisions.audit.new_modes import TableMode
from shiftmetrics.decisions.audit.result import AuditResult
from shiftmetrics.decisions.audit.sample_changes import SampleChanges, Timeline
from shiftmetrics.decisions.audit.search import (
    COLUMNS,
    LEVEL,
    UNNAMED_LEVEL,
    FoundModes,
    at_most_rows,
    find_changed_modes,
)
from shiftmetrics.decisions.audit.timeline import Periods, change_point, periods_of
from shiftmetrics.decisions.audit.unlabelled import tell_apart
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.date_ranges import order_of_samples
from shiftmetrics.tables.encoder.model_rows import model_rows
from shiftmetrics.tables.encoder.roles import as_cells
from shiftmetrics.tables.kinds import decide_kinds

if TYPE_CHECKING:
    import pandas as pd

_COMPARED = Status("compared", "Modes and columns were compared.")
_COMPARED_ROWS = 10_000
"""Samples of each side that the domain classifier is trained on."""
_COLUMN_ROWS = 200_000
"""Samples of each side whose columns are compared one by one."""
_NEWEST = 10
_BEYOND_COPIES = 1e-6


def audit_samples(
    reference: Any,
    current: Any,
    *,
    model: Any = None,
    label: str | None = None,
    labels: Any = None,
    time: str | None = None,
    id_column: str | None = None,
    columns: Sequence[Any] | None = None,
    exclude: Iterable[Any] = (),
    plan: int | str | None = None,
    threshold: float | None = None,
    rng: int | np.random.Generator | None = 0,
) -> AuditResult:
    """Say what changed in a sample, in which rows and since when, and what that means for a model.

    Tables may hold numbers, words, dates, text and gaps; ids are found and left out. New modes are looked for by
    kernel entropic novelty, each described by the columns in which it differs from the nearest known samples. Every
    column is compared by itself, too.

    Parameters
    ----------
    reference, current : DataFrame or array
        What was known, and what came since. With a labelled reference, let it be samples that the model was not
        trained on: its accuracy is what the current one is held against.
    model : object, str, or sequence of them, optional
        A fitted classifier, or the name of a column of predictions. Further models of a sequence serve the estimate
        without labels, from two further ones on.
    label : str, optional
        The column of the labels in the reference, and in the current sample where some are known.
    labels : DataFrame, Series or sequence of them, optional
        Labels of some current samples, by id: such as the file of a plan, and that of the modes, filled in.
    time : str, optional
        A column of dates or numbers of the current sample: since when each mode is there.
    id_column : str, optional
        The column that names the samples. Default: found by its values.
    columns, exclude : sequence of str, optional
        The only columns to compare, or columns to leave out. The model gets the columns that it was fitted on.
    plan : int or "anytime", optional
        How many samples to choose at random for labelling; or "anytime": a random order of all of them, in which
        labelling may stop at any time.
    threshold : float, optional
        An error rate: how large each mode may become before errors pass it.
    rng : int or Generator, default 0
        Seed of everything random.

    Returns
    -------
    AuditResult

    Raises
    ------
    TypeError, ValueError
        If a column is unknown or cannot be read, the samples have no column in common, the model refuses the
        columns, or labels are of samples that are not there.

    See Also
    --------
    shiftmetrics.decisions.diff_models : Two models on the same samples.
    shiftmetrics.decisions.monitor_batch : Batch after batch.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from shiftmetrics.decisions import audit_samples
    >>> rng = np.random.default_rng(0)
    >>> def visits(n):
    ...     return pd.DataFrame({"age": rng.normal(40, 10, n), "city": rng.choice(["A", "B"], n)})
    >>> now = visits(300)
    >>> now.loc[:59, "city"] = "C"
    >>> now.loc[:59, "age"] = rng.normal(85, 2, 60)
    >>> result = audit_samples(visits(300), now)
    >>> result.verdict, sorted(contrast.text for contrast in result.changes.new[0].contrasts)
    ('CHANGED', ['age above 64.73', 'city = C'])
    """
    generator = check_rng(rng)
    seed = seed_of(generator)
    # Each column is one kind in both samples; models get the samples as they are given.
    cells = [as_cells(reference, "reference"), as_cells(current, "current")]
    typed = decide_kinds(cells)
    base, sample = typed.frames
    _check_names(base, sample, label, time)
    typed.check([time])
    given_base = model_rows(reference, typed, 0)
    given_sample = model_rows(current, typed, 1)
    if threshold is not None:
        check_number(threshold, "threshold", low=0.0, high=1.0, open_low=True)
    periods = None if time is None else periods_of(sample[time])
    given = _listed(model)
    # Labels, times and predictions are no columns to compare: they have paragraphs of their own.
    predictions = [each for each in given if isinstance(each, str)]
    not_compared = [name for name in (label, time, *predictions) if name is not None]
    models = audited_models(given, given_base, given_sample, [*not_compared, id_column])
    encoder = TableEncoder.fit(
        cells[0],
        cells[1],
        columns=columns,
        exclude=[*exclude, *not_compared],
        id_column=id_column,
        typed=typed,
    )
    ids = _ids_of(sample, encoder.id_column)
    before, now, text = known_answers(label, _read(labels), given_base, given_sample, ids)
    drawn = label_plan(models, ids, plan, text, seed)

    # What changed: modes, columns, and how well trees tell the samples apart. All labels are read by now, so that
    # what is wrong with them is said before minutes are spent.
    rows = [at_most_rows(np.arange(len(side)), _COLUMN_ROWS, generator) for side in (base, sample)]
    parts = base.iloc[rows[0]], sample.iloc[rows[1]]
    times = None if periods is None else replace(periods, of_sample=periods.of_sample[rows[1]])
    written = [each.frame.iloc[chosen] for each, chosen in zip(cells, rows, strict=True)]
    changed = compared_columns(*parts, encoder.columns, (written[0], written[1]))
    changed = with_causes(changed, encoder.columns, *parts, times)
    look = None
    if periods is not None:
        look = DatedSearch(periods, _known_periods(base, time))
    found = _found_modes(encoder, changed, base, sample, generator, look)
    classifier = tell_apart(
        encoder.encoded(_part(base, _COMPARED_ROWS, generator)),
        encoder.encoded(_part(sample, _COMPARED_ROWS, generator)),
    )
    # Trees see dense regions of new samples, modes what is new in single columns: the larger one counts.
    unmatched = classifier.alone_fraction
    if found.new:
        unmatched = max(unmatched, found.fraction)
    new = [replace(mode, names=ids[mode.order]) for mode in found.new]
    base_ids = _ids_of(base, encoder.id_column) if found.missing else ids
    timeline = None
    if time is not None and periods is not None:
        members = [mode.is_member(len(sample)) for mode in new]
        timeline = _timeline(time, periods, members)
        new = [
            replace(mode, change=change_point(periods, inside, generator))
            for mode, inside in zip(new, members, strict=True)
        ]
    new = [with_cause(mode, encoder.columns, sample, periods) for mode in new]
    changes = SampleChanges(
        novelty_p_value=found.new_p_value,
        missing_p_value=found.missing_p_value,
        new=tuple(new),
        missing=tuple(replace(mode, names=base_ids[mode.order]) for mode in found.missing),
        columns=changed,
        pictures=column_pictures(changed, encoder.columns, *parts, times),
        auc=classifier.auc,
        unmatched_fraction=unmatched,
        first_rows=tuple(dict.fromkeys(ids[found.newest[:_NEWEST]].tolist())),
        gradual=found.gradual,
        timeline=timeline,
        column_notes=tuple(encoder.notes()),
        order_of_dates=order_of_samples(typed, "the current sample"),
        since=_since(found.since, new),
        likely_rows=found.likely,
        likely_names=ids[found.likely],
    )

    # What that means for the model. Labels of a plan count in its order; others as they are.
    says = Modelled()
    if models:
        says = judged(models, before, now, changes, None if text is None else drawn, threshold)

    # The 5 % of the verdict are divided between modes and columns. What labels show goes first. Copies void
    # p-values: if all evidence counts four times, 0.03 becomes 1e-6.
    column_p = min([change.p_value for change in changed], default=1.0)
    p_value = min(1.0, found.p_value, column_p / COLUMNS)
    dependent = _copies(base, sample, encoder)
    if not found.new and p_value > _BEYOND_COPIES:
        dependent += found.warnings
    if says.labelled is not None and says.labelled.is_worse:
        verdict = verdicts.WORSE
    elif p_value > LEVEL:
        verdict = verdicts.NO_CHANGE_SHOWN
    elif dependent:
        verdict = verdicts.CANNOT_TELL
    elif p_value > UNNAMED_LEVEL and not changes.has_name:
        verdict = verdicts.PERHAPS
    else:
        verdict = verdicts.CHANGED
    return AuditResult(
        value=found.interval.low,
        error_bound=0.0,
        interval=found.interval,
        status=_COMPARED,
        n_samples=len(sample),
        settings=settings_of(
            n_reference=len(base),
            id_column=encoder.id_column,
            has_model=bool(models),
            label=label,
            time=time,
            threshold=threshold,
            rng=seed,
        ),
        warnings=tuple(dict.fromkeys((*dependent, *found.warnings, *says.warnings))),
        verdict=verdict,
        new_fraction=found.fraction,
        p_value=p_value,
        changes=changes,
        unlabelled=says.unlabelled,
        labelled=says.labelled,
        inside=says.inside,
        tipping=says.tipping,
        plan=drawn,
    )


def _found_modes(
    encoder: TableEncoder,
    changed: Sequence[ColumnChange],
    base: pd.DataFrame,
    sample: pd.DataFrame,
    rng: np.random.Generator,
    look: DatedSearch | None,
) -> FoundModes:
    """Return the modes; where columns have other values in every sample, those that the other columns show."""
    found = find_changed_modes(encoder, base, sample, rng, look)
    replaced = {change.column for change in changed if change.is_replaced}
    names = [part.name for part in encoder.parts if str(part.name) in replaced]
    if not names or len(names) == len(encoder.parts):
        return found
    # All samples are new by these columns, which says nothing of which ones: modes are looked for without them.
    others = encoder.without(names, "its values are others in every sample")
    rest = find_changed_modes(others, base, sample, rng, look)
    return replace(
        rest,
        p_value=min(found.p_value, rest.p_value),
        fraction=found.fraction,
        interval=found.interval,
    )


def _known_periods(frame: pd.DataFrame, time: str | None) -> Periods | None:
    """Return the periods of a reference that has times, too."""
    if time is None or time not in frame:
        return None
    try:
        return periods_of(frame[time])
    except ArgumentValueError:
        return None


def _since(since: str, new: Sequence[TableMode]) -> str:
    """Return the date for the headline: that of the largest mode where it is known better than its part's."""
    if not since or any(mode.looked_at >= 1.0 for mode in new):
        return ""
    change = new[0].change if new else None
    if change is None or not change.is_shown or change.after <= change.before:
        return since
    return change.period


def _copies(
    reference: pd.DataFrame, current: pd.DataFrame, encoder: TableEncoder
) -> tuple[str, ...]:
    """Return a warning where every row of a sample stands several times: no p-value holds then."""
    # Copies look like twice the evidence: a random half of such samples would differ "significantly" too often.
    names = [part.name for part in encoder.parts]
    warnings = []
    for argument, frame in (("reference", reference), ("current sample", current)):
        rows = frame[names]
        if len(rows) > 1 and _all_stand_twice(rows) and not _is_coarse(rows):
            warnings.append(f"Every row of the {argument} stands at least twice. Drop the copies.")
    return tuple(warnings)


def _all_stand_twice(rows: pd.DataFrame) -> bool:
    # Mostly a single column tells that some row stands alone, in a fraction of the time that whole rows take.
    if not all(rows[name].duplicated(keep=False).all() for name in rows):
        return False
    return bool(rows.duplicated(keep=False).all())


def _is_coarse(frame: pd.DataFrame) -> bool:
    """Return True for a table of so few combinations of values that rows repeat by themselves."""
    return math.prod(frame[name].nunique() + 1 for name in frame) < 10 * len(frame)


def _check_names(
    reference: pd.DataFrame, current: pd.DataFrame, label: str | None, time: str | None
) -> None:
    """Raise a ValueError if a column that is named is not there."""
    if label is not None and label not in reference and label not in current:
        got = f"{label!r}, which neither sample has"
        raise ArgumentValueError("label", "the name of a column", got)
    if time is not None and time not in current:
        got = f"{time!r}"
        raise ArgumentValueError("time", "a column of the current sample", got)


def _read(labels: Any) -> list[Any]:
    """Return files of labels as tables, and everything else as it is."""
    found = []
    for each in _listed(labels):
        table = each
        if isinstance(each, Cells):
            table = model_rows(each, decide_kinds([each]), 0)
        found.append(table)
    return found


def _listed(given: Any) -> list[Any]:
    """Return one thing, or a sequence of them, or none, as a list."""
    if given is None:
        return []
    if isinstance(given, list | tuple):
        return list(given)
    return [given]


def _ids_of(frame: pd.DataFrame, id_column: Any) -> npt.NDArray[np.str_]:
    """Return the names of all rows: the values of the id column, or positions."""
    if id_column is None or id_column not in frame:
        return np.arange(len(frame)).astype(str)
    return np.asarray(frame[id_column].astype(str), dtype=np.str_)


def _part(frame: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table, or a random part of it in its order."""
    return frame.iloc[at_most_rows(np.arange(len(frame)), n, rng)]


def _timeline(column: str, periods: Periods, members: Sequence[npt.NDArray[np.bool_]]) -> Timeline:
    """Count the samples and the members of each mode in each period."""
    counts = [periods.counts(inside) for inside in members]
    return Timeline(
        column=column,
        unit=periods.unit,
        periods=periods.labels,
        n_samples=periods.counts(),
        n_members=np.array(counts, dtype=np.int64).reshape(len(members), len(periods.labels)),
    )
