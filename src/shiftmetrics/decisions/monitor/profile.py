"""Make a passport: centres, counts, calibration and errors of a reference, and its replay in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number, check_rng
from shiftmetrics.decisions.calibration import Calibration
from shiftmetrics.decisions.monitor.column_profiles import profiles_of
from shiftmetrics.decisions.monitor.measured import (
    MeasuredReference,
    measure_seasons,
    measure_whole,
)
from shiftmetrics.decisions.monitor.model_digest import model_digest
from shiftmetrics.decisions.monitor.passport import Passport, errors_of, labelled
from shiftmetrics.decisions.monitor.row_tests import unsure_of
from shiftmetrics.decisions.monitor.season_hints import hints_of
from shiftmetrics.decisions.monitor.seasons import NAMES, SeasonUnit, check_seasons
from shiftmetrics.decisions.predictions.model_outputs import model_outputs
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.date_ranges import date_ranges
from shiftmetrics.tables.encoder.model_rows import model_rows
from shiftmetrics.tables.encoder.roles import as_cells
from shiftmetrics.tables.kinds import decide_kinds

_REPLAYED_BATCH = 50
"""Samples of a batch when the reference is replayed in its own order."""
_MOST_KNOTS = 200
"""Knots of the calibration that are kept: the file is to be small."""
_LEAST_SAMPLES = 20


def make_passport(
    reference: Any,
    *,
    model: Any = None,
    label: str | None = None,
    exclude: Iterable[Any] = (),
    columns: Sequence[Any] | None = None,
    time: str | None = None,
    id_column: str | None = None,
    date_order: DateOrder | None = None,
    decimal: str | None = None,
    alpha: float = 0.05,
    season: SeasonUnit | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Passport:
    """Profile a reference, so that batches can be held against it later and elsewhere.

    Parameters
    ----------
    reference : DataFrame or array of shape (n_reference, n_columns)
        Samples in the order in which they came: the order is replayed before the alarms are armed.
    model : object or str, optional
        A fitted classifier, or the name of a column of predictions. With probabilities, its confidence is watched.
    label : str, optional
        The column of the labels. With a model, its errors are watched.
    exclude, columns : names of columns, optional
        Columns to leave out, or the only ones to use. Text is always left out; dates are, unless ``columns`` names
        them, for those of later samples are later.
    time : str, optional
        A column of dates or numbers that says when a sample was taken.
    id_column : str, optional
        The column that names the samples. Default: found by its values.
    date_order : {"day", "month", "year"}, optional
        What dates such as 01/02/2024 have first. Default: by evidence.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are words. Default: by evidence.
    alpha : float, default 0.05
        Probability of ever raising an alarm without a change.
    season : {"month", "weekday", "hour"}, optional
        Seasons that are told apart by the dates of ``time``: each sample of a batch is held against the same season
        of the reference, which needs 40 samples of each. Default: all are held against all of the reference.
    rng : int or Generator, default 0
        Halves the reference and starts the centres.

    Raises
    ------
    TypeError, ValueError
        If a column is unknown, or the reference or one of its seasons has too few samples.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.decisions.monitor.profile import make_passport
    >>> reference = np.random.default_rng(0).normal(size=(400, 3))
    >>> passport = make_passport(reference)
    >>> passport.rows_armed, passport.tests[0].reference.hits, passport.tests[0].reference.n
    (True, 100, 200)
    """
    cells = as_cells(reference, "reference")
    check_integer(len(cells.frame), "the number of reference samples", low=_LEAST_SAMPLES)
    alpha = check_number(alpha, "alpha", low=0.0, high=1.0, open_low=True, open_high=True)
    generator = check_rng(rng)
    for argument, name in (("label", label), ("time", time)):
        if name is not None and name not in cells.frame:
            raise ArgumentValueError(argument, "a column of the reference", value=name)
    typed = decide_kinds([cells], decimal=decimal, date_order=date_order)
    frame = model_rows(reference, typed, 0)
    date_columns = [name for name, kind in typed.kinds.items() if kind.kind == "date"]
    numbers = None
    if season is not None:
        numbers = check_seasons(typed.frames[0], time, season, date_columns)
    prediction = model if isinstance(model, str) else None
    not_features = [name for name in (label, prediction, time, id_column) if name is not None]
    taken = [name for name in (label, prediction, time) if name is not None]
    # The terms of a text would fill more space than all other columns together.
    encoder = (
        TableEncoder.fit(
            cells, columns=columns, exclude=[*exclude, *taken], id_column=id_column, typed=typed
        )
        .without_text()
        .with_gaps()
    )
    dates = [column.name for column in encoder.columns if column.role == "date"]
    if columns is None and dates:
        encoder = encoder.without(dates, "the dates of later samples are later")
    features = encoder.encoded(typed.frames[0])
    outputs = None
    digest = ""
    if model is not None:
        digest = model_digest(model)
        outputs = model_outputs(model, frame, not_features=not_features)
        # What counts its own questions is another one after each, and is not compared.
        if model_digest(model) != digest:
            digest = ""
    calibration = None
    if outputs is not None and outputs.probabilities is not None and label is not None:
        labels = outputs.codes(frame[label].to_numpy(), f"column {label!r}")
        calibration = _rounded(Calibration.fit(outputs.probabilities, labels))
    right = labelled(outputs, frame, label)
    errors = errors_of(right)
    if errors.n and errors.hits == errors.n:
        got = f"none of {errors.n} predictions is the label"
        raise ArgumentValueError("label", "of the classes that are predicted", got)

    unsure = unsure_of(calibration, outputs)
    if numbers is None:
        profiles = profiles_of(encoder, typed.frames[0])
        measured = measure_whole(features, unsure, generator)
    else:
        assert season is not None  # checked with the dates
        assert time is not None
        n_seasons = len(np.unique(numbers[numbers >= 0]))
        profiles = profiles_of(encoder, typed.frames[0], n_seasons)
        n_numbers = len(NAMES[season])
        measured = measure_seasons(
            features,
            unsure,
            generator,
            unit=season,
            column=time,
            numbers=numbers,
            right=right,
            cells=[
                profile.by_season(typed.frames[0][profile.column], numbers, n_numbers)
                for profile in profiles
            ],
        )
    passport = Passport(
        version=2 if measured.seasons is None else 3,
        encoder=encoder,
        centres=measured.centres,
        tests=measured.tests,
        errors=errors if errors.n else None,
        calibration=calibration,
        label=label,
        prediction=prediction,
        alpha=alpha,
        rows_armed=True,
        note="",
        n_reference=len(frame),
        dates=date_ranges(typed.frames[0], date_columns),
        kinds=typed.kinds,
        model=digest,
        columns=profiles,
        seasons=measured.seasons,
        hints=hints_of(typed.frames[0], date_columns, profiles, measured.seasons),
    )
    return _replayed(passport, measured)


def _replayed(passport: Passport, measured: MeasuredReference) -> Passport:
    """Replay the reference in its order; where it raises an alarm itself, its samples are not exchangeable.

    Hours, seasons and sites come in order: later batches of such a source differ from a mixture of all of it
    without any change, and alarms on the samples would mean nothing. Labelled errors are still watched. Seasons that
    are told apart are replayed each against itself.
    """
    alarms = list(passport.alarms()[1])
    for start in range(0, len(measured.places), _REPLAYED_BATCH):
        batch = slice(start, start + _REPLAYED_BATCH)
        readings = {kind: values[batch] for kind, values in measured.readings.items()}
        if passport.seasons is None:
            counts = [test.count(readings) for test in passport.tests]
            pairs = [(np.array([count.hits]), np.array([count.n])) for count in counts]
        else:
            found = passport.seasons.count(measured.places[batch], readings)
            pairs = [(found[:, place, 0], found[:, place, 1]) for place in range(len(alarms))]
        alarms = [alarm.update(*pair) for alarm, pair in zip(alarms, pairs, strict=True)]
    raised = [alarm.name for alarm in alarms if alarm.raised]
    if not raised:
        return passport
    note = (
        f"Replayed in its own order, the reference raises an alarm itself (samples {raised[0]}): "
        "its samples are not exchangeable, so they are not watched."
    )
    return replace(passport, rows_armed=False, note=note)


def _rounded(calibration: Calibration) -> Calibration:
    """Return a calibration of fewer knots, for a small file."""
    n_knots = len(calibration.knots)
    places = np.unique(np.linspace(0, n_knots - 1, _MOST_KNOTS).astype(int))
    return replace(calibration, knots=calibration.knots[places], values=calibration.values[places])
