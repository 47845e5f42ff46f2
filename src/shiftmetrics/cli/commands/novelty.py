"""The command ``shiftmetrics novelty TEST REFERENCE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.tables import Align
from shiftmetrics.cli.inputs.features import (
    encode,
    mixed_samples,
    read_images,
    read_texts,
    take_pixels,
)
from shiftmetrics.cli.inputs.samples import (
    Sample,
    align_samples,
    read_sample,
    refuse_options,
    shared,
)
from shiftmetrics.cli.inputs.sources import looks_like_source, parquet_files
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.views import Context, Rows


@measuring(
    {kernel_entropic_novelty: None},
    words={"features": "TEST", "reference": "REFERENCE"},
    leave_out=["features", "atol", "max_iter"],
)
def novelty(
    test: str,
    reference: str,
    *,
    call: Call,
    text: str | None = None,
    size: int | None = None,
    id_column: str | None = None,
    columns: str | None = None,
    exclude: str | None = None,
    date_order: Literal["day", "month", "year"] | None = None,
    label: str | None = None,
    groups: str | None = None,
    align: Align = "labels",
) -> Job:
    """Find what is new in this data, and what is missing: kernel entropic novelty; no labels needed.

    The sample under test comes first, then its reference. Each row is one observation, each column a feature: an
    embedding, principal components, pixels. The samples need not be of one size. Arrays of images are taken
    pixel by pixel, and shown in the report; so are folders of images, as principal components of their pixels. Texts
    are compared by their words. Tables with words, dates and gaps are encoded; `shiftmetrics audit` says more of
    them.

    Examples: `shiftmetrics novelty runs.npz:generated runs.npz:real --report report.html`,
    `shiftmetrics novelty new_photos/ old_photos/ --report report.html`,
    `shiftmetrics novelty new.csv old.csv --text review --kernel cosine`

    Parameters
    ----------
    test : TEST
        Sample under test: a file of features, or a folder of images.
    reference : REFERENCE
        Reference sample, of the same kind.
    text : COLUMN
        Column of texts to compare by their words (TF-IDF).
    size : PIXELS
        Side of images read from folders. Default: 32.
    exclude : A,B,...
        Columns to leave out of tables.
    date_order : day|month|year
        What dates such as 01/02/2024 have first. Default: by evidence.
    groups : COLUMN
        Column of samples that belong together, such as one patient's: their labels are permuted together.
    """
    samples = _read(
        test, reference, text=text, size=size, id_column=id_column, columns=columns, label=label,
        groups=groups, align=align, exclude=exclude, date_order=date_order, paired=call["paired"],
    )  # fmt: skip
    shared("--label", label, *samples)

    def compute() -> CommandAnswer:
        # images and texts get features first
        first, second = samples
        if isinstance(first.values, list) or np.ndim(first.values) > 2:
            first, second = encode(samples, progress=call.progress)
        together = None
        if groups is not None:
            together = tuple(shared("--groups", groups, part) for part in (first, second))
        result = call(kernel_entropic_novelty, *_features(first, second), groups=together)
        if first.ids is not None:
            result = result.named(first.ids, second.ids)
        name = str(first.source)
        context = Context(
            description=f"{name} ({len(first.values):,} rows) set against {second.source} "
            f"({len(second.values):,} rows).",
            rows={name: _rows(first, second)},
        )
        notes = [*first.notes, *second.notes]
        return CommandAnswer(
            results={name: result}, title="Novelty of a sample", context=context, notes=notes
        )

    return Job(inputs=[sample.source for sample in samples], compute=compute)


def _read(
    test: str,
    reference: str,
    *,
    text: str | None,
    size: int | None,
    align: Align,
    paired: bool,
    label: str | None,
    exclude: str | None,
    date_order: Literal["day", "month", "year"] | None,
    **options: str | None,
) -> list[Sample]:
    """Read both samples, which are of one of four types: images, texts, tables of words and gaps, or features."""
    arguments = [(test, "TEST", label)]
    # a file of labels goes with TEST
    of_reference = None if label and looks_like_source(label) else label
    arguments.append((reference, "REFERENCE", of_reference))
    given = {"--id": options["id_column"], "--columns": options["columns"]}
    given |= {"--groups": options["groups"], "--exclude": exclude, "--date-order": date_order}
    # a folder of parquet files is a table in chunks, any other one holds images
    if any(Path(name).is_dir() and not parquet_files(name) for name in (test, reference)):
        refuse_options({**given, "--text": text}, "be left out for folders of images")
        return [read_images(*argument, size=size or 32) for argument in arguments]
    if size is not None:
        raise ValueError(f"--size must go with folders of images, got {test} and {reference}.")
    if text is not None:
        refuse_options(given, "be left out beside --text")
        return [read_texts(*argument, column=text) for argument in arguments]
    if align == "labels":
        mixed = mixed_samples(arguments, **options, exclude=exclude, date_order=date_order)
        if mixed is not None:
            return mixed
    refuse_options({"--exclude": exclude}, "be left out for arrays, or tables that do not align")
    samples = [
        read_sample(file, name, role="features", label=labels, **options)
        for file, name, labels in arguments
    ]
    for sample in samples:
        take_pixels(sample)
    align_samples(*samples, align=align, rows=paired)
    return samples


def _features(first: Sample, second: Sample) -> list[Any]:
    """Return what the measure takes: tables, whose columns say what is new, or arrays."""
    # tables of words are read by the measure itself
    if first.table is not None:
        return [first.values, second.values]
    numbers: list[Any] = [first.numbers(), second.numbers()]
    if first.is_table and second.is_table:
        import pandas as pd

        return [pd.DataFrame(part, columns=first.columns) for part in numbers]
    return numbers


def _rows(first: Sample, second: Sample) -> Rows:
    """Return what the report shows of the rows of both samples."""
    described = [
        part.values if part.table is None and part.is_table else part.table
        for part in (first, second)
    ]
    return Rows(
        names=first.ids,
        reference_names=second.ids,
        labels=first.label,
        reference_labels=second.label,
        table=described[0],
        reference_table=described[1],
        images=first.images,
        reference_images=second.images,
        texts=first.texts,
        reference_texts=second.texts,
    )
