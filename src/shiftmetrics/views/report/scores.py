"""How a comparison of scores is reported: its verdict, tasks and groups, and the questions whose score changed."""

from __future__ import annotations

import dataclasses
from typing import Any

from shiftmetrics.decisions.scores.result import ScoreDiffResult
from shiftmetrics.decisions.scores.words import (
    is_fraction,
    score_amount,
    score_figure,
    score_limits,
)
from shiftmetrics.views.report.answer import Answer, Tile, answers, plain_answer
from shiftmetrics.views.report.parts import Entry, Number, percent, reports

MOST_LINES = 20
"""Questions that the page shows, per step of its size."""

MOST_PARTS = 30
"""Tasks and groups that are drawn; the table has all."""


@answers(ScoreDiffResult)
def answer_of_scores(result: ScoreDiffResult) -> Answer:
    """Return the decision with old against new, and how many questions changed."""
    plain = plain_answer(result)
    steps = plain.steps
    if len(result.questions.id):
        steps += (
            "Write the questions that changed, the worst first: shiftmetrics diff OLD NEW --changed changed.csv",
        )
    return dataclasses.replace(
        plain, steps=steps, tiles=tuple(_figures(result)), chart="difference"
    )


def _figures(result: ScoreDiffResult) -> list[Tile]:
    counts = result.counts
    assert result.interval is not None
    sign = "-" if result.value < 0.0 else "+"
    amount = score_amount(result, abs(result.value))
    changed = len(result.questions.id)
    of = f"of {result.n_samples:,} ({percent(changed / result.n_samples)})"
    has_one_run = max(counts.runs_old, counts.runs_new) == 1
    # Means of several runs rise and fall by degrees, and are not fixed or broken.
    is_fixed = counts.is_binary and has_one_run
    figures = [
        Tile(name="Old", value=score_figure(result, result.old_score), meaning=result.metric),
        Tile(name="New", value=score_figure(result, result.new_score), meaning=result.metric),
        Tile(
            name="Difference",
            value=f"{sign}{amount}" if result.value else amount,
            meaning=score_limits(result, result.interval),
        ),
        Tile(name="Changed", value=f"{changed:,}", meaning=of),
        Tile(
            name="Fixed, broken" if is_fixed else "Better, worse",
            value=f"{counts.better:,}, {counts.worse:,}",
        ),
    ]
    n_failed = counts.failed_old + counts.failed_new
    if n_failed:
        of = f"{counts.failed_old:,} old, {counts.failed_new:,} new"
        figures.append(Tile(name="Failed samples", value=f"{n_failed:,}", meaning=of))
    return figures


@reports("scores", ScoreDiffResult)
def fill_scores(entry: Entry) -> None:
    """Show the difference, that of tasks and groups, and the questions that fell and rose, the worst first."""
    result: ScoreDiffResult = entry.result
    entry.in_points = is_fraction(result)
    entry.sentences += entry.answer.findings
    if result.parts and len(result.parts) <= MOST_PARTS:
        entry.draw("parts", height=1.2 + 0.3 * (1 + len(result.parts)))
    counts = result.counts
    # of single answers of 0 and 1 all changes have one size
    if len(result.questions.id) and not (
        counts.is_binary and max(counts.runs_old, counts.runs_new) == 1
    ):
        entry.draw("sizes", height=2.6)
    lines = [_part_line(result, part) for part in result.parts]
    entry.add_table(lines, "Tasks and groups")
    caption = "Questions whose score changed, the worst first"
    entry.add_table(_question_lines(entry), caption, rows=True, option="--changed changed.csv")


def _part_line(result: ScoreDiffResult, part: Any) -> dict[str, Any]:
    return {
        "": part.kind,
        "Name": part.name,
        "Questions": Number(f"{part.n_questions:,}"),
        "Old": Number(score_figure(result, part.old)),
        "New": Number(score_figure(result, part.new)),
        "Difference": Number(score_limits(result, part.interval)),
        "Verdict": part.verdict,
    }


def _question_lines(entry: Entry) -> list[dict[str, Any]]:
    """Return the first of the questions that changed."""
    result: ScoreDiffResult = entry.result
    rows = result.questions
    # fewer where the page would grow too large
    most = min(MOST_LINES * entry.detail // 12, len(rows.id))
    has_tasks = bool(result.tasks)
    lines = []
    for place in range(most):
        line: dict[str, Any] = {}
        if has_tasks:
            line["Task"] = str(rows.task[place])
        line["Question"] = str(rows.id[place])
        line["Old"] = Number(score_figure(result, float(rows.old[place])))
        line["New"] = Number(score_figure(result, float(rows.new[place])))
        lines.append(line)
    return lines
