"""The command ``shiftmetrics compare``: models by their scores under a shift, or by results of any measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from shiftmetrics.tools.cli import options

if TYPE_CHECKING:
    from shiftmetrics.tools.cli.outputs import Output
    from shiftmetrics.tools.cli.samples import Sample

ARGUMENTS = {
    "scores": "SHIFTED",
    "reference_scores": "--reference",
    "sample_weight": "--weight",
    "prior": "--prior",
    "groups": "--groups",
    "confidence_level": "--confidence",
    "n_resamples": "--resamples",
}


def compare(
    shifted: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SHIFTED",
            help="Scores of each model on the shifted sample, two files or more; or results, written with --json.",
            show_default=False,
        ),
    ],
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            metavar="FILE",
            help="Scores of the same rows, unshifted: once for all models, or once for each, in their order.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        Literal["scores", "probabilities"],
        typer.Option("--kind", help="What the columns hold: logits, or probabilities."),
    ] = "scores",
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            metavar="PRIOR",
            help="Class prior: predicted, uniform (a constant model then agrees perfectly), numbers, or a file.",
        ),
    ] = "predicted",
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN|FILE",
            help="Rows that belong together, such as versions of one picture.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Level of the intervals, and of all ranks together.")
    ] = 0.95,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap draws.")] = 1000,
    seed: options.Seed = 0,
    id_column: options.Id = None,
    columns: options.Columns = None,
    label: options.Label = None,
    weight: options.Weight = None,
    align: options.AlignOption = "labels",
    json: options.Json = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank models by how well their predictions survive a shift: intervals, paired differences, ranks; no labels.

    All files hold the same rows. A model is called by its file, or by the NAME before it. Results of `stability` or
    `agreement --confidence`, written with --json, are ranked by their measure and need no --reference.

    Example: `shiftmetrics compare small=a.csv large=b.csv --reference a0.csv --reference b0.csv --id image`

    Example: `shiftmetrics compare forest=forest.json logistic=logistic.json --report report.html`
    """
    from shiftmetrics.comparison import compare_agreement
    from shiftmetrics.tools.cli.agreement import class_prior, scores_of
    from shiftmetrics.tools.cli.errors import named_arguments
    from shiftmetrics.tools.cli.outputs import Output
    from shiftmetrics.tools.cli.pairing import align_samples, check_labels
    from shiftmetrics.tools.cli.samples import read_sample
    from shiftmetrics.views import Context

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    if len(shifted) < 2:
        raise ValueError(
            "SHIFTED must be at least two files, got one. For one model there is `shiftmetrics agreement`."
        )
    named = [_name_and_source(text) for text in shifted]
    if all(source.endswith(".json") for _, source in named):
        _check_named([name or source for name, source in named], shifted)
        _compare_results({name or source: source for name, source in named}, output, confidence, seed)
        return
    reference = reference or []
    if len(reference) not in (1, len(shifted)):
        raise ValueError(
            f"--reference must be given once, or once for each of the {len(shifted)} models, "
            f"got {len(reference)} times."
        )

    def read(text: str, argument: str) -> Sample:
        return read_sample(
            text, argument, role="scores", id_column=id_column, columns=columns, label=label, weight=weight,
            groups=groups,
        )  # fmt: skip

    samples = [read(source, "SHIFTED") for _, source in named]
    names = [name or str(sample.source) for (name, _), sample in zip(named, samples, strict=True)]
    _check_named(names, shifted)
    references = [read(text, "--reference") for text in reference]
    output.check([sample.source for sample in (*samples, *references)])
    first = samples[0]
    for other in (*samples[1:], *references):
        align_samples(first, other, align=align, rows=True)
    check_labels(label, *samples, *references)
    if weight is not None and first.weight is None:
        raise ValueError(f"--weight must name a column of the first SHIFTED file, got {weight!r}.")
    if groups is not None and first.groups is None:
        raise ValueError(f"--groups must name a column of the first SHIFTED file, got {groups!r}.")
    shared = references if len(references) > 1 else references * len(samples)
    with named_arguments(ARGUMENTS):
        result = compare_agreement(
            {name: scores_of(sample) for name, sample in zip(names, samples, strict=True)},
            {name: scores_of(sample) for name, sample in zip(names, shared, strict=True)},
            kind=kind,
            prior=class_prior(prior),
            sample_weight=first.weight,
            groups=first.groups,
            confidence_level=confidence,
            n_resamples=resamples,
            rng=seed,
            progress=output.progress,
        )
    output.write(
        result.title,
        result,
        title="Models under shift",
        context=Context(
            description="Scores of each model on the shifted sample, set against the same rows unshifted.",
            facts={
                "Shifted": ", ".join(names),
                "Reference": ", ".join(str(part.source) for part in references),
            },
        ),
        notes=[note for sample in (*samples, *references) for note in sample.notes],
    )


def _check_named(names: list[str], shifted: list[str]) -> None:
    """Refuse two models of one name."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"SHIFTED must have a name for each model, got {repeated[0]!r} twice. Write NAME={shifted[0]}."
        )


def _compare_results(paths: dict[str, str], output: Output, confidence: float, seed: int) -> None:
    """Rank models by results that other commands have written."""
    from pathlib import Path

    from shiftmetrics._core.collection import read_results
    from shiftmetrics.comparison import compare_results
    from shiftmetrics.tools.cli.sources import Source
    from shiftmetrics.views import Context

    output.check([Source(argument="SHIFTED", path=Path(path)) for path in paths.values()])
    results = {}
    for name, path in paths.items():
        if not Path(path).is_file():
            raise ValueError(f"SHIFTED must be a file, got {path!r}, which does not exist.")
        written = read_results(Path(path))
        if not written:
            raise ValueError(f"SHIFTED must be a file with a result, got {path!r}, which holds none.")
        results[name] = next(iter(written.values()))  # the measure; what a command adds to it comes after
    result = compare_results(results, confidence_level=confidence, rng=seed)
    output.write(
        result.title,
        result,
        title="Models side by side",
        context=Context(
            description="Results of one measure on the same rows, one for each model.",
            facts={"Results": ", ".join(paths.values()), "Measure": result.compared},
        ),
    )


def _name_and_source(text: str) -> tuple[str, str]:
    """Take ``NAME=SOURCE`` apart; a path that exists as it stands has no name before it."""
    from pathlib import Path

    name, sign, source = text.partition("=")
    return (name, source) if sign and name and source and not Path(text).exists() else ("", text)
