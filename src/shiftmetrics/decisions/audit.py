"""The audit: what changed in a sample against a reference, since when, and whether a model is worse on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.result import Status, settings_of
from shiftmetrics._core.validation import check_number, check_rng, describe, seed_of
from shiftmetrics.decisions.audit_result import AuditResult, SampleChanges, Timeline
from shiftmetrics.decisions.column_changes import column_changes
from shiftmetrics.decisions.modelled import Modelled, audited_models, judged
from shiftmetrics.decisions.new_modes import TableMode
from shiftmetrics.decisions.search import COLUMNS, LEVEL, find_modes
from shiftmetrics.decisions.timeline import Periods, change_point, periods_of
from shiftmetrics.decisions.unlabelled import tell_apart
from shiftmetrics.encoding import TableEncoder
from shiftmetrics.encoding.roles import as_frame

if TYPE_CHECKING:
    import pandas as pd

_COMPARED = Status("compared", "Modes and columns were compared.")
_COMPARED_ROWS = 10_000
"""Samples of each side that the domain classifier is trained on."""
_COLUMN_ROWS = 200_000
"""Samples of each side whose columns are compared one by one."""
_NEWEST = 10


def audit_samples(
    reference: Any,
    current: Any,
    *,
    model: Any = None,
    label: str | None = None,
    labels: Any = None,
    time: str | None = None,
    id_column: str | None = None,
    exclude: Iterable[Any] = (),
    plan: int | str | None = None,
    threshold: float | None = None,
    rng: int | np.random.Generator | None = 0,
) -> AuditResult:
    """Say what changed in a sample, in which rows and since when, and what that means for a model.

    Tables may hold numbers, words, dates, text and gaps; ids are found and left out. New modes are looked for by
    kernel entropic novelty, each described by the columns that tell it from the nearest known samples. Every column
    is compared by itself, too.

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
    labels : DataFrame or Series, optional
        Labels of some current samples, by id: such as the file of a plan, filled in.
    time : str, optional
        A column of dates or numbers of the current sample: since when each mode is there.
    id_column : str, optional
        The column that names the samples. Default: found by its values.
    exclude : iterable of str, optional
        Columns to leave out.
    plan : int or "anytime", optional
        How many samples to draw for labelling; or an order of all of them that may be stopped at any time.
    threshold : float, optional
        An error rate: how large each mode may become before errors pass it.
    rng : int or Generator, default 0
        Draws what is random.

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
    ('CHANGED', ['age above 64.72', 'city = C'])
    """
    generator = check_rng(rng)
    seed = seed_of(generator)
    base, sample = as_frame(reference, "reference"), as_frame(current, "current")
    _check_names(base, sample, label, time)
    if threshold is not None:
        check_number(threshold, "threshold", low=0.0, high=1.0, open_low=True)
    models = [] if model is None else audited_models(model, base, sample, label, time, id_column)
    not_compared = [name for name in (label, time, *_prediction_columns(model)) if name is not None]
    encoder = TableEncoder.fit(base, sample, exclude=[*exclude, *not_compared], id_column=id_column)
    names = _names_of(sample, encoder.id_column)

    found = find_modes(encoder, base, sample, generator)
    columns = column_changes(
        _at_most(base, _COLUMN_ROWS, generator),
        _at_most(sample, _COLUMN_ROWS, generator),
        encoder.columns,
    )
    classifier = tell_apart(
        encoder.transform(_at_most(base, _COMPARED_ROWS, generator)),
        encoder.transform(_at_most(sample, _COMPARED_ROWS, generator)),
    )
    unmatched = max(classifier.alone_fraction, found.fraction if found.new else 0.0)
    new = [_named(mode, names) for mode in found.new]
    timeline = None
    if time is not None:
        periods = periods_of(sample[time])
        timeline = _timeline(time, periods, new)
        new = [_dated(mode, periods, generator) for mode in new]
    base_names = _names_of(base, encoder.id_column)
    changes = SampleChanges(
        novelty_p_value=found.novelty_p_value,
        new=tuple(new),
        missing=tuple(_named(mode, base_names) for mode in found.missing),
        columns=columns,
        auc=classifier.auc,
        unmatched_fraction=unmatched,
        first_rows=tuple(names(found.newest[:_NEWEST]).tolist()),
        timeline=timeline,
        column_notes=tuple(encoder.notes()),
    )
    says = Modelled()
    if models or plan is not None:
        says = judged(
            models,
            base,
            sample,
            label,
            labels,
            names,
            changes,
            plan=plan,
            threshold=threshold,
            seed=seed,
        )
    column_p = min([change.p_value for change in columns], default=1.0)
    p_value = min(1.0, found.p_value, column_p / COLUMNS)
    worse = says.labelled is not None and says.labelled.is_worse
    copies = _copies(base, sample, encoder)
    verdict = "NO CHANGE SHOWN"
    if worse:
        verdict = "WORSE"
    elif copies:
        verdict = "CANNOT TELL"
    elif p_value <= LEVEL:
        verdict = "CHANGED"
    return AuditResult(
        value=found.interval.low,
        error_bound=0.0,
        interval=found.interval,
        status=_COMPARED,
        n_samples=len(sample),
        settings=settings_of(
            n_reference=len(base),
            searched=found.searched,
            id_column=encoder.id_column,
            has_model=model is not None,
            label=label,
            time=time,
            threshold=threshold,
            rng=seed,
        ),
        warnings=(*copies, *found.warnings, *says.warnings),
        verdict=verdict,
        new_fraction=found.fraction,
        p_value=p_value,
        changes=changes,
        unlabelled=says.unlabelled,
        labelled=says.labelled,
        inside=says.inside,
        tipping=says.tipping,
        plan=says.plan,
    )


def _copies(
    reference: pd.DataFrame, current: pd.DataFrame, encoder: TableEncoder
) -> tuple[str, ...]:
    """Return a warning where every row of a sample stands several times: no p-value holds then."""
    names = [part.name for part in encoder.parts]
    warnings = []
    for argument, frame in (("reference", reference), ("current sample", current)):
        shown = frame[names]
        if len(frame) > 1 and shown.duplicated(keep=False).all() and not _is_coarse(shown):
            warnings.append(f"Every row of the {argument} stands at least twice. Drop the copies.")
    return tuple(warnings)


def _is_coarse(frame: pd.DataFrame) -> bool:
    """Return True for a table of so few combinations of values that rows repeat by themselves."""
    return math.prod(frame[name].nunique() + 1 for name in frame) < 10 * len(frame)


def _check_names(
    reference: pd.DataFrame, current: pd.DataFrame, label: str | None, time: str | None
) -> None:
    """Raise a ValueError if a column that is named is not there."""
    if label is not None and label not in reference and label not in current:
        got = f"{label!r}, which neither sample has"
        raise ValueError(describe("label", "the name of a column", got))
    if time is not None and time not in current:
        got = f"{time!r}"
        raise ValueError(describe("time", "a column of the current sample", got))


def _prediction_columns(model: Any) -> list[str]:
    models = model if isinstance(model, list | tuple) else [model]
    return [each for each in models if isinstance(each, str)]


@dataclass(frozen=True, eq=False)
class RowNames:
    """The names of the rows of a table: values of its id column, or positions."""

    ids: npt.NDArray[Any] | None

    def __call__(self, rows: IntArray) -> npt.NDArray[np.str_]:
        """Return the names of some rows."""
        if self.ids is None:
            return np.asarray(rows).astype(str)
        return np.array([str(name) for name in self.ids[rows]], dtype=np.str_)


def _names_of(frame: pd.DataFrame, id_column: Any) -> RowNames:
    if id_column is None or id_column not in frame:
        return RowNames(None)
    return RowNames(frame[id_column].to_numpy())


def _at_most(frame: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table, or a random part of it in its order."""
    if len(frame) <= n:
        return frame
    return frame.iloc[np.sort(rng.choice(len(frame), n, replace=False))]


def _named(mode: TableMode, names: RowNames) -> TableMode:
    return replace(mode, names=names(mode.order))


def _timeline(column: str, periods: Periods, modes: Sequence[TableMode]) -> Timeline:
    """Count the samples and the members of each mode in each period."""
    counts = [periods.counts(_is_member(mode, len(periods.of_sample))) for mode in modes]
    shape = (len(modes), len(periods.labels))
    return Timeline(
        column=column,
        unit=periods.unit,
        periods=periods.labels,
        n_samples=periods.counts(),
        n_members=np.array(counts, dtype=np.int64).reshape(shape),
    )


def _dated(mode: TableMode, periods: Periods, rng: np.random.Generator) -> TableMode:
    members = _is_member(mode, len(periods.of_sample))
    return replace(mode, change=change_point(periods, members, rng))


def _is_member(mode: TableMode, n: int) -> npt.NDArray[np.bool_]:
    members = np.zeros(n, dtype=bool)
    members[mode.rows] = True
    return members
