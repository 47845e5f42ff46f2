"""The command ``shiftmetrics passport REFERENCE``: a small frozen profile that batches are held against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics._core.files import atomic_path
from shiftmetrics.cli.inputs.decision_tables import read_table
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.samples import split_names
from shiftmetrics.cli.inputs.sources import parse_source
from shiftmetrics.cli.options import OPENING, Opening
from shiftmetrics.cli.outputs import say
from shiftmetrics.cli.signature import command
from shiftmetrics.decisions import make_passport


@command
def passport(
    reference: str,
    *,
    output: Path = Path("passport.json"),
    model: str | None = None,
    label: str | None = None,
    prediction: str | None = None,
    exclude: str | None = None,
    alpha: float = 0.05,
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
        What was known: csv, parquet or JSON lines, better not what the model was trained on.
    output : FILE.json
        Where the passport goes.
    model : MODEL
        A fitted classifier: a joblib or skops file, or module:attribute.
    label : COLUMN
        Column of true labels.
    prediction : COLUMN
        Column of predictions, in place of a model.
    exclude : A,B,...
        Columns to leave out.
    alpha : NUMBER
        Probability of ever raising an alarm without a change.
    """
    if model is not None and prediction is not None:
        raise ValueError("--prediction COLUMN must not be given beside --model: take one of them.")
    OPENING.set(Opening(trust=trust))
    if model is not None:
        check_model(model)
    source = parse_source(reference, "REFERENCE")
    if output.exists() and not _is_passport(output):
        raise ValueError(f"--output must be a new file or a passport, got {str(output)!r}.")
    frame = read_table(source)
    opened: Any = prediction
    if model is not None:
        opened, _ = load_object(model, "--model")
    found = make_passport(
        frame,
        model=opened,
        label=label,
        exclude=split_names(exclude) if exclude else (),
        alpha=alpha,
        rng=seed,
    )
    with atomic_path(output) as temporary:
        found.save(temporary)
    if quiet:
        return
    watched = [] if found.errors is None else [f"errors ({found.errors.hits} of {found.errors.n})"]
    if found.rows_armed:
        watched.append(f"the samples, by {len(found.tests)} tests")
    say(f"Passport of {found.n_reference:,} rows, {output.stat().st_size / 1000:.0f} kB: {output}")
    say(f"Watches {' and '.join(watched) or 'nothing'}.")
    for note in [*found.encoder.notes(), *([found.note] if found.note else [])]:
        say(f"Note: {note}")


def _is_passport(path: Path) -> bool:
    """Return True if a file that exists may be replaced: it is a passport."""
    from shiftmetrics.decisions import Passport

    try:
        Passport.load(path)
    except ValueError:
        return False
    return True
