"""How a comparison of tokens is answered: where the likeliest token changes, and by how much probabilities move."""

from __future__ import annotations

from dataclasses import replace

from shiftmetrics._core.result import format_percent, plain_figure
from shiftmetrics.decisions.tokens.result import TokenDiffResult
from shiftmetrics.views.report.answer import Answer, Tile, answers, ends_of, plain_answer


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
    return replace(plain_answer(result), tiles=tiles, chart="")
