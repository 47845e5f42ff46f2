"""Features of images and of texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shiftmetrics.cli.inputs.feature_samples import FeatureSample
from shiftmetrics.cli.inputs.prediction_files import read_cells, typed_source
from shiftmetrics.cli.inputs.row_values import require_column, row_values
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.views.report import is_image_batch

COMPONENTS = 20
"""Dimensions of the features."""


def read_images(folder: str, argument: str, label: str | None, size: int) -> FeatureSample:
    """Read a folder of images, each of ``size`` x ``size`` pixels, as a sample that is still to be encoded."""
    from shiftmetrics.adapters.images import image_files

    # all images of one size, in the order of their names
    files = image_files(folder)
    source = Source(argument=argument, path=Path(folder).resolve())
    labels = row_values(label, "--label", None)
    images = files.read(size=size)
    return FeatureSample(
        source=source, values=images, images=images, ids=list(files.names), label=labels
    )


def read_texts(file: str, argument: str, label: str | None, column: str) -> FeatureSample:
    """Read a column of strings of a table as a sample that is still to be encoded.

    Raises
    ------
    ValueError
        If the file has no such column.
    TypeError
        If a row of the column holds no string.
    """
    source = typed_source(file, argument)
    cells = read_cells(source)
    # a gap or a number among strings is an error, not an empty string
    names = [] if cells.values is not None else list(cells.frame.columns)
    require_column(names, column, "--text", argument)
    typed = decide_kinds([cells])
    texts = typed.frames[0][column].tolist()
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{argument}, column {column!r}, must hold strings only, got {text!r} at row {row}. "
                "Drop or fill such rows."
            )
    labels = row_values(label, "--label", typed.frames[0])
    return FeatureSample(source=source, values=texts, texts=texts, label=labels)


def encode(samples: Sequence[FeatureSample], *, progress: bool) -> list[FeatureSample]:
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


def take_pixels(sample: FeatureSample) -> None:
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
