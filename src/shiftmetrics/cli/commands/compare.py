"""The command ``shiftmetrics compare``: models by their scores under a shift, or by results of any measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.documents import read_results
from shiftmetrics._core.result import Result
from shiftmetrics._core.tables import Align
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.samples import (
    Sample,
    align_samples,
    read_scores,
    refuse_options,
    shared,
)
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.comparison import compare_agreement, compare_results
from shiftmetrics.views import Context


@measuring(
    {compare_agreement: None},
    words={
        "scores": "SHIFTED",
        "reference_scores": "--reference",
        "labels": "--label",
        "labelled_scores": "--labelled",
    },
    leave_out=["rtol", "memory_limit"],
)
def compare(
    shifted: list[str],
    *,
    call: Call,
    data: str | None = None,
    reference: list[str] | None = None,
    labelled: list[str] | None = None,
    groups: str | None = None,
    id_column: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    align: Align = "labels",
) -> Job:
    """Rank models for use under a shift, with or without labels.

    Without labels three or more models are ranked by the vote among them, two by how far each agrees with itself.
    With --label it is by accuracy and F1; with --labelled these are estimated from other rows. All files of SHIFTED
    and --reference hold the same rows; without --reference the vote is among the shifted predictions, and estimates
    their accuracy. A model is called by its file, or by the NAME before it. With --data, SHIFTED are fitted models,
    which are asked. Results of `stability` or
    `agreement --confidence-level`, written with --json, are ranked by their measure.

    Example: `shiftmetrics compare small=a.csv large=b.csv --reference a0.csv --reference b0.csv --id image`

    Example: `shiftmetrics compare a.npy b.npy c.npy --reference a0.npy --reference b0.npy --reference c0.npy`

    Example: `shiftmetrics compare forest=forest.json logistic=logistic.json --report report.html`

    Example: `shiftmetrics compare a.joblib b.joblib c.joblib --data shifted_rows.csv --label paid --trust`

    Parameters
    ----------
    shifted : [NAME=]SHIFTED
        Scores of each model on the shifted sample, two files or more; or results, written with --json.
    data : FILE
        Shifted rows that SHIFTED predict on, which are classifiers then: joblib or skops files, or module:attribute.
    reference : FILE
        Scores of the same rows, unshifted: once for all models, or once for each, in their order. With --data the
        rows themselves.
    labelled : FILE
        Scores of other rows, unshifted, whose classes --label names: once for each model, in their order.
    label : COLUMN|FILE
        True classes, of the shifted rows or of those of --labelled: names of columns (p1 is class 1), or their
        places from 0.
    """
    if len(shifted) < 2:
        raise ValueError(
            "SHIFTED must be at least two files, got one. For one model there is `shiftmetrics agreement`."
        )
    paths = by_name(shifted)
    # results that were written earlier are ranked as they are
    if all(path.endswith(".json") for path in paths.values()):
        return _comparison_of_results(paths, call)
    references = reference or []
    if len(references) not in (0, 1, len(shifted)):
        raise ValueError(
            f"--reference must be given once, or once for each of the {len(shifted)} models, "
            f"got {len(references)} times."
        )
    if labelled and len(labelled) != len(shifted):
        raise ValueError(
            f"--labelled must be given once for each of the {len(shifted)} models, got {len(labelled)} times."
        )
    options = {
        "id_column": id_column, "columns": columns, "label": label, "weight": weight, "groups": groups,
    }  # fmt: skip
    typed = [(path, f"--reference {path}") for path in references]
    versions: list[str] = []
    if data is None:
        typed = [*((path, f"SHIFTED {path}") for path in paths.values()), *typed]
        samples = read_scores(typed, align=align, **options)
    else:
        refuse_options(
            {"--labelled": labelled, "a second --reference": references[1:]}, "not go with --data"
        )
        asked = []
        for path in paths.values():
            check_model(path, "SHIFTED")
            model, warnings = load_object(path, "SHIFTED")
            versions += warnings
            asked.append(
                read_scores([(data, "--data"), *typed], align=align, model=model, **options)
            )
        # the shifted rows of every model, then their reference rows
        samples = [sample for of_file in zip(*asked, strict=True) for sample in of_file]
        for sample in samples[1:]:
            align_samples(samples[0], sample, align=align, rows=False)
    models, baselines = samples[: len(paths)], samples[len(paths) :]
    known: list[Sample] = []
    if labelled:
        others = [(path, f"--labelled {path}") for path in labelled]
        known = read_scores(others, align=align, **options)
        for sample in known:  # other rows, of the same columns
            align_samples(samples[0], sample, align=align, rows=False)
    # the labels are those of the labelled rows, where there are such
    labels = class_places(shared("--label", label, *(known or samples)), samples[0].columns)
    # weights and groups are of the shifted rows, the same for all models
    weights = shared("--weight", weight, samples[0])
    row_groups = shared("--groups", groups, samples[0])

    def compute() -> CommandAnswer:
        # one reference serves all models
        each = baselines * len(models) if len(baselines) == 1 else baselines
        result = call(
            compare_agreement,
            _scores(paths, models),
            _scores(paths, each) if each else None,
            labels=labels,
            labelled_scores=_scores(paths, known) if known else None,
            sample_weight=weights,
            groups=row_groups,
        )
        description = f"Scores of {', '.join(paths)} on the shifted sample."
        if baselines:
            before = ", ".join(str(part.source) for part in baselines)
            description = f"{description[:-1]}, set against the same rows in {before}."
        notes = [*versions, *(note for sample in [*samples, *known] for note in sample.notes)]
        return _answer(result, "Models under shift", description, notes)

    return Job(inputs=[sample.source for sample in [*samples, *known]], compute=compute)


def _scores(names: Iterable[str], samples: Iterable[Sample]) -> dict[str, Any]:
    return {name: sample.scores() for name, sample in zip(names, samples, strict=True)}


def _answer(
    result: Result, title: str, description: str, notes: Sequence[str] = ()
) -> CommandAnswer:
    context = Context(description=description)
    return CommandAnswer(results={result.title: result}, title=title, context=context, notes=notes)


def _comparison_of_results(paths: Mapping[str, str], call: Call) -> Job:
    """Rank models by results that other commands have written."""

    def compute() -> CommandAnswer:
        results = {}
        for name, path in paths.items():
            if not Path(path).is_file():
                raise ValueError(f"SHIFTED must be a file, got {path!r}, which does not exist.")
            written = read_results(Path(path))
            if not written:
                raise ValueError(
                    f"SHIFTED must be a file with a result, got {path!r}, which holds none."
                )
            results[name] = next(iter(written.values()))  # the main result stands first
        result = call(compare_results, results)
        description = f"Results of one measure on the same rows: {', '.join(paths.values())}."
        return _answer(result, "Models side by side", description)

    sources = [Source(argument="SHIFTED", path=Path(path)) for path in paths.values()]
    return Job(inputs=sources, compute=compute)


def class_places(labels: Any, columns: list[str] | None) -> Any:
    """Return the column of each class: where labels are not what columns are called, they are places.

    Columns p1 and p2 are those of the labels 1 and 2.
    """
    if labels is None or columns is None:
        return labels
    from shiftmetrics._core.class_names import class_key, read_classes_of

    keys = [class_key(label) for label in labels]
    classes = read_classes_of([class_key(name) for name in columns], set(keys))
    if not set(keys) <= set(classes):
        return labels
    return np.array([classes.index(key) for key in keys])


def by_name(shifted: Iterable[str]) -> dict[str, str]:
    """Return the files by the name of their models, ``NAME=FILE``, or by their own names.

    Raises
    ------
    ValueError
        If two have one name.
    """
    paths: dict[str, str] = {}
    for text in shifted:
        name, sign, path = text.partition("=")
        if not (sign and name and path) or Path(text).exists():
            path = text
            # results of one name, in folders of two releases, are told apart by their paths
            name = text if text.endswith(".json") else Path(text).name
        if name in paths:
            raise ValueError(
                f"SHIFTED must have a name for each model, got {name!r} twice. Write NAME={text}."
            )
        paths[name] = path
    return paths
