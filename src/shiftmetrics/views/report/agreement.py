"""The agreement section: results side by side, the confidence before and after, and the pairs that agree least."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics.agreement import AgreementCurvesResult, PosteriorAgreementResult
from shiftmetrics.views.drawings.agreement import posteriors_of_both
from shiftmetrics.views.report.parts import Entry, Fact, cell_of, number, percent, reports
from shiftmetrics.views.report.sides import Side

MOST_LEVELS = 40


def agreement_facts(result: Any) -> list[Fact]:
    """Return the figures beside the agreement; its sentences hold all but the last."""
    changes = result.changes
    channel = "flipping this fraction of predictions at random agrees as much"
    effective = f"of {result.n_classes}; 1 is a constant model"
    said = [
        ("changed predictions", percent(changes.disagreement), "no predicted class in common"),
        ("kappa", number(changes.kappa), "1 is no change, 0 predictions at random"),
        (
            "confident changes",
            percent(changes.confident),
            "of those; both posteriors are 0.9 or more",
        ),
        ("of the maximum", percent(result.normalized), "agreement over its ceiling"),
        ("equivalent error", percent(result.equivalent_error), channel),
        ("inverse temperature", number(result.beta), "beta, where the two sides agree best"),
        ("effective classes", number(result.effective_classes), effective),
    ]
    log_pa = Fact(
        "log posterior agreement", number(result.log_pa, "nats"), "of the whole sample, at most 0"
    )
    return [*(Fact(*parts, said=True) for parts in said), log_pa]


@reports("agreement", PosteriorAgreementResult, facts=agreement_facts)
def fill_agreement(entry: Entry) -> None:
    """Show what changed, the agreement of the pairs and over beta, and the pairs that agree least."""
    result, rows = entry.result, entry.rows
    entry.meter = result.normalized, "agreement, of its maximum"
    # the card says what anybody can interpret; kappa and nats stand in the section
    changes = result.changes
    if changes.disagreement == 0.0:
        entry.says = f"None of the {result.n_samples:,} predictions changes."
    else:
        entry.says = (
            f"{percent(changes.disagreement)} of the predictions change, {percent(changes.confident)} of them "
            "confidently."
        )
    entry.sentences.append(result.headline())
    # what the model itself says needs its scores, which the result does not keep
    is_known = rows.scores is not None and rows.reference_scores is not None
    if is_known:
        entry.draw("confidence", scores=rows.scores, reference_scores=rows.reference_scores)
    if result.per_sample is not None:
        entry.draw("pairs")
        if is_known and entry.detail:
            _add_least(entry)
    note = f"The numerical error is at most {result.error_bound:.0e} nats."
    entry.draw("beta", note, folded=True)


def _add_least(entry: Entry) -> None:
    """Add the pairs with the lowest agreement, with the model's confidence and the pictures of either side."""
    rows = entry.rows
    after, before = posteriors_of_both(entry.result, rows.scores, rows.reference_scores)
    shifted = Side(rows)
    sides = {"Before": (Side(rows, reference=True), before), "After": (shifted, after)}
    class_names = range(after.shape[1]) if rows.class_names is None else rows.class_names
    lines = []
    for i in np.argsort(entry.result.per_sample, kind="stable")[: entry.detail]:
        line: dict[str, Any] = {"Row": shifted.name(i)}
        if rows.labels is not None:
            line["Label"] = str(rows.labels[i])
        for heading, (side, probabilities) in sides.items():
            # the predicted class, how sure the model is of it, and the picture where there is one
            predicted = int(probabilities[i].argmax())
            confidence = percent(probabilities[i, predicted])
            picture = "" if side.images is None else side.picture(i)
            line[heading] = Markup("{} {} ({})").format(picture, class_names[predicted], confidence)
        line["Agreement (nats)"] = number(float(entry.result.per_sample[i]))
        lines.append(line)
    entry.add_table(lines, "The pairs that agree least: predictions, with the model's confidence.")


def curve_facts(result: Any) -> list[Fact]:
    """Return the agreement under the strongest shift."""
    low = result.over_ceiling(result.agreement.low)
    high = result.over_ceiling(result.agreement.high)
    ends = f"{percent(low[-1, -1])} to {percent(high[-1, -1])}"
    kept = f"{percent(result.afr_p.value[-1, -1])} of predictions unchanged"
    meaning = f"of the ceiling ({ends}); {kept}"
    return [
        Fact(
            "under the strongest shift", percent(result.normalized[-1, -1]), meaning, is_answer=True
        )
    ]


@reports("agreement", AgreementCurvesResult, facts=curve_facts)
def fill_curves(entry: Entry) -> None:
    """Draw agreement and unchanged predictions over the levels of a shift, and list them."""
    result = entry.result
    entry.draw("curves")
    entry.draw("curves", y="afr_p")
    # the levels as the result lists them, under words for people; what rounding leaves of 0 is 0
    levels = result.to_frame().round(9)
    lines = [
        {
            "Level": cell_of(level["power"]),
            "Shifted": percent(level["ratio"]),
            "Agreement (nats)": number(level["agreement"]),
            "Of its ceiling": percent(level["normalized"]),
            "Unchanged": percent(level["afr_p"]),
            "Equivalent error": percent(level["equivalent_error"]),
        }
        for level in levels.to_dict("records")
    ]
    entry.add_table(lines[:MOST_LEVELS], "The shift, level by level.")
