"""The result of comparing two language models by the log-probabilities of the same tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Interval, Result, Status, format_percent, plain_figure
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.words import plural
from shiftmetrics.decisions.leading_verdict import LeadingVerdict
from shiftmetrics.decisions.tokens.records import TokenChanges, TokenCounts

GIVEN = Status("given", "Both models saw the same tokens throughout.")
GENERATED = Status(
    "generated",
    "Each model wrote its own tokens: they are compared up to the first other one.",
    "Give both models the same tokens, by prompt_logprobs.",
)

FEW_CLUSTERS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenDiffResult(LeadingVerdict, Drawn, Result):
    """How far a new language model says what the old one says, token by token.

    Attributes
    ----------
    value : float
        Fraction of places at which the likeliest token changes.
    error_bound : float
        0: the likeliest token is known.
    interval : Interval
        Of that fraction at 95 %, for places of sequences like these; sequences are drawn, not places.
    status : Status
        "given", or "generated" where each model wrote its own tokens.
    n_samples : int
        Places that were compared.
    verdict : str
        "SAFE", "CHANGED" or "CANNOT TELL" with ``allow``; "SAME" or "CHANGED" without.
    allow : float or None
        The fraction of places at which the likeliest token may change.
    divergence : float
        What the mean of KL(old || new) over these places is at least, in nats.
    divergence_interval : Interval or None
        Of this lower bound at 95 %, from the spread between sequences; None of a single one.
    counts : TokenCounts
        Sequences, places, and what was not compared.
    changes : TokenChanges
        The sequences, those with the largest divergence first.
    """

    measure = "diff_tokens"
    title = "Old and new tokens"
    higher_is_better = False

    verdict: str
    allow: float | None = None
    divergence: float
    divergence_interval: Interval | None = None
    counts: TokenCounts
    changes: TokenChanges

    @property
    def above(self) -> tuple[str, ...]:  # type: ignore[override]
        """What puts the comparison in doubt stands above the verdict."""
        return tuple(self.settings.get("above", ()))

    @property
    def exit_code(self) -> int:
        """0 where few enough tokens change or nothing was asked, 1 where too many do, 3 where that cannot be told."""
        return verdicts.gate_exit_code(self.verdict, self.allow)

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared."""
        return {"counts.is_given": (self.counts.is_given, "Compare results of one kind of log.")}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures beside the fraction of changed tokens."""
        return {"divergence": self.divergence, "exit_code": self.exit_code}

    @property
    def sentence(self) -> str:
        """What the verdict says, in one sentence with the figures that it rests on."""
        assert self.interval is not None
        counts = self.counts
        places = f"{self.n_samples:,} tokens of {plural(counts.n_sequences, 'sequence')}"
        same = format_percent(1.0 - self.value, 3)
        low = 100.0 * (1.0 - self.interval.high)
        high = 100.0 * (1.0 - self.interval.low)
        ends = f"{plain_figure(low, 3)} to {plain_figure(high, 3)} %"
        text = f"The top token is the same at {same} of {places} (95 %: {ends})"
        text += f"; KL at least {plain_figure(self.divergence, 3)} nats a token"
        if counts.not_compared:
            text += f"; {counts.not_compared:,} after the first other token are not compared"
        return f"{text}."

    @property
    def next_steps(self) -> list[str]:
        """What to do now."""
        if self.verdict == verdicts.CANNOT_TELL:
            return ["Compare more sequences."]
        return []

    def notes(self) -> list[str]:
        """Return what else was found, and what to do now."""
        counts = self.counts
        sentences = [*self.settings.get("found", ())]
        if self.divergence_interval is not None:
            low = plain_figure(self.divergence_interval.low, 3)
            high = plain_figure(self.divergence_interval.high, 3)
            sentences.append(f"That bound is {low} to {high} for sequences like these (95 %).")
        if not counts.is_given:
            sentences.append(
                f"{plural(counts.parted, 'sequence')} part. A free answer says nothing of the tokens after that; "
                "prompt_logprobs of one given text compares all."
            )
        if counts.n_clusters < FEW_CLUSTERS:
            sentences.append(
                f"{plural(counts.n_clusters, 'request')}: more of them are needed, not longer ones."
            )
        most = [str(name) for name in self.changes.id[:3]]
        if self.divergence > 0.0:
            sentences.append(f"Largest divergence: {', '.join(most)}.")
        return [*sentences, *self.next_steps]

    def details(self) -> list[str]:
        """Return how the interval was made."""
        counts = self.counts
        return [
            f"The interval is Student's by {plural(counts.n_clusters, 'request')}, with one more on either side.",
            f"Tokens that are the likeliest of one model alone: {int(self.changes.changed.sum()):,}.",
        ]

    def to_frame(self) -> Any:
        """Return the sequences as a pandas DataFrame, those with the largest divergence first."""
        import pandas as pd

        rows = self.changes
        return pd.DataFrame(
            {
                "id": rows.id,
                "tokens": rows.n_places,
                "changed": rows.changed,
                "divergence": rows.divergence,
            }
        )
