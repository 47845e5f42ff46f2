"""The agreement section: results side by side, the confidence before and after, and the pairs that agree least."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from markupsafe import Markup, escape

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.agreement import AgreementCurvesResult, PosteriorAgreementResult
from shiftmetrics.views.drawings.agreement import predictions
from shiftmetrics.views.report.context import Rows
from shiftmetrics.views.report.parts import Entry, Fact, Number, cell_of, number, percent, reports
from shiftmetrics.views.report.pictures import range_of, thumbnail

MOST_CHANGES = 8


@dataclass(frozen=True)
class Predictions:
    """Predicted class and its probability, on the shifted and on the reference side, where scores are known."""

    shifted: IntArray
    reference: IntArray
    shifted_confidence: FloatArray
    reference_confidence: FloatArray
    n_classes: int

    @classmethod
    def of(cls, entry: Entry) -> Self | None:
        """Read the predictions off the scores."""
        scores, reference_scores = entry.rows.scores, entry.rows.reference_scores
        if scores is None or reference_scores is None:
            return None
        shifted, shifted_confidence, n_classes = predictions(scores, entry.result)
        reference, reference_confidence, _ = predictions(reference_scores, entry.result)
        return cls(shifted, reference, shifted_confidence, reference_confidence, n_classes)

    @property
    def changed(self) -> BoolArray:
        """Rows whose prediction changed."""
        return np.asarray(self.shifted != self.reference)

    def accuracy(self, rows: Rows) -> Number | None:
        """Print the accuracy before and after, where labels are known."""
        labels = self._label_numbers(rows)
        if labels is None:
            return None
        before = float((self.reference == labels).mean())
        after = float((self.shifted == labels).mean())
        return Number(f"{percent(before)} → {percent(after)}")

    def _label_numbers(self, rows: Rows) -> IntArray | None:
        """Match labels to columns: by the names of the columns, or as their numbers; None where neither fits."""
        if rows.labels is None:
            return None
        labels = [str(label) for label in rows.labels]
        numbers = [str(k) for k in range(self.n_classes)]
        # names of the columns first, then their numbers
        candidates = [numbers] if rows.class_names is None else [list(rows.class_names), numbers]
        for names in candidates:
            places = {str(name): place for place, name in enumerate(names)}
            if set(labels) <= set(places):
                return np.array([places[label] for label in labels])
        return None


def agreement_facts(result: Any) -> list[Fact]:
    """Return the figures beside the agreement; its sentences hold all but the last."""
    channel = "flipping this fraction of predictions at random agrees as much"
    classes = f"of {result.n_classes}"
    said = [
        (
            "changed predictions",
            percent(result.changes.disagreement),
            "no predicted class in common",
        ),
        ("kappa", Number(f"{result.changes.kappa:.2f}"), "1 is no change, 0 predictions at random"),
        (
            "confident changes",
            percent(result.changes.confident),
            "of those; both posteriors are 0.9 or more",
        ),
        ("of the maximum", percent(result.normalized), "agreement over its ceiling"),
        ("equivalent error", percent(result.equivalent_error), channel),
        ("inverse temperature", number(result.beta), "beta, where the two sides agree best"),
        (
            "effective classes",
            Number(f"{result.effective_classes:.3g}"),
            f"{classes}; 1 is a constant model",
        ),
    ]
    log_pa = Fact(
        "log posterior agreement", number(result.log_pa, "nats"), "of the whole sample, at most 0"
    )
    return [*(Fact(*parts, said=True) for parts in said), log_pa]


@reports("agreement", PosteriorAgreementResult, facts=agreement_facts)
def fill_agreement(entry: Entry) -> None:
    """Show what changed, the agreement of the pairs and over beta, and the pairs that agree least."""
    result, rows = entry.result, entry.rows
    share = min(max(float(result.normalized), 0.0), 1.0)
    entry.meter = share, "agreement, of its maximum"
    # the card says what anybody can judge; kappa and nats stand in the section
    changes = result.changes
    if changes.disagreement == 0.0:
        entry.says = f"None of the {result.n_samples:,} predictions changes."
    else:
        entry.says = (
            f"{percent(changes.disagreement)} of the predictions change, {percent(changes.confident)} of them "
            "confidently."
        )
    entry.sentences.append(result.headline())
    entry.compared = {
        "Sample": entry.name,
        "Changed": percent(result.changes.disagreement),
        "Kappa": Number(f"{result.changes.kappa:.2f}"),
        "Confidently": percent(result.changes.confident),
        "Agreement (nats)": number(result.value, str(result.interval or "").partition(" (")[0]),
        "Of the maximum": percent(result.normalized),
        "Equivalent error": percent(result.equivalent_error),
    }
    known = Predictions.of(entry)
    if known is not None:
        entry.sentences.append(
            f"{int(known.changed.sum()):,} of {known.changed.size:,} predictions changed."
        )
        accuracy = known.accuracy(rows)
        if accuracy is not None:
            entry.compared["Accuracy"] = accuracy
            entry.sentences.append(f"Accuracy against the known labels: {accuracy}.")
        entry.draw("confidence", scores=rows.scores, reference_scores=rows.reference_scores)
    if result.per_sample is not None:
        entry.draw("pairs")
    note = f"The numerical error is at most {result.error_bound:.0e} nats."
    entry.draw("beta", note, folded=True)
    if known is not None and entry.detail and result.per_sample is not None:
        _add_least(entry, known)
        _add_changes(entry, known)


def _add_least(entry: Entry, known: Predictions) -> None:
    """Add the pairs with the lowest agreement, with the model's confidence and the pictures of either side."""
    rows, per_sample = entry.rows, np.asarray(entry.result.per_sample)
    images = {"Before": rows.reference_images, "After": rows.images}
    ranges = {side: range_of(batch) for side, batch in images.items() if batch is not None}

    def cell(side: str, i: int, predicted: IntArray, confidence: FloatArray) -> Markup:
        text = escape(f" {_class_name(rows, predicted[i])} ({percent(confidence[i])})")
        if side not in ranges:
            return text
        return (
            thumbnail(np.asarray(images[side][i]), value_range=ranges[side], alt=f"row {i}") + text
        )

    lines = []
    for i in np.argsort(per_sample, kind="stable")[: entry.detail]:
        line: dict[str, Any] = {"Row": rows.name(i)}
        if rows.labels is not None:
            line["Label"] = str(rows.labels[i])
        line["Before"] = cell("Before", i, known.reference, known.reference_confidence)
        line["After"] = cell("After", i, known.shifted, known.shifted_confidence)
        line["Agreement (nats)"] = number(float(per_sample[i]))
        lines.append(line)
    entry.add_table(lines, "The pairs that agree least: predictions, with the model's confidence.")


