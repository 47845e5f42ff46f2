"""Features of samples that are no tables of numbers: images, folders of images, and columns of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import Sample, read_row_values, require_column
from shiftmetrics.tools.cli.sources import Source, looks_like_source, parquet_files, parse_source
from shiftmetrics.views.report import is_image_batch

COMPONENTS = 20
"""Dimensions of the features."""

ARGUMENTS = ("TEST", "REFERENCE")


def is_folder(test: str, reference: str) -> bool:
    """Tell whether the samples are folders.

    Raises
    ------
    ValueError
        If only one of them is.
    """
    folders = tuple(Path(text).is_dir() and not parquet_files(text) for text in (test, reference))
    if folders[0] != folders[1]:
        folder, other = (test, reference) if folders[0] else (reference, test)
        raise ValueError(
            f"TEST and REFERENCE must both be folders of images or both be files, got {folder!r} and {other!r}."
        )
    return folders[0]


class ImageFolders:
    """Two folders of images; their features are principal components of both samples' pixels.

    Parameters
    ----------
    folders : sequence of str
        The sample under test, and the reference. The names of their images are listed here, and read later.
    size : int
        Side to which images are resized.
    """

    def __init__(self, *folders: str, size: int) -> None:
        from shiftmetrics.adapters.embeddings.items import image_files

        self._files = [image_files(folder) for folder in folders]
        self._size = size
        self.sources = [
            Source(argument=argument, path=Path(folder).resolve())
            for argument, folder in zip(ARGUMENTS, folders, strict=True)
        ]

    def samples(self, *, progress: bool) -> tuple[list[Sample], dict[str, Any]]:
        """Read the images; return the samples, and fields of `shiftmetrics.views.Rows`."""
        images = [files.read(size=self._size) for files in self._files]
        samples = _encoded("pca", np.concatenate(images), self.sources, images, progress=progress)
        samples[0].notes.append(
            f"Features are {samples[0].values.shape[1]} principal components of the pixels of all images, "
            f"at {self._size} x {self._size}."
        )
        for sample, files in zip(samples, self._files, strict=True):
            sample.ids = files.names
        return samples, {"images": images[0], "reference_images": images[1]}


class Texts:
    """A column of texts of two tables; their features are TF-IDF of both samples in latent dimensions.

    Raises
    ------
    ValueError
        If a file is no table, or has no such column.
    TypeError
        If a row of the column holds no text.
    """

    def __init__(self, *files: str, column: str, label: str | None) -> None:
        from shiftmetrics.adapters.embeddings.items import check_items

        self.sources, self._texts, self._labels = [], [], []
        for argument, file in zip(ARGUMENTS, files, strict=True):
            source = parse_source(file, argument)
            frame = read_source(source)
            if not hasattr(frame, "columns"):
                raise ValueError(f"{argument} must be a table for --text, got {source}.")
            values = frame[require_column(frame, column, "--text", argument)]
            texts = check_items(values.tolist(), f"{argument}, column {column!r},")
            if texts.kind != "texts":
                raise ValueError(
                    f"--text must name a column of texts, got {column!r}, a column of {texts.kind}."
                )
            if label is not None and looks_like_source(label) and argument != ARGUMENTS[0]:
                label = None  # a file of labels goes with TEST
            self.sources.append(source)
            self._texts.append(texts)
            self._labels.append(read_row_values(label, "--label", frame))

    def samples(self, *, progress: bool) -> tuple[list[Sample], dict[str, Any]]:
        """Encode the texts; return the samples, and fields of `shiftmetrics.views.Rows`."""
        lists = [texts.data for texts in self._texts]
        samples = _encoded("tfidf", lists[0] + lists[1], self.sources, self._texts, progress=progress)
        for sample, label in zip(samples, self._labels, strict=True):
            sample.label = label
        samples[0].notes.append(
            f"Features are frequencies of words (TF-IDF) in {samples[0].values.shape[1]} latent dimensions."
        )
        return samples, {"texts": lists[0], "reference_texts": lists[1]}


def _encoded(
    encoder: str, both: Any, sources: Sequence[Source], items: Sequence[Any], *, progress: bool
) -> list[Sample]:
    """Return each sample in the features of an encoder that is fitted on both."""
    from shiftmetrics.adapters.embeddings import embed, fit_encoder

    fitted = fit_encoder(encoder, both, n_components=COMPONENTS)
    values = [embed(part, encoder=fitted, cache=False, progress=progress) for part in items]
    return [Sample(source=source, values=part) for source, part in zip(sources, values, strict=True)]


def images_of(sample: Sample, text: str | None, option: str) -> Any:
    """Return a picture for each row: those of a file, or the features themselves where they are images; else None.

    Images given as features become rows of pixels, in place.

    Raises
    ------
    ValueError
        If an array of three or more axes is no batch of images, or the file does not hold a picture for each row.
    """
    argument, pictures = sample.source.argument, None
    if text is not None:
        pictures = read_source(parse_source(text, option))
        if hasattr(pictures, "columns") or not is_image_batch(pictures):
            raise ValueError(f"{option} must hold images of shape (n_samples, height, width), got {text!r}.")
        if len(pictures) != len(sample.values):
            raise ValueError(
                f"{option} must have a picture for each row of {argument}, got {len(pictures)} for "
                f"{len(sample.values)} rows."
            )
    values = sample.values
    if np.ndim(values) < 3:
        return pictures
    if not is_image_batch(values):
        raise ValueError(
            f"{argument} must have shape (n_samples, n_features), or (n_samples, height, width) for images, got "
            f"{np.shape(values)}. Choose leading axes, such as {sample.source.example}."
        )
    sample.values = np.asarray(values).reshape(len(values), -1)
    size = " x ".join(str(side) for side in np.shape(values)[1:])
    sample.notes.append(f"{argument} holds images of {size}; its features are their pixels.")
    return values if pictures is None else pictures
