"""Digits as colour images whose hue, lightness, position, scale and texture are under control.

Written after the descriptions of a modified DiagViB-6 in Carvalho et al. (TMLR 2025, arXiv:2503.16271), appendix E,
and V. Jimenez Rodriguez (master thesis, ETH Zurich 2024), chapters 4 and 5. `FactorSpec` is one choice of factors;
`factor_environments` draws digits under several. `shiftmetrics_lab.shifts.factors.designs` draws factors that tell
nothing about the digit, or tie one to it.
"""

from shiftmetrics_lab.shifts.factors.environments import factor_environments as factor_environments
from shiftmetrics_lab.shifts.factors.published import ENVIRONMENTS as ENVIRONMENTS
