"""The result of an audit: what changed in the samples, since when, and what that means for a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result, Status, format_percent, p_words
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.audit.labelled import (
    PLANNED_POINTS,
    LabelledAccuracy,
    ModeAccuracy,
    label_offer,
    labels_for_accuracy,
)
from shiftmetrics.decisions.audit.sample_changes import SampleChanges
from shiftmetrics.decisions.audit.search import COLUMNS, LEVEL
from shiftmetrics.decisions.audit.tipping import Tipping
from shiftmetrics.decisions.audit.unlabelled import UnlabelledAccuracy
from shiftmetrics.decisions.labelling.plan import LabelPlan
from shiftmetrics.decisions.leading_verdict import LeadingVerdict
from shiftmetrics.novelty.result_words import are_of_other_size

if TYPE_CHECKING:
    import pandas as pd

_NAMED_COLUMNS = 3
_SAID_ORDINARY = 0.01
"""Fraction of the members of a mode that would be there anyway, from which it is said."""
_NO_GATE = Status(
    "estimated",
    "An estimate without labels holds only while answers mean what they meant.",
    "Label some samples and bound labelled.interval.low, or bound changes.unmatched_fraction.",
    ok=False,
)
_ADVISED_LABELS = 30
_USUAL_ACCURACY = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditResult(LeadingVerdict, Drawn, Result):
    """What changed in a sample against a reference, since when, and whether a model is worse on it.

    Attributes
    ----------
    value : float
        Lower limit of the fraction of the current sample that is new; 0 where nothing is shown to be.
    verdict : str
        "WORSE" where labels show that the model is worse; else "CHANGED" or "NO CHANGE SHOWN"; "PERHAPS" where a
        change is shown at 5 % but not at 1 %, and no mode and no column tells what it is; "CANNOT TELL" where every
        row of a sample stands several times, or rows depend on each other and the evidence is not overwhelming.
    new_fraction : float
        About how much of the current sample is new.
    p_value : float
        Of "both samples have one source", over modes and columns together.
    changes : SampleChanges
        Modes, columns, times.
    unlabelled : UnlabelledAccuracy or None
        What can be said of the model's accuracy without labels.
    labelled : LabelledAccuracy or None
        What labels say of it.
    inside : tuple of ModeAccuracy
        What labels say of it inside new modes.
    tipping : tuple of Tipping
        How large each new mode may become before errors pass a threshold; only what is narrow enough to help.
    plan : LabelPlan or None
        Which samples to label.
    """

    measure = "audit"
    title = "fraction of new samples, lower limit"
    higher_is_better = False
    rule_field = "interval.low"

    verdict: str
    new_fraction: float
    p_value: float
    changes: SampleChanges
    unlabelled: UnlabelledAccuracy | None = None
    labelled: LabelledAccuracy | None = None
    inside: tuple[ModeAccuracy, ...] = ()
    tipping: tuple[Tipping, ...] = ()
    plan: LabelPlan | None = None

    def status_of(self, field: str) -> Status | None:
        """Refuse rules on the estimate without labels: no gate may stand on what a change of answers would void."""
        if field.startswith("unlabelled.") and field != "unlabelled.unmatched_fraction":
            return _NO_GATE
        return self.status

    @property
    def above(self) -> tuple[str, ...]:  # type: ignore[override]
        """Warnings that stand above the verdict: the reference is the later sample, or rows void every p-value."""
        void = self.warnings[:1] if self.verdict == verdicts.CANNOT_TELL else ()
        return (*self.changes.order_of_dates, *void)

    @property
    def sentence(self) -> str:
        """What follows the verdict: the worst thing first."""
        if self.labelled is not None and self.labelled.is_worse:
            return self.labelled.sentence()
        if self.verdict == verdicts.CANNOT_TELL:
            return "Rows are copies or depend on each other, so that nothing can be shown."
        if self.changes.replaced:
            return self._replaced_sentence()
        return self._changes_sentence()

    def _replaced_sentence(self) -> str:
        # A new code or unit of a column makes all samples new; which samples are, the other columns tell.
        names = [change.column for change in self.changes.replaced]
        verb = "has" if len(names) == 1 else "have"
        # An effect of 1 leaves no value in common, up to the rounding of fractions.
        every = min(change.effect for change in self.changes.replaced) > 1.0 - 1e-9
        where = "in every sample" if every else "in nearly every sample"
        which = f"{_columns(len(names))} {verb} other values {where}"
        return f"{which}: {_named(names)}."

    def _apart_sentence(self) -> str:
        """Say what the other columns show where some have other values in every sample."""
        shown = self._search_shows(self.changes.fraction_in_modes)
        return f"By the other columns {shown or 'nothing is shown to be new'}."

    def _search_shows(self, fraction: float) -> str:
        """Say what the search shows: modes first, since they say which samples; empty where it shows nothing."""
        changes = self.changes
        since = f" since {changes.since}" if changes.since else ""
        if changes.new:
            n = len(changes.new)
            modes = "one mode" if n == 1 else f"{n} modes"
            # Values beyond the range of the reference are a part of a mode, whose other samples may lie within it.
            least = "at least " if any(mode.is_part for mode in changes.new) else ""
            amount = f"{least}{format_percent(fraction)} of {self.n_samples:,} samples are new"
            # Scores of all samples tell how many are new; some of these may be in no mode.
            in_modes = changes.fraction_in_modes
            if not least and in_modes < fraction and are_of_other_size(in_modes, fraction):
                held = "holds" if n == 1 else "hold"
                return f"about {amount}{since}; {modes} {held} {format_percent(in_modes)}"
            return f"{amount}{since}, in {modes}"
        if changes.gradual:
            return f"no new mode, but a change{since}: {changes.gradual}"
        # A column that changed explains most of what has no mode, unless held-out samples show that some are new.
        is_new = changes.novelty_p_value <= LEVEL
        if is_new and (self.value > 0.0 or not changes.n_changed):
            rows = ", ".join(changes.first_rows[:3])
            return f"something is new{since}; no single clear mode; look first at samples {rows}"
        return ""

    def _changes_sentence(self) -> str:
        # What the search shows, then single columns.
        changes = self.changes
        if shown := self._search_shows(self.new_fraction):
            if changes.new and changes.columns:
                shown += f"; {changes.n_changed} of {len(changes.columns)} columns changed"
            return f"{shown[0].upper()}{shown[1:]}."
        if self.verdict == verdicts.NO_CHANGE_SHOWN:
            if not changes.columns:
                return "No new mode is shown."
            return f"Neither a new mode nor a change of one of {len(changes.columns)} columns is shown."
        columns = changes.changed_columns()
        # The first of these that is shown: a part of the reference that is gone, then single columns.
        if changes.missing:
            return f"A mode of the reference is missing: {changes.missing[0].description}."
        if columns:
            first = columns[0]
            which = _columns(len(columns))
            return f"{which} of {len(changes.columns)} changed, most of all {first.column}: {first.text}."
        if changes.missing_p_value <= LEVEL:
            return "Something of the reference is missing; no single clear mode."
        return "Something changed; neither a mode nor a column stands out."

    def evidence(self) -> str:
        """Say how unlikely what was found is by chance: over all, then of each claim of the search."""
        changes = self.changes
        claims = {
            "the samples differ": self.p_value,
            "something is new": changes.novelty_p_value,
            "something is missing": changes.missing_p_value,
        }
        if changes.columns:
            # with the part of the level that columns have
            least = min(change.p_value for change in changes.columns)
            claims["a column changed"] = min(1.0, least / COLUMNS)
        return f"How sure: {'; '.join(f'{claim}, {p_words(p)}' for claim, p in claims.items())}."

    @property
    def next_steps(self) -> list[str]:
        """What to do now, in at most three steps."""
        steps = []
        # Thirty labels inside a mode tell its accuracy to about 15 points: enough to see whether it is a problem.
        labels_inside = max([part.n_labelled for part in self.inside], default=0)
        if self.changes.replaced:
            named = _named([change.column for change in self.changes.replaced])
            steps.append(
                f"If {named} only tells the samples apart, leave it out (--exclude); if its code or unit changed, or "
                "its values are gone, mend that. Then audit again."
            )
        if self.changes.new and labels_inside < _ADVISED_LABELS:
            n = min(_ADVISED_LABELS, self.changes.new[0].n_members)
            steps.append(
                f"Look at the samples of mode 1, and label {n} of them, in the order of the file."
            )
        elif (
            self.verdict == verdicts.CHANGED
            and self.changes.n_changed
            and not self.changes.replaced
        ):
            steps.append("Look at the columns that changed.")
        is_open = self.settings["has_model"] and self.verdict == verdicts.CHANGED
        if self.labelled is None and (is_open or self.plan is not None):
            steps.append(self._label_step())
        if self.labelled is not None and self.labelled.is_worse:
            steps.append("Hold the model back, or retrain it with labelled samples of now.")
        elif self.labelled is not None and self.labelled.is_open(PLANNED_POINTS):
            steps.append(self._more_labels_step(self.labelled))
        if self.verdict == verdicts.CHANGED and not self.settings["has_model"]:
            steps.append(
                "See what is known of the accuracy of the model that serves these samples: shiftmetrics audit "
                "REFERENCE CURRENT --model MODEL"
            )
        if self.verdict == verdicts.CANNOT_TELL:
            steps = ["Drop copies, or rows that follow from those before them, and audit again."]
        if self.verdict == verdicts.PERHAPS:
            steps.append("Nothing to do now; audit again when there are more samples.")
        if not steps and self.verdict == verdicts.CHANGED:
            steps.append("Look at what changed; the labels do not show that the model is worse.")
        if not steps:
            steps.append("Nothing to do.")
        return steps

    def _more_labels_step(self, labelled: LabelledAccuracy) -> str:
        """Say how many labels are missing for an accuracy to 3 points."""
        # A few labels tell the accuracy too badly to plan with it.
        expected = labelled.accuracy if labelled.n_labelled >= _ADVISED_LABELS else _USUAL_ACCURACY
        enough = labels_for_accuracy(self.n_samples, expected, PLANNED_POINTS)
        more = enough - labelled.n_labelled
        if more <= 0:
            return "Give a larger labelled reference: its own accuracy is not known well enough."
        return f"Label {more:,} more samples chosen at random to know the accuracy to 3 points."

    def _label_step(self) -> str:
        """Say how many labels tell the accuracy, and how well."""
        if self.plan is not None and self.plan.mode == "anytime":
            return (
                "Label samples in the order of the plan; the interval is valid after any of them."
            )
        # Without an estimate the plan is for four right answers of five: few models are worse, and need more labels.
        expected = _USUAL_ACCURACY
        if self.unlabelled is not None:
            expected = self.unlabelled.estimate
        n_labels = None if self.plan is None else self.plan.n_labels
        return label_offer(self.n_samples, expected, n_labels)

    def notes(self) -> list[str]:
        """Return the modes, the columns, what is known of the model, and which columns were used."""
        changes = self.changes
        if self.verdict == verdicts.CANNOT_TELL:
            return [*self.model_notes(), *changes.column_notes, *self.warnings[1:]]
        # The modes follow the headline line by line, with what is missing and the columns that changed most.
        sentences = []
        for place, mode in enumerate(changes.new):
            sentences.append(self.mode_line(place))
            if mode.cause:
                sentences.append(f"   {mode.cause}.")
        if changes.others_tell:
            sentences.insert(0, self._apart_sentence())
        if self.labelled is not None and self.labelled.is_worse:
            sentences.insert(0, self._changes_sentence())
        sentences += [
            f"Missing: {format_percent(mode.fraction)} of the reference, {mode.description}."
            for mode in changes.missing
        ]
        for change in changes.changed_columns()[:_NAMED_COLUMNS]:
            new = ""
            if change.new_levels:
                new = f"; new: {', '.join(change.new_levels[:3])}"
            effect = f"(effect {change.effect:.2f})"
            cause = f"; {change.cause}" if change.cause else ""
            sentences.append(f"{change.column}: {change.text}{new} {effect}{cause}.")
        sentences += self.model_notes()
        return [*sentences, self.evidence(), *changes.column_notes, *self.warnings]

    def model_notes(self) -> list[str]:
        """Return what is known of the model: by labels, without them, and inside new modes."""
        # With labels the estimate without them is of no use any more.
        sentences = []
        if self.labelled is not None and not self.labelled.is_worse:
            sentences.append(self.labelled.sentence())
        if self.unlabelled is not None and self.labelled is None:
            sentences.append(self.unlabelled.sentence())
            sentences.append(self.unlabelled.assumption)
        sentences += [part.sentence() for part in self.inside]
        if self.settings["has_model"] and self.changes.new and not self.inside:
            sentences.append(
                "The reference lacks the new modes: the accuracy there cannot be told without labels."
            )
        sentences += [text for text in (tipping.sentence() for tipping in self.tipping) if text]
        return sentences

    def mode_line(self, place: int) -> str:
        """Return one line of a new mode: its fraction, since when, what it is, and how many samples."""
        mode = self.changes.new[place]
        # A date is said where the fraction is shown to have changed at all.
        since = ""
        if mode.change is not None and mode.change.is_shown:
            since = f"{mode.change.in_words}  "
        # The headline counts what exceeds the reference: a mode that stands there too is larger.
        before = ""
        if mode.other_fraction > 0.0:
            before = f", was {format_percent(mode.other_fraction)}"
        ordinary = ""
        if mode.n_ordinary >= _SAID_ORDINARY * mode.n_members:
            ordinary = f", about {mode.n_ordinary} of them ordinary"
        least = "at least " if mode.is_part else ""
        return (
            f"{place + 1}  {least}{format_percent(mode.fraction)}{before}  {since}{mode.description}  "
            f"{mode.n_members} samples{ordinary}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the samples of the new modes in random order within each: mode, order, id, label (empty), row.

        The first n of a mode are a random sample of it, to label. Where something is new from a date on and no mode
        stands out, these are the samples from then on that are new more likely than not, as mode 0, the likeliest
        first.
        """
        import pandas as pd

        parts = []
        likely = self.changes.likely_rows
        # These are no mode and no random sample, since the likeliest stand first: hence mode 0.
        if len(likely):
            parts.append(
                pd.DataFrame(
                    {
                        "mode": 0,
                        "order": np.arange(1, len(likely) + 1),
                        "id": self.changes.likely_names,
                        "label": "",
                        "row": likely,
                    }
                )
            )
        for place, mode in enumerate(self.changes.new):
            parts.append(
                pd.DataFrame(
                    {
                        "mode": place + 1,
                        "order": np.arange(1, mode.n_members + 1),
                        "id": mode.names,
                        "label": "",
                        "row": mode.order,
                    }
                )
            )
        columns = ["mode", "order", "id", "label", "row"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _named(names: list[str]) -> str:
    return first_few(names, _NAMED_COLUMNS, show=str)


def _columns(n: int) -> str:
    return "One column" if n == 1 else f"{n} columns"
