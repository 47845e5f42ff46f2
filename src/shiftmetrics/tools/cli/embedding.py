"""Folders of images, columns of texts or numbers as samples: turned into features by one encoder for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import Sample, read_row_values, require_column
from shiftmetrics.tools.cli.sources import Source, looks_like_source, parse_source

COMPONENTS = 50
"""Dimensions of the features."""

UNEVEN = 100.0
"""Columns of a table whose spreads differ more than so many times are hardly meant to be compared as they are."""


def is_folder(test: str, reference: str) -> bool:
    """Tell whether the samples are folders.

    Raises
    ------
    ValueError
        If only one of them is.
    """
    folders = Path(test).is_dir(), Path(reference).is_dir()
    if folders[0] != folders[1]:
        folder, other = (test, reference) if folders[0] else (reference, test)
        raise ValueError(
            f"TEST and REFERENCE must both be folders of images or both be files, got {folder!r} and {other!r}."
        )
    return folders[0]


def refuse_options(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that choose columns or pictures, where there are none to choose."""
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} must be left out {why}, got {value!r}.")


def read_image_folders(
    test: str,
    reference: str,
    *,
    size: int,
    label: str | None,
    progress: bool,
    check: Callable[[Sequence[Source]], None],
) -> tuple[Sample, Sample, dict[str, Any]]:
    """Read two folders of images; their features are principal components of both samples' pixels.

    ``check`` is called with both sources once they are known to hold images, before any is opened.

    Returns
    -------
    first, second : Sample
        With features as values.
    rows : dict
        What a report may show of them: fields of `shiftmetrics.views.report.Rows`.
    """
    import numpy as np

    from shiftmetrics.adapters.embeddings import PCAEncoder, embed, image_files

    files = image_files(test), image_files(reference)
    sources = [
        Source(argument=argument, path=Path(place).resolve())
        for argument, place in (("TEST", test), ("REFERENCE", reference))
    ]
    check(sources)
    images = [found.read(size=size) for found in files]
    encoder = PCAEncoder(n_components=COMPONENTS).fit(np.concatenate(images))
    first, second = (
        Sample(source=source, values=embed(pictures, encoder=encoder, cache=False, progress=progress))
        for source, pictures in zip(sources, images, strict=True)
    )
    first.label = read_row_values(label, "--label", None)
    first.notes.append(
        f"Features are {first.values.shape[1]} principal components of the pixels of all images, at {size} x {size}."
    )
    rows = {"images": images[0], "reference_images": images[1]}
    return first, second, {**rows, "names": files[0].names, "reference_names": files[1].names}


def read_texts(
    test: str,
    reference: str,
    *,
    column: str,
    label: str | None,
    progress: bool,
    check: Callable[[Sequence[Source]], None],
) -> tuple[Sample, Sample, dict[str, Any]]:
    """Read a column of texts of two tables; their features are TF-IDF of both samples in latent dimensions.

    ``check`` is called with both sources once the texts are read, before an encoder is fitted.

    Returns
    -------
    first, second : Sample
        With features as values.
    rows : dict
        What a report may show of them: fields of `shiftmetrics.views.report.Rows`.

    Raises
    ------
    ValueError
        If a file is no table, or has no such column.
    TypeError
        If a row of the column holds no text.
    """
    from shiftmetrics.adapters.embeddings import TfidfEncoder, embed
    from shiftmetrics.adapters.embeddings.items import check_items

    sources, texts = [], []
    labels: list[Any] = []
    for place, argument in ((test, "TEST"), (reference, "REFERENCE")):
        source = parse_source(place, argument)
        frame = read_source(source)
        if not hasattr(frame, "columns"):
            raise ValueError(f"{argument} must be a table for --text, got {source}.")
        values = frame[require_column(frame, column, "--text", argument)]
        sources.append(source)
        texts.append(check_items(values.tolist(), f"{argument}, column {column!r},"))
        if texts[-1].kind != "texts":
            raise ValueError(
                f"--text must name a column of texts, got {column!r}, a column of {texts[-1].kind}."
            )
        beside = label is not None and looks_like_source(label)  # a file of labels goes with TEST
        labels.append(None if beside and labels else read_row_values(label, "--label", frame))
    check(sources)
    lists = [items.data for items in texts]
    encoder = TfidfEncoder(n_components=COMPONENTS).fit(lists[0] + lists[1])
    first, second = (
        Sample(
            source=source,
            values=embed(items, encoder=encoder, cache=False, progress=progress),
            label=known,
            notes=source.notes,
        )
        for source, items, known in zip(sources, texts, labels, strict=True)
    )
    first.notes.append(
        f"Features are frequencies of words (TF-IDF) in {first.values.shape[1]} latent dimensions."
    )
    return first, second, {"texts": lists[0], "reference_texts": lists[1]}


def scale_columns(first: Sample, second: Sample, *, scale: bool, quiet: bool) -> tuple[Any, Any]:
    """Return the numbers of both samples, on one scale where ``scale`` says so.

    Where it does not, columns of a table that differ widely are said in a note, unless ``quiet``.
    """
    import numpy as np

    values = first.numbers(), second.numbers()
    if any(
        part.ndim != 2 or part.shape[1] != values[0].shape[1] or not np.isfinite(part).all()
        for part in values
    ):
        return values  # the measure refuses them, in its own words
    both = np.concatenate(values)
    if scale:
        from shiftmetrics.adapters.embeddings import TableEncoder

        encoder = TableEncoder().fit(both)
        first.notes.append("Columns are on one scale: mean 0 and deviation 1 over both samples.")
        return encoder(values[0]), encoder(values[1])
    if first.columns is not None and not quiet:
        spreads = both.std(axis=0)
        low, high = int(np.where(spreads > 0.0, spreads, np.inf).argmin()), int(spreads.argmax())
        if spreads[high] > UNEVEN * spreads[low] > 0.0:
            first.notes.append(
                f"Columns spread from {spreads[low]:.2g} ({first.columns[low]}) to {spreads[high]:.2g} "
                f"({first.columns[high]}): the widest decide what is alike. --scale brings them to one scale."
            )
    return values
