"""The command ``shiftmetrics passport REFERENCE``: a small frozen profile that batches are held against."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.console import say
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import listed, read_cells, typed_source
from shiftmetrics.cli.options import OPENING, Opening
from shiftmetrics.cli.signature import command
from shiftmetrics.decisions import Passport, make_passport


@command
def passport(
    reference: str,
    *,
    output: Path = Path("passport.json"),
    model: str | None = None,
    label: str | None = None,
    prediction: str | None = None,
    columns: str | None = None,
    exclude: str | None = None,
    id_column: str | None = None,
    time: str | None = None,
    date_order: Literal["day", "month", "year"] | None = None,
    sep: str | None = None,
    decimal: Literal[".", ","] | None = None,
    max_gib: float = 4.0,
    alpha: float = 0.05,
    season: Literal["month", "weekday", "hour"] | None = None,
    seed: int = 0,
    trust: bool = False,
    quiet: bool = False,
) -> None:
    """Write a small profile of a reference, without its rows, for `shiftmetrics monitor`.

    It holds counts, quantiles and centres of the encoded columns, and how often the model errs: at most 100 kB.
    Let the rows be in the order in which they came: the order is replayed, and where the reference alarms itself,
    only labelled errors are watched.

    Example: `shiftmetrics passport reference.csv --model model.joblib --trust --label paid`

    Parameters
    ----------
    reference : REFERENCE
        What was known: a table of any kind that is read, better not what the model was trained on.
    output : FILE.json
        Where the passport goes.
    model : MODEL
        A fitted classifier: a joblib or skops file, or module:attribute.
    label : COLUMN
        Column of true labels.
    prediction : COLUMN
        Column of predictions, in place of a model.
    columns : A,B,...
        The only columns to use. Dates are left out unless they are named here.
    exclude : A,B,...
        Columns to leave out.
    id_column : COLUMN
        Column that names the rows. Default: found by its values.
    time : COLUMN
        Column that says when a row was taken.
    date_order : day|month|year
        What dates such as 01/02/2024 have first. Default: by evidence.
    alpha : NUMBER
        Probability of ever raising an alarm without a change.
    season : month|weekday|hour
        Hold each row against the same season of the reference, by the dates of --time: 40 rows of each are needed.
    """
    if model is not None and prediction is not None:
        raise ValueError("--prediction COLUMN must not be given beside --model: take one of them.")
    OPENING.set(Opening(trust=trust, sep=sep, decimal=decimal, max_gib=max_gib))
    if model is not None:
        check_model(model)
    source = typed_source(reference, "REFERENCE")
    if output.exists() and not _is_passport(output):
        raise ValueError(f"--output must be a new file or a passport, got {str(output)!r}.")
    cells = read_cells(source)
    opened: Any = prediction
    if model is not None:
        opened, _ = load_object(model, "--model")
    found = make_passport(
        cells,
        model=opened,
        label=label,
        columns=listed(columns),
        exclude=listed(exclude) or (),
        id_column=id_column,
        time=time,
        date_order=date_order,
        decimal=decimal,
        alpha=alpha,
        season=season,
        rng=seed,
    )
    # The file gets its name at the end: where the output cannot be written, it is as before.
    with all_or_nothing():
        found.save(output)
        if not quiet:
            # A reader of the output that leaves early, such as `head`, must not cost the file.
            with reader_may_leave():
                _say_what_is_watched(found, output, cells.notes)
                sys.stdout.flush()


def _say_what_is_watched(found: Passport, output: Path, notes: Iterable[str]) -> None:
    watched = [] if found.errors is None else [f"errors ({found.errors.hits} of {found.errors.n})"]
    if found.rows_armed:
        watched.append(f"the samples, by {len(found.tests)} tests")
    size = len(found.text.encode()) / 1000
    say(f"Passport of {found.n_reference:,} rows, {size:.0f} kB: {output}")
    say(f"Watches {' and '.join(watched) or 'nothing'}.")
    said = [*notes, *found.encoder.notes(), *([found.note] if found.note else [])]
    if found.seasons is not None:
        said.append(found.seasons.sentence())
    for note in [*said, *(hint.sentence() for hint in found.hints)]:
        say(f"Note: {note}")


def _is_passport(path: Path) -> bool:
    """Return True if a file that exists may be replaced: it is a passport."""
    try:
        Passport.load(path)
    except ValueError:
        return False
    return True
