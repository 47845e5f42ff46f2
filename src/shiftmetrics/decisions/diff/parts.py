"""The difference of two models by class and by group, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.compared import ComparedRows
from shiftmetrics.decisions.diff.gains import GONE_THROUGH, LEVEL, Gains, future_difference
from shiftmetrics.decisions.diff.records import PartDifference
from shiftmetrics.decisions.labelling.anytime import difference_sequence
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.plan import LabelPlan
from shiftmetrics.decisions.predictions.pairs import ClassPair

Part = tuple[str, str, BoolArray, int]
"""Kind, name, held rows and number of all rows of a part."""


def differences_by_part(
    compared: ComparedRows, gains: Gains, plan: LabelPlan | None, *, is_complete: bool
) -> tuple[PartDifference, ...]:
    """Return the difference in each class and each group.

    Classes are those of the labels, so that they need a label in each row; groups are known for all
    rows. Costs and outputs need the label of each changed row.

    Parameters
    ----------
    compared : ComparedRows
    gains : Gains
    plan : LabelPlan or None
        What the labels belong to; None where they belong to no plan.
    is_complete : bool
        Whether the label of each changed row is known.
    """
    found = list(_parts(compared))
    is_planned = plan is not None and gains.are_signs
    if not found or not (is_complete or is_planned):
        return ()
    # Bonferroni: all intervals hold together.
    confidence_level = 1.0 - (1.0 - LEVEL) / len(found)
    parts = []
    for part in found:
        _, _, members, n = part
        changed = np.flatnonzero(members & compared.pair.changed)
        interval: Interval | None
        if is_complete:
            seen = gains.outcomes(changed)
            interval = future_difference(gains, members, n, confidence_level)
        else:
            # The rows of a group are in random order too.
            assert plan is not None
            seen, interval = _sampled(gains, plan, part, changed, confidence_level)
        verdict = _verdict(seen, interval, confidence_level)
        parts.append(_difference(part, changed, seen, interval, verdict))
    return tuple(parts)


def bounds_by_group(compared: ComparedRows, gains: Gains) -> tuple[PartDifference, ...]:
    """Return how many answers change in each group, and what that bounds for certain: it takes no label."""
    parts = []
    for part in _parts(compared):
        kind, _, members, n = part
        if kind == "class":
            continue
        changed = np.flatnonzero(members & compared.pair.changed)
        seen = gains.outcomes(changed)
        interval = gains.certain_in(members, n)
        verdict = verdicts.TOO_FEW_TO_TELL
        if interval.low > 0.0:
            verdict = verdicts.PART_IS_BETTER
        elif interval.high < 0.0:
            verdict = verdicts.PART_IS_WORSE
        elif interval.low == interval.high:
            verdict = verdicts.NO_CLEAR_DIFFERENCE
        parts.append(_difference(part, changed, seen, interval, verdict))
    return tuple(parts)


def _difference(
    part: Part, changed: IntArray, seen: Outcomes, interval: Interval | None, verdict: str
) -> PartDifference:
    """Return what is known of one part."""
    kind, name, _, n = part
    return PartDifference(
        kind=kind,
        name=name,
        n_samples=n,
        n_changed=len(changed),
        n_labelled=seen.n_drawn - seen.missing,
        fixed=seen.fixed,
        broken=seen.broken,
        interval=interval,
        verdict=verdict,
    )


def _parts(compared: ComparedRows) -> Iterator[Part]:
    """Yield each part: the classes where all rows have a label, then the groups in the order of their names."""
    pair = compared.pair
    totals = compared.totals
    if isinstance(pair, ClassPair) and totals.all_labelled:
        for code, name in enumerate(pair.classes.tolist()):
            if totals.labels[code]:
                yield "class", name, pair.labels == code, int(totals.labels[code])
    if pair.rows.group is not None:
        # Classes of labels have this word.
        kind = "group" if pair.rows.group_name == "class" else pair.rows.group_name
        for name in sorted(totals.groups):
            yield kind, name, pair.rows.group == name, totals.groups[name]


def _sampled(
    gains: Gains, plan: LabelPlan, part: Part, changed: IntArray, confidence_level: float
) -> tuple[Outcomes, Interval | None]:
    """Return what the labels of a plan say of a group: its rows are in random order too."""
    _, _, members, n = part
    order = gains.held(plan.order)
    planned = order[: plan.n_labels]
    is_planned = plan.mode == "exact" and gains.known[planned].mean() >= GONE_THROUGH
    reach = planned if plan.mode == "exact" else order
    drawn = reach[members[reach]]
    # An anytime interval takes the rows up to the last labelled one.
    if not is_planned:
        labelled = np.flatnonzero(gains.known[drawn])
        drawn = drawn[: int(labelled[-1]) + 1] if len(labelled) else drawn[:0]
    seen = gains.outcomes(drawn)
    if not len(drawn):
        return seen, None
    low: float
    high: float
    if is_planned:
        low, high = difference_interval(
            len(changed), seen, confidence_level, two_classes=gains.two_classes
        )
    else:
        signs = np.where(gains.known[drawn], gains.low[drawn], 0.0).astype(np.int64)
        limits = difference_sequence(
            signs, len(changed), confidence_level, known=gains.known[drawn]
        )
        low, high = float(limits[0][-1]), float(limits[1][-1])
    interval = Interval(
        low=low / n, high=high / n, confidence_level=confidence_level,
        method="exact" if is_planned else "anytime",
    )  # fmt: skip
    return seen, interval


def _verdict(seen: Outcomes, interval: Interval | None, confidence_level: float) -> str:
    """Say what an interval means; where all differing rows on one side would not suffice, there are too few."""
    if interval is not None and interval.low > 0.0:
        return verdicts.PART_IS_BETTER
    if interval is not None and interval.high < 0.0:
        return verdicts.PART_IS_WORSE
    # The smallest p-value of McNemar's test of so many rows is 2 / 2^n.
    smallest = 2.0 * 0.5 ** (seen.fixed + seen.broken)
    if interval is None or smallest > 1.0 - confidence_level:
        return verdicts.TOO_FEW_TO_TELL
    return verdicts.NO_CLEAR_DIFFERENCE
