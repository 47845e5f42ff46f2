"""The command ``shiftmetrics novelty TEST REFERENCE``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.tables import Align
from shiftmetrics.cli.inputs.feature_samples import (
    FeatureOptions,
    FeatureSample,
    array_of_sample,
    read_feature_samples,
    refuse_options,
)
from shiftmetrics.cli.inputs.features import encode, read_images, read_texts, take_pixels
from shiftmetrics.cli.inputs.sources import DATA_SUFFIXES, parquet_files
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
    options = FeatureOptions(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        label=label,
        groups=groups,
        date_order=date_order,
        align=align,
        paired=call["paired"],
    )
    samples = _read(test, reference, options, text=text, size=size)
    _of_rows("--label", label, [samples[0].label, samples[1].label], samples)

    def compute() -> CommandAnswer:
        # images and texts get features first
        first, second = samples
        if isinstance(first.values, list) or np.ndim(first.values) > 2:
            first, second = encode(samples, progress=call.progress)
        together = None
        if groups is not None:
            together = tuple(
                _of_rows("--groups", groups, [part.groups], [part]) for part in (first, second)
            )
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


def _of_rows(
    option: str, name: str | None, values: Sequence[Any], samples: Sequence[FeatureSample]
) -> Any:
    """Return the first of the values, one for each row of a sample.

    Raises
    ------
    ValueError
        If no sample has the column, or there is not one for each row.
    """
    found = []
    for part, sample in zip(values, samples, strict=True):
        if part is None:
            continue
        if len(part) != len(sample.values):
            raise ValueError(
                f"{option} must have a value for each row of {sample.source.argument}, got {len(part)} for "
                f"{len(sample.values)} rows."
            )
        found.append(part)
    if name is not None and not found:
        names = " or ".join(sample.source.argument for sample in samples)
        raise ValueError(f"{option} must name a column of {names}, got {name!r}.")
    return found[0] if found else None


def _read(
    test: str, reference: str, options: FeatureOptions, *, text: str | None, size: int | None
) -> list[FeatureSample]:
    """Read both samples, which are of one of three types: images, texts, or tables and arrays."""
    label = options.label
    # a file of labels goes with TEST
    arguments = [(test, "TEST", label), (reference, "REFERENCE", options.label_column)]
    given = options.of_tables()
    # a folder that holds no table holds images
    if any(_holds_images(name) for name in (test, reference)):
        refuse_options({**given, "--text": text}, "be left out for folders of images")
        return [read_images(*argument, size=size or 32) for argument in arguments]
    if size is not None:
        raise ValueError(f"--size must go with folders of images, got {test} and {reference}.")
    if text is not None:
        refuse_options(given, "be left out beside --text")
        return [read_texts(*argument, column=text) for argument in arguments]
    samples = read_feature_samples(test, reference, options)
    for sample in samples:
        take_pixels(sample)
    return samples


def _holds_images(text: str) -> bool:
    """Return True for a folder without a file of a table in it."""
    path = Path(text)
    if not path.is_dir() or parquet_files(text):
        return False
    return not any(file.name.lower().endswith(DATA_SUFFIXES) for file in path.iterdir())


def _features(first: FeatureSample, second: FeatureSample) -> list[Any]:
    """Return what the measure takes: tables, whose columns say what is new, or arrays."""
    # tables of words are read by the measure itself
    if first.table is not None:
        return [first.values, second.values]
    numbers: list[Any] = [array_of_sample(first), array_of_sample(second)]
    if first.is_table and second.is_table:
        import pandas as pd

        return [pd.DataFrame(part, columns=list(first.values.columns)) for part in numbers]
    return numbers


def _rows(first: FeatureSample, second: FeatureSample) -> Rows:
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
