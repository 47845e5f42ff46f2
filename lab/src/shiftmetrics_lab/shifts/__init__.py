"""Making shifted data: partly shifted samples, and corruptions of images, tables and strings.

Every shift is called as ``shift(X, strength=..., rng=...)`` and returns ``X`` shifted, row by row. Strength 0 is the
identity. `CORRUPTIONS` holds those of images by name; their classes stand in `shiftmetrics_lab.shifts.images`. Image
factors are in `shiftmetrics_lab.shifts.factors`, defences around a torch model in `shiftmetrics_lab.shifts.defences`.
"""

from shiftmetrics_lab.shifts.images import CORRUPTIONS
from shiftmetrics_lab.shifts.mixing import mix
from shiftmetrics_lab.shifts.protocol import apply_shift
from shiftmetrics_lab.shifts.subgroups import SubgroupReweighting
from shiftmetrics_lab.shifts.tables import CategorySwap, ColumnNoise, MissingValues, UnitError
from shiftmetrics_lab.shifts.texts import CharacterEdits, SentimentWords

__all__ = [
    "CORRUPTIONS",
    "CategorySwap",
    "CharacterEdits",
    "ColumnNoise",
    "MissingValues",
    "SentimentWords",
    "SubgroupReweighting",
    "UnitError",
    "apply_shift",
    "mix",
]
