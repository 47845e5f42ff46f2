"""The command ``shiftmetrics novelty TEST REFERENCE``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from shiftmetrics.tools.cli import options

ARGUMENTS = {
    "features": "TEST", "reference": "REFERENCE", "bandwidth": "--bandwidth", "eta": "--eta", "paired": "--paired",
    "confidence_level": "--confidence",
}  # fmt: skip


def novelty(
    test: Annotated[
        str,
        typer.Argument(
            metavar="TEST",
            help="Sample under test: a file of features, or a folder of images.",
            show_default=False,
        ),
    ],
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="Reference sample, of the same kind.", show_default=False),
    ],
    eta: Annotated[
        float,
        typer.Option(
            "--eta", help="How many times as frequent as in the reference counts as new (at least 1)."
        ),
    ] = 1.0,
    bandwidth: Annotated[
        str,
        typer.Option(
            "--bandwidth",
            metavar="auto|SIGMA",
            help="Width of the Gaussian kernel, in units of the features.",
        ),
    ] = "auto",
    kernel: Annotated[
        Literal["gaussian", "cosine"], typer.Option("--kernel", help="Similarity of two rows.")
    ] = "gaussian",
    method: Annotated[
        Literal["auto", "dense", "cholesky", "landmarks", "krylov", "fourier", "cosine"],
        typer.Option("--method", help="Route of the computation."),
    ] = "auto",
    paired: Annotated[
        bool,
        typer.Option(
            "--paired",
            help="Row i of both belong together, or the rows of one --id, such as a text and its edited version.",
        ),
    ] = False,
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", help="Level of intervals by subsampling. Default: none are made."),
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="Score at nine bandwidths too, and draw them in the report."),
    ] = False,
    seed: options.Seed = 0,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            metavar="FILE",
            help="A picture of each row of TEST, shape (n, height, width), for the report.",
        ),
    ] = None,
    reference_images: Annotated[
        str | None, typer.Option("--reference-images", metavar="FILE", help="The same for REFERENCE.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="COLUMN", help="Column of texts to compare by their words (TF-IDF)."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size", metavar="PIXELS", min=1, help="Side of images read from folders. Default: 32."
        ),
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Bring the columns to one scale, learned from both samples.")
    ] = False,
    id_column: options.Id = None,
    columns: options.Columns = None,
    label: options.Label = None,
    align: options.AlignOption = "labels",
    json: options.Json = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Find what is new in this data, and what is missing: kernel entropic novelty; no labels needed.

    Each row is one observation, each column a feature: an embedding, principal components, pixels. The samples
    need not be of one size. Arrays of images are taken pixel by pixel, and shown in the report; so are folders of
    images, as principal components of their pixels. Texts are compared by their words.

    Examples: `shiftmetrics novelty runs.npz:generated runs.npz:real --report report.html`,
    `shiftmetrics novelty new_photos/ old_photos/ --report report.html`,
    `shiftmetrics novelty new.csv old.csv --text review --kernel cosine`
    """
    import dataclasses

    from shiftmetrics.novelty import bandwidth_sweep, kernel_entropic_novelty
    from shiftmetrics.tools.cli.embedding import (
        is_folder,
        read_image_folders,
        read_texts,
        refuse_options,
        scale_columns,
    )
    from shiftmetrics.tools.cli.errors import named_arguments
    from shiftmetrics.tools.cli.images import flatten_images, read_images
    from shiftmetrics.tools.cli.outputs import Output
    from shiftmetrics.tools.cli.pairing import align_samples, check_labels
    from shiftmetrics.tools.cli.samples import read_sample
    from shiftmetrics.tools.cli.sources import looks_like_source

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    if sweep and kernel != "gaussian":
        raise ValueError(f"--sweep must go with the Gaussian kernel, got --kernel {kernel}.")
    pictures = reference_pictures = None
    shown: dict[str, Any] = {}
    chosen = {
        "--id": id_column,
        "--columns": columns,
        "--images": images,
        "--reference-images": reference_images,
        "--scale": scale or None,
    }
    folders = is_folder(test, reference)
    if size is not None and not folders:
        raise ValueError(f"--size must go with folders of images, got {test} and {reference}.")
    if folders:
        refuse_options({**chosen, "--text": text}, "for folders of images")
        first, second, shown = read_image_folders(
            test, reference, size=size or 32, label=label, progress=output.progress, check=output.check
        )
        check_labels(label, first, second)
    elif text is not None:
        refuse_options(chosen, "beside --text")
        first, second, shown = read_texts(
            test, reference, column=text, label=label, progress=output.progress, check=output.check
        )
        check_labels(label, first, second)
    else:
        read: dict[str, Any] = {
            "role": "features",
            "id_column": id_column,
            "columns": columns,
            "label": label,
        }
        first = read_sample(test, "TEST", **read)
        if label is not None and looks_like_source(label):  # a file of labels goes with TEST
            read["label"] = None
        second = read_sample(reference, "REFERENCE", **read)
        check_labels(label, first, second)
        pictures = read_images(images, "--images", first) if images else flatten_images(first)
        reference_pictures = (
            read_images(reference_images, "--reference-images", second)
            if reference_images
            else flatten_images(second)
        )
    output.check([first.source, second.source])
    align_samples(first, second, align=align, rows=paired)
    features = scale_columns(first, second, scale=scale, quiet=bool(folders or text or kernel == "cosine"))
    with named_arguments(ARGUMENTS):
        result = kernel_entropic_novelty(
            *features, eta=eta, bandwidth=_bandwidth(bandwidth), kernel=kernel, method=method,
            paired=paired, confidence_level=confidence, rng=seed, progress=output.progress,
        )  # fmt: skip
        swept = bandwidth_sweep(*features, eta=eta, rng=seed, progress=output.progress) if sweep else None
    from shiftmetrics.views import Context, Rows

    rows = Rows(
        names=first.row_names, reference_names=second.row_names, labels=first.label, reference_labels=second.label,
        images=pictures, reference_images=reference_pictures,
        table=first.values if first.is_table else None, reference_table=second.values if second.is_table else None,
        bandwidth_sweep=swept,
    )  # fmt: skip
    rows = dataclasses.replace(rows, **shown)
    name = str(first.source)
    output.write(
        name,
        result,
        title="Novelty of a sample",
        context=Context(
            description=f"{first.source} ({len(first.values):,} rows) set against {second.source} "
            f"({len(second.values):,} rows).",
            facts={"Test": str(first.source), "Reference": str(second.source)},
            rows={name: rows},
        ),
        notes=[*first.notes, *second.notes, *([swept.headline()] if swept else [])],
    )


def _bandwidth(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        if text != "auto":
            raise ValueError(f"--bandwidth must be auto or a number greater than 0, got {text!r}.") from None
        return text
