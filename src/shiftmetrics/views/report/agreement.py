"""The agreement section: results side by side, the confidence before and after, and the pairs that agree least."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import error_in_words
from shiftmetrics.agreement import AgreementCurvesResult, PosteriorAgreementResult
from shiftmetrics.views.drawings.agreement import posteriors_of_both
from shiftmetrics.views.report.answer import Answer, Tile, answers
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
    # A sum over all samples, whose size depends on their number: no sentence tells it.
    log_pa = Fact(
        "log posterior agreement", number(result.log_pa, "nats"), "of the whole sample, at most 0"
    )
    return [*(Fact(*parts, said=True) for parts in said), log_pa]


@answers(PosteriorAgreementResult)
def agreement_answer(result: Any) -> Answer:
    """Return how many predictions changed; whether that is good or bad, labels would have to say."""
    changes = result.changes
    n = f"{result.n_samples:,}"
    if changes.disagreement == 0.0:
        return Answer(
            word="UNCHANGED",
            tone="plain",
            sentence=f"None of the {n} predictions changed.",
            tiles=tuple(_figures(result)),
            chart=_chart_of(result),
        )
    sentence = f"{percent(changes.disagreement)} of {n} predictions changed"
    # Pairs that passed by only once are not kept, so that their confidence is not known.
    if changes.confident is not None:
        confident = percent(changes.confident) if changes.confident else "none"
        sentence += f", {confident} of these with high confidence on both sides"
    return Answer(
        word="CHANGED",
        tone="plain",
        sentence=f"{sentence}.",
        steps=(
            "Write the changed rows, in the order to label them: shiftmetrics diff REFERENCE SHIFTED "
            "--changed changed.csv",
            "With labels, see whether the changes are for the better: shiftmetrics diff REFERENCE SHIFTED "
            "--labels LABELS",
            "See how sure these numbers are: shiftmetrics agreement SHIFTED REFERENCE --confidence-level 0.95",
        ),
        tiles=tuple(_figures(result)),
        chart=_chart_of(result),
    )


def _chart_of(result: Any) -> str:
    """Return the kind of the drawing: pairs that passed by only once are not there to be drawn."""
    return "beta" if result.per_sample is None else "pairs"


def _figures(result: Any) -> list[Tile]:
    """Return the figures of the first screen, each with its interval where there is one."""
    changes = result.changes
    figures = [
        Tile(
            name="Changed",
            value=percent(changes.disagreement),
            meaning=_ends(changes.disagreement_interval),
        )
    ]
    # Without changes there is nothing to take a fraction of.
    if changes.confident is not None and changes.disagreement > 0.0:
        figures.append(
            Tile(
                name="Confident changes", value=percent(changes.confident), meaning="of the changed"
            )
        )
    meaning = "1 is no change, 0 is chance"
    figures.append(Tile(name="Kappa", value=f"{changes.kappa:.2f}", meaning=meaning))
    meaning = (
        _ends(result.normalized_interval)
        or f"{number(result.value)} of {number(result.ceiling)} nats"
    )
    figures.append(Tile(name="Agreement", value=percent(result.normalized), meaning=meaning))
    meaning = _ends(changes.equivalent_error_interval) or "of the predictions"
    figures.append(
        Tile(name="Like random flips of", value=percent(result.equivalent_error), meaning=meaning)
    )
    return figures


def _ends(interval: Any) -> str:
    """Return the ends of an interval of fractions in per cent; nothing where there is none."""
    if interval is None:
        return ""
    level = f"{100 * interval.confidence_level:g} %"
    return f"{level}: {percent(interval.low)} to {percent(interval.high)}"


@reports("agreement", PosteriorAgreementResult, facts=agreement_facts)
def fill_agreement(entry: Entry) -> None:
    """Show what changed, the agreement of the pairs and over beta, and the pairs that agree least."""
    result, rows = entry.result, entry.rows
    changes = result.changes
    entry.sentences.append(result.headline())
    # what the model itself says needs its scores, which the result does not keep
    is_known = rows.scores is not None and rows.reference_scores is not None
    if is_known:
        if changes.disagreement > 0.0:
            # the result alone does not know which classes change
            entry.answer = replace(entry.answer, chart="classes")
            both = {"scores": rows.scores, "reference_scores": rows.reference_scores}
            entry.draw("classes", class_names=rows.class_names, height=1.7, **both)
        entry.draw("confidence", scores=rows.scores, reference_scores=rows.reference_scores)
    if result.per_sample is not None:
        entry.draw("pairs")
        if is_known and entry.detail:
            _add_least(entry)
    note = error_in_words(result.error_bound)
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
    caption = "The pairs that agree least: predictions, with the model's confidence."
    entry.add_table(lines, caption, rows=True)


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