def _add_changes(entry: Entry, known: Predictions) -> None:
    """Add the most frequent changes of prediction."""
    changed = known.changed
    counts = Counter(
        zip(known.reference[changed].tolist(), known.shifted[changed].tolist(), strict=True)
    )
    common = counts.most_common(min(entry.detail, MOST_CHANGES))
    lines = []
    for (before, after), count in common:
        # the longest bar is six letters wide
        width = 6.0 * count / common[0][1]
        change = f"{_class_name(entry.rows, before)} → {_class_name(entry.rows, after)}"
        bar = Markup(f'<span class="bar new" style="width: {width:.2f}rem"></span>')
        lines.append(
            {"Change of prediction": change, "Samples": Number(f"{count:,}"), "In proportion": bar}
        )
    entry.add_table(lines, "The most frequent changes.")


def _class_name(rows: Rows, k: int) -> str:
    return str(rows.class_names[k]) if rows.class_names is not None else str(k)


def curve_facts(result: Any) -> list[Fact]:
    """Return the agreement under the strongest shift."""
    low = result.over_ceiling(result.agreement.low)
    high = result.over_ceiling(result.agreement.high)
    ends = f"{percent(low[-1, -1])} to {percent(high[-1, -1])}"
    kept = f"{percent(result.afr_p.value[-1, -1])} of predictions unchanged"
    meaning = f"of the ceiling ({ends}); {kept}"
    return [Fact("under the strongest shift", percent(result.normalized[-1, -1]), meaning)]


@reports("agreement", AgreementCurvesResult, facts=curve_facts)
def fill_curves(entry: Entry) -> None:
    """Draw agreement and unchanged predictions over the levels of a shift, and list them."""
    result = entry.result
    entry.draw("curves")
    entry.draw("curves", y="afr_p")
    # levels are powers of the shift at the largest ratio or, of one power, ratios
    over_powers = len(result.powers) > 1
    levels = result.powers if over_powers else result.ratios
    lines = []
    for step, level in enumerate(levels):
        at = (step, -1) if over_powers else (0, step)
        lines.append(
            {
                "Power" if over_powers else "Ratio": cell_of(level),
                "Agreement (nats)": number(result.agreement.value[at]),
                "Of its ceiling": percent(result.normalized[at]),
                "Unchanged": percent(result.afr_p.value[at]),
                "Equivalent error": percent(result.equivalent_error[at]),
            }
        )
    entry.add_table(lines, "The shift, level by level.")
