"""How a comparison of tokens is reported: where the likeliest token changes, and by how much probabilities move."""

from __future__ import annotations

from dataclasses import replace

from shiftmetrics._core.result import format_percent, plain_figure
from shiftmetrics.decisions.tokens.result import TokenDiffResult
from shiftmetrics.views.report.answer import Answer, Tile, answers, ends_of, plain_answer
from shiftmetrics.views.report.parts import Entry, Number, reports

MOST_SEQUENCES = 20
"""Sequences that the page shows, per step of its size."""


@answers(TokenDiffResult)
def answer_of_tokens(result: TokenDiffResult) -> Answer:
    """Return the decision with the fraction of tokens that change, and the divergence."""
    divergence = ends_of(result.divergence_interval, plain_figure) or "nats a token, at least"
    tiles = (
        Tile(
            name="Changed tokens",
            value=format_percent(result.value),
            meaning=ends_of(result.interval, format_percent),
        ),
        Tile(name="Tokens", value=f"{result.n_samples:,}", meaning="compared"),
        Tile(name="Divergence", value=plain_figure(result.divergence, 3), meaning=divergence),
    )
    plain = plain_answer(result)
    steps = plain.steps
    if result.divergence > 0.0:
        steps += (
            "Write the sequences, those that change most first: shiftmetrics diff OLD NEW --changed changed.csv",
        )
    return replace(plain, steps=steps, tiles=tiles, chart="changed")


@reports("tokens", TokenDiffResult)
def fill_tokens(entry: Entry) -> None:
    """Show what was found, and the sequences that change most."""
    result: TokenDiffResult = entry.result
    entry.sentences += [*entry.answer.findings, *result.details()]
    rows = result.changes
    # fewer where the page would grow too large
    most = min(MOST_SEQUENCES * entry.detail // 12, len(rows.id))
    lines = [
        {
            "Sequence": str(rows.id[place]),
            "Tokens": Number(f"{int(rows.n_places[place]):,}"),
            "Changed": Number(f"{int(rows.changed[place]):,}"),
            "Divergence (nats)": Number(plain_figure(float(rows.divergence[place]), 3)),
        }
        for place in range(most)
    ]
    caption = "Sequences, those with the largest divergence first"
    entry.add_table(lines, caption, rows=True, option="--changed changed.csv")
