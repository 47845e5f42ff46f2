"""The command ``shiftmetrics novelty TEST REFERENCE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics._core.tables import Align
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.tools.cli.features import (
    encode,
    mixed_samples,
    pictures_of,
    read_images,
    read_texts,
)
from shiftmetrics.tools.cli.outputs import CommandAnswer, Job
from shiftmetrics.tools.cli.samples import (
    Sample,
    align_samples,
    read_sample,
    refuse_options,
    shared,
)
from shiftmetrics.tools.cli.signature import Call, measuring
from shiftmetrics.tools.cli.sources import looks_like_source, parquet_files
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
    label: str | None = None,
    groups: str | None = None,
    align: Align = "labels",
) -> Job:
    """Find what is new in this data, and what is missing: kernel entropic novelty; no labels needed.

    Each row is one observation, each column a feature: an embedding, principal components, pixels. The samples
    need not be of one size. Arrays of images are taken pixel by pixel, and shown in the report; so are folders of
    images, as principal components of their pixels. Texts are compared by their words. Tables with words, dates and
    gaps are encoded; `shiftmetrics audit` says more of them.

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
    groups : COLUMN
        Column of samples that belong together, such as one patient's: their labels are permuted together.
    """
    # a folder of parquet files is a table in chunks, any other one holds images
    folders = any(Path(text).is_dir() and not parquet_files(text) for text in (test, reference))
    if size is not None and not folders:
        raise ValueError(f"--size must go with folders of images, got {test} and {reference}.")
    arguments = [(test, "TEST", label)]
    # A file of labels goes with TEST.
    arguments.append(
        (reference, "REFERENCE", None if label and looks_like_source(label) else label)
    )
    # four types of samples: images, texts, tables of words and gaps, features
    chosen = {"--id": id_column, "--columns": columns, "--groups": groups}
    samples: list[Sample] | None = None
    pictures: list[Any] = [None, None]
    texts: list[Any] = [None, None]
    if folders:
        refuse_options({**chosen, "--text": text}, "be left out for folders of images")
        samples = [read_images(*argument, size=size or 32) for argument in arguments]
        pictures = [sample.values for sample in samples]
    elif text is not None:
        refuse_options(chosen, "be left out beside --text")
        samples = [read_texts(*argument, column=text) for argument in arguments]
        texts = [sample.values for sample in samples]
    elif align == "labels":
        samples = mixed_samples(arguments, id_column, columns, groups)
    mixed = samples is not None and not folders and text is None
    if samples is None:
        options = {"id_column": id_column, "columns": columns, "groups": groups}
        samples = [
            read_sample(file, name, role="features", label=labels, **options)
            for file, name, labels in arguments
        ]
        pictures = [pictures_of(sample) for sample in samples]
        align_samples(*samples, align=align, rows=call["paired"])
    shared("--label", label, *samples)

    def compute() -> CommandAnswer:
        import pandas as pd

        # what is no table of numbers gets features first
        first, second = samples
        if folders or text is not None:
            first, second = encode(samples, progress=call.progress)
        features: list[Any] = [first.values, second.values]
        if not mixed:
            features = [first.numbers(), second.numbers()]
            # what is new is told by the names of the columns
            if first.is_table and second.is_table:
                features = [pd.DataFrame(part, columns=first.columns) for part in features]
        together = None
        if groups is not None:
            together = tuple(shared("--groups", groups, part) for part in (first, second))
        result = call(kernel_entropic_novelty, *features, groups=together)
        if first.ids is not None:
            result = result.named(first.ids, second.ids)
        tables = [part.values if part.is_table else None for part in (first, second)]
        if mixed:
            tables = [first.table, second.table]
        rows = Rows(
            names=first.ids,
            reference_names=second.ids,
            labels=first.label,
            reference_labels=second.label,
            table=tables[0],
            reference_table=tables[1],
            images=pictures[0],
            reference_images=pictures[1],
            texts=texts[0],
            reference_texts=texts[1],
        )
        name = str(first.source)
        context = Context(
            description=f"{name} ({len(first.values):,} rows) set against {second.source} "
            f"({len(second.values):,} rows).",
            rows={name: rows},
        )
        notes = [*first.notes, *second.notes]
        return CommandAnswer(
            results={name: result}, title="Novelty of a sample", context=context, notes=notes
        )

    return Job(inputs=[sample.source for sample in samples], compute=compute)
