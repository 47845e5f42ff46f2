"""The interval of the difference of a metric, for future rows: the jackknife with one more row on either side."""

from __future__ import annotations

import math

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.labelling.paired import FUTURE
from shiftmetrics.decisions.labelling.paired_mean import mean_with_one_more
from shiftmetrics.decisions.metrics.effects import MetricEffects

LEAST_ROWS = 10
"""Rows of the smallest class below which nothing is said: one of them moves the metric by a tenth of a recall."""

LEAST_CLUSTERS = 10
"""Clusters below which nothing is said."""


def shortage(effects: MetricEffects, clusters: IntArray | None) -> str | None:
    """Return why nothing can be said of future rows, or None."""
    if effects.rarest < LEAST_ROWS:
        # a mean is of all rows
        what = "rows"
        if effects.unit == "query":
            what = "queries"
        elif effects.rarest < len(effects.moved):
            what = "rows of the smallest class"
        return f"{effects.rarest} {what}, and at least {LEAST_ROWS} are needed"
    if clusters is not None:
        n_clusters = len(set(clusters.tolist()))
        if n_clusters < LEAST_CLUSTERS:
            return f"{n_clusters} groups, and at least {LEAST_CLUSTERS} are needed"
    if not (math.isfinite(effects.reach) and math.isfinite(effects.difference)):
        return "the metric is not defined on these rows"
    if effects.reach <= 0.0:
        return "no row moves the metric of either model"
    return None


def metric_interval(effects: MetricEffects, clusters: IntArray | None, level: float) -> Interval:
    """Return the interval of the difference for future rows.

    The pseudo-values of the jackknife take the place of the differences of a mean: for accuracy they are these
    differences. As there, one row that gains the whole reach and one that loses it are added, because the rows in
    which the models differ may all be missing from the sample. Where losses are rare and large, Student's interval
    leaves the truth below it too often: the limit on the side of the long tail moves out by what skewness asks for.
    """
    differences = effects.difference + effects.moved
    mean = mean_with_one_more(differences, effects.reach, clusters=clusters)
    half = mean.half_width(level)
    skewed = mean.skewed_by(level)
    # Shrunk towards 0 by the two rows, the middle stays between 0 and the difference.
    return Interval(
        low=mean.mean - half + min(skewed, 0.0),
        high=mean.mean + half + max(skewed, 0.0),
        confidence_level=level,
        method=FUTURE,
    )
