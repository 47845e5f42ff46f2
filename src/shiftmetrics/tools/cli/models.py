"""Models on the command line: files written by joblib, or objects of a Python module; both are programs that run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.validation import first_few
from shiftmetrics.tools.cli.objects import JOBLIB_SUFFIXES, is_attribute, load_attribute, load_file, trust
from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import read_row_values, require_column
from shiftmetrics.tools.cli.sources import Source, parse_source

TRUST = trust("--model", "models")


def load_model(text: str) -> tuple[Any, list[str]]:
    """Return the model that ``--model`` names, and what the user should know about how it was opened.

    Parameters
    ----------
    text : str
        A file written by joblib or pickle, or ``module:attribute``, looked up in the present folder first.

    Raises
    ------
    ValueError
        If there is no such model, or it cannot be opened.
    """
    check_model(text)
    if text.lower().endswith(JOBLIB_SUFFIXES):
        model, said = load_file(Path(text), "--model", "a model")
        return model, [TRUST, *said]
    return load_attribute(text, "--model"), [TRUST]


def check_model(text: str) -> None:
    """Make sure that ``text`` can name a model, without opening it.

    Raises
    ------
    ValueError
        If it is neither a file that exists nor ``module:attribute``.
    """
    if text.lower().endswith(JOBLIB_SUFFIXES):
        if not Path(text).is_file():
            raise ValueError(f"--model must be an existing file, got {text!r}, which is not there.")
    elif not is_attribute(text):
        raise ValueError(
            f"--model must be a file of kind {', '.join(JOBLIB_SUFFIXES)}, or module:attribute, got {text!r}. "
            "Write a model with joblib.dump(model, path)."
        )


def name_of(model: Any) -> str:
    """Return what kind of model this is; of a pipeline, its steps."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return " then ".join(type(step).__name__ for step in steps) or type(model).__name__


@dataclass(kw_only=True)
class ModelSample:
    """A file taken apart for a model.

    Attributes
    ----------
    source : Source
        Where it came from.
    X : DataFrame or ndarray
        What the model predicts on.
    y : ndarray
        The target.
    table : DataFrame or None
        Everything that describes the rows: the columns of the model, and those that it does not see.
    names, weight, groups, subgroups : sequence or None
        One entry for each row: ``groups`` belong together, ``subgroups`` are looked at by themselves.
    """

    source: Source
    X: Any
    y: npt.NDArray[Any]
    table: Any = None
    names: list[str] | None = None
    weight: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    subgroups: npt.NDArray[Any] | None = None
    notes: list[str] = field(default_factory=list)


def read_model_sample(
    text: str,
    model: Any,
    *,
    target: str,
    id_column: str | None,
    weight: str | None,
    groups: str | None,
    by: str | None,
) -> ModelSample:
    """Read the file of rows, and choose the columns that the model was fitted on.

    Raises
    ------
    ValueError
        If the file lacks a column that an option or the model names.
    """
    source = parse_source(text, "FILE")
    content = read_source(source)
    if not hasattr(content, "columns"):
        if id_column is not None:
            raise ValueError(f"--id must name a column of a table, but FILE is {source}, an array.")
        y = read_row_values(target, "--target", None)
        assert y is not None
        return ModelSample(
            source=source,
            notes=source.notes,
            X=content,
            y=y,
            weight=read_row_values(weight, "--weight", None),
            groups=read_row_values(groups, "--groups", None),
            subgroups=read_row_values(by, "--by", None),
        )
    frame = content
    if id_column is not None:
        frame = frame.set_index(require_column(frame, id_column, "--id", "FILE"))
    y = read_row_values(target, "--target", frame, required=True)
    assert y is not None
    sample = ModelSample(
        source=source,
        notes=source.notes,
        X=frame,
        y=y,
        names=None if id_column is None else [str(name) for name in frame.index],
        weight=read_row_values(weight, "--weight", frame, required=True),
        groups=read_row_values(groups, "--groups", frame, required=True),
        subgroups=read_row_values(by, "--by", frame, required=True),
    )
    sample.table = frame.drop(columns=[name for name in (target, weight) if name in frame.columns])
    sample.X, unseen = _columns_of(model, sample.table, target, (groups, by))
    if unseen:
        sample.notes.append(f"Columns that describe rows and the model does not see: {first_few(unseen, 6)}.")
    return sample


def _columns_of(model: Any, frame: Any, target: str, aside: Sequence[str | None]) -> tuple[Any, list[Any]]:
    """Return what the model predicts on, and the names of the other columns.

    A model that was fitted on a table names its columns; any other gets all of them, as an array if it was fitted on
    one. Columns that stand aside, those of ``--groups`` and ``--by``, are left out until their number is right.
    """
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        if target in set(known):
            raise ValueError(
                f"--target must name what --model predicts, got {target!r}, which it predicts from."
            )
        missing = [str(name) for name in known if name not in set(frame.columns)]
        if missing:
            raise ValueError(
                f"FILE must have the columns that --model was fitted on, got none called {first_few(missing, 6)}; "
                f"it has {first_few(frame.columns, 6)}."
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
