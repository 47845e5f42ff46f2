"""The command ``shiftmetrics novelty TEST REFERENCE``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics._core.tables import Align
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.tools.cli.features import (
    encode,
    images_of,
    mixed_samples,
    read_images,
    read_texts,
)
from shiftmetrics.tools.cli.outputs import CommandAnswer, Job
from shiftmetrics.tools.cli.samples import align_samples, read_sample, refuse_options, shared
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
    sweep: bool = False,
    images: str | None = None,
    reference_images: str | None = None,
    text: str | None = None,
    size: int | None = None,
    id_column: str | None = None,
    columns: str | None = None,
    label: str | None = None,
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
    sweep
        Score at nine bandwidths too, and draw them in the report.
    images : FILE
        A picture of each row of TEST, shape (n, height, width), for the report.
    reference_images : FILE
        The same for REFERENCE.
    text : COLUMN
        Column of texts to compare by their words (TF-IDF).
    size : PIXELS
        Side of images read from folders. Default: 32.
    """
    if sweep and call["kernel"] != "gaussian":
        raise ValueError(
            f"--sweep must go with the Gaussian kernel, got --kernel {call['kernel']}."
        )
    chosen = {
        "--id": id_column, "--columns": columns, "--images": images, "--reference-images": reference_images,
    }  # fmt: skip
    # a folder of parquet files is a table in chunks, any other one holds images
    folders = any(Path(text).is_dir() and not parquet_files(text) for text in (test, reference))
    if size is not None and not folders:
        raise ValueError(f"--size must go with folders of images, got {test} and {reference}.")
    arguments = [(test, "TEST", label)]
    # A file of labels goes with TEST.
    arguments.append(
        (reference, "REFERENCE", None if label and looks_like_source(label) else label)
    )
    mixed = None
    if not folders and text is None and not images and not reference_images and align == "labels":
        mixed = mixed_samples(arguments, id_column, columns)
    # four kinds of samples: images, columns of text, tables of words and gaps, features
    if folders:
        refuse_options({**chosen, "--text": text}, "be left out for folders of images")
        samples = [read_images(*argument, size=size or 32) for argument in arguments]
        shown = {"images": samples[0].values, "reference_images": samples[1].values}
    elif text is not None:
        refuse_options(chosen, "be left out beside --text")
        samples = [read_texts(*argument, column=text) for argument in arguments]
        shown = {"texts": samples[0].values, "reference_texts": samples[1].values}
    elif mixed is not None:
        samples = mixed
        shown = {}
    else:
        samples = [
            read_sample(
                file, name, role="features", id_column=id_column, columns=columns, label=labels
            )
            for file, name, labels in arguments
        ]
        shown = {
            "images": images_of(samples[0], images, "--images"),
            "reference_images": images_of(samples[1], reference_images, "--reference-images"),
        }
        align_samples(*samples, align=align, rows=call["paired"])
    shared("--label", label, *samples)

    def compute() -> CommandAnswer:
        import pandas as pd

        from shiftmetrics.lab.novelty_studies import bandwidth_sweep

        # what is no table of numbers gets features first
        is_encoded = folders or text is not None
        first, second = encode(samples, progress=call.progress) if is_encoded else samples
        features = first.numbers(), second.numbers()
        tables: tuple[Any, ...] = features
        if first.is_table and second.is_table:  # what is new is told by the names of the columns
            tables = tuple(pd.DataFrame(part, columns=first.columns) for part in features)
        result = call(kernel_entropic_novelty, *tables).named(first.ids, second.ids)
        swept = call(bandwidth_sweep, *features) if sweep else None
        rows = {
            "names": first.ids, "reference_names": second.ids,
            "labels": first.label, "reference_labels": second.label,
            "table": first.values if first.is_table else None,
            "reference_table": second.values if second.is_table else None,
            "bandwidth_sweep": swept,
        }  # fmt: skip
        name = str(first.source)
        context = Context(
            description=f"{name} ({len(first.values):,} rows) set against {second.source} "
            f"({len(second.values):,} rows).",
            rows={name: Rows(**{**rows, **shown})},
        )
        notes = [*first.notes, *second.notes, *([swept.headline()] if swept else [])]
        return CommandAnswer(
            results={name: result}, title="Novelty of a sample", context=context, notes=notes
        )

    return Job(inputs=[sample.source for sample in samples], compute=compute)
