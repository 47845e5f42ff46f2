"""Features of samples other than tables of numbers: images, texts, and tables of words and gaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftmetrics.cli.inputs.prediction_files import listed, read_cells
from shiftmetrics.cli.inputs.readers import read_source
from shiftmetrics.cli.inputs.row_values import read_row_values, require_column
from shiftmetrics.cli.inputs.samples import Sample, split_names
from shiftmetrics.cli.inputs.sources import Source, looks_like_source, parse_source
from shiftmetrics.cli.options import OPENING
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.views.report import is_image_batch

COMPONENTS = 20
"""Dimensions of the features."""


def read_images(folder: str, argument: str, label: str | None, size: int) -> Sample:
    """Read a folder of images, each of ``size`` x ``size`` pixels, as a sample that is still to be encoded."""
    from shiftmetrics.adapters.images import image_files

    # all images of one size, in the order of their names
    files = image_files(folder)
    source = Source(argument=argument, path=Path(folder).resolve())
    labels = read_row_values(label, "--label", None)
    images = files.read(size=size)
    return Sample(source=source, values=images, images=images, ids=list(files.names), label=labels)


def read_texts(file: str, argument: str, label: str | None, column: str) -> Sample:
    """Read a column of strings of a table as a sample that is still to be encoded.

    Raises
    ------
    ValueError
        If the file has no such column.
    TypeError
        If a row of the column holds no string.
    """
    source = parse_source(file, argument)
    frame = read_source(source)
    # a gap or a number among strings is an error, not an empty string
    names = getattr(frame, "columns", [])
    texts = frame[require_column(names, column, "--text", argument)].tolist()
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{argument}, column {column!r}, must hold strings only, got {text!r} at row {row}. "
                "Drop or fill such rows."
            )
    labels = read_row_values(label, "--label", frame)
    return Sample(source=source, values=texts, texts=texts, label=labels)


def encode(samples: Sequence[Sample], *, progress: bool) -> list[Sample]:
    """Return samples of images or texts in the features of an encoder that is fitted on all of them.

    Of images they are principal components of the pixels, of texts TF-IDF in latent dimensions.
    """
    from shiftmetrics.adapters.embeddings import embed, fit_encoder

    # one encoder for all samples: features of two encoders do not compare, and a word that is new is not left out
    first, second = (part.values for part in samples)
    if isinstance(first, list):
        encoder = fit_encoder("tfidf", [*first, *second], n_components=COMPONENTS)
        said = "frequencies of words (TF-IDF) in latent dimensions"
    else:
        encoder = fit_encoder("pca", np.concatenate([first, second]), n_components=COMPONENTS)
        size = " x ".join(map(str, first.shape[1:3]))
        said = f"principal components of the pixels of all images, at {size}"
    encoded = []
    for part in samples:
        features = embed(part.values, encoder=encoder, progress=progress)
        encoded.append(dataclasses.replace(part, values=features))
    encoded[0].notes.append(f"Features are {encoded[0].values.shape[1]} {said}.")
    return encoded


def take_pixels(sample: Sample) -> None:
    """Make rows of pixels of values that are images, in place; leave a table of numbers as it is.

    Raises
    ------
    ValueError
        If an array of three or more axes is no batch of images.
    """
    images = sample.values
    if np.ndim(images) < 3:
        return
    argument = sample.source.argument
    if not is_image_batch(images):
        raise ValueError(
            f"{argument} must have shape (n_samples, n_features), or (n_samples, height, width) for images, got "
            f"{np.shape(images)}."
        )
    sample.images = images
    sample.values = np.asarray(images).reshape(len(images), -1)
    size = " x ".join(str(side) for side in np.shape(images)[1:])
    sample.notes.append(f"{argument} holds images of {size}; its features are their pixels.")


def mixed_samples(
    arguments: Sequence[tuple[str, str, str | None]],
    id_column: str | None,
    columns: str | None,
    groups: str | None,
    exclude: str | None = None,
    date_order: DateOrder | None = None,
) -> list[Sample] | None:
    """Read two tables that hold words, dates or gaps, as they are; None where both hold numbers alone.

    Parameters
    ----------
    arguments : sequence of two tuples
        What was typed, what messages call it, and the column of labels.
    id_column, columns, groups, exclude, date_order : str, optional
        From ``--id``, ``--columns``, ``--groups``, ``--exclude`` and ``--date-order``.
    """
    from shiftmetrics.tables.encoder.encoder import is_mixed
    from shiftmetrics.tables.encoder.roles import role_of

    sources = [parse_source(text, argument) for text, argument, _ in arguments]
    # folders of parquet files are read in chunks, which hold numbers
    if any(source.files for source in sources):
        return None
    cells = [read_cells(source) for source in sources]
    if any(part.values is not None for part in cells):
        return None
    typed = decide_kinds(cells, decimal=OPENING.get().decimal, date_order=date_order)
    frames = typed.frames
    # a file of labels is no column
    labels = [label for _, _, label in arguments if label and not looks_like_source(label)]
    taken = [name for name in (id_column, groups, *labels) if name is not None]
    taken += listed(exclude) or ()
    shown = [frame.drop(columns=[name for name in taken if name in frame]) for frame in frames]
    if columns:
        chosen = split_names(columns)
        shown = [frame[[name for name in chosen if name in frame]] for frame in shown]
    # a column of words that one side lacks is more likely a label that was not named
    if set(shown[0].columns) != set(shown[1].columns):
        return None
    # cells that are no plain numbers as they are written, such as 1,5
    as_words = any(part.written & set(shown[0].columns) for part in cells)
    if not as_words and not exclude and not any(is_mixed(frame) for frame in shown):
        return None
    typed.check(shown[0].columns)
    if id_column is None:
        first, second = shown
        roles = [
            role_of(name, typed.kinds[str(name)].kind, second[name], first[name]) for name in first
        ]
        id_column = next((column.name for column in roles if column.role == "id"), None)
    samples = []
    for source, frame, values, (_, _, label) in zip(sources, frames, shown, arguments, strict=True):
        ids = None
        if id_column is not None:
            column = require_column(frame.columns, id_column, "--id", source.argument)
            ids = frame[column].astype(str).tolist()
        truth = read_row_values(label, "--label", frame)
        together = read_row_values(groups, "--groups", frame)
        described = values.drop(columns=[id_column], errors="ignore")
        sample = Sample(
            source=source, values=values, label=truth, groups=together, ids=ids, table=described
        )
        samples.append(sample)
    samples[0].notes += [*(note for part in cells for note in part.notes), *typed.notes]
    return samples
