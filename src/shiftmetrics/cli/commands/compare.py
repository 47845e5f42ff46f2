"""The command ``shiftmetrics compare``: models by their scores under a shift, or by results of any measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shiftmetrics._core.documents import read_results
from shiftmetrics._core.result import Result
from shiftmetrics._core.tables import Align
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.score_files import ScoreFiles, read_score_files
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.options import ColumnOptions
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.comparison import compare_agreement, compare_results
from shiftmetrics.comparison.criteria import SCORES
from shiftmetrics.comparison.selection_criteria import VOTE
from shiftmetrics.views import Context

_MOST_ROLES = 6
"""Files of which it is said what they were taken for."""


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
    roles: ColumnOptions,
    data: str | None = None,
    reference: list[str] | None = None,
    labelled: list[str] | None = None,
    groups: str | None = None,
    weight: str | None = None,
    align: Align = "labels",
) -> Job:
    """Rank models for use under a shift, with or without labels.

    Without labels three or more models are ranked by the vote among them, two by how far each agrees with itself.
    With --label it is by accuracy and F1; with --labelled these are estimated from other rows. All files of SHIFTED
    and --reference hold the same rows; without --reference the vote is among the shifted predictions, and counts
    with the accuracy on the rows of --labelled. A model is called by its file, or by the NAME before it. With --data,
    SHIFTED are fitted models, which are asked. Results of `stability` or `agreement --confidence-level`, written with
    --json, are ranked by their measure.

    Example: `shiftmetrics compare small=a.csv large=b.csv --reference a0.csv --reference b0.csv --id image`

    Example: `shiftmetrics compare a.npy b.npy c.npy --reference a0.npy --reference b0.npy --reference c0.npy`

    Example: `shiftmetrics compare forest=forest.json logistic=logistic.json --report report.html`

    Example: `shiftmetrics compare a.skops b.skops c.skops --data shifted_rows.csv --label paid`

    Parameters
    ----------
    shifted : [NAME=]SHIFTED
        Scores of each model on the shifted sample, two files or more, or its answers alone where they are ranked by
        vote or accuracy; or results, written with --json.
    data : FILE
        Shifted rows that SHIFTED predict on, which are classifiers then: skops or joblib files, or module:attribute.
    reference : FILE
        Scores of the same rows, unshifted: once for all models, or once for each, in their order. With --data the
        rows themselves.
    labelled : FILE
        Scores of other rows, unshifted, whose classes --label names: once for each model, in their order.
    """
    if len(shifted) < 2:
        raise ValueError(
            "SHIFTED must be at least two files, got one. For one model there is `shiftmetrics agreement`."
        )
    paths = by_name(shifted)
    # results that were written earlier are ranked as they are
    if all(path.endswith(".json") and not _holds_a_table(path) for path in paths.values()):
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
    options: dict[str, Any] = {"align": align}
    typed = [(path, f"--reference {path}") for path in references]
    versions: list[str] = []
    models: list[Any] = []
    shifts = [(path, f"SHIFTED {path}") for path in paths.values()]
    if data is not None:
        if labelled or len(references) > 1:
            option = "--labelled" if labelled else "a second --reference"
            raise ValueError(f"{option} must not go with --data.")
        for path in paths.values():
            check_model(path, "SHIFTED")
            model, warnings = load_object(path, "SHIFTED")
            versions += warnings
            models.append(model)
        # the shifted rows of every model, then its reference rows
        shifts = [(data, "--data")] * len(models)
        typed = typed * len(models)
        models = models * (2 if typed else 1)
    # labels of other rows are not in these files
    own = replace(roles, label=None, labels=None) if labelled else roles
    # agreement with what was before goes by probabilities; votes and accuracies need none
    by_classes = not typed and not labelled and call["criterion"] in ("auto", VOTE, *SCORES)
    files = read_score_files(
        [*shifts, *typed],
        own,
        weight=weight,
        groups=groups,
        models=models,
        answers=by_classes,
        **options,
    )
    known: ScoreFiles | None = None
    if labelled:
        others = [(path, f"--labelled {path}") for path in labelled]
        known = read_score_files(others, roles, **options).under(files.classes)
    # the labels are those of the labelled rows, where there are such
    labels = (known or files).label_places()
    if labels is None and (roles.label is not None or roles.labels is not None):
        raise ValueError(f"--label must name a column of the files, got {roles.label!r}.")

    def compute() -> CommandAnswer:
        n_models = len(paths)
        baselines = files.scores[n_models:]
        # one reference serves all models
        each = baselines * n_models if len(baselines) == 1 else baselines
        result = call(
            compare_agreement,
            dict(zip(paths, files.scores[:n_models], strict=True)),
            dict(zip(paths, each, strict=True)) if each else None,
            labels=labels,
            labelled_scores=None if known is None else dict(zip(paths, known.scores, strict=True)),
            sample_weight=files.weights,
            groups=files.groups,
        )
        description = f"Scores of {', '.join(paths)} on the shifted sample."
        if references:
            before = ", ".join(dict.fromkeys(Path(path).name for path in references))
            description = f"{description[:-1]}, set against the same rows in {before}."
        read = [files] if known is None else [files, known]
        notes = [*which_was_which(paths, references, labelled or []), *versions]
        answer = _answer(result, "Models under shift", description, notes)
        if (
            data is None
        ):  # the step after this one is about the first model, whose predictions are a file
            best = {"NEW": paths[result.models[0].name]}
            answer = replace(answer, context=replace(answer.context, files=best))
        return replace(answer, above=[text for part in read for text in part.said])

    return Job(inputs=[*files.sources, *(known.sources if known else ())], compute=compute)


def which_was_which(
    paths: Mapping[str, str], references: Sequence[str], labelled: Sequence[str] = ()
) -> list[str]:
    """Say which files were taken for which model, where those of options go by their order.

    A reference that all models share is said once.
    """
    roles = []
    for place, (name, path) in enumerate(paths.items()):
        parts = [path if name in (path, Path(path).name) else f"{name} is {path}"]
        if len(references) > 1:
            parts.append(f"set against {references[place]}")
        if labelled:
            parts.append(f"with the labelled rows of {labelled[place]}")
        roles.append(", ".join(parts))
    sentence = f"{'; '.join(roles[:_MOST_ROLES])}."
    if len(roles) > _MOST_ROLES:
        sentence = f"{sentence[:-1]}; and so on, of {len(roles)} files."
    if roles == [*paths.values()]:  # what is named as its file needs no list
        return [f"All are set against {references[0]}."] if references else []
    if len(references) == 1:
        sentence = f"{sentence[:-1]}; all are set against {references[0]}."
    return [sentence]


def _holds_a_table(path: str) -> bool:
    """Return True for a file of JSON that no command has written as a result."""
    if not Path(path).is_file():
        return False
    return b"schema_version" not in Path(path).read_bytes()


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
