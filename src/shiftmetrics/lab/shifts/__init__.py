"""Making shifted data: partly shifted samples, and corruptions of images, tables and texts.

Every shift is called as ``shift(X, strength=..., rng=...)`` and returns ``X`` shifted, row by row. Strength 0 is the
identity. Attacks, which need torch, live in `shiftmetrics.attacks`; image factors in
`shiftmetrics.lab.shifts.factors`.
"""

from shiftmetrics.lab.shifts.images import (
    CORRUPTIONS,
    JPEG,
    Blur,
    Brightness,
    Contrast,
    GaussianNoise,
    ImpulseNoise,
    Pixelate,
    ShotNoise,
)
from shiftmetrics.lab.shifts.mixing import mix_by_norm, mix_by_ratio
from shiftmetrics.lab.shifts.protocol import Chain, Shift, ShiftedSample, ShiftStep, apply_shift
from shiftmetrics.lab.shifts.subgroups import SubgroupReweighting
from shiftmetrics.lab.shifts.tables import CategorySwap, ColumnNoise, MissingValues, UnitError
from shiftmetrics.lab.shifts.texts import Amplification, CharacterEdits, Contradiction

__all__ = [
    "CORRUPTIONS",
    "JPEG",
    "Amplification",
    "Blur",
    "Brightness",
    "CategorySwap",
    "Chain",
    "CharacterEdits",
    "ColumnNoise",
    "Contradiction",
    "Contrast",
    "GaussianNoise",
    "ImpulseNoise",
    "MissingValues",
    "Pixelate",
    "Shift",
    "ShiftStep",
    "ShiftedSample",
    "ShotNoise",
    "SubgroupReweighting",
    "UnitError",
    "apply_shift",
    "mix_by_norm",
    "mix_by_ratio",
]
