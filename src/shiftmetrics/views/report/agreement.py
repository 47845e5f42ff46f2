"""The agreement section: results side by side, the confidence before and after, and the pairs that agree least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

from shiftmetrics._core.arrays import FloatArray, as_array, to_float64
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.result import Result, format_number
from shiftmetrics.views.plot import plot_agreement, plot_agreement_curve, plot_confidence
from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.facts import facts_of, percent
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Column, Entry, Grid
from shiftmetrics.views.report.templating import fragment
from shiftmetrics.views.report.thumbnails import range_of, thumbnail

LEAD = (
    "The predictions before and after the shift are compared row by row. A pair agrees when both sides "
    "put their weight on the same class, the more so the surer they are; a confident contradiction "
    "costs most."
)


@dataclass(frozen=True)
class Sides:
    """Predicted class and its probability, on the shifted and on the reference side."""

    shifted: npt.NDArray[np.intp]
    reference: npt.NDArray[np.intp]
    shifted_confidence: FloatArray
    reference_confidence: FloatArray
    n_classes: int

    @property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Rows whose prediction changed."""
        return np.asarray(self.shifted != self.reference)


def build(results: Mapping[str, Result], context: Context, detail: int) -> Markup:
    """Return the section."""
    sides = {name: _sides(result, context.rows.get(name, Rows())) for name, result in results.items()}
    entries = [
        _entry(name, result, context.rows.get(name, Rows()), sides[name], context.remarks.get(name), detail)
        for name, result in results.items()
    ]
    comparison = _comparison(results, sides, context) if len(results) > 1 else None
    return fragment("measure.html.j2", lead=LEAD, comparison=comparison, entries=entries)


def _entry(name: str, result: Any, rows: Rows, sides: Sides | None, remark: str | None, detail: int) -> Entry:
    entry = Entry(name=name, facts=facts_of(result))
    if remark:
        entry.sentences.append(remark)
    if sides is not None:
        changed = int(sides.changed.sum())
        entry.sentences.append(
            f"{changed:,} of {sides.changed.size:,} predictions changed "
            f"({percent(changed / sides.changed.size)})."
        )
        entry.sentences.extend(_accuracy_sentence(sides, rows))
        entry.figures.append(
            figure_svg(
                lambda ax: plot_confidence(
                    sides.shifted_confidence, sides.reference_confidence, ax, low=1.0 / sides.n_classes
                ),
                alt=f"Histogram of the model's confidence before and after: {name}",
                caption="The probability that the model itself gives to the class it predicts. A shift "
                "that only lowers confidence moves the filled bars to the left.",
            )
        )
    if result.per_sample is not None:
        entry.figures.append(
            figure_svg(
                lambda ax: plot_agreement(result, ax),
                alt=f"Histogram of the agreement of each pair: {name}",
                caption="The contribution of each pair; the dashed line is their mean, the measure. "
                "The tail on the left is the pairs that contradict each other.",
            )
        )
    entry.figures.append(
        figure_svg(
            lambda ax: plot_agreement_curve(result, ax),
            alt=f"Agreement against the inverse temperature: {name}",
            caption="Dots are the inverse temperatures that were tried. The shaded bound shows that "
            f"none between them does better, to within {result.error_bound:.0e} nats.",
        )
    )
    if sides is not None and detail and result.per_sample is not None:
        entry.tables.append(_least(result, rows, sides, detail))
        if sides.changed.any():
            entry.tables.append(_changes(sides, rows, detail))
    return entry


def _comparison(results: Mapping[str, Any], sides: Mapping[str, Sides | None], context: Context) -> Grid:
    columns = [
        Column("Sample"),
        Column("Agreement (nats)", numeric=True),
        Column("Of the most possible", numeric=True),
        Column("Equivalent error", numeric=True),
        Column("Predictions changed", numeric=True),
        Column("Accuracy, before → after", numeric=True),
    ]
    rows = []
    for name, result in results.items():
        side, known = sides[name], context.rows.get(name, Rows())
        changed = "–" if side is None else percent(float(side.changed.mean()))
        accuracy = "–" if side is None else _accuracy_text(side, known)
        value = format_number(result.value)
        if result.interval is not None:
            value += f" {result.interval}"
        rows.append(
            [name, value, percent(result.normalized), percent(result.equivalent_error), changed, accuracy]
        )
    return Grid(columns=columns, rows=rows)


def _least(result: Any, rows: Rows, sides: Sides, detail: int) -> Grid:
    """Return the pairs with the lowest agreement, with whatever is known about them."""
    worst = np.argsort(np.asarray(result.per_sample), kind="stable")[:detail]
    columns = [Column("Row")]
    columns += [Column("Label")] if rows.labels is not None else []
    columns += [Column("Before"), Column("After"), Column("Agreement (nats)", numeric=True)]
    before = _Side(rows.reference_images, sides.reference, sides.reference_confidence, rows)
    after = _Side(rows.images, sides.shifted, sides.shifted_confidence, rows)
    lines = []
    for i in worst:
        line: list[Any] = [rows.names[i] if rows.names is not None else str(i)]
        if rows.labels is not None:
            line.append(str(rows.labels[i]))
        lines.append([*line, before.cell(i), after.cell(i), format_number(float(result.per_sample[i]))])
    return Grid(
        columns=columns,
        rows=lines,
        caption="The pairs that agree least: predictions, with the model's confidence.",
    )


