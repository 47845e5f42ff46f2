"""Digits as colour images whose hue, lightness, position, scale and texture are under control.

Written after the descriptions of a modified DiagViB-6 in Carvalho et al. (TMLR 2025, arXiv:2503.16271), appendix E,
and V. Jimenez Rodriguez (master thesis, ETH Zurich 2024), chapters 4 and 5. `FactorSpec` is one choice of factors;
`factor_environments` draws digits under several; `co_occurrence_samples` ties a factor to the digit.
"""

from shiftmetrics.lab.shifts.factors.designs import (
    DESIGNS,
    SOURCES,
    co_occurrence,
    co_occurrence_samples,
    uncorrelated_factors,
)
from shiftmetrics.lab.shifts.factors.environments import FactorSample, factor_environments, split_instances
from shiftmetrics.lab.shifts.factors.published import (
    CORRECTIONS,
    DISCRIMINABILITY,
    HUE_CO_OCCURRENCE_TEST,
    HUE_TEST,
    HUE_TRAINING,
    HUE_VALIDATION,
    POSITION_CO_OCCURRENCE_TEST,
    POSITION_TEST,
    POSITION_TRAINING,
    POSITION_VALIDATION,
)
from shiftmetrics.lab.shifts.factors.render import render_factors
from shiftmetrics.lab.shifts.factors.spec import FACTORS, FactorSpec

__all__ = [
    "CORRECTIONS",
    "DESIGNS",
    "DISCRIMINABILITY",
    "FACTORS",
    "HUE_CO_OCCURRENCE_TEST",
    "HUE_TEST",
    "HUE_TRAINING",
    "HUE_VALIDATION",
    "POSITION_CO_OCCURRENCE_TEST",
    "POSITION_TEST",
    "POSITION_TRAINING",
    "POSITION_VALIDATION",
    "SOURCES",
    "FactorSample",
    "FactorSpec",
    "co_occurrence",
    "co_occurrence_samples",
    "factor_environments",
    "render_factors",
    "split_instances",
    "uncorrelated_factors",
]