class _Side:
    """Cells for one side of a pair: its picture, where there is one, and its prediction."""

    def __init__(self, images: Any, predicted: Any, confidence: Any, rows: Rows) -> None:
        self.images, self.predicted, self.confidence, self.rows = images, predicted, confidence, rows
        self.value_range = range_of(images) if images is not None else (0.0, 1.0)

    def cell(self, i: int) -> Markup:
        """Return the cell of row ``i``."""
        name = _class_name(self.rows, self.predicted[i])
        text = escape(f" {name} ({percent(self.confidence[i], digits=0)})")
        if self.images is None:
            return Markup(text)
        return thumbnail(np.asarray(self.images[i]), value_range=self.value_range, alt=f"row {i}") + text


def _changes(sides: Sides, rows: Rows, detail: int) -> Grid:
    """Return the most frequent changes of prediction."""
    moved = np.flatnonzero(sides.changed)
    counts = Counter(zip(sides.reference[moved].tolist(), sides.shifted[moved].tolist(), strict=True))
    most = counts.most_common(1)[0][1]
    lines: list[list[Any]] = [
        [
            f"{_class_name(rows, before)} → {_class_name(rows, after)}",
            str(count),
            Markup(f'<span class="bar new" style="width: {6.0 * count / most:.2f}rem"></span>'),
        ]
        for (before, after), count in counts.most_common(min(detail, 8))
    ]
    return Grid(
        columns=[Column("Change of prediction"), Column("Rows", numeric=True), Column("")],
        rows=lines,
        caption="The most frequent changes.",
    )


def _accuracy_sentence(sides: Sides, rows: Rows) -> list[str]:
    text = _accuracy_text(sides, rows)
    return [f"Accuracy against the known labels: {text}."] if text != "–" else []


def _accuracy_text(sides: Sides, rows: Rows) -> str:
    labels = _label_numbers(rows, sides.n_classes)
    if labels is None:
        return "–"
    before, after = float((sides.reference == labels).mean()), float((sides.shifted == labels).mean())
    return f"{percent(before)} → {percent(after)}"


def _label_numbers(rows: Rows, n_classes: int) -> npt.NDArray[np.intp] | None:
    """Match labels to columns: by the names of the columns, or as their numbers; None where neither fits."""
    if rows.labels is None:
        return None
    labels = [str(label) for label in rows.labels]
    names = list(rows.class_names) if rows.class_names is not None else [str(k) for k in range(n_classes)]
    places = {name: place for place, name in enumerate(names)}
    if not set(labels) <= set(places):
        places = {str(k): k for k in range(n_classes)}
        if not set(labels) <= set(places):
            return None
    return np.array([places[label] for label in labels], dtype=np.intp)


def _class_name(rows: Rows, k: int) -> str:
    return str(rows.class_names[k]) if rows.class_names is not None else str(k)


def _sides(result: Any, rows: Rows) -> Sides | None:
    """Return what either side predicts, where the scores are at hand."""
    if rows.scores is None or rows.reference_scores is None:
        return None
    shifted, shifted_confidence, n_classes = _predictions(rows.scores, result)
    reference, reference_confidence, _ = _predictions(rows.reference_scores, result)
    return Sides(
        shifted=shifted,
        reference=reference,
        shifted_confidence=shifted_confidence,
        reference_confidence=reference_confidence,
        n_classes=n_classes,
    )


def _predictions(scores: Any, result: Any) -> tuple[npt.NDArray[np.intp], FloatArray, int]:
    """Return predicted class and confidence of each row, block by block, and the number of classes."""
    values = as_array(scores, "scores")
    n_classes = int(values.shape[1]) if values.ndim == 2 else 2
    predicted, confidence = np.empty(len(values), dtype=np.intp), np.empty(len(values))
    for rows in row_blocks(len(values), 8 * n_classes):
        probabilities = _probabilities(to_float64(values[rows]), result)
        predicted[rows], confidence[rows] = probabilities.argmax(axis=1), probabilities.max(axis=1)
    return predicted, confidence, n_classes


def _probabilities(values: FloatArray, result: Any) -> FloatArray:
    """Return the model's own probabilities: its softmax at inverse temperature 1."""
    from scipy.special import softmax

    if result.settings.get("kind") == "probabilities":
        values = np.stack([1.0 - values, values], axis=1) if values.ndim == 1 else values
        return np.asarray(values / values.sum(axis=1, keepdims=True))
    if values.ndim == 1:
        values = np.stack([np.zeros_like(values), values], axis=1)
    return np.asarray(softmax(values, axis=1))
